"""Markers: points and axes fixed in bodies, from which joints, contacts and force elements are built."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from dalembert.model.quaternion import rotation_matrix
from dalembert.model.statement import Attitude, Body, Point, Vector

ORIGIN: Vector = (sp.S.Zero, sp.S.Zero, sp.S.Zero)
EX, EY, EZ = (tuple(sp.S(int(k == j)) for j in range(3)) for k in range(3))

GROUND = Body(
    "ground", ORIGIN, ORIGIN, attitude=Attitude.MATRIX, rotation=(*EX, *EY, *EZ), angular_velocity=ORIGIN
)  # the inertial frame as something to hold on to; not a body of any statement


@dataclass(frozen=True)
class Marker(Point):
    """A point and axes fixed in a body: `place` and the unit vectors `axes` (x, y, z) are in body axes.

    z is the axis of a joint; x tells angles about it.
    """

    body: Body = GROUND
    place: Vector = ORIGIN
    axes: tuple[Vector, Vector, Vector] = (EX, EY, EZ)

    def axis(self, k: int) -> sp.Matrix:
        """Unit vector x, y or z (k = 0, 1, 2) in inertial components, (3, 1)."""
        return attitude_of(self.body) * sp.Matrix(self.axes[k])


def attitude_of(body: Body) -> sp.Matrix:
    """Rotation matrix (3, 3) of a body, its axes as columns."""
    if body.attitude is Attitude.ANGLE:
        c, s = sp.cos(body.rotation[0]), sp.sin(body.rotation[0])
        return sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    if body.attitude is Attitude.QUATERNION:
        return rotation_matrix(body.rotation)
    if body.attitude is Attitude.MATRIX:
        return sp.Matrix(3, 3, body.rotation)
    return sp.eye(3)


def angular_velocity_of(body: Body, t: sp.Symbol) -> sp.Matrix:
    """Angular velocity in inertial components, (3, 1), in terms of speeds or of coordinate rates."""
    if body.attitude is Attitude.ANGLE and body.angular_velocity is None:
        return sp.Matrix([0, 0, body.rotation[0].diff(t)])
    R = attitude_of(body)
    if body.angular_velocity is not None:
        return R * sp.Matrix(body.angular_velocity)
    W = R.diff(t) * R.T
    return sp.Matrix([W[2, 1], W[0, 2], W[1, 0]])


def velocity_of(point: Point, t: sp.Symbol) -> sp.Matrix:
    """Velocity in inertial components, (3, 1), in terms of speeds or of coordinate rates."""
    if point.velocity is not None:
        return sp.Matrix(point.velocity)
    return sp.Matrix(point.position or ORIGIN).diff(t)


def is_planar(point: Point) -> bool:
    """Whether a point moves in the plane z = 0: with a body that turns about z, or without attitude."""
    body = point.body if isinstance(point, Marker) else point
    if isinstance(body, Body) and body.attitude is not Attitude.NONE:
        return body is GROUND or body.attitude is Attitude.ANGLE
    return point.position is not None and point.position[2] == 0


def unit(vector: sp.Matrix) -> sp.Matrix | None:
    """The vector with length 1; None if it is zero."""
    square = vector.dot(vector)
    return None if square == 0 else vector / sp.sqrt(square)


def axes_along(axis: sp.Matrix, across: sp.Matrix | None) -> tuple[Vector, Vector, Vector] | None:
    """Unit vectors x, y, z with z along `axis` and x nearest to `across`; None if they have no length or are parallel.

    Without `across`, x is normal to z in the plane of the first two axes, so that y is out of it: what planar joints
    need.
    """
    z = unit(axis)
    if z is None:
        return None
    if across is None:
        aside = sp.Matrix([-z[1], z[0], 0])
        across = sp.Matrix(EX) if aside == sp.zeros(3, 1) else aside
    x = unit(across - across.dot(z) * z)
    if x is None:
        return None
    y = z.cross(x)
    return tuple(x), tuple(y), tuple(z)


def mark(name: str, body: Body, place: Vector, axes: tuple[Vector, Vector, Vector], t: sp.Symbol) -> Marker:
    """The marker at `place` of a body; its velocity is stated if that of the body is."""
    arm = attitude_of(body) * sp.Matrix(place)
    position = None if body.position is None else tuple(sp.Matrix(body.position) + arm)
    velocity = None
    if body.velocity is not None or body.angular_velocity is not None:
        velocity = tuple(velocity_of(body, t) + angular_velocity_of(body, t).cross(arm))
    return Marker(name, position, velocity, body=body, place=place, axes=axes)
