"""Force elements between points and bodies: springs, dampers, actuators and motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.guidance import no_attribute
from dalembert.model.instances import MANY
from dalembert.model.joint_templates import fill_between
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
        start, end = marker_at(first, self._model.t), marker_at(second, self._model.t)
        many, filled = len(self._model.statement.bodies) >= MANY, None
        if many and start is not None and end is not None:
            filled = fill_between("spring", _spring_between, start, end, [k, free], self._model.t)
        if filled is None or start is None or end is None:
            start, end, gap = self._gap(name, first, second)
            place = start.position or ORIGIN
            filled = tuple(_spring(place, gap, k, free))
        potential, effort, *drawn = filled
        self._model.energy(potential=potential)
        points = tuple((drawn[n], drawn[n + 1], drawn[n + 2]) for n in range(0, len(drawn), 3))
        self._model.statement.shapes.append(Line(name, points))
        return self._add(Element(name, "spring", start, end, effort))

    @said("elements")
    def damper(self, name: str, first: Point, second: Point, *, coefficient: Expression) -> Element:
        """A linear damper along the line between two points: force = -coefficient * rate of their distance."""
        i, j, gap = self._gap(name, first, second)
        t = self._model.t
        along = times(1 / sp.sqrt(dot(gap, gap)), gap)
        effort = -self._scalar(coefficient, name) * dot(minus(velocity_of(j, t), velocity_of(i, t)), along)
        self._push(first, second, times(effort, along))
        self._model.statement.shapes.append(dashpot_of(name, i.position or ORIGIN, gap))
        return self._add(Element(name, "damper", i, j, effort))

    @said("elements")
    def actuator(self, name: str, first: Point, second: Point, *, force: Expression) -> Element:
        """A force that pushes two points apart along their line; negative pulls them together. May be an unknown."""
        i, j, gap = self._gap(name, first, second)
        effort = self._scalar(force, name)
        self._push(first, second, times(effort / sp.sqrt(dot(gap, gap)), gap))
        self._model.statement.shapes.append(Line(name, (i.position or ORIGIN, j.position or ORIGIN)))
        return self._add(Element(name, "actuator", i, j, effort))

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

    def _push(self, first: Any, second: Any, force: Vector) -> None:
        for point, sign in ((first, -1), (second, 1)):
            if isinstance(point, Point) and (point.body if isinstance(point, Marker) else point) is not GROUND:
                self._model.force(list(times(sp.Integer(sign), force)), at=point)

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
