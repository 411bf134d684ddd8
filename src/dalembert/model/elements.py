"""Force elements between points and bodies: springs, dampers, actuators and motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model.markers import ORIGIN, Marker, angular_velocity_of, is_planar, velocity_of
from dalembert.model.shapes import coil_of
from dalembert.model.statement import Body, Line, Point

if TYPE_CHECKING:
    from dalembert.model.model import Model

Expression = Any
COILS = 8  # of a spring as it is drawn


class Elements:
    """The force elements of a model. Ends are markers, bodies (their mass centres) or particles; `model.ground` too."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def spring(self, name: str, first: Point, second: Point, *, stiffness: Expression, length: Expression = 0) -> None:
        """A linear spring of free `length` between two points, as a potential energy."""
        gap = self._gap(name, first, second)
        k, free = self._scalar(stiffness, name), self._scalar(length, name)
        stretch = gap.dot(gap) if free == 0 else (sp.sqrt(gap.dot(gap)) - free) ** 2
        self._model.energy(potential=k * stretch / 2)
        if gap.has(sp.Function):
            self._model.statement.shapes.append(coil_of(name, sp.Matrix(first.position), gap, COILS))

    def damper(self, name: str, first: Point, second: Point, *, coefficient: Expression) -> None:
        """A linear damper along the line between two points: force = -coefficient * rate of their distance."""
        gap = self._gap(name, first, second)
        t = self._model.t
        along = gap / sp.sqrt(gap.dot(gap))
        rate = (velocity_of(second, t) - velocity_of(first, t)).dot(along)
        self._push(first, second, -self._scalar(coefficient, name) * rate * along)

    def actuator(self, name: str, first: Point, second: Point, *, force: Expression) -> None:
        """A force that pushes two points apart along their line; negative pulls them together. May be an unknown."""
        gap = self._gap(name, first, second)
        self._push(first, second, self._scalar(force, name) * gap / sp.sqrt(gap.dot(gap)))
        self._model.statement.shapes.append(Line(name, (first.position or ORIGIN, second.position or ORIGIN)))

    def torsion_spring(
        self, name: str, first: Body, second: Body, *, stiffness: Expression, angle: Expression = 0
    ) -> None:
        """A spring that turns the second body against the first one towards the relative `angle`, in the plane."""
        if not self._both_planar(name, first, second):
            return
        turned = self._turned(second) - self._turned(first) - self._scalar(angle, name)
        self._model.energy(potential=self._scalar(stiffness, name) * turned**2 / 2)

    def torsion_damper(
        self, name: str, first: Point, second: Point, *, coefficient: Expression, axis: Sequence[Expression] = (0, 0, 1)
    ) -> None:
        """A torque -coefficient * relative rate of turning about `axis` of the first body."""
        e, rate = self._about(first, second, axis)
        self._twist(first, second, -self._scalar(coefficient, name) * rate * e)

    def motor(
        self, name: str, first: Point, second: Point, *, torque: Expression, axis: Sequence[Expression] = (0, 0, 1)
    ) -> None:
        """A torque on the second body about `axis` of the first one, the opposite on the first. May be an unknown."""
        e, _ = self._about(first, second, axis)
        self._twist(first, second, self._scalar(torque, name) * e)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _scalar(self, value: Any, name: str) -> sp.Expr:
        return self._model.scalar(value, f"element `{name}`")

    def _gap(self, name: str, first: Point, second: Point) -> sp.Matrix:
        for point in (first, second):
            if not isinstance(point, Point) or point.position is None:
                self._model.note(f"element `{name}`: {getattr(point, 'name', point)!r} is not a point with a position")
                return sp.Matrix([1, 0, 0])
        gap = sp.Matrix(second.position) - sp.Matrix(first.position)
        if gap == sp.zeros(3, 1):
            self._model.note(f"element `{name}` joins `{first.name}` to the same place; its ends must differ")
            return sp.Matrix([1, 0, 0])
        return gap

    def _push(self, first: Point, second: Point, force: sp.Matrix) -> None:
        for point, sign in ((first, -1), (second, 1)):
            if _carrier(point) is not self._model.ground:
                self._model.force(list(sign * force), at=point)

    def _twist(self, first: Point, second: Point, torque: sp.Matrix) -> None:
        for point, sign in ((first, -1), (second, 1)):
            body = _carrier(point)
            if body is not self._model.ground:
                self._model.torque(list(sign * torque), on=body)

    def _about(self, first: Point, second: Point, axis: Sequence[Expression]) -> tuple[sp.Matrix, sp.Expr]:
        body, other = _carrier(first), _carrier(second)
        e = self._model.marker(body, [0, 0, 0], axis=axis).axis(2)
        t = self._model.t
        return e, (angular_velocity_of(other, t) - angular_velocity_of(body, t)).dot(e)

    def _both_planar(self, name: str, *bodies: Body) -> bool:
        flat = all(isinstance(body, Body) and is_planar(body) for body in bodies)
        if not flat:
            self._model.note(f"element `{name}`: a torsion spring needs bodies that move in the plane")
        return flat

    def _turned(self, body: Body) -> sp.Expr:
        return sp.S.Zero if body is self._model.ground else body.rotation[0]


def _carrier(point: Point) -> Any:
    return point.body if isinstance(point, Marker) else point
