"""Force elements between points and bodies: springs, dampers, actuators and motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.guidance import no_attribute
from dalembert.model.joint_templates import fill, fill_line, moving, still
from dalembert.model.journal import said
from dalembert.model.markers import (
    GROUND,
    Marker,
    angle_between,
    angular_velocity_of,
    by_name,
    has_axes,
    marker_at,
    velocity_of,
)
from dalembert.model.shapes import coil_along, dashpot_along
from dalembert.model.statement import Element, Line, Point, Vector
from dalembert.model.time_symbols import time_symbol
from dalembert.model.vectors import EX, ORIGIN, dot, minus, times

if TYPE_CHECKING:
    from dalembert.model.contributions import ModelContributions

Expression = Any


class Elements:
    """The force elements of a model. Ends are markers, bodies (their mass centres) or particles; `model.ground` too.

    Along a motion `motion.force(name)` is what an element exerts: positive where it pushes its ends apart, or turns the
    second body ahead of the first. `motion.length(name)` and `motion.power(name)` go with it.
    """

    def __init__(self, model: ModelContributions) -> None:
        self._model = model

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    @said("elements")
    def spring(
        self, name: str, first: Point, second: Point, *, stiffness: Expression, length: Expression = 0
    ) -> Element:
        """A linear spring of free `length` between two points, as a potential energy."""
        k, free = self._scalar(stiffness, name), self._scalar(length, name)
        ends = self._repeated(first, second)
        pair = None if ends is None else still(*ends, self._model.t)
        filled: Sequence[sp.Expr] | None = fill("spring", _spring_between, pair, [k, free])
        drawn: Sequence[Vector] | None = fill_line("coil", _coil_between, pair)
        if filled is None or drawn is None or ends is None:
            i, j, gap = self._gap(name, first, second)
            filled, drawn, ends = _spring(gap, k, free), coil_along(i.position or ORIGIN, gap), (i, j)
        potential, effort = filled
        self._model.energy(potential=potential)
        self._draw(name, drawn)
        return self._add(Element(name, "spring", *ends, effort))

    @said("elements")
    def damper(self, name: str, first: Point, second: Point, *, coefficient: Expression) -> Element:
        """A linear damper along the line between two points: force = -coefficient * rate of their distance."""
        c, t = self._scalar(coefficient, name), self._model.t
        ends = self._repeated(first, second)
        filled: Sequence[sp.Expr] | None = None
        drawn: Sequence[Vector] | None = None
        if ends is not None:
            filled = fill("damper", _damper_between, moving(*ends, t), [c])
            drawn = fill_line("dashpot", _dashpot_between, still(*ends, t))
        if filled is None or drawn is None or ends is None:
            i, j, gap = self._gap(name, first, second)
            filled = _damper(gap, minus(velocity_of(j, t), velocity_of(i, t)), c)
            drawn, ends = dashpot_along(i.position or ORIGIN, gap), (i, j)
        effort, *forces = filled
        self._draw(name, drawn)
        return self._along("damper", name, (first, second), ends, effort, forces)

    @said("elements")
    def actuator(self, name: str, first: Point, second: Point, *, force: Expression) -> Element:
        """A force that pushes two points apart along their line; negative pulls them together. May be an unknown."""
        effort = self._scalar(force, name)
        ends = self._repeated(first, second)
        pair = None if ends is None else still(*ends, self._model.t)
        forces = fill("actuator", _actuator_between, pair, [effort])
        drawn: Sequence[Vector] | None = fill_line("stroke", _stroke_between, pair)
        if forces is None or drawn is None or ends is None:
            i, j, gap = self._gap(name, first, second)
            forces, drawn, ends = _actuator(gap, effort), _stroke_between(i, j), (i, j)
        self._draw(name, drawn)
        return self._along("actuator", name, (first, second), ends, effort, forces)

    @said("elements")
    def torsion_spring(
        self, name: str, first: Point, second: Point, *, stiffness: Expression, angle: Expression = 0
    ) -> Element:
        """A spring that turns the second body against the first one towards the relative `angle`.

        The angle is that from x to x about the z axis of the first marker; in space it is taken between -pi and pi.
        """
        i, j = self._turning(name, first, second)
        numbers = [self._scalar(stiffness, name), self._scalar(angle, name)]
        filled = fill("torsion spring", _torsion_spring, still(i, j, self._model.t), numbers)
        potential, effort, between, x, y, z = filled or _torsion_spring(i, j, *numbers)
        self._model.energy(potential=potential)
        return self._add(Element(name, "torsion spring", i, j, effort, (x, y, z), between))

    @said("elements")
    def torsion_damper(
        self, name: str, first: Point, second: Point, *, coefficient: Expression, axis: Sequence[Expression] = (0, 0, 1)
    ) -> Element:
        """A torque -coefficient * relative rate of turning about `axis` of the first body."""
        i, j, about = self._about(name, first, second, axis)
        numbers = [self._scalar(coefficient, name)]
        filled = fill("torsion damper", _torsion_damper, moving(about, j, self._model.t), numbers)
        effort, *twist = filled or _torsion_damper(about, j, *numbers)
        return self._twist("torsion damper", name, i, j, effort, twist)

    @said("elements")
    def motor(
        self, name: str, first: Point, second: Point, *, torque: Expression, axis: Sequence[Expression] = (0, 0, 1)
    ) -> Element:
        """A torque on the second body about `axis` of the first one, the opposite on the first. May be an unknown."""
        i, j, about = self._about(name, first, second, axis)
        effort = self._scalar(torque, name)
        twist = fill("motor", _motor, still(about, j, self._model.t), [effort]) or _motor(about, j, effort)
        return self._twist("motor", name, i, j, effort, twist)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _add(self, element: Element) -> Element:
        """Register an element under its name, so that its effort can be read."""
        self._model.statement.elements.append(element)
        return element

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"element `{name}`")

    def _end(self, name: str, point: Any) -> Marker | None:
        end = marker_at(point, self._model.t)
        if end is None:
            self._model.note(f"element `{name}` joins markers, bodies or particles, not {point!r}{by_name(point)}")
        return end

    def _gap(self, name: str, first: Any, second: Any) -> tuple[Marker, Marker, Vector]:
        """Both ends, and the vector from the first to the second; the unit vector along x after a fault."""
        ground = Marker("ground", GROUND.position, GROUND.velocity)
        i, j = (self._end(name, point) for point in (first, second))
        if i is None or j is None:
            return ground, ground, EX
        for end in (i, j):
            if end.position is None:
                self._model.note(f"element `{name}`: `{end.name}` has no position; state it")
                return ground, ground, EX
        gap = minus(j.position or ORIGIN, i.position or ORIGIN)
        if gap == ORIGIN:
            self._model.note(f"element `{name}` joins `{i.name}` to the same place; its ends must differ")
            return ground, ground, EX
        return i, j, gap

    def _turning(self, name: str, first: Any, second: Any) -> tuple[Marker, Marker]:
        """Both ends, on two different bodies; the ground in place of a faulty one."""
        ends = [self._end(name, point) for point in (first, second)]
        for end in ends:
            if end is not None and not has_axes(end):
                self._model.note(f"element `{name}` turns bodies with a rotation; `{end.name}` has none")
        i, j = (end or Marker("ground", GROUND.position, GROUND.velocity) for end in ends)
        if None not in ends and i.body is j.body:
            self._model.note(f"element `{name}` turns `{i.body.name}` against itself; give two bodies, or model.ground")
        return i, j

    def _about(self, name: str, first: Any, second: Any, axis: Sequence[Expression]) -> tuple[Marker, Marker, Marker]:
        """Both ends, and a marker on the first body with this axis."""
        i, j = self._turning(name, first, second)
        return i, j, self._model.marker(i.body, [0, 0, 0], axis=axis)

    def _repeated(self, first: Any, second: Any) -> tuple[Marker, Marker] | None:
        """Both ends of an element that may be an instance of its kind; else None."""
        start, end = marker_at(first, self._model.t), marker_at(second, self._model.t)
        return None if start is None or end is None else (start, end)

    def _along(
        self,
        kind: str,
        name: str,
        points: tuple[Any, Any],
        ends: tuple[Marker, Marker],
        effort: sp.Expr,
        forces: Sequence[sp.Expr],
    ) -> Element:
        """An element that exerts the first three of `forces` on its first point, the others on the second."""
        for point, force in zip(points, (forces[:3], forces[3:]), strict=True):
            if isinstance(point, Point) and (point.body if isinstance(point, Marker) else point) is not GROUND:
                self._model.force(list(force), at=point)
        return self._add(Element(name, kind, *ends, effort))

    def _draw(self, name: str, points: Sequence[Vector]) -> None:
        self._model.statement.shapes.append(Line(name, points))

    def _twist(self, kind: str, name: str, i: Marker, j: Marker, effort: sp.Expr, twist: Sequence[sp.Expr]) -> Element:
        """An element that turns both bodies by the torques of `twist`; the axis comes last in it."""
        for end, torque in ((i, twist[:3]), (j, twist[3:6])):
            if end.body is not GROUND:
                self._model.torque(list(torque), on=end.body)
        return self._add(Element(name, kind, i, j, effort, (twist[6], twist[7], twist[8])))


def _spring(gap: Vector, stiffness: sp.Expr, length: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Potential energy and force of a spring along `gap`."""
    square = dot(gap, gap)
    potential = stiffness * (square if length == 0 else (sp.sqrt(square) - length) ** 2) / 2
    return potential, -stiffness * (sp.sqrt(square) - length)


