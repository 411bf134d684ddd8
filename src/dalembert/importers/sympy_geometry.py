"""The motion that SymPy's points and frames carry, in components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp
from sympy.physics.mechanics import Dyadic, Point, ReferenceFrame, RigidBody, Vector

from dalembert.dataclass import dataclass
from dalembert.importers.replacement import Replacement
from dalembert.model import statement

Components = statement.Vector
REST: Components = (sp.S.Zero, sp.S.Zero, sp.S.Zero)


@dataclass(frozen=True)
class Moving:
    """A body as Kane's method sees it: `velocity` in inertial components, the rest in `axes` (None for a particle).

    `axes` are those its inertia is stated in, fixed in the body or not; `turn` is their angular velocity if not.
    """

    name: str
    point: Point
    mass: sp.Expr
    velocity: Components
    frame: ReferenceFrame | None = None
    axes: ReferenceFrame | None = None
    inertia: sp.Matrix | None = None  # (3, 3)
    angular_velocity: Components = REST
    turn: Components | None = None

    @property
    def rests(self) -> bool:
        """Whether it moves in no way, as the ground does."""
        return self.velocity == REST and self.angular_velocity == REST

    @property
    def axis(self) -> int | None:
        """The only one of its axes about which it turns (0 if it does not turn); None if there are several."""
        turning = {k for w in (self.angular_velocity, self.turn or REST) for k in range(3) if w[k] != 0}
        return None if len(turning) > 1 else min(turning, default=0)


class Geometry:
    """Vectors of SymPy in components; raises `ValueError`, as SymPy does, where frames or points are not connected."""

    def __init__(self, inertial: ReferenceFrame, replace: Replacement) -> None:
        self.inertial = inertial
        self._replace = replace

    def components(self, vector: Vector, frame: ReferenceFrame | None = None) -> Components:
        """The components of a vector in a frame (None: the inertial one)."""
        frame = frame or self.inertial
        parts = []
        for measures, axes in vector.args:  # each by one product; plain numbers, as matrices of SymPy are slow
            m = measures.flat()
            R = None if axes == frame else frame.dcm(axes).flat()
            parts.append(m if R is None else [R[k] * m[0] + R[k + 1] * m[1] + R[k + 2] * m[2] for k in (0, 3, 6)])
        x, y, z = self._replace.all(sp.Add(*[part[k] for part in parts]) for k in range(3))
        return x, y, z

    def velocity(self, point: Point) -> Components:
        """Inertial components of the velocity that a point carries."""
        return self.components(point.vel(self.inertial))

    def angular_velocity(self, frame: ReferenceFrame, axes: ReferenceFrame | None = None) -> Components:
        """The angular velocity of a frame, in components of others (None: the inertial ones)."""
        return self.components(frame.ang_vel_in(self.inertial), axes)

    def position(self, point: Point, origin: Point) -> Components | None:
        """Inertial components of a position; None if the points or the frames between them are not connected."""
        try:
            return self.components(point.pos_from(origin))
        except ValueError:
            return None

    def rotation(self, frame: ReferenceFrame) -> sp.Matrix:
        """Rotation matrix (3, 3) whose columns are the axes of a frame."""
        return sp.Matrix(3, 3, self._replace.all(self.inertial.dcm(frame)))

    def inertia(self, dyadic: Dyadic, axes: ReferenceFrame) -> sp.Matrix:
        """The matrix (3, 3) of a dyadic."""
        terms = [(f, self.components(a, axes), self.components(b, axes)) for f, a, b in dyadic.args]
        entries = [sp.Add(*[f * a[i] * b[j] for f, a, b in terms]) for i in range(3) for j in range(3)]
        return sp.Matrix(3, 3, self._replace.all(entries))

    def moving(self, body: Any, name: str) -> Moving:
        """A particle or body of SymPy."""
        point, mass = body.masscenter, self._replace(body.mass)
        if not isinstance(body, RigidBody):
            return Moving(name, point, mass, self.velocity(point))
        inertia = body.central_inertia
        frames = {axes for _, first, second in inertia.args for axes in _frames(first, second)}
        axes = frames.pop() if len(frames) == 1 else body.frame
        fixed = axes == body.frame or is_fixed(axes, body.frame)
        return Moving(
            name,
            point,
            mass,
            self.velocity(point),
            body.frame,
            axes,
            self.inertia(inertia, axes),
            self.angular_velocity(body.frame, axes),
            None if fixed else self.angular_velocity(axes, axes),
        )


def _frames(*vectors: Vector) -> Iterator[ReferenceFrame]:
    for vector in vectors:
        for _, frame in vector.args:
            yield frame


def is_fixed(frame: ReferenceFrame, other: ReferenceFrame) -> bool:
    """Whether two frames carry no angular velocity relative to each other."""
    try:
        return not frame.ang_vel_in(other).args
    except ValueError:  # not connected
        return False


def points_at_rest(start: Point, inertial: ReferenceFrame) -> list[Point]:
    """Points connected to `start` by positions that were given the velocity zero, nearest first."""
    found, queue = [start], [start]
    while queue:
        for neighbour in queue.pop(0)._pos_dict:  # noqa: SLF001 - SymPy has no public way from point to point
            if neighbour not in found:
                found.append(neighbour)
                queue.append(neighbour)
    velocities = ((point, point._vel_dict.get(inertial)) for point in found)  # noqa: SLF001
    return [point for point, velocity in velocities if velocity is not None and not velocity.args]
