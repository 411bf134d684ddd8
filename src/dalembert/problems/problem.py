"""`Problem`: a reference mechanism with its start, its span and, where there is one, its exact motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.model.model import Model

if TYPE_CHECKING:
    from dalembert.equations.system import System
    from dalembert.motion.motion import Motion
    from dalembert.motion.state import State

Exact = Callable[[np.ndarray], dict[str, np.ndarray]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A mechanism from the literature, ready to run.

    `given` and `guess` are what `system.initial` takes. `exact` maps times (nt,) to values (nt,) by name - coordinates,
    speeds, multipliers by the name of their constraint - for the default parameters; None where no closed form is
    known. `reference` holds published or computed values by name at single times. `tolerance` bounds the absolute
    error of the default settings against both over 0 .. `t_end` (0 without them).
    `note` says what to look at. Nothing is compiled before `system` is called.
    """

    name: str
    title: str
    source: str
    build: Callable[[], Model]
    given: Mapping[str, float]
    guess: Mapping[str, float]
    t_end: float
    exact: Exact | None = None
    reference: Mapping[float, Mapping[str, float]] = field(default_factory=dict)
    tolerance: float = 0.0
    note: str

    def system(self) -> System:
        """The compiled equations of motion."""
        return self.build().compile()

    def state(self, system: System, parameters: Mapping[Any, float] | None = None) -> State:
        """The initial state, consistent also with changed `parameters`."""
        return system.initial(self.given, guess=self.guess, parameters=parameters)

    def simulate(
        self, *, t_end: float | None = None, parameters: Mapping[Any, float] | None = None, **options: Any
    ) -> Motion:
        """The motion over 0 .. `t_end` (the problem's own if None); options as `System.simulate` takes them."""
        system = self.system()
        return system.simulate(self.state(system, parameters), self.t_end if t_end is None else t_end, **options)

    def __repr__(self) -> str:
        return f"Problem {self.name!r}: {self.title}, {self.t_end:g} s ({self.source})"
