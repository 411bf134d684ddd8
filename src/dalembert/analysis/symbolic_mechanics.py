"""The equations of motion of a statement as SymPy matrices: the symbolic twin of `dalembert.equations.derive`.

Notation as in `docs/theory/notation.md`: q' = C u + D, M u' = f + W^T la, A u' = b. These matrices are for reading,
of small systems. Simulations never use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.laws import Row
from dalembert.model.instances import explicit
from dalembert.model.quaternion import rotation_matrix
from dalembert.model.statement import Attitude, Body, Energy, Level, Particle, Point, Statement

READABLE = 60  # operations up to which SymPy simplifies a solution well and without taking long
LEGIBLE = 200  # the same for the expressions that are read first: the matrices themselves


@dataclass(frozen=True)
class SymbolicMechanics:
    """All matrices of a system in functions of time: q (nq, 1), u (nu, 1), y (ny, 1), and C ... b of the notation.

    f includes the reactions prescribed by `Model.nonideal`; `active` (nu, 1) are its active forces. `velocities`
    and `angular_velocities` hold the partial ones (3, nu) by particle and body, in inertial axes. W (nc, nu) holds the
    directions of the multipliers: rows of A, of B^T for servo constraints.
    """

    time: sp.Symbol
    q: sp.Matrix
    u: sp.Matrix
    y: sp.Matrix
    C: sp.Matrix
    D: sp.Matrix
    M: sp.Matrix
    f: sp.Matrix
    active: sp.Matrix
    B: sp.Matrix
    A: sp.Matrix
    b: sp.Matrix
    W: sp.Matrix
    rows: tuple[Row, ...]
    velocities: Mapping[str, sp.Matrix]
    angular_velocities: Mapping[str, sp.Matrix]

    @property
    def udot(self) -> sp.Matrix:
        """u' (nu, 1), as derivatives."""
        return self.u.diff(self.time)

    @property
    def qdot(self) -> sp.Matrix:
        """q' = C u + D, (nq, 1)."""
        return self.C * self.u + self.D


def derive_mechanics(statement: Statement, rows: tuple[Row, ...]) -> SymbolicMechanics:
    """The matrices of a statement; `rows` are the constraint rows of its system, in their order."""
    s = SymbolicVariables(statement)
    k = SymbolicKinematics(statement, s)
    d = SymbolicDerivation(statement, k)
    A, b = _constraints(statement, rows, k)
    f0, B = d.split()
    active = d.active.xreplace(dict.fromkeys(s.y, sp.S.Zero))
    W = sp.zeros(len(rows), len(s.u))
    for i, row in enumerate(rows):
        if row.law.reacts:
            W[i, :] = row.law.direction(A[i, :], B)
    matrices = {"C": k.C, "D": k.D, "M": d.M, "f": f0, "active": active, "B": B, "A": A, "b": b, "W": W}
    partial = [
        {name: s.restored(tidy(v.jacobian(s.u), LEGIBLE)) for name, v in named.items()}
        for named in (d.velocities, d.angular_velocities)
    ]
    return SymbolicMechanics(
        statement.time,
        _column(statement.coordinates),
        _column(statement.speeds),
        _column(statement.unknowns),
        rows=rows,
        velocities=partial[0],
        angular_velocities=partial[1],
        **{name: s.restored(tidy(matrix, LEGIBLE)) for name, matrix in matrices.items()},
    )


def tidy(matrix: sp.Matrix, most: int = READABLE) -> sp.Matrix:
    """The matrix with its entries of at most so many operations simplified."""
    return matrix.applyfunc(lambda e: sp.simplify(e) if 0 < e.count_ops() <= most else e)


def rational(expression: sp.Expr) -> sp.Expr:
    """Decimals as the fractions that were typed, so that SymPy cancels exactly. Long ones stay as they are."""
    floats = {number: sp.Rational(repr(float(number))) for number in expression.atoms(sp.Float)}
    return expression.xreplace({number: ratio for number, ratio in floats.items() if ratio.q <= 10**6})


class SymbolicVariables:
    """Plain real symbols that stand for functions of time while derivatives are taken; `restored` brings those back."""

    def __init__(self, statement: Statement) -> None:
        self.t = sp.Symbol("t", real=True)
        self.q = _symbols(statement.coordinates)
        self.qd = _symbols(statement.coordinates, "'")
        self.u = _symbols(statement.speeds)
        self.ud = _symbols(statement.speeds, "'")
        self.y = _symbols(statement.unknowns)
        time = statement.time
        self.atoms: dict[sp.Basic, sp.Symbol] = {time: self.t}
        self.atoms |= {p: sp.Symbol(p.name, real=True) for p in statement.parameters}
        for functions, symbols in (
            (statement.coordinates, self.q),
            ([q.diff(time) for q in statement.coordinates], self.qd),
            (statement.speeds, self.u),
            ([u.diff(time) for u in statement.speeds], self.ud),
            (statement.unknowns, self.y),
        ):
            self.atoms |= dict(zip(functions, symbols, strict=True))
        self._back = {symbol: function for function, symbol in self.atoms.items()}

    def restored(self, matrix: sp.Matrix) -> sp.Matrix:
        """The matrix in functions of time and the user's parameters."""
        return matrix.xreplace(self._back)


