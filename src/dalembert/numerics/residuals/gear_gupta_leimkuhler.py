"""The stabilised index-2 equations of Gear, Gupta and Leimkuhler (1985), for position and velocity constraints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.numerics.residuals.consistency import carried_multipliers, consistent, kept_rows, positions
from dalembert.numerics.residuals.form import Mechanics, Residual

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine


@dataclass(frozen=True)
class GearGuptaLeimkuhler:
    """q' = C (u + A_p^T mu) + D and M u' = f + W^T la with phi = 0 AND psi = 0: both levels hold, mu vanishes.

    y = (q, u, work, la, mu, nu): mu (number of position constraints) keeps phi, nu the invariants of the kinematics.
    `kept` are the constraints that act (None: all); those that repeat others are left out when a run begins.
    """

    kept: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """Name of the graph."""
        return f"GearGuptaLeimkuhler {self.kept}"

    @property
    def choices(self) -> tuple[tuple[int, ...] | None]:
        """The constraints that act."""
        return (self.kept,)

    @property
    def fixed(self) -> bool:
        """Nothing is chosen that could go bad."""
        return False

    @property
    def partition(self) -> None:
        """All speeds are alike."""
        return

    def settled(self, engine: Engine, t: float, z: np.ndarray) -> GearGuptaLeimkuhler:
        """The form without the constraints that repeat others at this state."""
        return replace(self, kept=kept_rows(engine, t, z))

    def residual(self, system: System) -> Residual:
        """F(t, y, y') and its variables."""
        m = Mechanics.of(system, self.kept)
        n_p, ni, works = m.phi.shape[0], len(system.invariants), int(system.works)
        qdot, work, workdot = ca.SX.sym("qdot", system.nq), ca.SX.sym("work", works), ca.SX.sym("power", works)
        mu, nu = ca.SX.sym("mu", n_p), ca.SX.sym("nu", ni)
        F = ca.vertcat(
            qdot - m.qdot - m.shift(system, mu, nu),
            m.balance,
            *([workdot - m.power] if works else []),
            m.constraints,
            m.phi,
            m.invariants,
        )
        y = ca.vertcat(m.q, m.u, work, m.la, mu, nu)
        ydot = ca.vertcat(qdot, m.udot, workdot, ca.SX.sym("algebraic", m.la.shape[0] + n_p + ni))
        differential = np.arange(y.shape[0]) < system.nq + system.nu + works
        tested = np.arange(y.shape[0]) < system.nq + system.nu
        vanishing = np.arange(y.shape[0]) >= system.nq + system.nu + works + m.la.shape[0]
        state = ca.vertcat(m.q, m.u, work)
        return Residual(m.t, y, ydot, m.p, ca.densify(F), state, differential, tested, vanishing)

    def parameters(self, engine: Engine) -> np.ndarray:
        """Those of the system."""
        return engine.parameters

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y and y' at a consistent state z: la from the accelerations, mu = nu = 0."""
        z = consistent(engine, t, z)
        zdot = engine.rates(t, z)
        la = carried_multipliers(engine, t, z, zdot[engine.system.nq : engine.size], self.kept)
        rest = np.zeros(positions(engine.system, self.kept) + len(engine.system.invariants))
        return np.concatenate([z, la, rest]), np.concatenate([zdot, np.zeros(len(la)), rest])
