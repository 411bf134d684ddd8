"""Default shapes of bodies, springs and wheels, as polylines, for models without drawing data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.model.joint_templates import fill_drawing
from dalembert.model.markers import Marker, axes_of
from dalembert.model.statement import Body, Statement, Vector
from dalembert.model.vectors import ORIGIN, cross, plus, times, turned

CORNERS = 24  # of a disc
COILS = 8  # of a spring


@dataclass(frozen=True)
class Link:
    """A polyline through `places` of a body, in its axes; the library drew it, unless a user `stated` it."""

    name: str
    body: Body
    places: Sequence[Vector]
    stated: bool = False

    @property
    def points(self) -> tuple[Vector, ...]:
        """The same in inertial components."""
        return tuple(_at(self.body, place) for place in self.places)


def link_through(name: str, points: Sequence[Any]) -> Link | None:
    """The line that a user drew through markers fixed in one body; None for other points."""
    bodies = {id(point.body) if isinstance(point, Marker) and point.fixed else None for point in points}
    if len(bodies) != 1 or None in bodies or points[0].body.position is None:
        return None
    return Link(name, points[0].body, tuple(point.place for point in points), stated=True)


def links_of(statement: Statement) -> list[Link]:
    """A line through the joints of each body, by way of its mass centre if it has only one joint."""
    lines = []
    held: dict[int, dict[Vector, None]] = {}  # where joints hold a body, each place once
    for joint in statement.joints:
        for end in (joint.first, joint.second):
            held.setdefault(id(end.body), {})[end.place] = None
    for body in statement.bodies:
        if body.position is None:
            continue
        places = list(held.get(id(body), ()))
        if len(places) == 1:
            places.append(ORIGIN)
        if len(places) > 2:
            places.append(places[0])
        places = list(dict.fromkeys(places)) if len(places) == 2 else places
        if len(places) > 1:
            lines.append(Link(body.name, body, tuple(places)))
    return lines


def disc_of(name: str, marker: Marker, radius: sp.Expr) -> Link:
    """The rim of a disc about the z axis of a marker, and a spoke to see it turn."""
    return Link(name, marker.body, fill_drawing("disc", _rim, marker, radius))


def _rim(place: Vector, x: Vector, y: Vector, radius: sp.Expr) -> list[Vector]:
    angles = [2 * sp.pi * k / CORNERS for k in range(CORNERS + 1)]
    return [*(_at_marker(place, x, y, radius * sp.cos(a), radius * sp.sin(a)) for a in angles), place]


def ellipsoid_of(name: str, marker: Marker, a: sp.Expr, b: sp.Expr, c: sp.Expr) -> Link:
    """An ellipsoid by its three outlines in the planes of a marker, in one stroke."""
    return Link(name, marker.body, fill_drawing("ellipsoid", _outlines, marker, a, b, c))


def _outlines(place: Vector, x: Vector, y: Vector, a: sp.Expr, b: sp.Expr, c: sp.Expr) -> list[Vector]:
    z, angles = cross(x, y), [2 * sp.pi * k / CORNERS for k in range(CORNERS + 1)]
    # Round in x and y, on in x and z, a quarter of it once more to z, and round in z and y.
    flat = [_at_marker(place, x, y, a * sp.cos(angle), b * sp.sin(angle)) for angle in angles]
    upright = [_at_marker(place, x, z, a * sp.cos(angle), c * sp.sin(angle)) for angle in angles]
    across = [_at_marker(place, z, y, c * sp.cos(angle), b * sp.sin(angle)) for angle in angles]
    return [*flat, *upright[1:], *upright[1 : CORNERS // 4], *across]


def wheel_of(name: str, marker: Marker, radius: sp.Expr) -> Link:
    """A wheel from above: as long as it is high along the x axis of a marker, and a third as wide."""
    return Link(name, marker.body, fill_drawing("wheel", _outline, marker, radius))


def _outline(place: Vector, x: Vector, y: Vector, radius: sp.Expr) -> list[Vector]:
    corner = [(1.0, 0.0), (1.0, 0.7), (0.9, 1.0), (0.0, 1.0)]  # a rounded one; the others mirror it
    outline = [(sx * a, sy * b) for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))
               for a, b in (corner if sx * sy > 0 else corner[::-1])]  # fmt: skip
    return [_at_marker(place, x, y, a * radius, b * radius / 3) for a, b in (*outline, outline[0])]


def blade_of(name: str, marker: Marker, length: sp.Expr) -> Link:
    """A short stroke along the x axis of a marker: a skate or knife edge."""
    return Link(name, marker.body, fill_drawing("blade", _stroke, marker, length))


def _stroke(place: Vector, x: Vector, y: Vector, length: sp.Expr) -> list[Vector]:
    return [_at_marker(place, x, y, length * sp.Rational(k, 16), sp.S.Zero) for k in range(-8, 9, 2)]


def coil_along(start: Vector, gap: Vector) -> tuple[Vector, ...]:
    """A zigzag along `gap`, in the plane of the first two axes."""
    side = (-gap[1] / 12, gap[0] / 12, sp.S.Zero)
    inner = [
        plus(plus(start, times(sp.Rational(k, COILS), gap)), times(sp.Integer((-1) ** k), side))
        for k in range(1, COILS)
    ]
    return start, *inner, plus(start, gap)


def dashpot_along(start: Vector, gap: Vector) -> tuple[Vector, ...]:
    """A damper along `gap` in one stroke, in the plane of the first two axes: rod, piston, cylinder, rod."""
    side = (-gap[1] / 16, gap[0] / 16, sp.S.Zero)
    # In sixteenths of the gap along it, and sides across: the piston reaches the walls, which are drawn from it.
    stroke = [(0, 0), (9, 0), (9, 1), (5, 1), (12, 1), (12, -1), (5, -1)]
    stroke += [(9, -1), (9, 0), (9, -1), (12, -1), (12, 0), (16, 0)]
    return tuple(plus(plus(start, times(sp.Rational(a, 16), gap)), times(sp.Integer(b), side)) for a, b in stroke)


def _at_marker(place: Vector, x: Vector, y: Vector, a: sp.Expr, b: sp.Expr) -> Vector:
    """A place in body axes, given by a and b along the axes x and y of a marker at `place`."""
    return plus(place, plus(times(a, x), times(b, y)))


def _at(body: Body, place: Vector) -> Vector:
    return plus(body.position or ORIGIN, turned(axes_of(body), place))
