"""Markers: points and axes fixed in bodies, from which joints, contacts and force elements are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.model.quaternion import rotation_matrix
from dalembert.model.statement import Attitude, Body, Point, Vector
from dalembert.model.time_symbols import time_symbol
from dalembert.model.vectors import EX, EY, EZ, ORIGIN, cross, dot, minus, plus, rate_of, times, turned, unit
from dalembert.model.when_asked import WhenAsked

Axes = tuple[Vector, Vector, Vector]  # unit vectors x, y, z

GROUND = Body(
    "ground", ORIGIN, ORIGIN, attitude=Attitude.MATRIX, rotation=(*EX, *EY, *EZ), angular_velocity=ORIGIN
)  # the inertial frame as something to hold on to; not a body of any statement


@dataclass(frozen=True)
class Marker(Point):
    """A point and axes fixed in a body: `place` and the unit vectors `axes` (x, y, z) are in body axes.

    z is the axis of a joint; x tells angles about it. One that is `fixed` is at its place and moves with the body; the
    position and velocity of others were stated.
    """

    body: Body = GROUND
    place: Vector = ORIGIN
    axes: Axes = (EX, EY, EZ)
    time: sp.Symbol = field(default_factory=time_symbol)
    fixed: bool = False

    if not TYPE_CHECKING:
        position = WhenAsked()  # written out in SymPy when first read
        velocity = WhenAsked()

    @property
    def placed(self) -> bool:
        """Whether it has a position, which is not written out for the question."""
        return self.__dict__["_position"] is not None

    def moved_to(self, position: Callable[[Marker], Vector]) -> Marker:
        """The same marker at another position, a function of it that is called when it is first read."""
        places: Any = position
        stated = {name: getattr(self, name) for name in ("body", "place", "axes", "time")}
        return Marker(self.name, places, self.__dict__["_velocity"], **stated)

    def axis(self, k: int) -> Vector:
        """Unit vector x, y or z (k = 0, 1, 2) in inertial components."""
        return turned(axes_of(self.body), self.axes[k])


def axes_of(body: Body) -> Axes:
    """The axes of a body in inertial components: the columns of its rotation matrix."""
    return _columns(body.attitude, body.rotation)


@lru_cache(maxsize=4096)
def _columns(attitude: Attitude, rotation: tuple[sp.Expr, ...]) -> Axes:
    if attitude is Attitude.ANGLE:
        c, s = sp.cos(rotation[0]), sp.sin(rotation[0])
        return (c, s, sp.S.Zero), (-s, c, sp.S.Zero), EZ
    if attitude is Attitude.NONE:
        return EX, EY, EZ
    R = rotation if attitude is Attitude.MATRIX else tuple(rotation_matrix(rotation))
    return (R[0], R[3], R[6]), (R[1], R[4], R[7]), (R[2], R[5], R[8])


def angular_velocity_of(body: Body, t: sp.Symbol) -> Vector:
    """Angular velocity in inertial components, in terms of speeds or of coordinate rates."""
    if body.attitude is Attitude.ANGLE and body.angular_velocity is None:
        return sp.S.Zero, sp.S.Zero, rate_of((body.rotation[0], sp.S.Zero, sp.S.Zero), t)[0]
    x, y, z = axes_of(body)
    if body.angular_velocity is not None:
        return turned((x, y, z), body.angular_velocity)
    w = (dot(rate_of(y, t), z), dot(rate_of(z, t), x), dot(rate_of(x, t), y))  # in body axes
    return turned((x, y, z), w)


def velocity_of(point: Point, t: sp.Symbol) -> Vector:
    """Velocity in inertial components, in terms of speeds or of coordinate rates."""
    return point.velocity if point.velocity is not None else rate_of(point.position or ORIGIN, t)


def is_planar(point: Point) -> bool:
    """Whether a point moves in the plane z = 0: with a body that turns about z, or without attitude."""
    body = point.body if isinstance(point, Marker) else point
    if isinstance(body, Body) and body.attitude is not Attitude.NONE:
        return body is GROUND or body.attitude is Attitude.ANGLE
    return point.position is not None and point.position[2] == 0


@lru_cache(maxsize=256)
def axes_along(axis: Vector, across: Vector | None) -> Axes | None:
    """Unit vectors x, y, z with z along `axis` and x nearest to `across`; None if they have no length or are parallel.

    Without `across`, x is normal to z in the plane of the first two axes, so that y is out of it: what planar joints
    need.
    """
    z = unit(axis)
    if z is None:
        return None
    if across is None:
        across = EX if z[0] == 0 and z[1] == 0 else (-z[1], z[0], sp.S.Zero)
    x = unit(minus(across, times(dot(across, z), z)))
    return None if x is None else (x, cross(z, x), z)


def mark(name: str, body: Body, place: Vector, axes: Axes, t: sp.Symbol) -> Marker:
    """The marker at `place` of a body; its velocity is stated if that of the body is."""
    moves = body.velocity is not None or body.angular_velocity is not None
    position: Any = None if body.position is None else _position
    velocity: Any = _velocity if moves else None
    return Marker(name, position, velocity, body=body, place=place, axes=axes, time=t, fixed=True)


def _position(marker: Marker) -> Vector:
    """The position of a marker by that of its body."""
    return plus(marker.body.position or ORIGIN, turned(axes_of(marker.body), marker.place))


def _velocity(marker: Marker) -> Vector:
    """The velocity of a marker by those of its body."""
    body, t = marker.body, marker.time
    return plus(velocity_of(body, t), cross(angular_velocity_of(body, t), turned(axes_of(body), marker.place)))


def marker_at(point: object, t: sp.Symbol) -> Marker | None:
    """A marker as it is, that at the mass centre of a body, or that at a particle, without axes; None for the rest."""
    if isinstance(point, Marker):
        return point
    if isinstance(point, Body):
        return mark(point.name, point, ORIGIN, (EX, EY, EZ), t)
    if isinstance(point, Point):
        return Marker(point.name, point.position, point.velocity, body=Body(point.name, point.position))
    return None


def by_name(point: object) -> str:
    """Advice for an error message if the name of a body or particle was given instead of the object; "" otherwise."""
    if not isinstance(point, str):
        return ""
    return f"; pass what model.body or model.particle returned, `{point}` itself and not its name"


def has_axes(marker: Marker) -> bool:
    """True if the marker is on a body with a rotation, or on the ground."""
    return marker.body.attitude is not Attitude.NONE


def angle_between(first: Marker, second: Marker) -> sp.Expr:
    """The angle from x to x about the axis of the first marker: any number of turns in the plane, else -pi .. pi."""
    if is_planar(first) and is_planar(second):
        return first.axes[2][2] * (_heading(second) - _heading(first))
    x, y, other = first.axis(0), first.axis(1), second.axis(0)
    return sp.atan2(dot(other, y), dot(other, x))


def _heading(marker: Marker) -> sp.Expr:
    own = sp.atan2(marker.axes[0][1], marker.axes[0][0])
    return own if marker.body is GROUND else marker.body.rotation[0] + own
