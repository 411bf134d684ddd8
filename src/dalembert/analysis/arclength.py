"""Curves followed by their arclength: a step along the tangent, a corrector across it, folds and ends located.

Pseudo-arclength continuation (H. B. Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems",
1977): the curve may turn back in the value it is followed along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dalembert.errors import InitialStateError

QUICK = 4  # iterations up to which the step may grow
STEP_GROWTH, LONGEST_STEP = 1.5, 4.0  # factor on a step that was found quickly; times the first step

Point = TypeVar("Point")


class Pace(NamedTuple):
    """Step control along a curve.

    `shortest` is the smallest step, relative to the first one. `further` is the largest distance of the next point,
    relative to the step. `turned` is the least cosine between successive tangents. `located` is the part of a step to
    which folds and ends are located.
    """

    shortest: float
    further: float
    turned: float
    located: float


class ImplicitCurve(Protocol[Point]):
    """Interface of a curve. Changes and tangents are in scaled entries; the entry of the key is at `place`."""

    @property
    def place(self) -> int: ...

    def value(self, point: Point) -> float:
        """The value of the key."""
        ...

    def tangent(self, point: Point, before: np.ndarray | None) -> np.ndarray:
        """The direction of the curve, oriented to continue the direction `before`."""
        ...

    def correct(self, point: Point, change: np.ndarray, way: np.ndarray) -> tuple[Point, int] | None:
        """The point of the curve in the plane across `way` at a change from one, and the iterations; None if none."""
        ...

    def measure(self, change: np.ndarray, other: np.ndarray) -> float:
        """Inner product of two changes, over the entries that count in the arclength."""
        ...

    def between(self, point: Point, other: Point) -> np.ndarray:
        """The change from one point to another."""
        ...

    def ended(self, point: Point) -> InitialStateError:
        """Error for a point beyond which the curve cannot be followed."""
        ...


class CurvePoints(NamedTuple):
    """The points of a curve, those at which the key turns back, and whether it reached an end of the span."""

    points: list[Any]
    folds: list[Any]
    complete: bool


def follow_curve(
    curve: ImplicitCurve[Point], start: Point, span: tuple[float, float], step: float, most: int, pace: Pace
) -> CurvePoints:
    """The curve from a point on, first towards larger values of the key, until these leave the span."""
    way, (low, high) = curve.tangent(start, None), span
    way = -way if way[curve.place] < 0.0 else way
    found, h, least = CurvePoints([start], [], complete=False), step, pace.shortest * step
    while len(found.points) < most and not found.complete:
        here = found.points[-1]
        ahead, onward, taken, iterations = _advance(curve, here, way, h, least, pace)
        if onward[curve.place] * way[curve.place] < 0.0:
            found.folds.append(_fold(curve, here, way, taken, pace))
        if not low <= curve.value(ahead) <= high:
            value = float(np.clip(curve.value(ahead), low, high))
            ahead, found = _end(curve, here, way, taken, value, pace), found._replace(complete=True)
        found.points.append(ahead)
        way, h = onward, min(taken * (STEP_GROWTH if iterations <= QUICK else 1.0), LONGEST_STEP * step)
    return found


def _advance(
    curve: ImplicitCurve[Point], point: Point, way: np.ndarray, h: float, least: float, pace: Pace
) -> tuple[Point, np.ndarray, float, int]:
    """The next point, the tangent there, the arclength to it and the iterations it took.

    The step is halved until the point is where the tangent leads and the curve has turned little: else it may have
    jumped to another branch, or over a sharp fold.
    """
    while h > least:
        found = curve.correct(point, h * way, way)
        if found is not None:
            onward, gone = curve.tangent(found[0], way), curve.between(point, found[0])
            if curve.measure(gone, gone) <= (pace.further * h) ** 2 and curve.measure(onward, way) >= pace.turned:
                return found[0], onward, h, found[1]
        h *= 0.5
    raise curve.ended(point)


def _fold(curve: ImplicitCurve[Point], point: Point, way: np.ndarray, h: float, pace: Pace) -> Point:
    """The point between one and a step h ahead where the key turns back."""
    return _where(curve, point, way, h, pace, lambda one: float(curve.tangent(one, way)[curve.place]))


def _end(curve: ImplicitCurve[Point], point: Point, way: np.ndarray, h: float, value: float, pace: Pace) -> Point:
    """The point between one and a step h ahead where the key has a value."""
    return _where(curve, point, way, h, pace, lambda one: curve.value(one) - value)


def _where(
    curve: ImplicitCurve[Point], point: Point, way: np.ndarray, h: float, pace: Pace, g: Callable[[Point], float]
) -> Point:
    """The point up to a step h along the tangent at which g is zero, by Brent's method."""
    from scipy.optimize import brentq

    found: dict[float, Point] = {0.0: point}

    def at(s: float) -> float:
        if s not in found:
            corrected = curve.correct(point, s * way, way)
            if corrected is None:
                raise curve.ended(point)
            found[s] = corrected[0]
        return g(found[s])

    if at(0.0) * at(h) > 0.0:
        return found[h]
    root = float(brentq(at, 0.0, h, xtol=pace.located * h, rtol=1e-14))
    at(root)
    return found[root]
