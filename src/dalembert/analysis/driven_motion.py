"""`DrivenMotion`: a motion that was prescribed, with the reactions and efforts that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.motion.outputs import Observed, is_expression, spelling, values_of
from dalembert.motion.reactions import Reacting, reactions_of
from dalembert.motion.state import State


@dataclass(frozen=True, eq=False)
class DrivenMotion(Observed, Reacting):
    """Arrays over time as of a `Motion`: t (nt,), q (nt, nq), u, udot (nt, nu), multipliers (nt, nc).

    `parameters` (nt, np) vary where they are actuators. `efforts` are what drives it by name, (nt,) each: values of
    actuators, or "effort(x)", the generalised force along a wanted coordinate. Values by name or expression as in
    `motion[...]`.
    """

    system: System
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    multipliers: np.ndarray
    parameters: np.ndarray
    efforts: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, key: Any) -> np.ndarray:
        name = "" if is_expression(key) or isinstance(key, list | tuple) else spelling(key)
        if name in self.efforts:
            return self.efforts[name]
        if name in self.system.parameters:
            return self.parameters[:, self.system.parameters.index(name)]
        return values_of(self, key)

    @property
    def reactions(self) -> np.ndarray:
        """Generalised reactions r of M u' = f + r, (nt, nu)."""
        return reactions_of(self)

    def at(self, index: int) -> State:
        """The state at one of the times, by its index."""
        q, u, udot, la, p = (a[index] for a in (self.q, self.u, self.udot, self.multipliers, self.parameters))
        return State(self.system, float(self.t[index]), q, u, udot, la, p)

    def __repr__(self) -> str:
        efforts = f"; driven by {', '.join(self.efforts)}" if self.efforts else ""
        return (
            f"DrivenMotion of {self.system.name!r}: {len(self.t)} samples, t = {self.t[0]:g} .. {self.t[-1]:g}{efforts}"
        )
