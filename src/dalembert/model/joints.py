"""Joints: constraints between markers of two bodies, or of a body and the ground, with their reactions.

Each row of a joint comes with the force and torque that a unit of its multiplier exerts on the second body, at its
marker: the derivatives of the row by the place of that marker and by a rotation of its axes. So reactions are in
newtons and newton metres whatever the coordinates are. In the rows, i is the first marker and j the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.guidance import no_attribute
from dalembert.model.instances import Instance
from dalembert.model.joint_templates import Ends, JointRow, JointRows, Rows, both, fill_rows, moving, still
from dalembert.model.journal import said
from dalembert.model.markers import (
    GROUND,
    Marker,
    angle_between,
    angular_velocity_of,
    by_name,
    has_axes,
    is_planar,
    marker_at,
    velocity_of,
)
from dalembert.model.statement import Constraint, Joint, Point, Vector
from dalembert.model.time_symbols import time_symbol
from dalembert.model.vectors import EX, EY, EZ, ORIGIN, cross, dot, minus, plus, times

if TYPE_CHECKING:
    from dalembert.model.contributions import ModelContributions

Expression = Any

TURNS = {"revolute", "cylindrical", "planar", "screw", "spherical"}  # joints whose angle can be driven
SLIDES = {"prismatic", "cylindrical", "screw", "point on line"}  # joints whose displacement can be driven


class Joints:
    """The joints of a model, by their names in the literature; each ties a second body to a first one or to the ground.

    Ends are markers (`model.marker`), bodies (their mass centres) or, where no axis is needed, particles. The axis of a
    joint is the z axis of its markers. Bodies in the plane get only the rows that restrain planar motion. The axis is
    then normal to the plane; the axis of slides and lines lies in the plane.
    """

    def __init__(self, model: ModelContributions) -> None:
        self._model = model

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    @said("joints")
    def revolute(self, name: str, first: Point, second: Point) -> Joint:
        """A hinge: common origin, common axis."""
        i, j, flat = self._ends("revolute", name, first, second)
        if flat:
            self._standing(name, i, j)
            return self._repeat("revolute", name, i, j, lambda i, j: _meeting(i, j)[:2])
        self._turning(name, i, j)
        return self._repeat("revolute", name, i, j, lambda i, j: [*_meeting(i, j), *_parallel(i, j)])

    @said("joints")
    def prismatic(self, name: str, first: Point, second: Point) -> Joint:
        """A slide along the common axis, without rotation. In the plane the axis lies in the plane."""
        i, j, flat = self._ends("prismatic", name, first, second)
        self._turning(name, i, j)
        if flat:
            self._lying(name, i, j)
            return self._repeat("prismatic", name, i, j, lambda i, j: [_on_line(i, j)[0], _parallel(i, j)[0]])
        return self._repeat("prismatic", name, i, j, lambda i, j: [*_on_line(i, j), *_parallel(i, j), _untwisted(i, j)])

    @said("joints")
    def cylindrical(self, name: str, first: Point, second: Point) -> Joint:
        """A slide along and a rotation about the common axis."""
        i, j = self._in_space("cylindrical", name, first, second)
        return self._repeat("cylindrical", name, i, j, _cylinder)

    @said("joints")
    def spherical(self, name: str, first: Point, second: Point) -> Joint:
        """A common point."""
        i, j, flat = self._ends("spherical", name, first, second)
        return self._repeat("spherical", name, i, j, lambda i, j: _meeting(i, j)[: 2 if flat else 3])

    @said("joints")
    def universal(self, name: str, first: Point, second: Point) -> Joint:
        """A cross: common origin, axes at right angles."""
        i, j = self._in_space("universal", name, first, second)
        return self._repeat("universal", name, i, j, lambda i, j: [*_meeting(i, j), _square(i.axis(2), j.axis(2))])

    @said("joints")
    def planar(self, name: str, first: Point, second: Point) -> Joint:
        """The second origin in the plane normal to the first axis, axes parallel."""
        i, j = self._in_space("planar", name, first, second)
        return self._repeat("planar", name, i, j, lambda i, j: [_along(_gap(i, j), i.axis(2)), *_parallel(i, j)])

    @said("joints")
    def fixed(self, name: str, first: Point, second: Point) -> Joint:
        """Frames that coincide."""
        i, j, flat = self._ends("fixed", name, first, second)
        self._turning(name, i, j)
        if flat:
            self._standing(name, i, j)
            return self._repeat("fixed", name, i, j, lambda i, j: [*_meeting(i, j)[:2], _untwisted(i, j)])
        return self._repeat("fixed", name, i, j, lambda i, j: [*_meeting(i, j), *_parallel(i, j), _untwisted(i, j)])

    @said("joints")
    def point_on_line(self, name: str, first: Point, second: Point) -> Joint:
        """The second origin on the axis of the first. In the plane the axis lies in the plane."""
        i, j, flat = self._ends("point on line", name, first, second)
        self._turning(name, i)
        if flat:
            self._lying(name, i)
        return self._repeat("point on line", name, i, j, lambda i, j: _on_line(i, j)[: 1 if flat else 2])

    @said("joints")
    def point_on_surface(
        self, name: str, first: Point, second: Point, surface: Callable[[sp.Expr, sp.Expr, sp.Expr], Expression]
    ) -> Joint:
        """The second origin where `surface(x, y, z)` vanishes, in the axes of the first marker."""
        i, j, _ = self._ends("point on surface", name, first, second)
        self._turning(name, i)
        axes = [i.axis(k) for k in range(3)]
        local = sp.symbols("x y z", cls=sp.Dummy, real=True)
        value = self._scalar(surface(*local), name)
        place = {symbol: dot(_gap(i, j), axis) for symbol, axis in zip(local, axes, strict=True)}
        force = ORIGIN
        for symbol, axis in zip(local, axes, strict=True):
            force = plus(force, times(value.diff(symbol).xreplace(place), axis))
        row = JointRow(value.xreplace(place), force, ORIGIN)
        return self._join("point on surface", name, i, j, _written([row]))

    @said("joints")
    def rod(self, name: str, first: Point, second: Point, *, length: Expression) -> Joint:
        """A constant distance between origins; its multiplier is the pushing force in the rod."""
        i, j, _ = self._ends("rod", name, first, second)
        return self._repeat("rod", name, i, j, _rod, [self._scalar(length, name)])

    @said("joints")
    def screw(self, name: str, first: Point, second: Point, *, pitch: Expression) -> Joint:
        """A cylindrical joint that advances by `pitch` in a turn."""
        i, j = self._in_space("screw", name, first, second)
        lead, ends = self._scalar(pitch, name) / (2 * sp.pi), (i, j)
        held = self._rows("screw", _cylinder, still(*ends, self._model.t), ends)
        advance = self._rows("screw", _advance, moving(*ends, self._model.t), ends, [lead])
        return self._join("screw", name, i, j, held + advance)

    @said("joints")
    def gear(
        self, name: str, driving: Joint, driven: Joint, *, ratio: Expression, phase: Expression | None = None
    ) -> Joint:
        """The driven joint turns by `ratio` times the driving one; gears, belts and chains (negative: opposite sense).

        It is stated for the rates, so the initial positions are free; for planar bodies a `phase` states it for the
        angles themselves: driven angle = ratio * driving angle + phase. Its reaction is the torque on the second body
        of the driven joint; the driving joint carries -ratio times it.
        """
        if None in [self._held(joint, "gear", name) for joint in (driving, driven)]:
            return Joint(name, "gear", Marker("ground"), Marker("ground"), (), (), ())
        ends, t = (driving.first, driving.second, driven.first, driven.second), self._model.t
        numbers = [self._scalar(ratio, name)]
        if phase is None:
            pairs = both(moving(*ends[:2], t), moving(*ends[2:], t))
            rows = self._rows("gear", _geared_rates, pairs, ends, numbers)
        else:
            if not all(map(is_planar, ends)):
                self._model.note(f"gear `{name}`: a phase needs bodies that move in a plane; leave it out")
            pairs = both(still(*ends[:2], t), still(*ends[2:], t))
            rows = self._rows("gear", _geared_angles, pairs, ends, [*numbers, self._scalar(phase, name)])
        return self._join("gear", name, driving.second, driven.second, rows)

    @said("joints")
    def drive(
        self, name: str, joint: Joint, *, angle: Expression | None = None, displacement: Expression | None = None
    ) -> Joint:
        """A prescribed motion of a joint: its `angle` from x to x, or its `displacement` along the axis, over time.

        Its multiplier is the driving torque or force on the second body.
        """
        held = self._held(joint, "drive", name)
        if held is None:
            return Joint(name, "drive", Marker("ground"), Marker("ground"), (), (), ())
        if (angle is None) == (displacement is None):
            self._model.note(f"drive `{name}` needs one of angle= and displacement=")
        what, able = ("displacement", SLIDES) if angle is None else ("angle", TURNS)
        if held.kind not in able:
            self._model.note(f"drive `{name}`: the {held.kind} joint `{held.name}` has no {what} to drive")
        i, j = held.first, held.second
        if angle is None:
            wanted = self._scalar(0 if displacement is None else displacement, name)
            return self._repeat("drive", name, i, j, _displaced, [wanted])
        return self._repeat("drive", name, i, j, _turned, [self._scalar(angle, name)])

    # -- inside ---------------------------------------------------------------------------------------------------

    def _repeat(self, kind: str, name: str, i: Marker, j: Marker, make: Rows, numbers: Sequence[sp.Expr] = ()) -> Joint:
        """A joint defined by its markers and numbers alone: its rows are instances of the template of its kind."""
        return self._join(kind, name, i, j, self._rows(kind, make, still(i, j, self._model.t), (i, j), numbers))

    def _rows(
        self, kind: str, make: Rows, ends: Ends | None, markers: Sequence[Marker], numbers: Sequence[sp.Expr] = ()
    ) -> JointRows:
        """The rows that `make` says of markers and numbers: those of their kind if there are such `ends`."""
        return fill_rows(kind, make, ends, numbers) or _written(make(*markers, *numbers))

    def _join(self, kind: str, name: str, i: Marker, j: Marker, rows: JointRows) -> Joint:
        if i.body.name == j.body.name or not all(map(_varies, rows.expressions)):
            return Joint(name, kind, i, j, (), (), ())  # its fault is told
        if not rows.expressions:
            self._model.note(f"joint `{name}` already holds by the choice of coordinates; leave it out")
            return Joint(name, kind, i, j, (), (), ())
        expressions, units = rows.expressions, rows.units
        one = len(expressions) == 1
        stated = self._model.constrain(
            expressions[0] if one else expressions, name=name, unit=units[0] if one else units
        )
        labels = (stated.name,) if isinstance(stated, Constraint) else tuple(c.name for c in stated)
        forces: Any = lambda _: rows.pushes()[0]  # noqa: E731 - written out when first read
        torques: Any = lambda _: rows.pushes()[1]  # noqa: E731
        joint = Joint(name, kind, i, j, labels, forces, torques)
        self._model.statement.joints.append(joint)
        return joint

    def _ends(self, kind: str, name: str, first: Any, second: Any) -> tuple[Marker, Marker, bool]:
        """The two markers, and whether all moves in the plane."""
        ends: list[Marker] = []
        for point in (first, second):
            end = marker_at(point, self._model.t)
            if end is None:
                self._model.note(f"joint `{name}` holds markers, bodies or particles, not {point!r}{by_name(point)}")
            elif not end.placed:
                self._model.note(
                    f"joint `{name}`: `{end.body.name}` has no position; state it, or constrain velocities"
                )
            ends.append(end or Marker("ground", GROUND.position, GROUND.velocity))
        i, j = ends
        if isinstance(first, Point) and isinstance(second, Point) and i.body.name == j.body.name:
            self._model.note(f"{kind} joint `{name}` ties `{i.body.name}` to itself; give two bodies, or model.ground")
        return i, j, is_planar(i) and is_planar(j)

    def _in_space(self, kind: str, name: str, first: Any, second: Any) -> tuple[Marker, Marker]:
        i, j, flat = self._ends(kind, name, first, second)
        if flat:
            self._model.note(f"joint `{name}`: a {kind} joint needs bodies that move in space, these move in a plane")
        else:
            self._turning(name, i, j)
        return i, j

    def _turning(self, name: str, *markers: Marker) -> None:
        for marker in markers:
            if not has_axes(marker):
                self._model.note(f"joint `{name}` needs axes on `{marker.body.name}`: a body with a rotation")

    def _standing(self, name: str, *markers: Marker) -> None:
        """In the plane, an axis of rotation is normal to it."""
        if any(m.axes[2][0] != 0 or m.axes[2][1] != 0 for m in markers):
            self._model.note(f"joint `{name}`: its axis must be normal to the plane in which its bodies move")

    def _lying(self, name: str, *markers: Marker) -> None:
        """Note a fault if the axis of a line or slide does not lie in the plane of the motion."""
        if any(m.axes[2][2] != 0 for m in markers):
            self._model.note(
                f"joint `{name}`: its axis must lie in the plane in which its bodies move; give markers an axis=[x, y]"
            )

    def _held(self, joint: Any, kind: str, name: str) -> Joint | None:
        if not isinstance(joint, Joint):
            self._model.note(f"{kind} `{name}` acts on joints that model.joints returned, not on {joint!r}")
            return None
        return joint

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"joint `{name}`")


# -- what a joint leaves free -----------------------------------------------------------------------------------------


def can_turn(joint: Joint) -> bool:
    """Whether a joint has an angle: it leaves one rotation free, between ends with axes."""
    i, j = joint.first, joint.second
    turns = joint.kind in TURNS and (joint.kind != "spherical" or (is_planar(i) and is_planar(j)))
    return turns and has_axes(i) and has_axes(j)


def can_slide(joint: Joint) -> bool:
    """Whether a joint has a displacement: it leaves one translation free, along an axis of its first end."""
    return joint.kind in SLIDES and has_axes(joint.first)


def displacement_of(joint: Joint) -> sp.Expr:
    """Displacement of the second end from the first, along the axis of the first."""
    return dot(_gap(joint.first, joint.second), joint.first.axis(2))


# -- rows -------------------------------------------------------------------------------------------------------------


def _written(rows: Sequence[JointRow]) -> JointRows:
    """Rows as stated. A row that vanishes identically is satisfied by the coordinates and has no multiplier."""
    return JointRows.of([row for row in rows if row.expression != 0])


def _varies(expression: sp.Expr) -> bool:
    """Whether an expression has symbols in it."""
    return expression.is_varying if isinstance(expression, Instance) else bool(expression.free_symbols)


def _gap(i: Marker, j: Marker) -> Vector:
    return minus(j.position or ORIGIN, i.position or ORIGIN)


def _along(gap: Vector, axis: Vector) -> JointRow:
    """No displacement along an axis of the first frame."""
    return JointRow(dot(gap, axis), axis, ORIGIN, "m")


def _square(fixed: Vector, moving: Vector) -> JointRow:
    """An axis of the second frame normal to one of the first."""
    return JointRow(dot(moving, fixed), ORIGIN, cross(moving, fixed))


def _meeting(i: Marker, j: Marker) -> list[JointRow]:
    return [_along(_gap(i, j), axis) for axis in (EX, EY, EZ)]


def _on_line(i: Marker, j: Marker) -> list[JointRow]:
    return [_along(_gap(i, j), i.axis(k)) for k in (0, 1)]


def _parallel(i: Marker, j: Marker) -> list[JointRow]:
    return [_square(i.axis(k), j.axis(2)) for k in (0, 1)]


def _rod(i: Marker, j: Marker, length: sp.Expr) -> list[JointRow]:
    gap = _gap(i, j)
    distance = sp.sqrt(dot(gap, gap))
    return [JointRow(distance - length, times(1 / distance, gap), ORIGIN, "m")]


def _displaced(i: Marker, j: Marker, displacement: sp.Expr) -> list[JointRow]:
    return [JointRow(dot(_gap(i, j), i.axis(2)) - displacement, i.axis(2), ORIGIN, "m")]


def _turned(i: Marker, j: Marker, angle: sp.Expr) -> list[JointRow]:
    return [_square(minus(times(sp.cos(angle), i.axis(1)), times(sp.sin(angle), i.axis(0))), j.axis(0))]


def _cylinder(i: Marker, j: Marker) -> list[JointRow]:
    return [*_on_line(i, j), *_parallel(i, j)]


def _advance(i: Marker, j: Marker, lead: sp.Expr) -> list[JointRow]:
    t, axis = time_symbol(), i.axis(2)
    drag = cross(angular_velocity_of(i.body, t), _gap(i, j))
    sliding = dot(minus(minus(velocity_of(j, t), velocity_of(i, t)), drag), axis)
    return [JointRow(sliding - lead * _turning_rate(i, j), axis, times(-lead, axis), "m/s")]


def _geared_rates(i: Marker, j: Marker, k: Marker, l: Marker, ratio: sp.Expr) -> list[JointRow]:
    """The pair k, l is driven by the pair i, j."""
    return [JointRow(_turning_rate(k, l) - ratio * _turning_rate(i, j), ORIGIN, k.axis(2), "rad/s")]


def _geared_angles(i: Marker, j: Marker, k: Marker, l: Marker, ratio: sp.Expr, phase: sp.Expr) -> list[JointRow]:
    gap = angle_between(k, l) - ratio * angle_between(i, j) - phase
    return [JointRow(gap, ORIGIN, k.axis(2), "rad")]


def _turning_rate(i: Marker, j: Marker) -> sp.Expr:
    t = time_symbol()
    return dot(minus(angular_velocity_of(j.body, t), angular_velocity_of(i.body, t)), i.axis(2))


def _untwisted(i: Marker, j: Marker) -> JointRow:
    return _square(i.axis(1), j.axis(0))
