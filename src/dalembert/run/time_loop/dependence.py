"""Dependences along a path: sharp minima of the smallest singular value of the constraint rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from operator import lt, mul
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, i8
from dalembert.run.time_loop.dense_rows import DenseRows
from dalembert.run.time_loop.sparse_rows import SparseRows, spare_of
from dalembert.solve.tolerances import INDEPENDENT, NAMED_PART

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

PATH_SAMPLES = 9  # along the path
EQUIDISTANT = np.linspace(0.0, 1.0, PATH_SAMPLES)
AROUND = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])  # where a minimum is looked at, in units of MINIMUM_SPACING
QUARTIC = np.linalg.inv(np.vander(AROUND, increasing=True))
MINIMUM_SPACING, LOOKS = 0.05, 3  # of the way between samples; how often at most
FOURTH = (1.0, -4.0, 6.0, -4.0, 1.0)  # difference of values at equidistant times
QUARTIC_STEPS = 6  # steps to the minimum of a quartic
ZERO_SPACING = 0.02  # of the way between samples: how far from a zero it is looked at
# Two values on both sides of a zero differ by less than this part of their sum, which is the fall between them up to a
# part: a minimum above 0.015 of the fall between samples, hypot(0.02, 0.015) = 0.5 x 1.25 x 0.04, is none.
BETWEEN, AS_PROMISED = 0.5, 0.25
DIP_SAMPLES, DIP_DEPTH = 7, 0.3
STEPPED_OVER = 0.05  # a minimum below this part of the largest value on the path was stepped over, not followed
LAST_SHIFT = 0.01  # times the root of the resolution: a shorter move, whose square counts, is the last

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
    """Interface to the constraint rows at a state z = (q, u) at time t."""

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Singular values of the rows with unit length in the mass metric, largest first; the smallest ones at least.

        At states (nt, nz), (nt, n): as many at any state.
        """
        ...

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """Part of each constraint, (nc,), in the combinations that vanish here but not everywhere.

        `rank` is the number of singular values that are not zero everywhere.
        """
        ...

    def left_over(self, t: float, z: np.ndarray, close: float) -> float:
        """Residual of position rows, in the units of `values`, after z is moved onto the rows that stay independent.

        The iteration ends with a move shorter than `close` in the mass metric.
        """
        ...

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        ...


def rows_of(engine: Engine, spare: Engine | None = None) -> Rows:
    """The rows of a system as the engine stores them; `spare` is an engine of the same system to work with, if any."""
    if not engine.is_sparse:
        return DenseRows(engine)
    return SparseRows(spare if spare is not None and spare.is_sparse else spare_of(engine))


def rank_of(values: np.ndarray) -> int:
    """Number of singular values (nt, n) that are not negligible: the largest over the samples."""
    return int((values > INDEPENDENT).sum(axis=1).max())


def dips(rows: Rows, path: Path, t0: float, t1: float, most: int) -> bool:
    """Whether the smallest singular value varies much between a few times in t0 .. t1; `most` as below."""
    times = np.linspace(t0, t1, DIP_SAMPLES)
    values = rows.values(times, path(times))
    least = values[:, max(min(rank_of(values), most) - 1, 0)]
    return not least.min() > DIP_DEPTH * least.max()


def find_dependences(rows: Rows, path: Path, t0: float, t1: float, most: int | None = None) -> list[Dependence]:
    """The times in t0 .. t1 at which the rank drops along a path, in order; the end itself is left out.

    `most` is the rank that states on the constraints have. Between them the path is off the constraints, and rows that
    are redundant are independent there: that they are not at its ends is nothing to be found.
    """
    times = t0 + (t1 - t0) * EQUIDISTANT
    values = rows.values(times, path(times))
    rank = rank_of(values) if most is None else min(rank_of(values), most)
    t: list[float] = times.tolist()
    least: list[float] = values[:, rank - 1].tolist() if rank else []

    def smallest(times: np.ndarray) -> np.ndarray:
        return rows.values(times, path(times))[:, rank - 1]

    found, sharp = [], STEPPED_OVER * max(least, default=0.0)
    for k in range(PATH_SAMPLES - 1 if rank else 0):
        first, at, lowest = max(k - 1, 0), t[k], least[k]
        if lowest > least[first] or lowest >= least[k + 1]:
            continue
        if lowest > 0.0:
            near, s = _signed(t, least, k)
            if s[0] < 0.0 and lowest > sharp:  # it grows from the start on
                continue
            zero = _zero(smallest, near, s)
            at, lowest = _least(smallest, (t[first], at, t[k + 1]), _crossing(near, s)) if zero is None else (zero, 0.0)
        if lowest < sharp:
            found.append(Dependence(at, partial(dependent_rows, rows, at, path, rank)))
    return found