class SymbolicKinematics:
    """q' = C u + D in plain symbols, and total derivatives along it."""

    def __init__(self, statement: Statement, s: SymbolicVariables) -> None:
        self.s = s
        equations = _column([rational(explicit(e)).xreplace(s.atoms) for e in statement.kinematics])
        K = equations.jacobian(s.qd)
        rest = equations.xreplace(dict.fromkeys(s.qd, sp.S.Zero))
        self.qdot = tidy(-rest if K.is_Identity else -K.LUsolve(rest))
        self.C = self.qdot.jacobian(s.u)
        self.D = self.qdot.xreplace(dict.fromkeys(s.u, sp.S.Zero))
        second = self.rate(self.qdot) + self.C * _column(s.ud)
        self._rates: Mapping[sp.Basic, sp.Basic] = {
            **s.atoms,
            **{q.diff(statement.time): rate for q, rate in zip(statement.coordinates, self.qdot, strict=True)},
            **{q.diff(statement.time, 2): rate for q, rate in zip(statement.coordinates, second, strict=True)},
        }

    def read(self, expression: Any) -> sp.Expr:
        """An expression in plain symbols, with coordinate rates replaced by C u + D."""
        return rational(sp.sympify(expression)).xreplace(self._rates)

    def column(self, expressions: Sequence[Any]) -> sp.Matrix:
        """Expressions in plain symbols as a column."""
        return _column([self.read(e) for e in expressions])

    def rate(self, column: sp.Matrix) -> sp.Matrix:
        """Total derivative of a column in (q, u, t), with the speeds held."""
        return column.jacobian(self.s.q) * self.qdot + column.diff(self.s.t)


