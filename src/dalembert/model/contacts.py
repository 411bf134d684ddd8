"""Contacts without slip: skates, wheels, rolling discs, tyres and balls, as constraints on velocities.

A contact is a joint (its reaction is that at the point of contact): `first` is the surface, `second` the body. The rows
are stated in inertial components of the surface's axes; those at velocity level are linear in the speeds but in general
not integrable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.journal import said
from dalembert.model.markers import GROUND, Marker, angular_velocity_of, has_axes, marker_at, velocity_of
from dalembert.model.shapes import blade_of, disc_of, wheel_of
from dalembert.model.statement import Constraint, Joint, Line, Point, Vector
from dalembert.model.vectors import ORIGIN, cross, dot, minus, plus, times

if TYPE_CHECKING:
    import dalembert

Expression = Any
BLADE = sp.Rational(1, 5)  # length of a skate as it is drawn


class Contacts:
    """The contacts of a model. A plane is a marker whose z axis is its normal (`model.ground`: the plane z = 0)."""

    def __init__(self, model: dalembert.Model) -> None:
        self._model = model

    @said("contacts")
    def skate(self, name: str, blade: Point) -> Joint:
        """A knife edge: no velocity across the blade, which lies along the x axis of the marker `blade`."""
        end = self._marker(blade, name)
        across = end.axis(1)
        row = dot(velocity_of(end, self._model.t), across)
        self._draw(end, blade_of(name, end, BLADE))
        return self._contact("skate", name, self._plane(None, name), end, [(row, across)])

    @said("contacts")
    def wheel(self, name: str, hub: Point, *, radius: Expression, spin: Expression) -> Joint:
        """A wheel on a vehicle that moves in the plane, rolling along the x axis of `hub` without slip.

        `spin` is its rate of turning about the axle, forward positive: the hub advances by `radius` times it and does
        not move sideways.
        """
        end, r = self._marker(hub, name), self._scalar(radius, name)
        along, across = end.axis(0), end.axis(1)
        v = velocity_of(end, self._model.t)
        advance = dot(v, along) - r * self._scalar(spin, name)
        self._draw(end, wheel_of(name, end, r))
        return self._contact("wheel", name, self._plane(None, name), end, [(advance, along), (dot(v, across), across)])

    @said("contacts")
    def disc(
        self, name: str, hub: Point, *, radius: Expression, tube: Expression = 0, plane: Point | None = None
    ) -> Joint:
        """A disc about the z axis of the marker `hub` that rolls on a plane; with `tube` > 0 its rim is a torus.

        One constraint keeps the lowest point of the rim on the plane, two keep the material point there from slipping;
        a plane that moves (a turntable) carries it along. `radius` is that of the centre line of the tube.
        """
        end, ground, r = self._marker(hub, name), self._plane(plane, name), self._scalar(radius, name)
        n, a = ground.axis(2), end.axis(2)
        down = minus(n, times(dot(n, a), a))
        drop = minus(times(-r / sp.sqrt(dot(down, down)), down), times(self._scalar(tube, name), n))
        self._draw(end, disc_of(name, end, r))
        return self._roll("rolling disc", name, ground, end, drop)

    @said("contacts")
    def sphere(self, name: str, centre: Point, *, radius: Expression, plane: Point | None = None) -> Joint:
        """A ball that rolls on a plane without slip; a plane that moves (a turntable) carries it along."""
        end, ground, r = self._marker(centre, name), self._plane(plane, name), self._scalar(radius, name)
        self._draw(end, disc_of(name, end, r))
        return self._roll("rolling sphere", name, ground, end, times(-r, ground.axis(2)))

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

    def _roll(self, kind: str, name: str, plane: Marker, end: Marker, drop: Vector) -> Joint:
        """The point of contact, `drop` away from the hub, on the plane and without velocity relative to it."""
        t = self._model.t
        if end.position is None:
            self._model.note(f"contact `{name}`: `{end.body.name}` has no position to keep on the plane; state it")
        if end.body is plane.body:
            self._model.note(f"contact `{name}` lets `{end.body.name}` roll on itself; give another plane")
        point = plus(end.position or ORIGIN, drop)
        arm = minus(point, plane.position or ORIGIN)
        slip = plus(velocity_of(end, t), cross(angular_velocity_of(end.body, t), drop))
        carried = plus(velocity_of(plane, t), cross(angular_velocity_of(plane.body, t), arm))
        slip = minus(slip, carried)
        x, y, n = (plane.axis(k) for k in range(3))
        rows = [(dot(arm, n), n), (dot(slip, x), x), (dot(slip, y), y)]
        return self._contact(kind, name, plane, replace(end, position=point), rows)

    def _contact(self, kind: str, name: str, plane: Marker, end: Marker, rows: list[tuple[sp.Expr, Vector]]) -> Joint:
        """Rows with the direction in which each pushes the body at the point of contact."""
        labels = []
        for k, (row, _) in enumerate(rows):
            unit = "m" if len(rows) == 3 and k == 0 else "m/s"  # of three rows the first keeps the distance
            stated = self._model.constrain(row, name=f"{name}[{k}]" if len(rows) > 1 else name, unit=unit)
            labels.append(stated.name if isinstance(stated, Constraint) else stated[0].name)
        forces = tuple(direction for _, direction in rows)
        joint = Joint(name, kind, plane, end, tuple(labels), forces=forces, torques=(ORIGIN,) * len(rows))
        self._model.statement.joints.append(joint)
        return joint

    def _draw(self, end: Marker, shape: Line) -> None:
        if end.position is not None:
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
