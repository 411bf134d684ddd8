"""Contributions to a model, in SymPy expressions: inertia, forces, constraints, outputs and drawing data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.journal import said
from dalembert.model.markers import GROUND, Marker, by_name
from dalembert.model.model_symbols import Expression, ModelSymbols
from dalembert.model.reading import listed
from dalembert.model.shapes import link_through
from dalembert.model.statement import Body, Constraint, Energy, Force, Line, Matrices, Output, Particle, Point, Torque

if TYPE_CHECKING:
    from dalembert.model.laws import StatedLaw

Components = Sequence[Expression]


class ModelContributions(ModelSymbols):
    """The verbs that add to a statement. Joints, contacts, beams and force elements are composed of them."""

    # -- inertia and forces ---------------------------------------------------------------------------------------

    @said()
    def particle(
        self,
        name: str,
        *,
        mass: Expression,
        position: Components | None = None,
        velocity: Components | None = None,
    ) -> Particle:
        """A particle at `position`, or with a `velocity` in terms of the speeds."""
        return self._bodies.particle(name, mass, position, velocity)

    @said()
    def body(
        self,
        name: str,
        *,
        mass: Expression,
        inertia: Any,
        position: Components | None = None,
        rotation: Any = None,
        velocity: Components | None = None,
        angular_velocity: Components | None = None,
        axes_angular_velocity: Components | None = None,
    ) -> Body:
        """A rigid body with its mass centre at `position`.

        Without a stated motion it gets absolute coordinates. If the inertia is one number (planar), these are `name`_x,
        `name`_y and the angle `name`_a with speeds `name`_vx, `name`_vy, `name`_w. Otherwise they are `name`_x, _y, _z
        and a unit quaternion `name`_e0.._e3 with speeds `name`_vx, _vy, _vz and the angular velocity _wx, _wy, _wz in
        body axes.

        `rotation` is an angle about z (planar), a 3x3 matrix whose columns are the body axes, or a unit quaternion
        (four entries, scalar first, or a `Quaternion`). `inertia` is central, in body axes: a number about z, three
        principal moments, or a symmetric 3x3 matrix. `angular_velocity` (three components in body axes, or a number
        about z) may replace `rotation`.

        Inertia and angular velocity may be stated in axes that are not fixed in the body, such as those of a fork for
        its wheel. Then `axes_angular_velocity` is the angular velocity of these axes, and there is no `rotation`.
        """
        return self._bodies.body(
            name, mass, inertia, position=position, rotation=rotation, velocity=velocity,
            angular_velocity=angular_velocity, axes_angular_velocity=axes_angular_velocity,
        )  # fmt: skip

    @property
    def ground(self) -> Body:
        """The inertial frame, to which joints and springs can be attached."""
        return GROUND

    @said()
    def marker(
        self, body: Body, place: Components, *, axis: Components | None = None, across: Components | None = None
    ) -> Marker:
        """A point fixed in a body (or in `model.ground`) with axes: z along `axis`, x towards `across`, in body axes.

        The default axis is z. Without `across`, x is normal to z within the plane of the first two body axes.
        """
        return self._bodies.marker(body, place, axis, across)

    @said()
    def gravity(self, acceleration: Components) -> None:
        """Uniform gravity on every particle and body, as an acceleration vector."""
        g = self._read.vector(acceleration, "gravity")
        old = self.statement.gravity
        self.statement.gravity = (old[0] + g[0], old[1] + g[1], old[2] + g[2])

    @said()
    def force(self, vector: Components, *, at: Point | Components) -> None:
        """A force (inertial components) at a particle, at a body's mass centre, or at a point given by its position."""
        if isinstance(at, str):
            self._read.fault(f"point of a force must be a particle, a body or a position, got {at!r}{by_name(at)}")
            return
        point = at if isinstance(at, Point) else Point("point", self._read.vector(at, "point of a force"))
        self.statement.forces.append(Force(self._read.vector(vector, f"force at `{point.name}`"), point))

    @said()
    def torque(self, vector: Any, *, on: Body) -> None:
        """A torque on a body: a number (about z) or three inertial components."""
        if not isinstance(on, Body):
            what = f"`{on.name}`" if isinstance(on, Point) else f"{on!r}{by_name(on)}"
            self._read.fault(f"a torque acts on a body, not on {what}; use model.force for particles")
            return
        self.statement.torques.append(Torque(self._read.axial(vector, f"torque on `{on.name}`"), on))

    @said()
    def generalized_force(self, forces: Mapping[sp.Expr, Expression]) -> None:
        """Generalised forces by coordinate (virtual work per unit of q) or by speed (power per unit of u)."""
        if not isinstance(forces, Mapping):
            self._read.fault(f"generalised forces must be a mapping {{coordinate or speed: force}}, got {forces!r}")
            return
        read = {
            self._names.symbol(key): self._read.scalar(value, f"generalised force along `{key}`")
            for key, value in forces.items()
        }
        self.statement.generalized_forces.append(read)

    @said()
    def energy(self, *, kinetic: Expression = 0, potential: Expression = 0) -> None:
        """A kinetic and a potential energy, treated by Lagrange's equations."""
        self.statement.energies.append(
            Energy(self._read.scalar(kinetic, "kinetic energy"), self._read.scalar(potential, "potential energy"))
        )

    @said()
    def matrices(self, *, mass: Any, force: Any) -> None:
        """A raw contribution M u' = F in the order of the speeds: `mass` (nu, nu) symmetric, `force` (nu,)."""
        matrix, column = self._read.matrix(mass, "matrices: mass"), self._read.column(force, "matrices: force")
        if matrix is None or column is None:
            return
        if matrix.rows != matrix.cols or matrix.rows != column.rows:
            self._read.fault(f"matrices: mass is {matrix.shape} and force is ({column.rows},); they must match")
            return
        self.statement.matrices.append(Matrices(matrix, column))

    # -- constraints ----------------------------------------------------------------------------------------------

    @said()
    def constrain(
        self,
        expression: Any,
        *,
        name: str | None = None,
        servo: Any = None,
        unit: str | Sequence[str] = "",
        law: StatedLaw | None = None,
    ) -> Constraint | tuple[Constraint, ...]:
        """One constraint `expression` = 0, or several if a list is given (named `name[0]`, `name[1]`, ...).

        Its level follows from its variables: coordinates (position), speeds or coordinate rates (velocity), rates of
        speeds (acceleration). The unknown `servo`, if given, enforces the constraint through the forces in which it
        appears. `unit` is the unit of the residual in messages, such as "m"; one for all, or one for each. `law` is a
        law of your own, see `dalembert.model.laws`.
        """
        name = name or f"constraint_{len(self.statement.constraints) + 1}"
        return self._constraints.constrain(expression, name, servo, unit, law)

    @said()
    def condition(self, expression: Any, *, name: str | None = None, unit: str = "") -> Constraint:
        """A constraint without a reaction: the other constraints and the equations of motion keep it once it holds.

        Initial states must satisfy it, drift controls restore it, the certificate judges it. Conditions of this kind
        come with servo constraints of higher index: where an unknown cannot influence its constraint, but a hidden one
        behind it. `compile` finds those hidden behind accelerations by itself; state others beside what enforces them:

            model.condition(path, name="path")
            model.constrain(heading, name="heading", servo=Md)
        """
        name = name or f"condition_{len(self.statement.constraints) + 1}"
        return self._constraints.condition(expression, name, unit)

    @said()
    def law(self, expression: Any, *, determines: Any, name: str | None = None, unit: str = "") -> Constraint:
        """A law f(r, q, u, t) = 0 of a reaction or another unknown; `expression` = 0 determines one unknown.

        It may contain coordinates, speeds, accelerations, parameters, time, all unknowns and the multipliers of
        constraints, `constraint.multiplier`. Creep that grows with the square root of the normal force, for example:

            floor = model.constrain(y, name="floor")
            (T,) = model.unknowns("T")
            model.force([T, 0], at=P)
            model.law(T + k * sqrt(floor.multiplier) * x.diff(), determines=T)

        All laws are solved together with the accelerations and multipliers by Newton's method, whose start can be given
        with `unknowns`.
        """
        name = name or f"law_{sum(not c.law.restrains for c in self.statement.constraints) + 1}"
        return self._constraints.law(expression, name, determines, unit)

    @said()
    def nonideal(
        self,
        constraint: Constraint | str | None = None,
        *,
        force: Mapping[sp.Expr, Expression] | None = None,
        vector: Components | None = None,
        friction: Expression | None = None,
        at: Point | Components | None = None,
        surface_velocity: Components | None = None,
        regularisation: Expression = 1e-4,
    ) -> None:
        """A non-ideal part of the constraint force, which may do virtual work; it counts as a reaction.

        Prescribed (Udwadia and Kalaba's C of M u' = f + A^T la + C, any function of q, u, t):

            model.nonideal(force={x: -c * vx})             by coordinate or speed, like `generalized_force`
            model.nonideal(vector=[-c * vx, 0], at=P)      in inertial components, like `force`

        Coulomb friction, proportional to the reaction of a constraint (or its name) at a particle, body or point:

            model.nonideal(track, friction=mu, at=P, regularisation=1e-4, surface_velocity=[belt, 0])

        Its force on P is -mu N v / sqrt(v.v + v0^2). N = |la| |n| is the normal force: n is the reaction at P per unit
        of the multiplier, found from A^T = J^T n with J = dv/du. It is solved for together with the accelerations. v is
        the velocity of P relative to the surface, without its part along n. If `surface_velocity` contains speeds, the
        opposite force acts on the body that carries the surface. v0 = `regularisation` > 0 is a speed, small compared
        with those of interest: a sticking contact creeps slower than v0, and a smaller v0 makes the equations stiffer.
        `mu` >= 0 and v0 > 0 must hold for the default parameter values; mu may vary with q, u and t. The sharing of a
        load among redundant constraints is undetermined: where the motion depends on it, `diagnose` and the certificate
        name them. Equal coefficients and directions of sliding, as of a floor stated twice, leave it unique.
        """
        stated = [name for name, v in (("force", force), ("vector", vector), ("friction", friction)) if v is not None]
        if len(stated) != 1:
            found = " and ".join(stated) or "none"
            self._read.fault(f"model.nonideal takes one of force=, vector= and friction=, got {found}")
        elif friction is not None:
            self._nonideal.rub(constraint, friction, at, regularisation, surface_velocity)
        elif constraint is not None or surface_velocity is not None:
            self._read.fault("model.nonideal: a constraint and a surface velocity belong to friction; leave them out")
        elif vector is not None:
            self._nonideal.prescribe_at(vector, at)
        else:
            self._nonideal.prescribe_along(force, at)

    # -- what is to be seen -----------------------------------------------------------------------------------------

    @said()
    def output(self, name: str, expression: Any) -> Output:
        """Name a quantity to be read along a motion: `motion["tip"]`, tables, figures, files.

        `expression` is one expression of coordinates, speeds, their rates, parameters, unknowns and time, in which the
        symbol of a constraint's name stands for its multiplier. A list has the components `tip[0]`, `tip[1]`, a mapping
        `{"x": ..., "y": ...}` has `tip.x` and `tip.y`.
        """
        return self._outputs.output(name, expression)

    @said()
    def line(self, points: Sequence[Point | Components], *, name: str | None = None) -> None:
        """A polyline drawn in animations, through particles, bodies or positions."""
        name = name or f"line_{len(self.statement.lines) + 1}"
        read = []
        entries = listed(points)
        if entries is None:
            self._read.fault(f"line `{name}` must be a list of points, got {points!r}")
        link = link_through(name, entries or ())
        if link is not None:
            self.statement.lines.append(link)
            return
        for point in entries or ():
            if isinstance(point, Point) and point.position is None:
                self._read.fault(f"line `{name}`: `{point.name}` has no position to draw")
            elif isinstance(point, Point):
                read.append(point.position)
            else:
                read.append(self._read.vector(point, f"line `{name}`"))
        self.statement.lines.append(Line(name, tuple(p for p in read if p is not None)))
