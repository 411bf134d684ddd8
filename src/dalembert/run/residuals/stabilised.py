"""`Stabilised`: base class of the forms with position and velocity constraints side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, replace
from typing import TYPE_CHECKING, Self

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.run.residuals.consistency import kept_rows, needs_share, share_of
from dalembert.run.residuals.form import Residual

if TYPE_CHECKING:
    from dalembert.run.engine import Engine


@dataclass(frozen=True)
class Stabilised(ABC):
    """The only choice: `kept`, the constraints that act (None: all). Redundant ones are left out."""

    kept: tuple[int, ...] | None = field(default=None, repr=False)
    borne: tuple[float, ...] = field(default=(), repr=False, compare=False)  # see `share_of`, by columns

    @property
    def key(self) -> str:
        """Name of the graph."""
        return f"{type(self).__name__} {self.kept}"

    @property
    def choices(self) -> tuple[tuple[int, ...] | None]:
        """The constraints that act."""
        return (self.kept,)

    @property
    def fixed(self) -> bool:
        """False: the form makes no choice that must last for the whole run."""
        return False

    @property
    def partition(self) -> None:
        """All speeds are alike."""
        return

    def settled(self, engine: Engine, t: float, z: np.ndarray) -> Self:
        """The form without the constraints that repeat others at this state."""
        kept = kept_rows(engine, t, z)
        if kept is None or not needs_share(engine.system, kept):
            return replace(self, kept=kept)
        return replace(self, kept=kept, borne=tuple(share_of(engine, t, z, kept).ravel(order="F").tolist()))

    def share(self, system: System) -> ca.SX:
        """The share matrix of `share_of` as symbols, (nc, n); (0, 0) if friction does not need it."""
        kept = self.kept
        return (
            ca.SX.sym("share", system.nc, len(kept)) if kept is not None and needs_share(system, kept) else ca.SX(0, 0)
        )

    def order(self, engine: Engine) -> list[int]:
        """All of z as it is."""
        return list(range(engine.nz))

    def parameters(self, engine: Engine) -> np.ndarray:
        """Kernel parameters: the system's own, then the share matrix by columns."""
        return np.concatenate([engine.parameters, self.borne])

    @abstractmethod
    def residual(self, system: System) -> Residual:
        """F(t, y, y') and its variables."""

    @abstractmethod
    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y and y' at a consistent state z."""
