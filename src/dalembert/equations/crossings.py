"""All times in a span at which a function of time passes one of some values, such as zeros of t^2 - h or exp(-t) - 1/2.

The span is cut into pieces over which the function rises or falls, by bounds of it and of its rate
(`native.enclosures`). Pieces that cannot contain one of the values are left out. In each other piece, bisection finds
the time. None is missed, for any function, unless it passes values infinitely often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError
from dalembert.native.enclosures import bounds, values
from dalembert.native.precision import EPSILON
from dalembert.native.series_tape import SeriesTape

MOST_PIECES = 200_000
MOST_BISECTIONS = 1100  # of bisection at most: to neighbouring numbers, from any two


@dataclass(frozen=True, eq=False)
class TimeCrossing:
    """An argument of time and parameters that is not linear in time, as text, and the `kinks` of its function."""

    argument: str
    kinks: Any


def crossing_times(crossing: TimeCrossing, tape: SeriesTape, edges: np.ndarray) -> np.ndarray:
    """The times, in order, between the first and the last of `edges`, at which the argument is one of the values.

    `tape` is the argument as a function of time. Between edges (n,) it is smooth.
    """
    tiny, found, seen = 8.0 * EPSILON * max(abs(edges[0]), abs(edges[-1])), [np.zeros(0)], 0.0
    left, right = edges[:-1].copy(), edges[1:].copy()
    left[1:], right[:-1] = left[1:] + tiny, right[:-1] - tiny  # it may jump at an edge
    left, right = left[left < right], right[left < right]
    while left.size:
        low, high, least, most = bounds(tape, left, right).T
        held = crossing.kinks.touched(low, high) & ~((least == 0.0) & (most == 0.0))
        steady = np.isfinite(least) & np.isfinite(most)  # without poles
        monotone, short = held & steady & ((least > 0.0) | (most < 0.0)), right - left <= tiny
        times, passed = _bisect(crossing.kinks, tape, left[monotone], right[monotone])
        seen += left.size + passed
        if seen > MOST_PIECES:
            raise OptionError(
                f"it cannot be told when `{crossing.argument}` passes a value at which something bends or jumps "
                f"between t = {edges[0]:g} and {edges[-1]:g}: it does so too often, or hardly moves there; simulate a "
                "shorter time, or state it otherwise"
            )
        found += [times, 0.5 * (left + right)[held & ~monotone & short]]
        rest = held & ~monotone & ~short
        middle = 0.5 * (left + right)[rest]
        left, right = np.concatenate([left[rest], middle]), np.concatenate([middle, right[rest]])
    return _distinct(crossing, tape, np.unique(np.concatenate(found)))


def _distinct(crossing: TimeCrossing, tape: SeriesTape, times: np.ndarray) -> np.ndarray:
    """Times in order. Of several times between which the argument equals the value to rounding, one is returned.

    At such a point its rate is zero, which is known to round-off.
    """
    if times.size < 2:
        return times
    same = np.full(times.size - 1, True)
    for share in (0.5, 0.382):  # one of them may be a pole
        between = times[:-1] + share * np.diff(times)
        same &= crossing.kinks.touched(*bounds(tape, between, between).T[:2])
    first, last = times[np.append(True, ~same)], times[np.append(~same, True)]
    return np.where(first < last, _turns(tape, first, last), first)


def _turns(tape: SeriesTape, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Times between `left` and `right` at which the rate changes sign; else the end at which the rate is smaller."""
    from_, to = (values(tape, edge)[:, 1] for edge in (left, right))
    rises, found = to > from_, np.where(np.abs(from_) <= np.abs(to), left, right)
    for _ in range(MOST_BISECTIONS):
        middle = 0.5 * (left + right)
        if not ((left < middle) & (middle < right)).any():
            break
        beyond = (values(tape, middle)[:, 1] >= 0.0) == rises
        left, right = np.where(beyond, left, middle), np.where(beyond, middle, right)
    return np.where(from_ * to < 0.0, right, found)


def _bisect(kinks: Any, tape: SeriesTape, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """The times at which the argument passes values in pieces over which it rises or falls, and how many there are.

    By bisection of all of them; none are looked for if there are too many.
    """
    if not left.size:
        return left, 0.0
    ends = np.sort([values(tape, left)[:, 0], values(tape, right)[:, 0]], axis=0)
    count = 0.0 if kinks.period is None else float((np.diff(ends, axis=0) / kinks.period).sum()) * len(kinks.knots)
    if not count <= MOST_PIECES:
        return left[:0], np.inf
    passed = [kinks.between(*pair) for pair in ends.T]
    goals, which = np.concatenate(passed), np.repeat(np.arange(len(left)), [len(p) for p in passed])
    left, right = left[which], right[which]
    rises = values(tape, right)[:, 0] > values(tape, left)[:, 0] if len(goals) else goals > 0.0
    for _ in range(MOST_BISECTIONS):
        middle = 0.5 * (left + right)
        if not ((left < middle) & (middle < right)).any():
            break
        beyond = (values(tape, middle)[:, 0] >= goals) == rises
        left, right = np.where(beyond, left, middle), np.where(beyond, middle, right)
    return right, count