def _spring_between(i: Marker, j: Marker, stiffness: sp.Expr, length: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    return _spring(_way(i, j), stiffness, length)


def _coil_between(i: Marker, j: Marker) -> Sequence[Vector]:
    return coil_along(i.position or ORIGIN, _way(i, j))


def _way(i: Marker, j: Marker) -> Vector:
    return minus(j.position or ORIGIN, i.position or ORIGIN)


def _damper(gap: Vector, rate: Vector, coefficient: sp.Expr) -> list[sp.Expr]:
    """Effort of a damper along `gap`, followed by the forces on its two ends, three components each.

    `rate` is the relative velocity of the ends. The effort is positive if it pushes them apart.
    """
    along = times(1 / sp.sqrt(dot(gap, gap)), gap)
    effort = -coefficient * dot(rate, along)
    return [effort, *_opposite(times(effort, along))]


def _damper_between(i: Marker, j: Marker, coefficient: sp.Expr) -> list[sp.Expr]:
    return _damper(_way(i, j), minus(j.velocity or ORIGIN, i.velocity or ORIGIN), coefficient)


def _dashpot_between(i: Marker, j: Marker) -> Sequence[Vector]:
    return dashpot_along(i.position or ORIGIN, _way(i, j))


def _actuator(gap: Vector, effort: sp.Expr) -> tuple[sp.Expr, ...]:
    """The forces of an actuator along `gap` on both ends."""
    return _opposite(times(effort / sp.sqrt(dot(gap, gap)), gap))


def _actuator_between(i: Marker, j: Marker, effort: sp.Expr) -> tuple[sp.Expr, ...]:
    return _actuator(_way(i, j), effort)


def _stroke_between(i: Marker, j: Marker) -> Sequence[Vector]:
    return i.position or ORIGIN, j.position or ORIGIN


def _torsion_spring(i: Marker, j: Marker, stiffness: sp.Expr, angle: sp.Expr) -> tuple[sp.Expr, ...]:
    """Potential energy and torque of a torsion spring, the angle between its ends, and its axis."""
    between = angle_between(i, j)
    potential = stiffness * (between - angle) ** 2 / 2
    return potential, -stiffness * (between - angle), between, *i.axis(2)


def _motor(i: Marker, _: Marker, effort: sp.Expr) -> tuple[sp.Expr, ...]:
    """Torque of a motor on the first body, torque on the second body, and its axis: that of the first marker."""
    axis = i.axis(2)
    return *_opposite(times(effort, axis)), *axis


def _torsion_damper(i: Marker, j: Marker, coefficient: sp.Expr) -> tuple[sp.Expr, ...]:
    """Torque of a torsion damper about the axis of `i`, followed by the entries that `_motor` returns."""
    t = time_symbol()
    rate = dot(minus(angular_velocity_of(j.body, t), angular_velocity_of(i.body, t)), i.axis(2))
    effort = -coefficient * rate
    return effort, *_motor(i, j, effort)


def _opposite(force: Vector) -> tuple[sp.Expr, ...]:
    """The force on the first of two points, opposite to `force`, then `force` on the second: six components."""
    return (*times(sp.Integer(-1), force), *times(sp.Integer(1), force))
