"""Contacts: skates, wheels, discs, tyres, balls and ellipsoids, which roll, or slide with Coulomb friction.

A contact is a joint (its reaction is that at the point of contact): `first` is the surface, `second` the body. The rows
are stated in inertial components of the surface's axes. Those at velocity level, which keep it from slipping, are
linear in the speeds but in general not integrable; where it may slide, friction goes with the row that keeps it on the
surface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.joint_templates import JointRow, JointRows, Rows, fill_rows, moving, still
from dalembert.model.journal import said
from dalembert.model.markers import GROUND, Marker, angular_velocity_of, has_axes, marker_at, velocity_of
from dalembert.model.shapes import Link, blade_of, disc_of, ellipsoid_of, wheel_of
from dalembert.model.statement import Constraint, Joint, Point, Vector
from dalembert.model.time_symbols import time_symbol
from dalembert.model.vectors import ORIGIN, cross, dot, minus, plus, times

if TYPE_CHECKING:
    from dalembert.model.contributions import ModelContributions

Expression = Any
BLADE = sp.Rational(1, 5)  # length of a skate as it is drawn


class Contacts:
    """The contacts of a model. A plane is a marker whose z axis is its normal (`model.ground`: the plane z = 0)."""

    def __init__(self, model: ModelContributions) -> None:
        self._model = model

    @said("contacts")
    def skate(self, name: str, blade: Point) -> Joint:
        """A knife edge: no velocity across the blade, which lies along the x axis of the marker `blade`."""
        end = self._marker(blade, name)
        self._draw(end, blade_of(name, end, BLADE))
        plane = self._plane(None, name)
        return self._contact("skate", name, plane, end, [self._velocity_rows("skate", _held_across, plane, end)])

    @said("contacts")
    def wheel(self, name: str, hub: Point, *, radius: Expression, spin: Expression) -> Joint:
        """A wheel on a vehicle that moves in the plane, rolling along the x axis of `hub` without slip.

        `spin` is its rate of turning about the axle, forward positive: the hub advances by `radius` times it and does
        not move sideways.
        """
        end, r, plane = self._marker(hub, name), self._scalar(radius, name), self._plane(None, name)
        self._draw(end, wheel_of(name, end, r))
        numbers = [r, self._scalar(spin, name)]
        return self._contact("wheel", name, plane, end, [self._velocity_rows("wheel", _rolling, plane, end, numbers)])

    @said("contacts")
    def disc(
        self,
        name: str,
        hub: Point,
        *,
        radius: Expression,
        tube: Expression = 0,
        plane: Point | None = None,
        friction: Expression | None = None,
        regularisation: Expression = 1e-4,
    ) -> Joint:
        """A disc about the z axis of the marker `hub` that rolls on a plane; with `tube` > 0 its rim is a torus.

        One constraint keeps the lowest point of the rim on the plane, two keep the material point there from slipping;
        a plane that moves (a turntable) carries it along. `radius` is that of the centre line of the tube. With
        `friction` it slides instead, see `sphere`.
        """
        end, ground, r = self._marker(hub, name), self._plane(plane, name), self._scalar(radius, name)
        self._draw(end, disc_of(name, end, r))
        numbers = [r, self._scalar(tube, name)]
        return self._touch("disc", name, ground, end, _below_disc, numbers, friction, regularisation)

    @said("contacts")
    def sphere(
        self,
        name: str,
        centre: Point,
        *,
        radius: Expression,
        plane: Point | None = None,
        friction: Expression | None = None,
        regularisation: Expression = 1e-4,
    ) -> Joint:
        """A ball that rolls on a plane without slip; a plane that moves (a turntable) carries it along.

        With `friction`, a coefficient mu, it may slide: one constraint keeps it on the plane, and at the material point
        of contact acts Coulomb friction -mu N v / sqrt(v.v + v0^2), v0 = `regularisation`, as `model.nonideal` says.
        `friction=0` is a smooth plane.
        """
        end, ground, r = self._marker(centre, name), self._plane(plane, name), self._scalar(radius, name)
        self._draw(end, disc_of(name, end, r))
        return self._touch("sphere", name, ground, end, _below_sphere, [r], friction, regularisation)

    @said("contacts")
    def ellipsoid(
        self,
        name: str,
        centre: Point,
        *,
        half_axes: Sequence[Expression],
        plane: Point | None = None,
        friction: Expression | None = None,
        regularisation: Expression = 1e-4,
    ) -> Joint:
        """An ellipsoid that rolls on a plane without slip; with `friction` it slides, see `sphere`.

        `half_axes` are those along x, y and z of the marker `centre`; the mass centre may be elsewhere in the body.
        """
        end, ground = self._marker(centre, name), self._plane(plane, name)
        given = list(half_axes) if isinstance(half_axes, Sequence) and not isinstance(half_axes, str) else []
        if len(given) != 3:
            self._model.note(f"contact `{name}`: half_axes must be three lengths, along x, y and z, got {half_axes!r}")
            given = [1, 1, 1]  # any will do after a fault
        numbers = [self._scalar(axis, name) for axis in given]
        self._draw(end, ellipsoid_of(name, end, *numbers))
        return self._touch("ellipsoid", name, ground, end, _below_ellipsoid, numbers, friction, regularisation)

    @said("contacts")
    def speed_of_rolling(self, name: str, hub: Point, *, radius: Expression, spin: Expression) -> Constraint:
        """Rolling as ONE constraint that is not linear in the speeds: v.v = (radius * spin)^2 at the hub.

        It determines the magnitude of the velocity only, as in the Appell-Hamel mechanism: other constraints must
        determine the direction. Its gradient vanishes at rest, where it does not constrain anything.
        """
        v = velocity_of(self._marker(hub, name), self._model.t)
        advance = self._scalar(radius, name) * self._scalar(spin, name)
        stated = self._model.constrain(dot(v, v) - advance**2, name=name)
        return stated[0] if isinstance(stated, tuple) else stated

    # -- inside ---------------------------------------------------------------------------------------------------

    def _touch(
        self,
        shape: str,
        name: str,
        plane: Marker,
        end: Marker,
        drop: Drop,
        numbers: Sequence[sp.Expr],
        friction: Expression | None,
        regularisation: Expression,
    ) -> Joint:
        """A body on a plane at a point `drop` away from its hub, rolling there or sliding."""
        if not end.placed:
            self._model.note(f"contact `{name}`: `{end.body.name}` has no position to keep on the plane; state it")
        if end.body is plane.body:
            self._model.note(f"contact `{name}` lets `{end.body.name}` roll on itself; give another plane")
        if friction is None:
            return self._roll(f"rolling {shape}", name, plane, end, drop, numbers)
        away = drop(plane, end, *numbers)
        return self._slide(f"sliding {shape}", name, plane, end, away, friction, regularisation)

    def _roll(self, kind: str, name: str, plane: Marker, end: Marker, drop: Drop, numbers: Sequence[sp.Expr]) -> Joint:
        """The point of contact on the plane and without velocity relative to it."""
        above, slipping = _heights(drop), _slips(drop)
        height = fill_rows(kind, above, still(plane, end, self._model.t), numbers)
        rows = [height or JointRows.of(above(plane, end, *numbers))]
        rows.append(self._velocity_rows(kind, slipping, plane, end, numbers))
        point = end.moved_to(lambda _: plus(end.position or ORIGIN, drop(plane, end, *numbers)))
        return self._contact(kind, name, plane, point, rows)

    def _slide(
        self, kind: str, name: str, plane: Marker, end: Marker, away: Vector, friction: Any, regularisation: Any
    ) -> Joint:
        """The point of contact, `away` from the hub, on the plane; friction against its sliding goes with that row."""
        mu, v0 = self._scalar(friction, name), self._scalar(regularisation, name)
        own, carried, n = _own_velocity(end, away), _carried_velocity(plane, end, away), plane.axis(2)
        sliding = minus(own, carried)
        rubbing = times(-mu / sp.sqrt(dot(sliding, sliding) + v0**2), sliding)
        row = JointRow(dot(_arm(plane, end, away), n), plus(n, rubbing), ORIGIN, "m")
        place = plus(end.position or ORIGIN, away)
        joint = self._contact(kind, name, plane, end.moved_to(lambda _: place), [JointRows.of([row])])
        point, surface = Point(f"contact of {name}", place, own), carried if any(carried) else None
        self._model.nonideal(name, friction=mu, at=point, regularisation=v0, surface_velocity=surface)
        return joint

    def _velocity_rows(
        self, kind: str, make: Rows, plane: Marker, end: Marker, numbers: Sequence[sp.Expr] = ()
    ) -> JointRows:
        filled = fill_rows(kind, make, moving(plane, end, self._model.t), numbers)
        return filled or JointRows.of(make(plane, end, *numbers))

    def _contact(self, kind: str, name: str, plane: Marker, end: Marker, parts: Sequence[JointRows]) -> Joint:
        """Rows with the direction in which each pushes the body at the point of contact."""
        labels, rows = [], [row for part in parts for row in zip(part.expressions, part.units, strict=True)]
        for k, (expression, unit) in enumerate(rows):
            stated = self._model.constrain(expression, name=f"{name}[{k}]" if len(rows) > 1 else name, unit=unit)
            labels.append(stated.name if isinstance(stated, Constraint) else stated[0].name)
        forces: Any = lambda _: tuple(force for part in parts for force in part.pushes()[0])  # noqa: E731
        joint = Joint(name, kind, plane, end, tuple(labels), forces, torques=(ORIGIN,) * len(rows))
        self._model.statement.joints.append(joint)
        return joint

    def _draw(self, end: Marker, shape: Link) -> None:
        if end.placed:
            self._model.statement.shapes.append(shape)

    def _marker(self, point: Any, name: str) -> Marker:
        end = marker_at(point, self._model.t)
        if end is not None and has_axes(end):
            return end
        what = repr(point) if end is None else f"`{end.body.name}`, which has no rotation"
        self._model.note(f"contact `{name}` needs a marker or a body with axes, not {what}")
        return Marker("ground", GROUND.position, GROUND.velocity)

    def _plane(self, plane: Point | None, name: str) -> Marker:
        return self._marker(GROUND if plane is None else plane, name)

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"contact `{name}`")


# -- rows -------------------------------------------------------------------------------------------------------------

Drop = Callable[..., Vector]  # from the hub to the point of contact, of the plane, the hub and numbers


def _held_across(_: Marker, end: Marker) -> list[JointRow]:
    across = end.axis(1)
    return [JointRow(dot(velocity_of(end, time_symbol()), across), across, ORIGIN, "m/s")]


def _rolling(_: Marker, end: Marker, radius: sp.Expr, spin: sp.Expr) -> list[JointRow]:
    along, across = end.axis(0), end.axis(1)
    v = velocity_of(end, time_symbol())
    return [
        JointRow(dot(v, along) - radius * spin, along, ORIGIN, "m/s"),
        JointRow(dot(v, across), across, ORIGIN, "m/s"),
    ]


def _below_disc(plane: Marker, end: Marker, radius: sp.Expr, tube: sp.Expr) -> Vector:
    n, a = plane.axis(2), end.axis(2)
    down = minus(n, times(dot(n, a), a))
    return minus(times(-radius / sp.sqrt(dot(down, down)), down), times(tube, n))


def _below_sphere(plane: Marker, _: Marker, radius: sp.Expr) -> Vector:
    return times(-radius, plane.axis(2))


def _below_ellipsoid(plane: Marker, end: Marker, *half_axes: sp.Expr) -> Vector:
    """Point of the ellipsoid at which the normal n points down: -(a^2 nx, b^2 ny, c^2 nz) / sqrt(a^2 nx^2 + ...)."""
    axes = [end.axis(k) for k in range(3)]
    parts = [half * dot(plane.axis(2), axis) for half, axis in zip(half_axes, axes, strict=True)]
    depth = sp.sqrt(sum((part**2 for part in parts), sp.S.Zero))
    away = ORIGIN
    for half, part, axis in zip(half_axes, parts, axes, strict=True):
        away = minus(away, times(half * part / depth, axis))
    return away


def _heights(drop: Drop) -> Rows:
    """One row: the point of contact on the plane."""

    def height(plane: Marker, end: Marker, *numbers: sp.Expr) -> list[JointRow]:
        n = plane.axis(2)
        return [JointRow(dot(_arm(plane, end, drop(plane, end, *numbers)), n), n, ORIGIN, "m")]

    return height


def _slips(drop: Drop) -> Rows:
    """Two rows: the material point of contact without velocity relative to the plane."""

    def slip(plane: Marker, end: Marker, *numbers: sp.Expr) -> list[JointRow]:
        away = drop(plane, end, *numbers)
        relative = minus(_own_velocity(end, away), _carried_velocity(plane, end, away))
        return [JointRow(dot(relative, axis), axis, ORIGIN, "m/s") for axis in (plane.axis(0), plane.axis(1))]

    return slip


def _own_velocity(end: Marker, away: Vector) -> Vector:
    """Velocity of the body's material point at the point of contact, in inertial axes."""
    t = time_symbol()
    return plus(velocity_of(end, t), cross(angular_velocity_of(end.body, t), away))


def _carried_velocity(plane: Marker, end: Marker, away: Vector) -> Vector:
    """Velocity of the plane's material point at the point of contact, in inertial axes."""
    t = time_symbol()
    return plus(velocity_of(plane, t), cross(angular_velocity_of(plane.body, t), _arm(plane, end, away)))


def _arm(plane: Marker, end: Marker, away: Vector) -> Vector:
    """The way from the origin of the plane to the point of contact, `away` from the hub."""
    return minus(plus(end.position or ORIGIN, away), plane.position or ORIGIN)
