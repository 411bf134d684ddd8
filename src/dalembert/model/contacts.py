"""Contacts without slip: skates, wheels, rolling discs, tyres and balls, as constraints on velocities.

A contact is a joint (its reaction is that at the point of contact): `first` is the surface, `second` the body. The rows
are stated in inertial components of the surface's axes; those at velocity level are linear in the speeds but in general
not integrable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.joint_templates import JointRow, JointRows, Rows, fill_rows, moving, still
from dalembert.model.journal import said
from dalembert.model.markers import GROUND, Marker, angular_velocity_of, has_axes, marker_at, velocity_of
from dalembert.model.shapes import Link, blade_of, disc_of, wheel_of
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
        self, name: str, hub: Point, *, radius: Expression, tube: Expression = 0, plane: Point | None = None
    ) -> Joint:
        """A disc about the z axis of the marker `hub` that rolls on a plane; with `tube` > 0 its rim is a torus.

        One constraint keeps the lowest point of the rim on the plane, two keep the material point there from slipping;
        a plane that moves (a turntable) carries it along. `radius` is that of the centre line of the tube.
        """
        end, ground, r = self._marker(hub, name), self._plane(plane, name), self._scalar(radius, name)
        self._draw(end, disc_of(name, end, r))
        return self._roll("rolling disc", name, ground, end, _below_disc, [r, self._scalar(tube, name)])

    @said("contacts")
    def sphere(self, name: str, centre: Point, *, radius: Expression, plane: Point | None = None) -> Joint:
        """A ball that rolls on a plane without slip; a plane that moves (a turntable) carries it along."""
        end, ground, r = self._marker(centre, name), self._plane(plane, name), self._scalar(radius, name)
        self._draw(end, disc_of(name, end, r))
        return self._roll("rolling sphere", name, ground, end, _below_sphere, [r])

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

    def _roll(self, kind: str, name: str, plane: Marker, end: Marker, drop: Drop, numbers: Sequence[sp.Expr]) -> Joint:
        """The point of contact, `drop` away from the hub, on the plane and without velocity relative to it."""
        if not end.placed:
            self._model.note(f"contact `{name}`: `{end.body.name}` has no position to keep on the plane; state it")
        if end.body is plane.body:
            self._model.note(f"contact `{name}` lets `{end.body.name}` roll on itself; give another plane")
        above, slipping = _heights(drop), _slips(drop)
        height = fill_rows(kind, above, still(plane, end, self._model.t), numbers)
        rows = [height or JointRows.of(above(plane, end, *numbers))]
        rows.append(self._velocity_rows(kind, slipping, plane, end, numbers))
        point = end.moved_to(lambda _: plus(end.position or ORIGIN, drop(plane, end, *numbers)))
        return self._contact(kind, name, plane, point, rows)

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


def _heights(drop: Drop) -> Rows:
    """One row: the point of contact on the plane."""

    def height(plane: Marker, end: Marker, *numbers: sp.Expr) -> list[JointRow]:
        n = plane.axis(2)
        return [JointRow(dot(_arm(plane, end, drop(plane, end, *numbers)), n), n, ORIGIN, "m")]

    return height


def _slips(drop: Drop) -> Rows:
    """Two rows: the material point of contact without velocity relative to the plane."""

    def slip(plane: Marker, end: Marker, *numbers: sp.Expr) -> list[JointRow]:
        t, away = time_symbol(), drop(plane, end, *numbers)
        own = plus(velocity_of(end, t), cross(angular_velocity_of(end.body, t), away))
        arm = _arm(plane, end, away)
        carried = plus(velocity_of(plane, t), cross(angular_velocity_of(plane.body, t), arm))
        relative = minus(own, carried)
        return [JointRow(dot(relative, axis), axis, ORIGIN, "m/s") for axis in (plane.axis(0), plane.axis(1))]

    return slip


def _arm(plane: Marker, end: Marker, away: Vector) -> Vector:
    """The way from the origin of the plane to the point of contact, `away` from the hub."""
    return minus(plus(end.position or ORIGIN, away), plane.position or ORIGIN)
