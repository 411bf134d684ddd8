"""A circle followed by its arclength: every point, fold and end is known."""

import numpy as np
import pytest

from dalembert.analysis.arclength import Pace, follow_curve
from dalembert.errors import InitialStateError

PACE = Pace(shortest=1e-6, further=1.2, turned=0.9, located=1e-12)


class Circle:
    """x^2 + y^2 = 1 along x, which turns back at -1 and 1; above the height `gap` there is nothing."""

    place = 0

    def __init__(self, gap=np.inf):
        self.gap = gap

    def value(self, point):
        return float(point[0])

    def tangent(self, point, before):
        way = np.array([-point[1], point[0]]) / np.linalg.norm(point)
        return -way if before is not None and way @ before < 0.0 else way

    def correct(self, point, change, way):
        """Newton's method across `way`, to round-off."""
        start = point + change
        found, across = start.copy(), np.array([-way[1], way[0]])
        for k in range(12):
            left = found @ found - 1.0
            if abs(left) < 4e-16:
                return (found, k) if found[1] < self.gap else None
            found = found - across * left / (2.0 * found @ across)
        return (found, 12) if abs(left) < 1e-14 and found[1] < self.gap else None

    def between(self, point, other):
        return other - point

    def measure(self, change, other):
        return float(change @ other)

    def ended(self, point):
        return InitialStateError(f"ends at {point[0]:g}")


def test_a_circle_is_followed_past_its_fold_to_an_end():
    start = np.array([0.6, -0.8])
    points, folds, complete = follow_curve(Circle(), start, (-0.5, 2.0), 0.1, 400, PACE)
    assert complete
    assert max(abs(np.linalg.norm(point) - 1.0) for point in points) < 1e-14
    assert len(folds) == 1
    assert np.abs(folds[0] - [1.0, 0.0]).max() < 1e-9  # located to 1e-12 of a step
    assert points[-1] == pytest.approx([-0.5, np.sqrt(0.75)], abs=1e-9)  # behind the fold, on the upper half


def test_it_goes_round_as_long_as_the_span_allows():
    points, folds, complete = follow_curve(Circle(), np.array([0.0, -1.0]), (-2.0, 2.0), 0.2, 60, PACE)
    assert not complete
    assert len(points) == 60
    sides = np.array([fold[0] for fold in folds])
    assert len(sides) > 2
    assert np.abs(np.abs(sides) - 1.0).max() < 1e-14
    assert (sides[1:] * sides[:-1] < 0.0).all()  # right and left by turns


def test_a_curve_that_ends_says_so():
    with pytest.raises(InitialStateError, match="ends at"):
        follow_curve(Circle(gap=0.5), np.array([0.6, -0.8]), (-2.0, 2.0), 0.1, 400, PACE)
