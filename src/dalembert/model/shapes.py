"""Default shapes: what bodies, springs and wheels look like when nobody drew them, as polylines."""

from __future__ import annotations

import sympy as sp

from dalembert.model.markers import ORIGIN, Marker, attitude_of
from dalembert.model.statement import Body, Line, Statement, Vector

CORNERS = 24  # of a disc


def links_of(statement: Statement) -> list[Line]:
    """A line through the joints of each body, by way of its mass centre; a cross where it has no joint elsewhere."""
    lines = []
    for body in statement.bodies:
        if body.position is None:
            continue
        places = _places(statement, body)
        if len(places) == 1:
            places.append(ORIGIN)
        if len(places) > 2:
            places.append(places[0])
        if len(places) > 1:
            lines.append(Line(f"{body.name} link", tuple(_at(body, place) for place in places)))
    return lines


def disc_of(name: str, marker: Marker, radius: sp.Expr) -> Line:
    """The rim of a disc about the z axis of a marker, and a spoke to see it turn."""
    angles = [2 * sp.pi * k / CORNERS for k in range(CORNERS + 1)]
    x, y, place = (sp.Matrix(v) for v in (marker.axes[0], marker.axes[1], marker.place))
    rim = [tuple(place + radius * (sp.cos(a) * x + sp.sin(a) * y)) for a in angles]
    return Line(name, tuple(_at(marker.body, p) for p in (*rim, tuple(place))))


def coil_of(name: str, start: sp.Matrix, gap: sp.Matrix, coils: int) -> Line:
    """A zigzag along `gap`, in the plane of the first two axes."""
    side = sp.Matrix([-gap[1], gap[0], 0]) / 12
    inner = [start + gap * sp.Rational(k, coils) + side * (-1) ** k for k in range(1, coils)]
    return Line(name, tuple(tuple(p) for p in (start, *inner, start + gap)))


def blade_of(name: str, marker: Marker, length: sp.Expr) -> Line:
    """A short stroke along the x axis of a marker: a skate or knife edge."""
    place, x = sp.Matrix(marker.place), sp.Matrix(marker.axes[0])
    return Line(name, tuple(_at(marker.body, tuple(place + side * length / 2 * x)) for side in (-1, 1)))


def _places(statement: Statement, body: Body) -> list[Vector]:
    """Where joints hold a body, each place once."""
    ends = [end for joint in statement.joints for end in (joint.first, joint.second) if end.body is body]
    return list(dict.fromkeys(end.place for end in ends))


def _at(body: Body, place: Vector) -> Vector:
    x, y, z = sp.Matrix(body.position or ORIGIN) + attitude_of(body) * sp.Matrix(place)
    return x, y, z
