"""`Mechanics`: the graphs of a system, written once; every kernel is a function made of them.

    q' = C u + D,     M u' = f + r,     A u' = b,     r = W^T la - F^T |la| + E + c

Notation as in `docs/theory/notation.md`. The law of each row defines its W and F (`model.laws`). Position rows come
first, then velocity rows, then acceleration rows. All matrices keep their structural zeros: sparse code reads their
`sparsity()`, and only a kernel that must be dense fills them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.laws import Row, are_ideal, count_curved, have_friction
from dalembert.solve.elimination_order import SaddlePattern

VARIABLES = ("t", "q", "u", "p", "udot", "la")


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanics:
    """Graphs in x = (t, q, u, p), u' and la; all vectors are columns.

    gamma are the acceleration rows as stated, with u' in them. Rows with the law `CurvedAcceleration` have u' in A too,
    and no b. f is the sum of the active forces and of the inertia forces at u' = 0. c is the prescribed reaction.
    The energy changes by dE/dt = power + transport . u' + (r - c) . u.
    """

    rows: tuple[Row, ...]
    t: ca.SX  # (1, 1)
    q: ca.SX  # (nq, 1)
    u: ca.SX  # (nu, 1)
    p: ca.SX  # (np, 1)
    udot: ca.SX  # (nu, 1)
    la: ca.SX  # (nc, 1)
    qdot: ca.SX  # (nq, 1)
    C: ca.SX  # (nq, nu)
    M: ca.SX  # (nu, nu)
    f: ca.SX  # (nu, 1)
    active: ca.SX  # (nu, 1) the active forces in f
    c: ca.SX  # (nu, 1)
    phi: ca.SX  # (n_p, 1) position residuals
    G: ca.SX  # (n_p, nq) their gradients in q
    psi: ca.SX  # (n_p + n_v, 1) velocity residuals: rates of the position rows, then the velocity rows
    gamma: ca.SX  # (n_a, 1) acceleration residuals
    A: ca.SX  # (nc, nu)
    b: ca.SX  # (nc, 1)
    B: ca.SX  # (nu, ny) how the unknowns act that act linearly
    E: ca.SX  # (nu, 1) forces of the other unknowns, in u' and la
    F: ca.SX  # (nc, nu) friction per unit of |la|
    h: ca.SX  # (ni, 1) invariants of the kinematics
    power: ca.SX  # (1, 1)
    transport: ca.SX  # (nu, 1)
    kinetic: ca.SX  # (1, 1)
    potential: ca.SX  # (1, 1)
    velocities: ca.SX  # (n_v, 1) of particles and mass centres, then angular ones of bodies; all in inertial axes

    # -- kinematics ------------------------------------------------------------------------------------------------

    @cached_property
    def x(self) -> ca.SX:
        """Input of every kernel: (t, q, u, p) in one column."""
        return ca.vertcat(self.t, self.q, self.u, self.p)

    @cached_property
    def y(self) -> ca.SX:
        """Input of kernels that depend on accelerations and multipliers: (x, u', la) in one column."""
        return ca.vertcat(self.x, self.udot, self.la)

    @cached_property
    def trivial_kinematics(self) -> bool:
        """Whether the speeds are the rates of the coordinates, in order: q' = u."""
        return self.qdot.shape == self.u.shape and bool(ca.is_equal(ca.densify(self.qdot), self.u, 1))

    @cached_property
    def second_rates(self) -> ca.SX:
        """q'' = C u' + the rest at u' = 0, (nq, 1)."""
        rest = ca.jtimes(self.qdot, self.q, self.qdot) + ca.jtimes(self.qdot, self.t, ca.SX(1))
        return ca.mtimes(self.C, self.udot) + rest

    # -- reactions -------------------------------------------------------------------------------------------------

    @property
    def ideal(self) -> bool:
        """True if every multiplier acts along A, known from the state, without friction or other terms."""
        return are_ideal(self.rows)

    @property
    def curved(self) -> int:
        """Number of rows, the last ones, for which A u' = b needs u'."""
        return count_curved(self.rows)

    @cached_property
    def W(self) -> ca.SX:
        """Directions in which the multipliers act, (nc, nu), by the law of each row."""
        if self.ideal:
            return self.A
        return ca.vertcat(*[row.law.direction(self.A[k, :], self.B) for k, row in enumerate(self.rows)])

    @cached_property
    def multiplier_forces(self) -> ca.SX:
        """W^T la - F^T |la| + E, (nu, 1): the part of the reaction due to the multipliers."""
        forces = ca.mtimes(self.W.T, self.la) + self.E
        if have_friction(self.rows):
            forces -= ca.mtimes(self.F.T, ca.fabs(self.la))
        return forces

    @property
    def reaction(self) -> ca.SX:
        """r = W^T la - F^T |la| + E + c, (nu, 1)."""
        return self.multiplier_forces + self.c

    @cached_property
    def balance(self) -> ca.SX:
        """M u' - f - r, (nu, 1)."""
        return ca.mtimes(self.M, self.udot) - (self.f + self.c) - self.multiplier_forces

    @cached_property
    def acceleration(self) -> ca.SX:
        """A u' - b, (nc, 1), and the curved rows as they are stated."""
        linear = ca.mtimes(self.A, self.udot) - self.b
        known = len(self.rows) - self.curved
        return ca.vertcat(linear[:known, :], self.gamma) if self.curved else linear

    @property
    def linearised_bias(self) -> ca.SX:
        """b of A u' = b, (nc, 1), for curved rows that of Newton's method at u'."""
        if not self.curved:
            return self.b
        first = len(self.rows) - self.curved
        return ca.vertcat(self.b[:first, :], ca.mtimes(self.A[first:, :], self.udot) - self.gamma)

    @property
    def constraints(self) -> ca.SX:
        """Every row at the level below or at which it was stated, (nc, 1): psi, then the acceleration rows."""
        return ca.vertcat(self.psi, self.acceleration[self.psi.shape[0] :, :])

    @property
    def total_power(self) -> ca.SX:
        """dE/dt, (1, 1)."""
        return self.power + ca.dot(self.transport, self.udot) + ca.dot(self.multiplier_forces, self.u)

    def ideal_power(self, udot: ca.SX, la: ca.SX) -> ca.SX:
        """dE/dt, (1, 1), with a solution u', la in the place of their symbols, where all reactions are ideal."""
        return self.power + ca.dot(self.transport, udot) + ca.dot(la, ca.mtimes(self.A, self.u))

    @cached_property
    def saddle_pattern(self) -> SaddlePattern:
        """Sparsity patterns of M and A."""
        return SaddlePattern.of(self.M.sparsity(), self.A.sparsity())

    @cached_property
    def kinematic_pattern(self) -> ca.Sparsity:
        """Pattern of C, transposed: columns are rows."""
        return self.C.sparsity().T

    @cached_property
    def position_pattern(self) -> ca.Sparsity:
        """Pattern of the gradients of phi and of the invariants in q, transposed: columns are rows."""
        return self.position_gradients.sparsity().T

    @cached_property
    def invariant_pattern(self) -> ca.Sparsity:
        """Pattern of the gradients of the invariants in q, transposed: columns are rows."""
        return self.invariant_gradients.sparsity().T

    @cached_property
    def driven(self) -> bool:
        """Whether constraints of positions or velocities depend on time."""
        return bool(ca.depends_on(ca.vertcat(self.phi, self.psi), self.t))

    @cached_property
    def invariant_gradients(self) -> ca.SX:
        """Gradients of the invariants in q, (ni, nq)."""
        return ca.jacobian(self.h, self.q)

    @cached_property
    def position_gradients(self) -> ca.SX:
        """Gradients of phi and of the invariants in q, (np + ni, nq)."""
        return ca.vertcat(self.G, self.invariant_gradients)

    # -- parts of it -----------------------------------------------------------------------------------------------

    def known(self, matrix: ca.SX) -> ca.SX:
        """A matrix with one row per constraint, with curved rows empty: they are unknown from the state alone."""
        count = len(self.rows) - self.curved
        return ca.vertcat(matrix[:count, :], ca.SX(self.curved, matrix.shape[1])) if self.curved else matrix

    def keeping(self, kept: Sequence[int] | None) -> Mechanics:
        """The mechanics with some constraint rows only, in ascending order (None: all): the others do not act."""
        if kept is None:
            return self
        n_p, n_pv = self.phi.shape[0], self.psi.shape[0]
        rows = sorted(kept)
        return replace(
            self,
            rows=tuple(self.rows[k] for k in rows),
            phi=rows_of(self.phi, [k for k in rows if k < n_p]),
            G=rows_of(self.G, [k for k in rows if k < n_p]),
            psi=rows_of(self.psi, [k for k in rows if k < n_pv]),
            gamma=rows_of(self.gamma, [k - n_pv for k in rows if k >= n_pv]),
            **{name: rows_of(getattr(self, name), rows) for name in ("la", "A", "b", "F")},
        )

    def sharing(self, kept: Sequence[int], share: ca.SX) -> Mechanics:
        """Like `keeping`, but friction and laws count all rows: they bear `share` (nc, n) of the kept multipliers."""
        m = self.keeping(kept)
        la = ca.mtimes(share, m.la)
        E, A, gamma = ca.substitute([m.E, m.A, m.gamma], [self.la], [la])
        return replace(m, E=E - ca.mtimes(self.F.T, ca.fabs(la)), A=A, gamma=gamma, F=ca.SX(*m.F.shape))

    # -- to keep ---------------------------------------------------------------------------------------------------

    def to_function(self) -> ca.Function:
        """All graphs as one function of the variables, outputs by name; `from_function` takes it back."""
        inputs = [getattr(self, name) for name in VARIABLES]
        return ca.Function("mechanics", inputs, [getattr(self, n) for n in GRAPHS], list(VARIABLES), list(GRAPHS))

    @classmethod
    def from_function(cls, function: ca.Function, rows: tuple[Row, ...]) -> Mechanics:
        """The mechanics that `to_function` recorded, in fresh variables: the same graph wherever it is made."""
        variables = {name: ca.SX.sym(name, function.size1_in(name)) for name in VARIABLES}
        found: dict[str, Any] = function(**variables)
        return cls(rows=rows, **variables, **found)


GRAPHS = tuple(field.name for field in fields(Mechanics) if field.name not in ("rows", *VARIABLES))


def rows_of(matrix: ca.SX, rows: Sequence[int]) -> ca.SX:
    """Rows of a matrix; without any, CasADi would lose its width."""
    return matrix[list(rows), :] if rows else ca.SX(0, matrix.shape[1])
