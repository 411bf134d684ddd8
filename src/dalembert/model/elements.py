"""Force elements between points and bodies: springs, dampers, actuators and motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.guidance import no_attribute
from dalembert.model.joint_templates import fill_between, fill_moving
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
from dalembert.model.shapes import coil_of, dashpot_of
from dalembert.model.statement import Element, Line, Point, Vector
from dalembert.model.vectors import EX, ORIGIN, dot, minus, times

if TYPE_CHECKING:
    import dalembert

Expression = Any


class Elements:
    """The force elements of a model. Ends are markers, bodies (their mass centres) or particles; `model.ground` too.

    Along a motion `motion.force(name)` is what an element exerts: positive where it pushes its ends apart, or turns the
    second body ahead of the first. `motion.length(name)` and `motion.power(name)` go with it.
    """

    def __init__(self, model: dalembert.Model) -> None:
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
        filled = None if ends is None else fill_between("spring", _spring_between, *ends, [k, free], self._model.t)
        if filled is None or ends is None:
            i, j, gap = self._gap(name, first, second)
            filled = tuple(_spring(i.position or ORIGIN, gap, k, free))
            ends = i, j
        potential, effort, *drawn = filled
        self._model.energy(potential=potential)
        self._draw(name, drawn)
        return self._add(Element(name, "spring", *ends, effort))

    @said("elements")
    def damper(self, name: str, first: Point, second: Point, *, coefficient: Expression) -> Element:
        """A linear damper along the line between two points: force = -coefficient * rate of their distance."""
        c, t = self._scalar(coefficient, name), self._model.t
        ends = self._repeated(first, second)
        filled = None if ends is None else fill_moving("damper", _damper_between, *ends, [c], t)
        drawn = None if ends is None else fill_between("dashpot", _dashpot_between, *ends, [], t)
        if filled is None or drawn is None or ends is None:
            i, j, gap = self._gap(name, first, second)
            filled = tuple(_damper(gap, minus(velocity_of(j, t), velocity_of(i, t)), c))
            ends, drawn = (i, j), tuple(_dashpot(i.position or ORIGIN, gap))
        effort, *forces = filled
        self._draw(name, drawn)
        return self._along("damper", name, (first, second), ends, effort, forces)

    @said("elements")
    def actuator(self, name: str, first: Point, second: Point, *, force: Expression) -> Element:
        """A force that pushes two points apart along their line; negative pulls them together. May be an unknown."""
        effort = self._scalar(force, name)
        t, ends = self._model.t, self._repeated(first, second)
        forces = None if ends is None else fill_between("actuator", _actuator_between, *ends, [effort], t)
        drawn = None if ends is None else fill_between("stroke", _stroke_between, *ends, [], t)
        if forces is None or drawn is None or ends is None:
            i, j, gap = self._gap(name, first, second)
            forces = _actuator(gap, effort)
            ends, drawn = (i, j), (*(i.position or ORIGIN), *(j.position or ORIGIN))
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
        k, turned = self._scalar(stiffness, name), angle_between(i, j) - self._scalar(angle, name)
        self._model.energy(potential=k * turned**2 / 2)
        return self._add(Element(name, "torsion spring", i, j, -k * turned, i.axis(2), angle_between(i, j)))

    @said("elements")
    def torsion_damper(
        self, name: str, first: Point, second: Point, *, coefficient: Expression, axis: Sequence[Expression] = (0, 0, 1)
    ) -> Element:
        """A torque -coefficient * relative rate of turning about `axis` of the first body."""
        i, j, e = self._about(name, first, second, axis)
        t = self._model.t
        rate = dot(minus(angular_velocity_of(j.body, t), angular_velocity_of(i.body, t)), e)
        effort = -self._scalar(coefficient, name) * rate
        self._twist(i, j, times(effort, e))
        return self._add(Element(name, "torsion damper", i, j, effort, e))

    @said("elements")
    def motor(
        self, name: str, first: Point, second: Point, *, torque: Expression, axis: Sequence[Expression] = (0, 0, 1)
    ) -> Element:
        """A torque on the second body about `axis` of the first one, the opposite on the first. May be an unknown."""
        i, j, e = self._about(name, first, second, axis)
        effort = self._scalar(torque, name)
        self._twist(i, j, times(effort, e))
        return self._add(Element(name, "motor", i, j, effort, e))

    # -- inside ---------------------------------------------------------------------------------------------------

    def _add(self, element: Element) -> Element:
        """Keep an element under its name, so that what it exerts can be asked for."""
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
        """Both ends and the way from one to the other; unit length along x after a fault."""
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
        """Both ends on bodies that differ, or the ground twice after a fault."""
        ends = [self._end(name, point) for point in (first, second)]
        for end in ends:
            if end is not None and not has_axes(end):
                self._model.note(f"element `{name}` turns bodies with a rotation; `{end.name}` has none")
        i, j = (end or Marker("ground", GROUND.position, GROUND.velocity) for end in ends)
        if None not in ends and i.body is j.body:
            self._model.note(f"element `{name}` turns `{i.body.name}` against itself; give two bodies, or model.ground")
        return i, j

    def _about(self, name: str, first: Any, second: Any, axis: Sequence[Expression]) -> tuple[Marker, Marker, Vector]:
        i, j = self._turning(name, first, second)
        return i, j, self._model.marker(i.body, [0, 0, 0], axis=axis).axis(2)

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

    def _draw(self, name: str, entries: Sequence[sp.Expr]) -> None:
        """A line through points, given by the components of one after the other."""
        points = tuple((entries[n], entries[n + 1], entries[n + 2]) for n in range(0, len(entries), 3))
        self._model.statement.shapes.append(Line(name, points))

    def _twist(self, i: Marker, j: Marker, torque: Vector) -> None:
        for end, sign in ((i, -1), (j, 1)):
            if end.body is not GROUND:
                self._model.torque(list(times(sp.Integer(sign), torque)), on=end.body)


def _spring(start: Vector, gap: Vector, stiffness: sp.Expr, length: sp.Expr) -> list[sp.Expr]:
    """Potential energy and force of a spring along `gap`, and the points of its coil."""
    square = dot(gap, gap)
    potential = stiffness * (square if length == 0 else (sp.sqrt(square) - length) ** 2) / 2
    effort = -stiffness * (sp.sqrt(square) - length)
    return [potential, effort, *(c for point in coil_of("", start, gap).points for c in point)]


def _spring_between(start: Vector, end: Vector, stiffness: sp.Expr, length: sp.Expr) -> list[sp.Expr]:
    return _spring(start, minus(end, start), stiffness, length)


def _damper(gap: Vector, rate: Vector, coefficient: sp.Expr) -> list[sp.Expr]:
    """What a damper along `gap` exerts, its ends parting at the velocity `rate`, and the forces on both ends."""
    along = times(1 / sp.sqrt(dot(gap, gap)), gap)
    effort = -coefficient * dot(rate, along)
    return [effort, *_opposite(times(effort, along))]


def _damper_between(start: Vector, end: Vector, v: Vector, w: Vector, coefficient: sp.Expr) -> list[sp.Expr]:
    return _damper(minus(end, start), minus(w, v), coefficient)


def _dashpot(start: Vector, gap: Vector) -> list[sp.Expr]:
    return [c for point in dashpot_of("", start, gap).points for c in point]


def _dashpot_between(start: Vector, end: Vector) -> list[sp.Expr]:
    return _dashpot(start, minus(end, start))


def _actuator(gap: Vector, effort: sp.Expr) -> tuple[sp.Expr, ...]:
    """The forces of an actuator along `gap` on both ends."""
    return _opposite(times(effort / sp.sqrt(dot(gap, gap)), gap))


def _actuator_between(start: Vector, end: Vector, effort: sp.Expr) -> tuple[sp.Expr, ...]:
    return _actuator(minus(end, start), effort)


def _stroke_between(start: Vector, end: Vector) -> tuple[sp.Expr, ...]:
    return *start, *end


def _opposite(force: Vector) -> tuple[sp.Expr, ...]:
    """A force on the second of two points with that on the first before it."""
    return (*times(sp.Integer(-1), force), *times(sp.Integer(1), force))
