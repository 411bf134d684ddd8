"""The graph variables of a system and total derivatives along its motion.

Notation as in `docs/theory/notation.md`: q' = C(q,t) u + D(q,t). A dot is a total time derivative.
"""

from __future__ import annotations

from dataclasses import field

import casadi as ca
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.lowering.atoms import Atoms
from dalembert.equations.lowering.lower import Lowering
from dalembert.model.instances import DIFFERENCE, Instance
from dalembert.model.statement import Statement
from dalembert.model.vectors import base_of
from dalembert.solve.graphs import solve_square


@dataclass(frozen=True)
class Symbols:
    """Graph variables: time, coordinates, coordinate rates (free), speeds, their rates, parameters, unknowns.

    n are the multipliers of the constraints in the order stated, where laws may read them.
    """

    t: ca.SX
    q: ca.SX
    qd: ca.SX
    u: ca.SX
    ud: ca.SX
    p: ca.SX
    y: ca.SX
    n: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

    @classmethod
    def of(cls, statement: Statement) -> Symbols:
        """Fresh variables of the right sizes, all columns."""
        sizes = len(statement.coordinates), len(statement.speeds), len(statement.parameters)
        return cls.of_sizes(*sizes, len(statement.unknowns), len(statement.constraints))

    @classmethod
    def of_sizes(cls, nq: int, nu: int, n_p: int, ny: int = 0, nc: int = 0) -> Symbols:
        """Fresh variables for so many coordinates, speeds, parameters, unknowns and constraints."""
        names = (("t", 1), ("q", nq), ("qd", nq), ("u", nu), ("udot", nu), ("p", n_p), ("y", ny), ("n", nc))
        return cls(*[ca.SX.sym(name, size) for name, size in names])

    @property
    def x(self) -> ca.SX:
        """Input of every kernel: (t, q, u, p) in one column."""
        return ca.vertcat(self.t, self.q, self.u, self.p)


def atoms_of(statement: Statement, s: Symbols) -> Atoms:
    """Graph variables of the SymPy symbols. Coordinate rates are free variables."""
    atoms = Atoms(statement.time, statement.slots)
    atoms.add([statement.time], s.t)
    atoms.add(statement.coordinates, s.q, s.qd)
    atoms.add(statement.speeds, s.u)
    atoms.add([*statement.parameters], s.p)
    return atoms


@dataclass(frozen=True)
class Kinematics:
    """q' = C u + D, total derivatives along it, and the lowerings that know it."""

    symbols: Symbols
    qdot: ca.SX  # (nq, 1)
    C: ca.SX  # (nq, nu)
    D: ca.SX  # (nq, 1)

    @property
    def is_trivial(self) -> bool:
        """Whether the speeds are the rates of the coordinates, in order: q' = u."""
        return self.D.nnz() == 0 and is_identity(self.C)

    def rate(self, expression: ca.SX) -> ca.SX:
        """Total derivative of an expression in (q, u, t) with the speeds held constant, u' = 0."""
        s = self.symbols
        return ca.jtimes(expression, s.q, self.qdot) + ca.jtimes(expression, s.t, ca.SX(1))

    def rate_terms(self, expression: ca.SX) -> ca.SX:
        """The terms whose sum is `rate` of a column (n, 1): one by each coordinate, one by time, (n, nq + 1)."""
        s = self.symbols
        by_coordinates = scaled_columns(ca.jacobian(expression, s.q), self.qdot)
        return ca.horzcat(by_coordinates, ca.jtimes(expression, s.t, ca.SX(1)))

    def total_rate(self, expression: ca.SX) -> ca.SX:
        """Total derivative, with u' in it."""
        return self.rate(expression) + ca.jtimes(expression, self.symbols.u, self.symbols.ud)

    def atoms(self, statement: Statement) -> Atoms:
        """Graphs of the SymPy symbols. Coordinate rates are C u + D; second rates are their total derivative."""
        s, atoms = self.symbols, Atoms(statement.time, statement.slots)
        atoms.add([statement.time], s.t)
        atoms.add(statement.coordinates, s.q, self.qdot, lambda: self.total_rate(self.qdot))
        atoms.add(statement.speeds, s.u, s.ud)
        atoms.add([*statement.parameters], s.p)
        atoms.add(statement.unknowns, s.y)
        if s.n.shape[0] and not all(c.law.restrains for c in statement.constraints):  # only laws read them
            atoms.add([constraint.multiplier for constraint in statement.constraints], s.n)
        return atoms

    def lowering(self, statement: Statement) -> Lowering:
        """A lowering that knows the kinematics."""
        return Lowering(self.atoms(statement))


def kinematics_of(statement: Statement, s: Symbols) -> Kinematics:
    """The kinematics of a statement whose equations are linear in q' and u (eq. 1 of Bajodah et al.)."""
    low = Lowering(atoms_of(statement, s))
    return explicit_kinematics(statement, low, s) or solve_kinematics(low.vector(statement.kinematics), s)


def explicit_kinematics(statement: Statement, low: Lowering, s: Symbols) -> Kinematics | None:
    """Kinematics from equations that give each rate explicitly, linear in u; None if an equation has another form."""
    rates: dict[sp.Basic, sp.Expr] = {}
    for equation in statement.kinematics:
        if not isinstance(equation, Instance) or equation.template is not DIFFERENCE:
            return None
        rate, value = equation.args
        base, order = base_of(rate, statement.time)
        if order != 1:
            return None
        rates[base] = value
    if len(rates) != len(statement.kinematics) or rates.keys() != {*statement.coordinates}:
        return None
    found = _collect(low.vector([rates[q] for q in statement.coordinates]), s)
    return None if ca.depends_on(found.qdot, s.qd) or ca.depends_on(found.C, s.u) else found


def solve_kinematics(equations: ca.SX, s: Symbols) -> Kinematics:
    """Kinematics from a column of equations that are zero and linear in q' and u, solved for q'."""
    K = ca.jacobian(equations, s.qd)
    rest = ca.substitute(equations, s.qd, ca.SX.zeros(s.qd.shape))
    return _collect(-(rest if is_identity(K) else solve_square(K, rest)), s)


def _collect(qdot: ca.SX, s: Symbols) -> Kinematics:
    """q' = C u + D of rates that are linear in u."""
    D = ca.substitute(qdot, s.u, ca.SX.zeros(s.u.shape))
    return Kinematics(s, qdot, ca.jacobian(qdot, s.u), ca.sparsify(D))


def scaled_columns(matrix: ca.SX, factors: ca.SX) -> ca.SX:
    """A matrix (m, n) with each column times its entry of `factors` (n, 1), nonzero by nonzero."""
    pattern = matrix.sparsity()
    if pattern.nnz() == 0:
        return matrix
    values = ca.reshape(matrix.nz[:], pattern.nnz(), 1)  # CasADi gives a row of a row
    return ca.SX(pattern, ca.densify(values * ca.densify(factors)[pattern.get_col()]))


def is_identity(matrix: ca.SX) -> bool:
    """Whether a matrix is the identity, by structure and numbers."""
    n = matrix.shape[0]
    return matrix.sparsity() == ca.Sparsity.diag(n) and bool(ca.is_equal(matrix, ca.SX.eye(n), 1))
