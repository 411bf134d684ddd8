"""From lowered statements to M u' = f + r: every derivative by automatic differentiation of the graph.

Kane's way for particles and bodies: with v = V u + v_t, a body adds V^T m V to M and V^T (F - m v_t-dot) to f, where
the dot is taken with u' = 0 (Bajodah et al., eq. 23-34). Lagrange's way for energies, projected onto the speeds by C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import casadi as ca
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.points import Points
from dalembert.equations.rotations import crossed, turned_back_vectors, turned_vectors
from dalembert.equations.symbols import Kinematics, Symbols, atoms_of
from dalembert.equations.turning import Turning
from dalembert.model.statement import Attitude, Body, Energy, Force, Level, Particle, Statement, Torque
from dalembert.solve.graphs import solve_square

FORCES_ONE_BY_ONE = 16  # forces above which they are projected by one sweep
WIDEST_PRODUCT = 2000  # entries of d(velocity)/du above which products with it are not tried


@dataclass
class Dynamics:
    """Sums over the whole model: M (nu, nu), inertial and active forces (nu, 1), energies and power."""

    M: ca.SX
    inertial: ca.SX  # inertia forces at u' = 0, with their sign on the right-hand side
    conservative: ca.SX  # forces that follow from the potential
    applied: ca.SX  # all other active forces
    prescribed: ca.SX  # non-ideal parts of the reaction that are known beforehand
    B: ca.SX  # (nu, ny): how the unknowns act that act linearly
    E: ca.SX  # (nu, 1): forces of the other unknowns, see `nonlinear_unknowns`
    kinetic: ca.SX = field(default_factory=lambda: ca.SX(0))
    potential: ca.SX = field(default_factory=lambda: ca.SX(0))
    velocities: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # of all named points, in inertial axes

    @property
    def f(self) -> ca.SX:
        """f of M u' = f + r, without the prescribed part of the reaction."""
        return self.inertial + self.conservative + self.applied

    @property
    def active(self) -> ca.SX:
        """The active forces in f."""
        return self.conservative + self.applied


