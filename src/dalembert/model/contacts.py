"""Contacts without slip: skates, wheels, rolling discs, tyres and balls, as constraints on velocities.

A contact is a joint (its reaction is that at the point of contact): `first` is the surface, `second` the body. The rows
are stated in inertial components of the surface's axes; those at velocity level are linear in the speeds but in general
not integrable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.markers import ORIGIN, Marker, angular_velocity_of, velocity_of
from dalembert.model.shapes import blade_of, disc_of
from dalembert.model.statement import Body, Constraint, Joint, Point

if TYPE_CHECKING:
    from dalembert.model.model import Model

Expression = Any


class Contacts:
    """The contacts of a model. A plane is a marker whose z axis is its normal (`model.ground`: the plane z = 0)."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def skate(self, name: str, blade: Point) -> Joint:
        """A knife edge: no velocity across the blade, which lies along the x axis of the marker `blade`."""
        end = self._marker(blade, name)
        across = end.axis(1)
        row = velocity_of(end, self._model.t).dot(across)
        self._model.statement.shapes.append(blade_of(name, end, sp.Rational(1, 5)))
        return self._contact("skate", name, self._plane(None, name), end, [(row, across)])

    def wheel(self, name: str, hub: Point, *, radius: Expression, spin: Expression) -> Joint:
        """A wheel on a vehicle that moves in the plane, rolling along the x axis of `hub` without slip.

        `spin` is its rate of turning about the axle, forward positive: the hub advances by `radius` times it and does
        not move sideways.
        """
        end = self._marker(hub, name)
        along, across = end.axis(0), end.axis(1)
        v = velocity_of(end, self._model.t)
        advance = v.dot(along) - self._scalar(radius, name) * self._scalar(spin, name)
        return self._contact("wheel", name, self._plane(None, name), end, [(advance, along), (v.dot(across), across)])

    def disc(
        self, name: str, hub: Point, *, radius: Expression, tube: Expression = 0, plane: Point | None = None
    ) -> Joint:
        """A disc about the z axis of the marker `hub` that rolls on a plane; with `tube` > 0 its rim is a torus.

        One constraint keeps the lowest point of the rim on the plane, two keep the material point there from slipping;
        a plane that moves (a turntable) carries it along. `radius` is that of the centre line of the tube.
        """
        end, ground = self._marker(hub, name), self._plane(plane, name)
        n, a = ground.axis(2), end.axis(2)
        down = n - n.dot(a) * a
        drop = -self._scalar(radius, name) * down / sp.sqrt(down.dot(down)) - self._scalar(tube, name) * n
        self._model.statement.shapes.append(disc_of(name, end, self._scalar(radius, name)))
        return self._roll("rolling disc", name, ground, end, drop)

    def sphere(self, name: str, centre: Point, *, radius: Expression, plane: Point | None = None) -> Joint:
        """A ball that rolls on a plane without slip; a plane that moves (a turntable) carries it along."""
        end, ground = self._marker(centre, name), self._plane(plane, name)
        self._model.statement.shapes.append(disc_of(name, end, self._scalar(radius, name)))
        return self._roll("rolling sphere", name, ground, end, -self._scalar(radius, name) * ground.axis(2))

    def speed_of_rolling(self, name: str, hub: Point, *, radius: Expression, spin: Expression) -> Constraint:
        """Rolling as ONE constraint that is not linear in the speeds: v.v = (radius * spin)^2 at the hub.

        It ties the amount of the velocity alone, as in Appell and Hamel's mechanism: the direction must follow from
        other constraints. Its gradient vanishes at rest, where it says nothing.
        """
        v = velocity_of(self._marker(hub, name), self._model.t)
        stated = self._model.constrain(
            v.dot(v) - (self._scalar(radius, name) * self._scalar(spin, name)) ** 2, name=name
        )
        return stated[0] if isinstance(stated, tuple) else stated

    # -- inside ---------------------------------------------------------------------------------------------------

    def _roll(self, kind: str, name: str, plane: Marker, end: Marker, drop: sp.Matrix) -> Joint:
        """The point of contact, `drop` away from the hub, on the plane and without velocity relative to it."""
        t = self._model.t
        hub, origin = sp.Matrix(end.position or ORIGIN), sp.Matrix(plane.position or ORIGIN)
        point = hub + drop
        slip = velocity_of(end, t) + angular_velocity_of(end.body, t).cross(drop)
        slip -= velocity_of(plane, t) + angular_velocity_of(plane.body, t).cross(point - origin)
        x, y, n = (plane.axis(k) for k in range(3))
        rows = [((point - origin).dot(n), n), (slip.dot(x), x), (slip.dot(y), y)]
        return self._contact(kind, name, plane, replace(end, position=tuple(point)), rows)

    def _contact(
        self, kind: str, name: str, plane: Marker, end: Marker, rows: list[tuple[sp.Expr, sp.Matrix]]
    ) -> Joint:
        """Rows with the direction in which each pushes the body at the point of contact."""
        labels = []
        for k, (row, _) in enumerate(rows):
            stated = self._model.constrain(row, name=f"{name}[{k}]" if len(rows) > 1 else name)
            labels.append(stated.name if isinstance(stated, Constraint) else stated[0].name)
        joint = Joint(
            name, kind, plane, end, tuple(labels),
            forces=tuple(tuple(direction) for _, direction in rows), torques=(ORIGIN,) * len(rows),
        )  # fmt: skip
        self._model.statement.joints.append(joint)
        return joint

    def _marker(self, point: Any, name: str) -> Marker:
        if isinstance(point, Marker):
            return point
        if isinstance(point, Body):
            return self._model.marker(point, [0, 0, 0])
        self._model.note(f"contact `{name}` needs a marker or a body, not {point!r}")
        return self._model.marker(self._model.ground, [0, 0, 0])

    def _plane(self, plane: Point | None, name: str) -> Marker:
        return self._marker(self._model.ground if plane is None else plane, name)

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"contact `{name}`")
