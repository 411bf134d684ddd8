"""Where along a path constraints become dependent: a sharp minimum of the smallest singular value of their rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dalembert.run.time_loop.dense_rows import DenseRows
from dalembert.run.time_loop.sparse_rows import SparseRows

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

CLOSE, GOLDEN, SECTIONS = 1e-7, 0.5 * (5.0**0.5 - 1.0), 40  # of the way between samples: how well to locate a minimum
SAMPLES = 19  # along the path
FEW, DIP = 7, 0.3
INDEPENDENT = 1e-6  # singular values above this, of unit rows in the mass metric, count towards the rank
SHARP = 0.05  # a minimum below this part of the largest value on the path was stepped over, not followed
SHARE = 0.05  # rows with a smaller part in the largest combination that vanishes are not named

Path = Callable[[float], np.ndarray]
Point = tuple[float, float]


class Dependence(NamedTuple):
    """A time at which rows become dependent, and their numbers."""

    t: float
    rows: tuple[int, ...]

    def names(self, constraint_names: tuple[str, ...]) -> tuple[str, ...]:
        """The rows by name."""
        return tuple(constraint_names[k] for k in self.rows)


class Rows(Protocol):
    """What can be asked of the rows of constraints at a state z = (q, u) at time t."""

    def values(self, t: float, z: np.ndarray) -> np.ndarray:
        """Singular values of the rows with unit length in the mass metric, largest first; the smallest ones at least.

        As many at any state.
        """
        ...

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """The part (nc,) of each constraint in the combinations that vanish, beyond those that vanish everywhere.

        `rank` is how many of the singular values are not zero everywhere.
        """
        ...

    def left_over(self, t: float, z: np.ndarray) -> float:
        """What is left of position rows, in the units of `values`, when z is moved onto those that stay independent."""
        ...

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        ...


def rows_of(engine: Engine) -> Rows:
    """The rows of a system as the engine stores them."""
    return SparseRows(engine) if engine.is_sparse else DenseRows(engine)


def dips(rows: Rows, path: Path, t0: float, t1: float) -> bool:
    """Whether the smallest singular value varies much between a few times in t0 .. t1."""
    values = np.array([rows.values(t, path(t)) for t in np.linspace(t0, t1, FEW).tolist()])
    least = values[:, max(int((values > INDEPENDENT).sum(axis=1).max()) - 1, 0)]
    return not least.min() > DIP * least.max()


def find_dependences(rows: Rows, path: Path, t0: float, t1: float) -> list[Dependence]:
    """The times in t0 .. t1 at which the rank drops along a path, in order; the end itself is left out."""
    times = np.linspace(t0, t1, SAMPLES).tolist()
    values = np.array([rows.values(t, path(t)) for t in times])
    rank = int((values > INDEPENDENT).sum(axis=1).max())
    least = values[:, rank - 1] if rank else np.zeros(0)

    def smallest(t: float) -> float:
        return float(rows.values(t, path(t))[rank - 1])

    found = []
    for k in range(SAMPLES - 1 if rank else 0):
        left, right = max(k - 1, 0), k + 1
        if least[k] > least[left] or least[k] >= least[right]:
            continue
        at, lowest = times[k], float(least[k])
        if lowest > 0.0:
            at, lowest = _least(smallest, *((times[j], float(least[j])) for j in (left, k, right)))
        if lowest < SHARP * float(least.max()):
            found.append(Dependence(at, dependent_rows(rows, at, path(at), rank)))
    return found


def _least(f: Callable[[float], float], left: Point, middle: Point, right: Point) -> Point:
    """Where f is least between left and right, and the value, never worse than in the middle.

    Next to a zero f is the absolute value of a smooth function, and its square nearly a parabola: the vertices of those
    through three points come close in a few steps, golden sections where they do not.
    """
    close, last = CLOSE * (right[0] - left[0]), right[0] - left[0]
    for step in range(SECTIONS):
        at = _vertex(left, middle, right)
        if not left[0] < at < right[0] or (step > 1 and abs(at - middle[0]) > 0.5 * last):
            further = left[0] if middle[0] - left[0] > right[0] - middle[0] else right[0]
            at = middle[0] + (1.0 - GOLDEN) * (further - middle[0])
        last = abs(at - middle[0])
        if last < close:
            break
        new = (at, f(at))
        if new[1] < middle[1]:
            left, middle, right = (left, new, middle) if at < middle[0] else (middle, new, right)
        else:
            left, right = (new, right) if at < middle[0] else (left, new)
    return middle


def _vertex(left: Point, middle: Point, right: Point) -> float:
    """Where the parabola through the squares of three values is least; NaN if there is none."""
    (a, fa), (x, fx), (b, fb) = ((t, value * value) for t, value in (left, middle, right))
    down, up = (x - a) * (fx - fb), (x - b) * (fx - fa)
    bent = down - up
    return x - 0.5 * ((x - a) * down - (x - b) * up) / bent if bent != 0.0 else math.nan


def dependent_rows(rows: Rows, t: float, z: np.ndarray, rank: int) -> tuple[int, ...]:
    """The rows with a part in the combinations that vanish, beyond those that vanish wherever the rank is full."""
    parts = rows.parts(t, z, rank)
    return tuple(np.flatnonzero(parts > SHARE * parts.max()).tolist())


def separation(rows: Rows, t: float, z: np.ndarray, way: float) -> float:
    """By how much position rows miss the singular position next to z, relative to the `way` of a motion past it.

    Along the rows that stay independent z is moved onto the constraints; what is left along the others is zero where
    branches meet, up to the square of the distance, and not zero where the motion turns off before they do.
    """
    return rows.left_over(t, z) / max(rows.speed(t, z) * way, 1e-300)


def cubic(t: float, h: float, z: np.ndarray, zdot: np.ndarray, znew: np.ndarray, zdotnew: np.ndarray) -> Path:
    """The cubic through both ends of a step and their rates."""
    rise = znew - z

    def at(time: float) -> np.ndarray:
        s = (time - t) / h
        bent = (1.0 - s) * (h * zdot - rise) - s * (h * zdotnew - rise)
        return z + s * (rise + (1.0 - s) * bent)

    return at
