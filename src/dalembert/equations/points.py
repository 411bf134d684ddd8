"""Motion of points: positions and velocities of particles, bodies and their markers, many points at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.rotations import crossed, turned_vectors
from dalembert.equations.symbols import Kinematics
from dalembert.equations.turning import Turning
from dalembert.model.markers import Marker
from dalembert.model.statement import Point

Find = Callable[[Sequence[Any]], ca.SX]  # a column (3 n, 1) of n points


class Points:
    """Positions and velocities of points in inertial axes.

    A marker that is fixed in its body, at x + R a, moves with it: where velocities of the body were stated, its own is
    v + R (w x a); else it is the rate of its position.
    """

    def __init__(self, kinematics: Kinematics, low: Lowering, turning: Turning) -> None:
        self._kinematics, self._low, self._turning = kinematics, low, turning

    def position(self, point: Point) -> ca.SX:
        """Position (3, 1); NaN where only a velocity was stated."""
        return self.positions([point])

    def velocity(self, point: Point) -> ca.SX:
        """Velocity (3, 1) in terms of (q, u, t)."""
        return self.velocities([point])

    def positions(self, points: Sequence[Point]) -> ca.SX:
        """Positions of n points, one below the other, (3 n, 1); NaN where only a velocity was stated."""
        return _together(points, self._placing)

    def velocities(self, points: Sequence[Point]) -> ca.SX:
        """Velocities of n points, one below the other, (3 n, 1); those that follow from positions by one sweep."""
        return _together(points, self._moving)

    # -- by how the motion was stated --------------------------------------------------------------------------------

    def _placing(self, point: Point) -> Find:
        if isinstance(point, Marker) and point.fixed:
            return self._fixed_positions
        return _unknown if point.position is None else self._stated_positions

    def _moving(self, point: Point) -> Find:
        if isinstance(point, Marker) and point.fixed:
            stated = point.body.velocity is not None or point.body.angular_velocity is not None
            return self._fixed_velocities if stated else self._rates
        return self._rates if point.velocity is None else self._stated_velocities

    def _stated_positions(self, points: Sequence[Point]) -> ca.SX:
        return self._low.vector([c for point in points for c in point.position or ()])

    def _stated_velocities(self, points: Sequence[Point]) -> ca.SX:
        return self._low.vector([c for point in points for c in point.velocity or ()])

    def _rates(self, points: Sequence[Point]) -> ca.SX:
        return self._kinematics.rate(self.positions(points))

    def _fixed_positions(self, markers: Sequence[Marker]) -> ca.SX:
        return _of_bodies(markers, self.positions) + self._turned(markers, self._places(markers))

    def _fixed_velocities(self, markers: Sequence[Marker]) -> ca.SX:
        spin = _of_bodies(markers, self._turning.angular_velocities)
        return _of_bodies(markers, self.velocities) + self._turned(markers, crossed(spin, self._places(markers)))

    def _places(self, markers: Sequence[Marker]) -> ca.SX:
        return self._low.vector([c for marker in markers for c in marker.place])

    def _turned(self, markers: Sequence[Marker], vectors: ca.SX) -> ca.SX:
        """Vectors in the axes of the bodies of markers, (3 n, 1), in inertial axes."""
        matrices = self._turning.attitudes([marker.body for marker in markers])
        return ca.vec(turned_vectors()(matrices, ca.reshape(vectors, 3, len(markers))))


def _together(points: Sequence[Point], way: Callable[[Point], Find]) -> ca.SX:
    """A column (3 n, 1) of n points, all that are found in one way at once."""
    ways: dict[Find, list[int]] = {}
    for k, point in enumerate(points):
        ways.setdefault(way(point), []).append(k)
    if len(ways) < 2:
        return next(iter(ways))(points) if ways else ca.SX(0, 1)
    columns = ca.vertcat(*[ca.densify(find([points[k] for k in chosen])) for find, chosen in ways.items()])
    return _gathered(columns, np.argsort(np.concatenate(list(ways.values()))))


def _of_bodies(markers: Sequence[Marker], find: Find) -> ca.SX:
    """A column (3 n, 1) of the bodies of n markers, each body found once."""
    bodies = {id(marker.body): marker.body for marker in markers}
    column, place = find(list(bodies.values())), {body: k for k, body in enumerate(bodies)}
    return _gathered(ca.densify(column), np.array([place[id(marker.body)] for marker in markers]))


def _gathered(column: ca.SX, places: np.ndarray) -> ca.SX:
    """Threes of a dense column, those at `places` one below the other."""
    return column[(3 * places[:, None] + np.arange(3)).ravel().tolist()]


def _unknown(points: Sequence[Point]) -> ca.SX:
    return ca.SX.nan(3 * len(points))
