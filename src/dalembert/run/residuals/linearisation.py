"""Linearisation of F(t, y, y') = 0 for implicit methods: F, nonzeros of F_y and F_y', constraint rates, the power."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.run.residuals.form import Residual
from dalembert.solve.sparse_newton import SparseNewton
from dalembert.solve.static_elimination import StaticElimination


@dataclass(frozen=True)
class Linearisation:
    """`residual` maps x = (t, y, y', p) to F; `jacobian` maps x to the nonzeros of F_y, then of F_y'.

    `constraint_rates` maps x to F_t + F_y y' for constraints, and to zero for others; `power` maps x to the rate of the
    work, to nothing if nothing does work. `state_places` and `rate_places` (nnz, 2) are the rows and columns of the
    nonzeros. `eliminable` (k, 2) are entries of F_y' that are 1 and alone in their row and column, as in q' = ...:
    pivots that only grow as the step shrinks. Constant masses are none: what is left of them after an elimination may
    be small. `algebraic` (ny,) marks constraints: equations without y' and without multipliers, which the state alone
    must satisfy.
    """

    residual: ca.Function
    jacobian: ca.Function
    constraint_rates: ca.Function
    power: ca.Function
    state_places: np.ndarray
    rate_places: np.ndarray
    eliminable: np.ndarray
    algebraic: np.ndarray

    @property
    def functions(self) -> tuple[ca.Function, ...]:
        """Residual, Jacobian, constraint rates, and the power if the system has sources of work."""
        always = self.residual, self.jacobian, self.constraint_rates
        return (*always, self.power) if self.power.nnz_out() else always

    @property
    def elimination(self) -> StaticElimination:
        """The order in which Newton matrices of this pattern are eliminated."""
        return StaticElimination.of(len(self.algebraic), self.state_places, self.rate_places, self.eliminable)

    @property
    def sparse_newton(self) -> SparseNewton:
        """Newton matrices of this pattern over their nonzeros, for one run."""
        n = len(self.algebraic)
        multipliers = n - 1 - int(self.rate_places[:, 1].max(initial=-1))
        return SparseNewton(n, self.state_places, self.rate_places, multipliers)

    @classmethod
    def of(cls, r: Residual) -> Linearisation:
        """Exact derivatives; variables that vanish at every solution are zero in them, which keeps them sparse."""
        n = r.size
        F_y, F_rate = ca.jacobian(r.F, r.y), ca.sparsify(ca.jacobian(r.F, r.ydot))
        if r.vanishing.any():
            gone = r.y[np.flatnonzero(r.vanishing).tolist()]
            F_y, F_rate = ca.substitute([F_y, F_rate], [gone], [ca.SX.zeros(gone.shape[0])])
        F_y, F_rate = ca.sparsify(F_y), ca.sparsify(F_rate)
        x = ca.SX.sym("x", 1 + 2 * n + r.p.shape[0])
        arguments = [x[0], x[1 : 1 + n], x[1 + n : 1 + 2 * n], x[1 + 2 * n :]]
        nonzeros = ca.vertcat(*(ca.SX(ca.Sparsity.dense(J.nnz(), 1), J.nz[:]) for J in (F_y, F_rate)))
        rate_places = _places(F_rate)
        state_places = _places(F_y)
        of_multipliers = state_places[~r.differential[state_places[:, 1]], 0]
        algebraic = np.bincount(np.concatenate([rate_places[:, 0], of_multipliers]), minlength=n) == 0
        moved = ca.jtimes(r.F, ca.vertcat(r.t, r.y), ca.vertcat(1, r.ydot)) * ca.DM(algebraic.astype(float))
        wanted = (r.F, nonzeros, moved, r.power)
        every = ca.Function("every", [r.t, r.y, r.ydot, r.p], [ca.densify(g) for g in wanted])
        F, J, moved, power = every(*arguments)
        alone = np.all([np.bincount(places)[places] == 1 for places in rate_places.T], axis=0)
        unit = [F_rate.nz[k].is_constant() and abs(float(F_rate.nz[k])) == 1.0 for k in range(F_rate.nnz())]
        return cls(
            residual=ca.Function("residual", [x], [F]),
            jacobian=ca.Function("jacobian", [x], [J]),
            constraint_rates=ca.Function("constraint_rates", [x], [moved]),
            power=ca.Function("power", [x], [power]),
            state_places=state_places,
            rate_places=rate_places,
            eliminable=rate_places[alone & np.array(unit, dtype=bool)],
            algebraic=algebraic,
        )


def _places(J: ca.SX) -> np.ndarray:
    rows, columns = J.sparsity().get_triplet()
    return np.column_stack([rows, columns]).astype(np.int64).reshape(-1, 2)
