"""What of a system can be drawn, and the function that says where it is."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from dalembert.equations.derive import Derivation
from dalembert.equations.functions import flat, function_of
from dalembert.equations.system_facts import Drawing
from dalembert.model.shapes import Link
from dalembert.model.statement import Body, Line, Point


def derive_drawing(derivation: Derivation) -> tuple[Drawing, ca.Function | Callable[[], ca.Function]]:
    """What can be drawn, and a function of x = (t, q, u, p): positions (3 each), rotations (9 each), line points.

    It is made when first asked for, unless lines were stated: what cannot be drawn is a fault of the model.
    """
    statement = derivation.statement
    drawn: list[Point] = [*(p for p in statement.particles if not p.part), *statement.bodies]
    drawn = [p for p in drawn if p.position is not None]
    bodies = [b for b in statement.bodies if b.position is not None]
    flat_points = all(p.position is not None and p.position[2] == 0 for p in drawn)
    drawing = Drawing(
        points=tuple(p.name for p in drawn),
        bodies=tuple(b.name for b in bodies),
        lines=tuple((line.name, _count(line)) for line in statement.lines),
        planar=flat_points and all(_is_flat(derivation, line) for line in statement.lines),
    )

    def make() -> ca.Function:
        columns = [derivation.position(p) for p in drawn]
        columns += [flat(derivation.turning.attitude(b)) for b in bodies]
        columns += [point for line in statement.lines for point in _points(derivation, line)]
        return function_of("drawing", derivation.kinematics.symbols.x, [ca.densify(c) for c in columns])

    return drawing, make if all(isinstance(line, Link) for line in statement.lines) else make()


def _count(line: Line | Link) -> int:
    return len(line.places if isinstance(line, Link) else line.points)


def _points(derivation: Derivation, line: Line | Link) -> list[ca.SX]:
    """The points (3, 1) of a line."""
    if not isinstance(line, Link):
        return [derivation.low.vector(point) for point in line.points]
    origin, R = derivation.position(line.body), derivation.turning.attitude(line.body)
    return [origin + ca.mtimes(R, derivation.low.vector(place)) for place in line.places]


def _is_flat(derivation: Derivation, line: Line | Link) -> bool:
    """Whether a line stays in the plane z = 0."""
    if isinstance(line, Link) and _turns_about_z(line.body):
        return all(place[2] == 0 for place in line.places)
    return all(ca.sparsify(point[2]).nnz() == 0 for point in _points(derivation, line))


def _turns_about_z(body: Body) -> bool:
    return body.position is not None and body.position[2] == 0 and len(body.rotation) == 1
