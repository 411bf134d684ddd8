"""The equations of accelerations, multipliers and unknowns as one graph, for Newton's method (`law_loops`)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.functions import flat
from dalembert.equations.laws import implied_rows
from dalembert.equations.mechanics import Mechanics


@dataclass(frozen=True)
class Iteration:
    """Residuals R (n, 1) of the unknowns w (n, 1), and u' (nu, 1) and la (nc, 1) as functions of w.

    Each formulation has unknowns of its own, those of curved rows last. `stage` and `b` (nc, 1) are inputs too: at
    stage 0 unknowns stay at their starts and acceleration rows do not act, at stage 1 all equations count; b may have
    feedback in it. `given` is w as a graph of x, u' and la.
    """

    mechanics: Mechanics
    w: ca.SX
    stage: ca.SX
    b: ca.SX
    R: ca.SX
    udot: ca.SX
    la: ca.SX
    given: ca.SX

    @property
    def in_multipliers(self) -> bool:
        """Whether the unknowns are (u', la), in this order."""
        own = ca.vertcat(self.mechanics.udot, self.mechanics.la)
        return self.w.shape == own.shape and bool(ca.is_equal(self.w, own))

    @property
    def start(self) -> np.ndarray:
        """Initial guess of Newton's method, (n,). Unknowns of laws have stated starts: a law may be undefined at 0."""
        start, curved = np.zeros(self.w.shape[0]), self.mechanics.curved
        start[len(start) - curved :] = starts_of(self.mechanics)
        return start

    def given_function(self) -> ca.Function:
        """(x, u', la) -> w."""
        return ca.Function("given", [self.mechanics.y], [ca.densify(self.given)])

    def function(self) -> ca.Function:
        """(x, w, stage, b) -> R, dR/dw, u', la, then A, W and residuals of the acceleration rows, E; matrices flat."""
        m = self.mechanics
        first = m.psi.shape[0]
        of_rows = [flat(m.A[first:, :]), flat(m.W[first:, :]), m.acceleration[first:, :], m.E]
        rows = ca.substitute(ca.vertcat(*of_rows), ca.vertcat(m.udot, m.la), ca.vertcat(self.udot, self.la))
        column = ca.vertcat(self.R, flat(ca.jacobian(self.R, self.w)), self.udot, self.la, rows)
        return ca.Function("iteration", [ca.vertcat(m.x, self.w, self.stage, self.b)], [ca.densify(column)])


def with_multipliers(m: Mechanics) -> Iteration:
    """Unknowns (u', la): M u' - f - r = 0, A u' = b, and the laws."""
    stage, b = ca.SX.sym("stage"), ca.SX.sym("b", len(m.rows))
    R = ca.vertcat(m.balance, _held(m, b), staged_rows(m, stage))
    both = ca.vertcat(m.udot, m.la)
    return Iteration(m, both, stage, b, R, m.udot, m.la, both)


def _held(m: Mechanics, b: ca.SX) -> ca.SX:
    """A u' - b of the rows known from the state, (known, 1). In place of an implied row stands its multiplier."""
    held, implied = ca.mtimes(m.A, m.udot) - b, implied_rows(m.rows)
    return ca.vertcat(ca.SX(0, 1), *[m.la[k] if k in implied else held[k] for k in range(len(m.rows) - m.curved)])


def starts_of(m: Mechanics) -> list[float]:
    """The starts of the multipliers of curved rows: those given for unknowns of laws, else 0."""
    return [row.law.start for row in m.rows[len(m.rows) - m.curved :]]


def staged_rows(m: Mechanics, stage: ca.SX) -> ca.SX:
    """The acceleration rows that Newton's method solves, (curved, 1); at stage 0 each multiplier at its start."""
    first = len(m.rows) - m.curved
    held = m.la[first:, :] - ca.SX(starts_of(m)).reshape((m.curved, 1))
    return ca.if_else(stage > 0, m.gamma[m.gamma.shape[0] - m.curved :, :], held) if m.curved else held