class Derivation:
    """Collects the contributions of a statement; `dynamics` holds the sums."""

    def __init__(self, statement: Statement, symbols: Symbols, find_kinematics: Callable[[], Kinematics]) -> None:
        self.statement, self.symbols, self._find_kinematics = statement, symbols, find_kinematics
        nu, ny = symbols.u.shape[0], symbols.y.shape[0]
        self.dynamics = Dynamics(
            ca.SX(nu, nu), ca.SX(nu, 1), ca.SX(nu, 1), ca.SX(nu, 1), ca.SX(nu, 1), ca.SX(nu, ny), ca.SX(nu, 1)
        )  # structurally empty, so that only terms that exist are ever computed

    @cached_property
    def kinematics(self) -> Kinematics:
        """q' = C u + D, found when first asked for."""
        return self._find_kinematics()

    @cached_property
    def low(self) -> Lowering:
        """The lowering of expressions that knows the kinematics."""
        return self.kinematics.lowering(self.statement)

    @cached_property
    def turning(self) -> Turning:
        """Attitudes of bodies."""
        return Turning(self.statement, self.kinematics, self.low)

    @cached_property
    def points(self) -> Points:
        """Positions and velocities of points."""
        return Points(self.kinematics, self.low, self.turning)

    def run(self) -> Dynamics:
        """All contributions, added up."""
        st = self.statement
        self._move()
        self.dynamics.applied += self._projected(st.forces, st.torques)
        for forces in st.generalized_forces:
            for key, value in forces.items():
                self.dynamics.applied += self._generalized(key, self.low(value))
        if st.energies:
            self._lagrange(st.energies)
        for raw in st.matrices:
            self._raw(self.low.matrix(raw.mass), self.low.matrix(raw.force))
        self._prescribe()
        # Half of M is enough: the products of the other half are never computed, most of the work of a long chain.
        self.dynamics.M = ca.triu2symm(ca.triu(self.dynamics.M))
        return self.dynamics

    def axes_angular_velocity(self, body: Body) -> ca.SX:
        """Angular velocity (3, 1) of the axes in which inertia and angular velocity are stated, in these axes."""
        if body.axes_angular_velocity is None:
            return self.turning.angular_velocity(body)
        return self.low.vector(body.axes_angular_velocity)

    def inertias(self, bodies: Sequence[Body]) -> ca.SX:
        """The inertia matrices (3, 3) of bodies, in their axes, along the diagonal of a matrix (3 n, 3 n)."""
        entries = [
            (3 * k + i % 3, 3 * k + i // 3, entry)
            for k, body in enumerate(bodies)
            for i, entry in ([(8, body.inertia[0])] if len(body.inertia) == 1 else enumerate(_transposed(body.inertia)))
            if entry is not sp.S.Zero
        ]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        pattern = ca.Sparsity.triplet(3 * len(bodies), 3 * len(bodies), rows, columns)
        return ca.sparsify(ca.SX(pattern, self.low.vector(values)))

    # -- contributions ---------------------------------------------------------------------------------------------

    def _move(self) -> None:
        """Mass matrix, inertia forces and weights of all particles and bodies at once."""
        st, d, k = self.statement, self.dynamics, self.kinematics
        items: list[Particle | Body] = [*st.particles, *st.bodies]
        bodies = st.bodies
        if not items:
            return
        n, gravity = len(items), self.low.vector(st.gravity)
        steady = not gravity_varies(gravity, k.symbols.t)
        rooted = [steady and item.position is not None for item in items]
        masses = self.low.vector([item.mass for item in items])
        angular = self.turning.angular_velocities(bodies)
        velocity = ca.vertcat(self.points.velocities(items), angular)
        mass = ca.diagcat(ca.diag(ca.vec(ca.repmat(masses.T, 3, 1))), self.inertias(bodies))
        momentum = ca.mtimes(mass, velocity)
        turning = angular
        if any(body.axes_angular_velocity is not None for body in bodies):
            turning = ca.vertcat(*[self.axes_angular_velocity(body) for body in bodies])
        resisting = ca.mtimes(mass, k.rate(velocity)) + ca.vertcat(ca.SX(3 * n, 1), crossed(turning, momentum[3 * n :]))
        weights = ca.vec(ca.mtimes(gravity, masses.T))
        potential, applied = (
            ca.vertcat(_blocks(weights, [k for k in range(n) if rooted[k] is kind]), ca.SX(3 * len(bodies), 1))
            for kind in (True, False)
        )
        M, inertial, conservative, active = _shortest(
            k.symbols.u, velocity, mass, momentum, [resisting, potential, applied]
        )
        d.velocities = self._named(items, velocity)
        d.kinetic += ca.dot(velocity, momentum) / 2
        d.M += M
        d.inertial -= inertial
        d.conservative += conservative
        d.applied += active
        standing = [k for k in range(n) if rooted[k]]
        if standing:
            places = self.points.positions([items[k] for k in standing])
            d.potential -= ca.dot(weights[_threes(standing)], places)

    def _named(self, items: Sequence[Particle | Body], velocity: ca.SX) -> ca.SX:
        """Velocities of whole particles and of bodies, then angular velocities of bodies, in inertial axes."""
        n, bodies = len(items), self.statement.bodies
        places = [k for k, item in enumerate(items) if isinstance(item, Body) or not item.part]
        whole, angular = velocity[_threes(places)], velocity[3 * n :]
        if any(body.attitude is not Attitude.ANGLE for body in bodies):  # about z it is the same in both axes
            both = self.turning.attitudes(bodies), ca.reshape(angular, 3, len(bodies))
            angular = ca.vec(turned_vectors()(*both))
        return ca.vertcat(whole, angular)

    def _projected(self, forces: Sequence[Force], torques: Sequence[Torque] = ()) -> ca.SX:
        """Generalised force (nu, 1) of forces and torques; of many by one sweep, as a jacobian is of all speeds."""
        u, bodies = self.kinematics.symbols.u, [torque.on for torque in torques]
        if not (forces or torques):
            return ca.SX(*u.shape)
        velocities = ca.vertcat(
            self.points.velocities([force.at for force in forces]), self.turning.angular_velocities(bodies)
        )
        pushes = self.low.vector([c for force in forces for c in force.vector])
        twists = ca.reshape(self.low.vector([c for torque in torques for c in torque.vector]), 3, len(bodies))
        if torques:
            twists = turned_back_vectors()(self.turning.attitudes(bodies), twists)
        pushes = ca.vertcat(pushes, ca.vec(twists))
        if len(forces) + len(torques) > FORCES_ONE_BY_ONE:
            return ca.jtimes(velocities, u, pushes, True)
        return ca.mtimes(ca.jacobian(velocities, u).T, pushes)

    def _generalized(self, key: sp.Expr, value: ca.SX) -> ca.SX:
        """Generalised force (nu, 1) of a component along a coordinate or a speed."""
        st = self.statement
        if key in st.speeds:
            column = ca.SX(len(st.speeds), 1)
            column[st.speeds.index(key)] = value
            return column
        return self.kinematics.C[st.coordinates.index(key), :].T * value

    def _prescribe(self) -> None:
        d, st = self.dynamics, self.statement
        d.prescribed += self._projected(st.nonideal_forces)
        for forces in st.nonideal_generalized:
            for key, value in forces.items():
                d.prescribed += self._generalized(key, self.low(value))

    def _lagrange(self, energies: Sequence[Energy]) -> None:
        """Lagrange's equations, C^T (d/dt T_qd - T_q + V_q), with T(q, q', t), q'' = C u' + rest; T and V are sums."""
        d, k, s = self.dynamics, self.kinematics, self.kinematics.symbols
        potential = self._sum(self.low, [energy.potential for energy in energies])
        d.potential += potential
        d.conservative -= ca.mtimes(k.C.T, ca.gradient(potential, s.q))
        T = self._kinetic_in_rates([energy.kinetic for energy in energies])
        momentum = ca.gradient(T, s.qd)
        H = ca.jacobian(momentum, s.qd)
        left = (
            ca.gradient(T, s.q)
            - ca.jtimes(momentum, s.q, s.qd)
            - ca.jtimes(momentum, s.t, ca.SX(1))
            - ca.mtimes(H, k.rate(k.qdot))
        )
        H, left, T = ca.substitute([H, left, T], [s.qd], [k.qdot])
        d.M += ca.mtimes([k.C.T, H, k.C])
        d.inertial += ca.mtimes(k.C.T, left)
        d.kinetic += T

    @staticmethod
    def _sum(low: Lowering, terms: Sequence[sp.Expr]) -> ca.SX:
        """The sum of expressions."""
        return ca.sum1(low.vector(terms))

    def _kinetic_in_rates(self, terms: Sequence[sp.Expr]) -> ca.SX:
        """T(q, q', t): speeds are replaced by their expressions in q' (square kinematics only)."""
        k, s = self.kinematics, self.kinematics.symbols
        T = self._sum(Lowering(atoms_of(self.statement, s)), terms)
        if not ca.depends_on(T, s.u):
            return T
        return ca.substitute(T, s.u, s.qd if k.is_trivial else solve_square(k.C, s.qd - k.D))

    def _raw(self, mass: ca.SX, force: ca.SX) -> None:
        d, u = self.dynamics, self.kinematics.symbols.u
        d.M += mass
        d.applied += force
        d.kinetic += ca.dot(u, ca.mtimes(mass, u)) / 2


def _shortest(
    u: ca.SX, velocity: ca.SX, mass: ca.SX, momentum: ca.SX, forces: Sequence[ca.SX]
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """V^T m V and V^T f for each of three forces, V = d(velocity)/du, by the shorter of two ways.

    Products with V are shorter for few bodies. V^T p by a reverse sweep, and M as its derivative by forward ones, takes
    n^2 operations for a chain of n links where the products take n^3.
    """
    V = ca.jacobian(velocity, u)
    swept = [ca.jtimes(velocity, u, force, True) for force in (momentum, *forces)]
    by_sweeps = [ca.jacobian(swept[0], u), *swept[1:]]
    if V.nnz() > WIDEST_PRODUCT:
        chosen = by_sweeps
    else:
        by_products = [ca.mtimes(V.T, ca.mtimes(mass, V)), *[ca.mtimes(V.T, force) for force in forces]]
        chosen = min((by_products, by_sweeps), key=_length)
    M, first, second, third = (ca.sparsify(e) for e in chosen)
    return M, first, second, third


def _length(expressions: Sequence[ca.SX]) -> int:
    """Instructions it takes to evaluate expressions; of symmetric matrices, first in the list, half is enough."""
    needed = [ca.triu(expressions[0]), *expressions[1:]]
    return int(ca.Function("count", ca.symvar(ca.veccat(*needed)), needed).n_instructions())


def _threes(places: Sequence[int]) -> list[int]:
    """Row indices of the vectors (3, 1) at `places` in a column of stacked vectors."""
    return [3 * k + i for k in places for i in range(3)]


def _blocks(column: ca.SX, places: Sequence[int]) -> ca.SX:
    """A column of stacked vectors, structurally empty but for those at `places`."""
    if not places:
        return ca.SX(*column.shape)
    rows = _threes(places)
    return ca.SX(ca.Sparsity.triplet(column.shape[0], 1, rows, [0] * len(rows)), column[rows])


def gravity_varies(gravity: ca.SX, t: ca.SX) -> bool:
    """Whether gravity depends on time, so that it has no potential to speak of."""
    return bool(ca.depends_on(gravity, t))


def _transposed(entries: Sequence[sp.Expr]) -> Sequence[sp.Expr]:
    """The nine entries of a matrix column by column, given row by row."""
    return [entries[3 * i + j] for j in range(3) for i in range(3)]


@dataclass(frozen=True)
class Constraints:
    """Residuals by level and A u' = b for all of them: position rows first, then velocity, then acceleration."""

    phi: ca.SX  # (np, 1) position residual
    G: ca.SX  # (np, nq) its gradients in q
    psi: ca.SX  # (np + nv, 1) velocity residual: rates of the position rows, then the velocity rows
    gamma: ca.SX  # (na, 1) acceleration residual, with u' in it
    A: ca.SX  # (nc, nu); acceleration rows that are not linear in u' have it in them
    b: ca.SX  # (nc, 1)


def derive_constraints(
    expressions: Sequence[tuple[Level, ca.SX]],
    kinematics: Kinematics,
) -> Constraints:
    """All constraints at acceleration level (Bajodah et al., eq. 12-19); `expressions` sorted by level."""
    s = kinematics.symbols
    column = {level: ca.vertcat(ca.SX(0, 1), *[e for l, e in expressions if l is level]) for level in Level}
    phi = column[Level.POSITION]
    psi = ca.vertcat(kinematics.rate(phi), column[Level.VELOCITY])
    gamma = column[Level.ACCELERATION]
    rest = ca.substitute(gamma, s.ud, ca.SX.zeros(s.ud.shape))
    return Constraints(
        phi,
        ca.jacobian(phi, s.q),
        psi,
        gamma,
        ca.vertcat(ca.jacobian(psi, s.u), ca.jacobian(gamma, s.ud)),
        -ca.vertcat(kinematics.rate(psi), rest),
    )