def _zero(f: Function, times: list[float], values: list[float]) -> float | None:
    """Zero of the smooth function whose absolute value is f; `times` and `values` are those of `_signed`.

    Two more values, one on each side of the zero they promise, tell it to many digits. None if f does not fall to them
    as they promise: how low it gets has to be looked for.
    """
    at, unit = _crossing(times, values), ZERO_SPACING * (times[1] - times[0])
    before = [(t, s) for t, s in zip(times, values, strict=True) if t < at - 2.0 * unit]
    behind = [(t, s) for t, s in zip(times, values, strict=True) if t > at + 2.0 * unit]
    if not before or not behind:
        return None
    left, right = f(np.array([at - unit, at + unit])).tolist()
    (t0, s0), (t1, s1) = before[-1], behind[0]
    fall = 2.0 * unit * (s0 - s1) / (t1 - t0)
    if not (abs(left - right) <= BETWEEN * (left + right) and abs(left + right - fall) <= AS_PROMISED * fall):
        return None
    t, s = zip(*before, (at - unit, left), (at + unit, -right), *behind, strict=True)
    return _crossing(list(t), s)


def _least(f: Function, times: tuple[float, float, float], guess: float) -> tuple[float, float]:
    """Minimum of f between the outer ones of three times, near `guess`: its time and value.

    Next to a zero f is the absolute value of a smooth function: over a narrow range its square is a quartic to many
    digits.
    """
    left, middle, right = times
    at, unit = min(max(guess, left), right), MINIMUM_SPACING * (right - middle)
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


def _signed(times: list[float], values: list[float], k: int) -> tuple[list[float], list[float]]:
    """Equidistant times next to times[k], where |f| is least, and the values of f, which falls there, with their signs.

    Behind a zero values have the other sign, at times[k] that which makes them smoother; the first one is negative if
    all are. Where values do not fall all the way, only the two next to the zero are given.
    """
    first = min(max(k - 2, 0), len(times) - len(FOURTH))
    here, t = k - first, times[first : first + len(FOURTH)]
    s = [value if at <= k else -value for at, value in enumerate(values[first : first + len(FOURTH)], first)]
    part = FOURTH[here] * s[here]
    rest = sum(map(mul, FOURTH, s)) - part
    if abs(rest - part) < abs(rest + part):
        s[here] *= -1.0
    if s[0] >= 0.0 and not all(map(lt, s[1:], s)):
        before = here if s[here] > 0.0 else here - 1
        t, s = t[before : before + 2], s[before : before + 2]
    return t, s


def _crossing(times: list[float], values: Sequence[float]) -> float:
    """Zero of a function that falls throughout; minus infinity if it lies before the first value.

    The polynomial that gives time by value is evaluated at zero (Neville).
    """
    if values[0] < 0.0:
        return -math.inf
    t = times.copy()
    for width in range(1, len(t)):
        for i in range(len(t) - width):
            t[i] = (values[i] * t[i + 1] - values[i + width] * t[i]) / (values[i] - values[i + width])
    return t[0]


def _bottom(quartic: np.ndarray, at: float) -> float:
    """The minimum of a quartic, coefficients in rising order, next to `at` and within the range it was made for."""
    _, slope, bend, third, fourth = quartic.tolist()
    for _ in range(QUARTIC_STEPS):
        curvature = 2.0 * bend + at * (6.0 * third + at * 12.0 * fourth)
        if not curvature > 0.0:
            break
        at -= (slope + at * (2.0 * bend + at * (3.0 * third + at * 4.0 * fourth))) / curvature
    return min(max(at, float(AROUND[0])), float(AROUND[-1]))


def dependent_rows(rows: Rows, t: float, path: Path, rank: int) -> tuple[int, ...]:
    """The rows with a part in combinations that vanish here, but not wherever the rank is full."""
    parts = rows.parts(t, path(np.array([t]))[0], rank)
    return tuple(np.flatnonzero(parts > NAMED_PART * parts.max()).tolist())


def are_apart(rows: Rows, t: float, path: Path, way: float, by: float) -> bool:
    """Whether position rows miss the singular position next to a path at t by more than a part of the `way` past it.

    Along the rows that stay independent the state is moved onto the constraints; what is left along the others is zero
    where branches meet, up to the square of the move, and not zero where the motion turns off before they do.
    """
    z = path(np.array([t]))[0]
    length = max(rows.speed(t, z) * way, 1e-300)
    return rows.left_over(t, z, LAST_SHIFT * math.sqrt(by) * length) > by * length


def cubic(t: float, h: float, z: np.ndarray, zdot: np.ndarray, znew: np.ndarray, zdotnew: np.ndarray) -> Path:
    """The cubic through both ends of a step and their rates."""
    rise = znew - z
    out, back = h * zdot - rise, h * zdotnew - rise

    def at(times: np.ndarray) -> np.ndarray:
        states = np.empty((len(times), len(z)))
        follow_cubic((times - t) / h, z, rise, out, back, states.reshape(-1))
        return states

    return at


@jit(i8(Floats, Floats, Floats, Floats, Floats, Floats))
def follow_cubic(parts, z, rise, out, back, states):
    """The states (nt, n) of `cubic` at parts (nt,) of the step, flat."""
    n = z.size
    for row in range(parts.size):
        s, state = parts[row], states[row * n : (row + 1) * n]
        r = 1.0 - s
        for i in range(n):
            state[i] = z[i] + s * (rise[i] + r * (r * out[i] - s * back[i]))
    return 0
