"""Drawing of the bodies of SymPy's joint models: a line through the points at which joints hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sympy.physics.mechanics import Point

from dalembert.importers.sympy_geometry import Components, Geometry


def joint_points(joints: Iterable[Any]) -> list[tuple[Any, list[Point]]]:
    """Bodies with the points at which joints hold them, in the order of the joints; and the mass centre if one does."""
    held: dict[int, tuple[Any, list[Point]]] = {}
    for joint in joints:
        for body, point in ((joint.parent, joint.parent_point), (joint.child, joint.child_point)):
            points = held.setdefault(id(body), (body, []))[1]
            if point not in points:
                points.append(point)
    return [(body, points if len(points) > 1 else [*points, body.masscenter]) for body, points in held.values()]


def place_links(
    geometry: Geometry, links: Iterable[tuple[Any, list[Point]]], origin: Point
) -> Iterator[tuple[Any, list[Components]]]:
    """Bodies with the places of their points, from `origin`. Bodies without places, or with one only, are left out."""
    for body, points in links:
        places = [geometry.position(point, origin) for point in points]
        found = [place for place in dict.fromkeys(places) if place is not None]
        if len(found) == len(set(places)) and len(found) > 1:
            yield body, found
