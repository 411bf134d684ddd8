"""The stabilised index-2 equations of Gear, Gupta and Leimkuhler (1985), for position and velocity constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System
from dalembert.run.residuals.consistency import carried_multipliers, consistent, positions
from dalembert.run.residuals.form import Residual
from dalembert.run.residuals.stabilised import Stabilised

if TYPE_CHECKING:
    from dalembert.run.engine import Engine


@dataclass(frozen=True)
class GearGuptaLeimkuhler(Stabilised):
    """q' = C (u + A_p^T mu) + D and M u' = f + W^T la with phi = 0 AND psi = 0: both levels hold, mu vanishes.

    y = (q, u, work, la, mu, nu): mu (number of position constraints) keeps phi, nu the invariants of the kinematics.
    Constraints that repeat others are left out when a run begins.
    """

    def residual(self, system: System) -> Residual:
        """F(t, y, y') and its variables."""
        acting = [row for row in range(system.nc) if row not in system.implied] if system.implied else None
        share = self.share(system)
        m = system.mechanics.keeping(acting if self.kept is None else self.kept)
        if self.kept is not None and share.numel():
            m = system.mechanics.sharing(self.kept, share)
        n_p, ni, works = m.phi.shape[0], len(system.invariants), int(system.works)
        qdot, work, workdot = ca.SX.sym("qdot", system.nq), ca.SX.sym("work", works), ca.SX.sym("power", works)
        power = m.total_power if works else ca.SX(0, 1)
        mu, nu = ca.SX.sym("mu", n_p), ca.SX.sym("nu", ni)
        F = ca.vertcat(
            qdot - m.qdot - _shift(m, mu, nu),
            m.balance,
            workdot - power,
            m.constraints,
            m.phi,
            m.h,
        )
        y = ca.vertcat(m.q, m.u, work, m.la, mu, nu)
        ydot = ca.vertcat(qdot, m.udot, workdot, ca.SX.sym("algebraic", m.la.shape[0] + n_p + ni))
        differential = np.arange(y.shape[0]) < system.nq + system.nu + works
        tested = np.arange(y.shape[0]) < system.nq + system.nu
        vanishing = np.arange(y.shape[0]) >= system.nq + system.nu + works + m.la.shape[0]
        state = ca.vertcat(m.q, m.u, work)
        p = ca.vertcat(m.p, ca.vec(share))
        return Residual(m.t, y, ydot, p, ca.densify(F), state, differential, tested, vanishing, power)

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y and y' at a consistent state z: la from the accelerations, mu = nu = 0."""
        z = consistent(engine, t, z)
        zdot = engine.rates(t, z)
        la = carried_multipliers(engine, t, z, zdot[engine.system.nq : engine.size], self.kept)
        rest = np.zeros(positions(engine.system, self.kept) + len(engine.system.invariants))
        return np.concatenate([z, la, rest]), np.concatenate([zdot, np.zeros(len(la)), rest])


def _shift(m: Mechanics, mu: ca.SX, nu: ca.SX) -> ca.SX:
    """C A_p^T mu + h_q^T nu, (nq, 1): keeps position constraints and invariants, zero in exact motion."""
    along = ca.mtimes(m.C, ca.mtimes(m.A[: mu.shape[0], :].T, mu))
    return along + ca.mtimes(ca.jacobian(m.h, m.q).T, nu)