class SymbolicDerivation:
    """M (nu, nu) and f (nu, 1) of M u' = f, added up over a statement; Kane's way and Lagrange's, as in `derive`."""

    def __init__(self, statement: Statement, kinematics: SymbolicKinematics) -> None:
        self.statement, self.kinematics, self.s = statement, kinematics, kinematics.s
        nu = len(self.s.u)
        self.M, self.f, self.active = sp.zeros(nu, nu), sp.zeros(nu, 1), sp.zeros(nu, 1)
        self.velocities: dict[str, sp.Matrix] = {}
        self.angular_velocities: dict[str, sp.Matrix] = {}
        self._run()

    def split(self) -> tuple[sp.Matrix, sp.Matrix]:
        """f without the unknowns, and B (nu, ny) with which they act."""
        return self.f.xreplace(dict.fromkeys(self.s.y, sp.S.Zero)), _jacobian(self.f, self.s.y)

    def _run(self) -> None:
        st, read = self.statement, self.kinematics.column
        for particle in st.particles:
            self._translation(particle)
        for body in st.bodies:
            self._translation(body)
            self._rotation(body)
        for force in st.forces:
            self._apply(self._velocity(force.at), read(force.vector))
        for torque in st.torques:
            self._apply(self._angular_velocity(torque.on), self._attitude(torque.on).T * read(torque.vector))
        for forces in st.generalized_forces:
            for key, value in forces.items():
                self._act(self._generalized(key, self.kinematics.read(value)))
        for energy in st.energies:
            self._lagrange(energy)
        for raw in st.matrices:
            self.M += raw.mass.applyfunc(self.kinematics.read)
            self._act(raw.force.applyfunc(self.kinematics.read))
        self._prescribe()

    def _prescribe(self) -> None:
        """Known non-ideal parts of the reaction: in f, but no active forces."""
        st, read = self.statement, self.kinematics.column
        for forces in st.nonideal_generalized:
            for key, value in forces.items():
                self.f += self._generalized(key, self.kinematics.read(value))
        for force in st.nonideal_forces:
            self.f += self._velocity(force.at).jacobian(self.s.u).T * read(force.vector)

    @cached_property
    def _gravity(self) -> sp.Matrix:
        return self.kinematics.column(self.statement.gravity)

    def _velocity(self, point: Point) -> sp.Matrix:
        if point.velocity is not None:
            return self.kinematics.column(point.velocity)
        return self.kinematics.rate(self.kinematics.column(point.position or (0, 0, 0)))

    def _attitude(self, body: Body) -> sp.Matrix:
        read = self.kinematics.read
        if body.attitude is Attitude.ANGLE:
            return sp.rot_ccw_axis3(read(body.rotation[0]))
        if body.attitude is Attitude.MATRIX:
            return sp.Matrix(3, 3, body.rotation).applyfunc(read)
        if body.attitude is Attitude.QUATERNION:
            return rotation_matrix(body.rotation).applyfunc(read)
        return sp.eye(3)

    def _angular_velocity(self, body: Body) -> sp.Matrix:
        rate = self.kinematics.rate
        if body.angular_velocity is not None:
            return self.kinematics.column(body.angular_velocity)
        if body.attitude is Attitude.ANGLE:
            return _column([0, 0, *rate(self.kinematics.column(body.rotation))])
        if body.attitude is Attitude.QUATERNION:
            e = self.kinematics.column(body.rotation)
            d, v, dv = rate(e), e[1:, :], rate(e)[1:, :]
            return tidy(2 * (e[0] * dv - d[0] * v - v.cross(dv)) / e.dot(e))
        R = self._attitude(body)
        spin = R.T * rate(_column(list(R))).reshape(3, 3)
        return tidy(_column([spin[2, 1], spin[0, 2], spin[1, 0]]))

    def _translation(self, item: Particle | Body) -> None:
        mass, v = self.kinematics.read(item.mass), self._velocity(item)
        V = v.jacobian(self.s.u)
        if isinstance(item, Body) or not item.part:
            self.velocities[item.name] = v
        self.M += mass * V.T * V
        self.f -= mass * V.T * self.kinematics.rate(v)
        self._act(mass * V.T * self._gravity)

    def _rotation(self, body: Body) -> None:
        w = self._angular_velocity(body)
        entries = (0, 0, 0, 0, 0, 0, 0, 0, *body.inertia) if len(body.inertia) == 1 else body.inertia
        J = sp.Matrix(3, 3, entries).applyfunc(self.kinematics.read)
        W = w.jacobian(self.s.u)
        self.angular_velocities[body.name] = self._attitude(body) * w
        self.M += W.T * J * W
        axes = body.axes_angular_velocity
        turn = w if axes is None else self.kinematics.column(axes)
        self.f -= W.T * (J * self.kinematics.rate(w) + turn.cross(J * w))

    def _act(self, force: sp.Matrix) -> None:
        """An active generalised force (nu, 1) joins f."""
        self.active += force
        self.f += force

    def _apply(self, velocity: sp.Matrix, force: sp.Matrix) -> None:
        self._act(velocity.jacobian(self.s.u).T * force)

    def _generalized(self, key: sp.Expr, value: sp.Expr) -> sp.Matrix:
        st = self.statement
        if key not in st.speeds:
            return self.kinematics.C[st.coordinates.index(key), :].T * value
        column = sp.zeros(len(st.speeds), 1)
        column[st.speeds.index(key)] = value
        return column

    def _lagrange(self, energy: Energy) -> None:
        """Lagrange's equations, C^T (d/dt T_qd - T_q + V_q), with T(q, q', t) and q'' = C u' + its rest at u' = 0."""
        k, s = self.kinematics, self.s
        T, V = self._kinetic_in_rates(energy.kinetic), k.read(energy.potential)
        momentum = _column([T.diff(v) for v in s.qd])
        H = momentum.jacobian(s.qd)
        left = _column([T.diff(v) for v in s.q])
        left -= momentum.jacobian(s.q) * _column(s.qd) + momentum.diff(s.t) + H * k.rate(k.qdot)
        rates = dict(zip(s.qd, k.qdot, strict=True))
        self.M += k.C.T * H.xreplace(rates) * k.C
        self.f += k.C.T * left.xreplace(rates)
        self._act(-k.C.T * _column([V.diff(v) for v in s.q]))

    def _kinetic_in_rates(self, kinetic: sp.Expr) -> sp.Expr:
        k, s = self.kinematics, self.s
        T = rational(kinetic).xreplace(s.atoms)
        if not T.free_symbols & {*s.u}:
            return T
        return T.xreplace(dict(zip(s.u, k.C.LUsolve(_column(s.qd) - k.D), strict=True)))


def _constraints(statement: Statement, rows: Sequence[Row], k: SymbolicKinematics) -> tuple[sp.Matrix, sp.Matrix]:
    """A (nc, nu) and b (nc, 1) of A u' = b."""
    stated = {c.name: c for c in statement.constraints}
    A, b = sp.zeros(0, len(k.s.u)), sp.zeros(0, 1)
    for row in rows:
        constraint = stated[row.name]
        residual = k.column([constraint.expression])
        if constraint.level is Level.ACCELERATION:
            A = A.col_join(residual.jacobian(k.s.ud))
            b = b.col_join(-residual.xreplace(dict.fromkeys(k.s.ud, sp.S.Zero)))
            continue
        psi = k.rate(residual) if constraint.level is Level.POSITION else residual
        A, b = A.col_join(psi.jacobian(k.s.u)), b.col_join(-k.rate(psi))
    return A, b


def _symbols(functions: Sequence[sp.Expr], mark: str = "") -> list[sp.Symbol]:
    return [sp.Symbol(f.func.__name__ + mark, real=True) for f in functions]


def _column(entries: Sequence[Any]) -> sp.Matrix:
    return sp.Matrix(len(entries), 1, list(entries))


def _jacobian(column: sp.Matrix, symbols: Sequence[sp.Symbol]) -> sp.Matrix:
    return column.jacobian(symbols) if symbols else sp.zeros(column.rows, 0)
