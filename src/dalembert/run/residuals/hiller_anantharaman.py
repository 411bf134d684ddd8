"""The index-1 equations of Anantharaman and Hiller (1991): multipliers are rates of integrated variables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.run.residuals.form import Residual
from dalembert.run.residuals.gear_gupta_leimkuhler import GearGuptaLeimkuhler
from dalembert.run.residuals.stabilised import Stabilised

if TYPE_CHECKING:
    from dalembert.run.engine import Engine


@dataclass(frozen=True)
class HillerAnantharaman(Stabilised):
    """q' = C (u + A_p^T Ga') + D and M u' = f + W^T La' with phi = 0 and psi = 0: la = La', mu = Ga' vanishes.

    y = (q, u, work, La, Ga, Nu). The same motion as with `GearGuptaLeimkuhler`, but a solver of F(t, y, y') = 0 now
    integrates the multipliers instead of finding them as algebraic variables of index 2: its step and order control
    see equations of index 1. The error test looks at the integrals of unknowns that laws determine: where a law holds a
    body at rest nothing else tells how its force changes, and when it reaches what the law allows. Constraints that
    repeat others are left out when a run begins.
    """

    def residual(self, system: System) -> Residual:
        """F(t, y, y') and its variables: multipliers and their integrals change places in y and y'."""
        r = GearGuptaLeimkuhler(self.kept).residual(system)
        n = int(r.differential.sum())
        y, ydot = ca.vertcat(r.y[:n], r.ydot[n:]), ca.vertcat(r.ydot[:n], r.y[n:])
        rows = [row for row in range(system.nc) if row not in system.implied] if self.kept is None else self.kept
        tested = r.tested.copy()
        tested[[n + k for k, row in enumerate(rows) if not system.rows[row].law.restrains]] = True
        return replace(r, y=y, ydot=ydot, differential=np.ones(r.size, dtype=bool), tested=tested)

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y and y' at a consistent state z: the integrals begin at zero, La' = la from the accelerations."""
        y, ydot = GearGuptaLeimkuhler(self.kept).start(engine, t, z)
        n = len(z)
        return np.concatenate([y[:n], np.zeros(len(y) - n)]), np.concatenate([ydot[:n], y[n:]])
