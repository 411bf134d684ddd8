"""`Curve`: one quantity along one stretch of a motion, with what happens between its samples.

Polynomials through neighbouring samples tell where to look. What counts is then read from the motion itself, integrated
once more from the sample before at `FINE` Chebyshev points of the bracket, with the dense output of its integrator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from dalembert.run.batch.extrema import AGREED, KINKED, NOISE
from dalembert.run.batch.summits import (
    COEFFICIENTS,
    FINE,
    GRID,
    ON_GRID,
    POINTS,
    WIDE,
    find_summits,
    find_top,
    guess_summits,
)

NARROW = 7  # samples of the polynomial that one through WIDE samples is compared with
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(4)

# Values at increasing times, integrated in one go from the sample of this number.
Sampler = Callable[[int, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Curve:
    """Samples t, y (nt,); `sample(k, times)` gives values after sample k."""

    t: np.ndarray
    y: np.ndarray
    sample: Sampler

    @cached_property
    def negligible(self) -> float:
        """Differences that do not count."""
        return max(AGREED * float(np.ptp(self.y)), NOISE * float(np.abs(self.y).max()))

    def mirrored(self) -> Curve:
        """The curve of -y."""
        return Curve(self.t, -self.y, lambda k, times: -self.sample(k, times))

    def lowered(self, level: float) -> Curve:
        """The curve of y - level."""
        return Curve(self.t, self.y - level, lambda k, times: self.sample(k, times) - level)

    def maximum(self) -> float:
        """The largest value, to `negligible`."""
        y, best, off = self.y, float(self.y.max()), -1.0  # off: what the guesses were wrong by; not known yet
        if len(y) < 2 or not np.isfinite(y).all():
            return best
        places = self._summits(best)
        guessed = self._guessed(places) if len(places) > 1 else np.full(1, np.inf)
        for j in np.argsort(-guessed, kind="stable"):
            if off >= 0.0 and guessed[j] + 2.0 * off <= best + self.negligible:
                break
            found = self._peak(*self._bracket(int(places[j])))
            off = max(off, abs(found - float(guessed[j])) if np.isfinite(guessed[j]) else off)
            best = max(best, found)
        return best

    def _summits(self, least: float) -> np.ndarray:
        """Samples not below their neighbours next to which the curve may rise to `least`."""
        found = np.zeros(len(self.y), dtype=np.int64)
        return found[: find_summits(np.ascontiguousarray(self.y), least, found)]

    def _bracket(self, k: int) -> tuple[int, int]:
        return max(k - 1, 0), min(k + 1, len(self.t) - 1)

    def _guessed(self, k: np.ndarray) -> np.ndarray:
        """The values of the maxima next to samples k (m,), by polynomials; without bound at the ends."""
        values = np.zeros(len(k))
        guess_summits(np.ascontiguousarray(self.t), np.ascontiguousarray(self.y), k, values)
        return values

    def _fine(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values at Chebyshev points from one sample to another."""
        middle, half = (self.t[first] + self.t[last]) / 2, (self.t[last] - self.t[first]) / 2
        times = middle + half * POINTS
        values = np.empty(FINE)
        values[0], values[-1] = self.y[first], self.y[last]
        values[1:-1] = self.sample(first, times[1:-1])
        return times, values

    def _peak(self, first: int, last: int) -> float:
        """The largest value between two samples."""
        times, values = self._fine(first, last)
        top, highest, k = find_top(values), float(values.max()), int(np.argmax(values))
        if top - highest <= KINKED * float(np.ptp(values)):
            return max(top, highest)
        left, right = times[max(k - 1, 0)], times[min(k + 1, FINE - 1)]
        times = left + (right - left) * (1.0 + POINTS[1:-1]) / 2
        return max(highest, float(self.sample(first, times).max()))

    def integral(self) -> float:
        """The integral over time; intervals on which polynomials do not agree are integrated more finely."""
        t, y = self.t, self.y
        if len(t) < 2:
            return 0.0
        k, half = np.arange(len(t) - 1), np.diff(t) / 2
        times = t[:-1, None] + half[:, None] * (1.0 + GAUSS)
        values = _Local(t, y, k, WIDE - 1)(times)
        doubted = ~(np.abs(_Local(t, y, k, NARROW - 1)(times) - values) <= self.negligible).all(axis=1)
        for j in np.flatnonzero(doubted):
            values[j] = self.sample(int(j), times[j])
        return float((half * (values @ WEIGHTS)).sum())

    def first_zero(self, direction: int) -> float:
        """The first time at which it passes zero, rising (1), falling (-1) or either (0); NaN if it does not."""
        y = self.y
        before, after = y[:-1], y[1:]
        rising, falling = (before < 0.0) & (after >= 0.0), (before > 0.0) & (after <= 0.0)
        hidden = np.zeros(len(y) - 1, dtype=bool)  # zeros in pairs next to a sample that comes close
        for side in (self, self.mirrored()):
            for k in side._summits(0.0):  # noqa: SLF001 - of the same class
                first, last = self._bracket(int(k))
                hidden[first:last] |= side.y[k] < 0.0
        for j in np.flatnonzero(rising | falling | hidden):
            found = self._zero(int(j), direction)
            if not np.isnan(found):
                return found
        return np.nan

    def _zero(self, k: int, direction: int) -> float:
        """The first zero after sample k and before the next."""
        from scipy.optimize import brentq

        times, values = self._fine(k, k + 1)
        on_grid = np.concatenate([values[:1], (ON_GRID @ values)[1:-1], values[-1:]])
        before, after = on_grid[:-1], on_grid[1:]
        found = ((before < 0.0) & (after >= 0.0) & (direction >= 0)) | (
            (before > 0.0) & (after <= 0.0) & (direction <= 0)
        )
        if not found.any():
            return np.nan
        j, coefficients = int(np.argmax(found)), COEFFICIENTS @ values
        ends = [chebyshev.chebval(GRID[j + side], coefficients) for side in (0, 1)]
        if ends[0] * ends[1] > 0.0:  # a sample that is zero up to round-off
            at = GRID[j + int(abs(ends[1]) < abs(ends[0]))]
        else:
            at = brentq(lambda x: chebyshev.chebval(x, coefficients), GRID[j], GRID[j + 1], xtol=1e-13)
        return float((times[0] + times[-1]) / 2 + at * (times[-1] - times[0]) / 2)


class _Local:
    """Polynomials through `count` samples around the samples or intervals k (m,), by the barycentric formula."""

    def __init__(self, t: np.ndarray, y: np.ndarray, k: np.ndarray, count: int) -> None:
        count = min(count, len(t))
        first = np.clip(k - (count - 1) // 2, 0, len(t) - count)
        nodes = first[:, None] + np.arange(count)
        self.t, self.y = t[nodes], y[nodes]
        apart = (self.t[:, :, None] - self.t[:, None, :]) / (self.t[:, -1] - self.t[:, 0])[:, None, None]
        apart[:, np.arange(count), np.arange(count)] = 1.0
        self.weights = 1.0 / apart.prod(axis=2)

    def __call__(self, at: np.ndarray) -> np.ndarray:
        """Values at times (m, j)."""
        away = at[:, :, None] - self.t[:, None, :]
        hit = away == 0.0
        shares = self.weights[:, None, :] / np.where(hit, 1.0, away)
        values = (shares * self.y[:, None, :]).sum(axis=2) / shares.sum(axis=2)
        if not hit.any():
            return values
        return np.where(hit.any(axis=2), (hit * self.y[:, None, :]).sum(axis=2), values)
