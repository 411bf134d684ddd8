"""Where along a path constraints become dependent: a sharp minimum of the smallest singular value of their rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.run.time_loop.dense_rows import DenseRows
from dalembert.run.time_loop.sparse_rows import SparseRows

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

SAMPLES = 9  # along the path
AROUND = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])  # where a minimum is looked at, in units of NARROW
QUARTIC = np.linalg.inv(np.vander(AROUND, increasing=True))
NARROW, LOOKS = 0.05, 3  # of the way between samples; how often at most
NEWTON = 6  # steps to the minimum of a quartic
FEW, DIP = 7, 0.3
INDEPENDENT = 1e-6  # singular values above this, of unit rows in the mass metric, count towards the rank
SHARP = 0.05  # a minimum below this part of the largest value on the path was stepped over, not followed
MOVED = 0.01  # times the root of what is told apart: a shorter move, whose square counts, is the last
SHARE = 0.05  # rows with a smaller part in the largest combination that vanishes are not named

Path = Callable[[np.ndarray], np.ndarray]  # states (nt, nz) at times (nt,)
Function = Callable[[np.ndarray], np.ndarray]  # values (nt,) at times (nt,)


@dataclass(frozen=True)
class Dependence:
    """A time at which rows become dependent on a path, and their numbers."""

    t: float
    find_rows: Callable[[], tuple[int, ...]] = tuple

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The rows with a part in the combinations that vanish."""
        return self.find_rows()

    def names(self, constraint_names: tuple[str, ...]) -> tuple[str, ...]:
        """The rows by name."""
        return tuple(constraint_names[k] for k in self.rows)


class Rows(Protocol):
    """What can be asked of the rows of constraints at a state z = (q, u) at time t."""

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Singular values of the rows with unit length in the mass metric, largest first; the smallest ones at least.

        At states (nt, nz), (nt, n): as many at any state.
        """
        ...

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """The part (nc,) of each constraint in the combinations that vanish, beyond those that vanish everywhere.

        `rank` is how many of the singular values are not zero everywhere.
        """
        ...

    def left_over(self, t: float, z: np.ndarray, close: float) -> float:
        """What is left of position rows, in the units of `values`, when z is moved onto those that stay independent.

        A move shorter than `close` in the mass metric is the last.
        """
        ...

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        ...


def rows_of(engine: Engine) -> Rows:
    """The rows of a system as the engine stores them."""
    return SparseRows(engine) if engine.is_sparse else DenseRows(engine)


def dips(rows: Rows, path: Path, t0: float, t1: float) -> bool:
    """Whether the smallest singular value varies much between a few times in t0 .. t1."""
    times = np.linspace(t0, t1, FEW)
    values = rows.values(times, path(times))
    least = values[:, max(int((values > INDEPENDENT).sum(axis=1).max()) - 1, 0)]
    return not least.min() > DIP * least.max()


def find_dependences(rows: Rows, path: Path, t0: float, t1: float) -> list[Dependence]:
    """The times in t0 .. t1 at which the rank drops along a path, in order; the end itself is left out."""
    times = np.linspace(t0, t1, SAMPLES)
    values = rows.values(times, path(times))
    rank = int((values > INDEPENDENT).sum(axis=1).max())
    least = values[:, rank - 1] if rank else np.zeros(0)

    def smallest(times: np.ndarray) -> np.ndarray:
        return rows.values(times, path(times))[:, rank - 1]

    found = []
    for k in range(SAMPLES - 1 if rank else 0):
        three = np.array([max(k - 1, 0), k, k + 1])
        before, lowest, after = least[three].tolist()
        if lowest > before or lowest >= after:
            continue
        at = float(times[k])
        if lowest > 0.0:
            at, lowest = _least(smallest, times[three], least[three])
        if lowest < SHARP * float(least.max()):
            found.append(Dependence(at, partial(dependent_rows, rows, at, path, rank)))
    return found


def _least(f: Function, times: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Where f is least between the outer ones of three times, and the value; its values at them are given.

    Next to a zero f is the absolute value of a smooth function: its square is nearly a parabola, and over a narrow
    range a quartic to many digits.
    """
    at, (left, middle, right) = _vertex(times, values), times.tolist()
    unit = NARROW * (right - middle)
    for _ in range(LOOKS):
        found = f(at + unit * AROUND)
        quartic = QUARTIC @ (found * found)
        step = _bottom(quartic, float(AROUND[found.argmin()]))
        at = at + unit * step
        if not left <= at <= right:
            at = min(max(at, left), right)
            return at, float(f(np.array([at]))[0])
        if abs(step) < 1.0:
            break
    return at, min(float(found.min()), math.sqrt(max(float(np.polyval(quartic[::-1], step)), 0.0)))


def _vertex(times: np.ndarray, values: np.ndarray) -> float:
    """Where the parabola through the squares of three values, the second the least, has its vertex."""
    (left, middle, right), (a, b, c) = times.tolist(), (values * values).tolist()
    down, up = (middle - left) * (b - c), (middle - right) * (b - a)
    bent = up - down
    at = middle + 0.5 * ((middle - left) * down - (middle - right) * up) / bent if bent > 0.0 else middle
    return min(max(at, left), right)


def _bottom(quartic: np.ndarray, at: float) -> float:
    """The minimum of a quartic, coefficients in rising order, next to `at` and within the range it was made for."""
    _, slope, bend, third, fourth = quartic.tolist()
    for _ in range(NEWTON):
        curvature = 2.0 * bend + at * (6.0 * third + at * 12.0 * fourth)
        if not curvature > 0.0:
            break
        at -= (slope + at * (2.0 * bend + at * (3.0 * third + at * 4.0 * fourth))) / curvature
    return min(max(at, float(AROUND[0])), float(AROUND[-1]))


def dependent_rows(rows: Rows, t: float, path: Path, rank: int) -> tuple[int, ...]:
    """The rows with a part in the combinations that vanish, beyond those that vanish wherever the rank is full."""
    parts = rows.parts(t, path(np.array([t]))[0], rank)
    return tuple(np.flatnonzero(parts > SHARE * parts.max()).tolist())


def are_apart(rows: Rows, t: float, path: Path, way: float, by: float) -> bool:
    """Whether position rows miss the singular position next to a path at t by more than a part of the `way` past it.

    Along the rows that stay independent the state is moved onto the constraints; what is left along the others is zero
    where branches meet, up to the square of the move, and not zero where the motion turns off before they do.
    """
    z = path(np.array([t]))[0]
    length = max(rows.speed(t, z) * way, 1e-300)
    return rows.left_over(t, z, MOVED * math.sqrt(by) * length) > by * length


def cubic(t: float, h: float, z: np.ndarray, zdot: np.ndarray, znew: np.ndarray, zdotnew: np.ndarray) -> Path:
    """The cubic through both ends of a step and their rates."""
    rise = znew - z
    out, back = h * zdot - rise, h * zdotnew - rise

    def at(times: np.ndarray) -> np.ndarray:
        s = ((times - t) / h)[:, None]
        return z + s * (rise + (1.0 - s) * ((1.0 - s) * out - s * back))

    return at
