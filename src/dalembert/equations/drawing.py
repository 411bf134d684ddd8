"""Drawing data of a system: the parts that can be drawn, and the function of their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from dalembert.equations.derive import Derivation
from dalembert.equations.functions import flat, function_of
from dalembert.equations.system_facts import Drawing
from dalembert.model.instances import FilledVectors
from dalembert.model.markers import GROUND, axes_of, mark
from dalembert.model.shapes import Link
from dalembert.model.statement import Body, Line, Point
from dalembert.model.time_symbols import time_symbol


def derive_drawing(derivation: Derivation) -> tuple[Drawing, ca.Function | Callable[[], ca.Function]]:
    """Drawing data and their function of x = (t, q, u, p): positions (3 each), rotations (9 each), line points.

    The function is made when first asked for. If a user stated lines, it is made at once: a line that cannot be
    evaluated is a fault of the model.
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
        planar=flat_points and _are_flat(derivation, statement.lines),
    )

    def make() -> ca.Function:
        column = ca.vertcat(
            derivation.points.positions(drawn),
            *[flat(derivation.turning.attitude(b)) for b in bodies],
            derivation.points.positions(_points(statement.lines)),
        )
        return function_of("drawing", derivation.symbols.x, [ca.densify(column)])

    return drawing, make if all(map(_is_filled, statement.lines)) else make()


def _count(line: Line | Link) -> int:
    return len(line.places if isinstance(line, Link) else line.points)


def _is_filled(line: Line | Link) -> bool:
    """Whether a line is drawn by the library, in places of a body or as an instance of its kind, and not by a user."""
    if isinstance(line, Link):
        return not line.stated or all(e.is_Number for place in line.places for e in place)
    return isinstance(line.points, FilledVectors)


def _points(lines: Sequence[Line | Link]) -> list[Point]:
    """The points of lines; places of bodies as markers there."""
    points: list[Point] = []
    for line in lines:
        if isinstance(line, Link):
            points += [mark(line.name, line.body, place, axes_of(GROUND), time_symbol()) for place in line.places]
        else:
            points += [Point(line.name, place) for place in line.points]
    return points


def _are_flat(derivation: Derivation, lines: Sequence[Line | Link]) -> bool:
    """True if lines stay in the plane z = 0. Lines whose expressions do not show it are lowered to graphs."""
    doubtful = [line for line in lines if not _is_flat(line)]
    heights = derivation.points.positions(_points(doubtful))[2::3]
    return ca.sparsify(heights).nnz() == 0


def _is_flat(line: Line | Link) -> bool:
    """Whether the places of a line are zero along z, in a body that turns about z or in inertial axes."""
    places = line.places if isinstance(line, Link) else line.points
    flat = places.is_flat if isinstance(places, FilledVectors) else all(place[2] == 0 for place in places)
    return flat and (not isinstance(line, Link) or _turns_about_z(line.body))


def _turns_about_z(body: Body) -> bool:
    return body.position is not None and body.position[2] == 0 and len(body.rotation) == 1
