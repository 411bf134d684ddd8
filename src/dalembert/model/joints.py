"""Joints: constraints between markers of two bodies, or of a body and the ground, with their reactions.

A joint is a list of rows in the geometry of its two frames: origins o, unit axes x, y, z, velocities v and angular
velocities w, with first frame i and second frame j. The force and torque that a unit of a multiplier exerts on the
second body, at its marker, are the derivatives of the row by o_j and by a rotation of frame j (by v_j and w_j for rows
at velocity level), so that reactions come out in newtons and newton metres whatever the coordinates are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.markers import Marker, angular_velocity_of, is_planar, velocity_of
from dalembert.model.statement import Body, Constraint, Joint, Point

if TYPE_CHECKING:
    from dalembert.model.model import Model

Expression = Any


@dataclass(frozen=True)
class Frame:
    """Origin, axes, velocity and angular velocity of a marker in inertial components, (3, 1) each."""

    o: sp.Matrix
    x: sp.Matrix
    y: sp.Matrix
    z: sp.Matrix
    v: sp.Matrix
    w: sp.Matrix


def _generic(suffix: str) -> Frame:
    return Frame(*(sp.Matrix(sp.symbols(f"{f.name}{suffix}_:3", real=True)) for f in fields(Frame)))


I, J = _generic("i"), _generic("j")
GAP = J.o - I.o
COINCIDENT = tuple(GAP)
PARALLEL = (J.z.dot(I.x), J.z.dot(I.y))
UNTWISTED = (J.x.dot(I.y),)
ON_LINE = (GAP.dot(I.x), GAP.dot(I.y))
SLIDING = (J.v - I.v - I.w.cross(GAP)).dot(I.z)  # rate of displacement along the axis of the first frame
TURNING = (J.w - I.w).dot(I.z)


class Joints:
    """The joints of a model, by their names in the literature; each ties a second body to a first one or to the ground.

    Ends are markers (`model.marker`), bodies (their mass centres) or, where no axis is needed, particles. The axis of a
    joint is the z axis of its markers. Bodies that move in the plane get the rows that are not empty there.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def revolute(self, name: str, first: Point, second: Point) -> Joint:
        """A hinge: common origin, common axis."""
        return self._join("revolute", name, first, second, (*COINCIDENT, *PARALLEL), planar=COINCIDENT[:2])

    def prismatic(self, name: str, first: Point, second: Point) -> Joint:
        """A slide along the common axis, without rotation. In the plane the axis lies in the plane."""
        rows = (*ON_LINE, *PARALLEL, *UNTWISTED)
        return self._join("prismatic", name, first, second, rows, planar=(ON_LINE[0], PARALLEL[0]))

    def cylindrical(self, name: str, first: Point, second: Point) -> Joint:
        """A slide along and a rotation about the common axis."""
        return self._join("cylindrical", name, first, second, (*ON_LINE, *PARALLEL))

    def spherical(self, name: str, first: Point, second: Point) -> Joint:
        """A common point."""
        return self._join("spherical", name, first, second, COINCIDENT, planar=COINCIDENT[:2])

    def universal(self, name: str, first: Point, second: Point) -> Joint:
        """A cross: common origin, axes at right angles."""
        return self._join("universal", name, first, second, (*COINCIDENT, I.z.dot(J.z)))

    def planar(self, name: str, first: Point, second: Point) -> Joint:
        """The second origin in the plane normal to the first axis, axes parallel."""
        return self._join("planar", name, first, second, (GAP.dot(I.z), *PARALLEL))

    def fixed(self, name: str, first: Point, second: Point) -> Joint:
        """Frames that coincide."""
        rows = (*COINCIDENT, *PARALLEL, *UNTWISTED)
        return self._join("fixed", name, first, second, rows, planar=(*COINCIDENT[:2], *UNTWISTED))

    def point_on_line(self, name: str, first: Point, second: Point) -> Joint:
        """The second origin on the axis of the first. In the plane the axis lies in the plane."""
        return self._join("point on line", name, first, second, ON_LINE, planar=ON_LINE[:1])

    def point_on_surface(
        self, name: str, first: Point, second: Point, surface: Callable[[sp.Expr, sp.Expr, sp.Expr], Expression]
    ) -> Joint:
        """The second origin where `surface(x, y, z)` vanishes, in the axes of the first marker."""
        rows = (self._scalar(surface(*(GAP.dot(e) for e in (I.x, I.y, I.z))), name),)
        return self._join("point on surface", name, first, second, rows, planar=rows)

    def rod(self, name: str, first: Point, second: Point, *, length: Expression) -> Joint:
        """A constant distance between origins; its multiplier is the pushing force in the rod."""
        rows = (sp.sqrt(GAP.dot(GAP)) - self._scalar(length, name),)
        return self._join("rod", name, first, second, rows, planar=rows)

    def screw(self, name: str, first: Point, second: Point, *, pitch: Expression) -> Joint:
        """A cylindrical joint that advances by `pitch` in a turn."""
        advance = SLIDING - self._scalar(pitch, name) / (2 * sp.pi) * TURNING
        return self._join("screw", name, first, second, (*ON_LINE, *PARALLEL, advance))

    def gear(
        self, name: str, driving: Joint, driven: Joint, *, ratio: Expression, phase: Expression | None = None
    ) -> tuple[Constraint, ...]:
        """The driven joint turns by `ratio` times the driving one; gears, belts and chains (negative: opposite sense).

        Stated for the rates, so that the first positions are free; for planar bodies a `phase` states it for the angles
        themselves: driven angle = ratio * driving angle + phase.
        """
        ratio = self._scalar(ratio, name)
        if phase is None:
            rates = [self._turning(joint) for joint in (driving, driven)]
            return self._rows(name, [rates[1] - ratio * rates[0]])
        angles = [self._angle(joint, name) for joint in (driving, driven)]
        return self._rows(name, [angles[1] - ratio * angles[0] - self._scalar(phase, name)])

    def drive(
        self, name: str, joint: Joint, *, angle: Expression | None = None, displacement: Expression | None = None
    ) -> Joint:
        """A motion imposed on a joint: its `angle` from x to x, or its `displacement` along the axis, in time.

        Its multiplier is the driving torque or force on the second body.
        """
        if (angle is None) == (displacement is None):
            self._model.note(f"drive `{name}` needs one of angle= and displacement=")
            angle, displacement = 0, None
        if displacement is not None:
            row = GAP.dot(I.z) - self._scalar(displacement, name)
        else:
            a = self._scalar(angle, name)
            row = J.x.dot(sp.cos(a) * I.y - sp.sin(a) * I.x)
        return self._join("drive", name, joint.first, joint.second, (row,), planar=(row,))

    # -- inside ---------------------------------------------------------------------------------------------------

    def _join(
        self,
        kind: str,
        name: str,
        first: Point,
        second: Point,
        rows: Sequence[sp.Expr],
        planar: Sequence[sp.Expr] | None = None,
    ) -> Joint:
        ends = [self._end(point, name) for point in (first, second)]
        if isinstance(first, Point) and ends[0].body is ends[1].body and ends[0].body.name == ends[1].body.name:
            self._model.note(f"joint `{name}` ties `{ends[0].body.name}` to itself; give two bodies, or model.ground")
        flat = all(is_planar(end) for end in ends)
        if flat and planar is None:
            self._model.note(f"joint `{name}`: a {kind} joint needs bodies that move in space, these move in a plane")
        chosen = planar if flat and planar is not None else rows
        actual = self._actual(ends, chosen)
        labels = [c.name for c in self._rows(name, [row.xreplace(actual) for row in chosen])]
        pushes = [[tuple(g.xreplace(actual) for g in part) for part in _wrench(row)] for row in chosen]
        joint = Joint(
            name, kind, ends[0], ends[1], tuple(labels),
            forces=tuple(push[0] for push in pushes), torques=tuple(push[1] for push in pushes),
        )  # fmt: skip
        self._model.statement.joints.append(joint)
        return joint

    def _rows(self, name: str, rows: Sequence[sp.Expr]) -> tuple[Constraint, ...]:
        stated = self._model.constrain(rows[0] if len(rows) == 1 else list(rows), name=name)
        return stated if isinstance(stated, tuple) else (stated,)

    def _actual(self, ends: Sequence[Marker], rows: Sequence[sp.Expr]) -> dict[sp.Expr, sp.Expr]:
        """What stands for the generic symbols that occur in the rows or in their derivatives."""
        needed = set().union(*(row.free_symbols for row in rows))
        moving = bool(needed & {*I.v, *I.w, *J.v, *J.w})
        mapping: dict[sp.Expr, sp.Expr] = {}
        for generic, end in zip((I, J), ends, strict=True):
            t = self._model.t
            still = sp.zeros(3, 1)
            values = [
                sp.Matrix(end.position or still), *(end.axis(k) for k in range(3)),
                velocity_of(end, t) if moving else still, angular_velocity_of(end.body, t) if moving else still,
            ]  # fmt: skip
            for f, value in zip(fields(Frame), values, strict=True):
                mapping |= dict(zip(getattr(generic, f.name), value, strict=True))
        return mapping

    def _turning(self, joint: Joint) -> sp.Expr:
        return TURNING.xreplace(self._actual((joint.first, joint.second), [TURNING]))

    def _angle(self, joint: Joint, name: str) -> sp.Expr:
        bodies = [joint.first.body, joint.second.body]
        if not all(is_planar(body) for body in bodies):
            self._model.note(f"gear `{name}`: a phase needs joints between bodies that move in a plane; leave it out")
            return sp.S.Zero
        turned = [body.rotation[0] if len(body.rotation) == 1 else sp.S.Zero for body in bodies]
        return turned[1] - turned[0]

    def _end(self, point: Any, name: str) -> Marker:
        if isinstance(point, Marker):
            end = point
        elif isinstance(point, Body):
            end = self._model.marker(point, [0, 0, 0])
        elif isinstance(point, Point):
            end = Marker(point.name, point.position, point.velocity, body=Body(point.name, point.position))
        else:
            self._model.note(f"joint `{name}` holds markers, bodies or particles, not {point!r}")
            end = self._model.marker(self._model.ground, [0, 0, 0])
        if end.position is None:
            self._model.note(f"joint `{name}`: `{end.body.name}` has no position; state it, or constrain velocities")
        return end

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"joint `{name}`")


def _wrench(row: sp.Expr) -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
    """Force and torque on the second frame, at its origin, per unit of the multiplier of a row."""
    if row.free_symbols & {*J.v, *J.w, *I.v, *I.w}:
        return tuple(row.diff(s) for s in J.v), tuple(row.diff(s) for s in J.w)
    torque = sp.zeros(3, 1)
    for axis in (J.x, J.y, J.z):
        torque += axis.cross(sp.Matrix([row.diff(s) for s in axis]))
    return tuple(row.diff(s) for s in J.o), tuple(torque)
