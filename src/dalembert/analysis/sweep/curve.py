"""`Curve`: one quantity along one stretch of a motion, also between its samples.

Polynomials through neighbouring samples tell where to look. The result is then read from the motion itself, integrated
once more from the sample before at `FINE_NODES` Chebyshev points of the bracket, with the dense output of its
integrator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.run.batch.crossings import find_zero, next_candidate
from dalembert.run.batch.extrema import AGREED, KINKED, NOISE
from dalembert.run.batch.integrals import GAUSS, N_GAUSS, gauss_values, integrate
from dalembert.run.batch.summits import FINE_NODES, POINTS, find_summits, find_top, guess_summits

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
        y, best, off = self.y, float(self.y.max()), -1.0  # off: error of the guesses; not known yet
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
        values = np.empty(FINE_NODES)
        values[0], values[-1] = self.y[first], self.y[last]
        values[1:-1] = self.sample(first, times[1:-1])
        return times, values

    def _peak(self, first: int, last: int) -> float:
        """The largest value between two samples."""
        times, values = self._fine(first, last)
        top, highest, k = find_top(values), float(values.max()), int(np.argmax(values))
        if top - highest <= KINKED * float(np.ptp(values)):
            return max(top, highest)
        left, right = times[max(k - 1, 0)], times[min(k + 1, FINE_NODES - 1)]
        times = left + (right - left) * (1.0 + POINTS[1:-1]) / 2
        return max(highest, float(self.sample(first, times).max()))

    def integral(self) -> float:
        """The integral over time; intervals on which polynomials do not agree are integrated more finely."""
        t, y = self.t, self.y
        if len(t) < 2:
            return 0.0
        t, y = np.ascontiguousarray(t), np.ascontiguousarray(y)
        values, doubted = np.zeros(N_GAUSS * (len(t) - 1)), np.zeros(len(t), dtype=np.int64)
        for k in doubted[: gauss_values(t, y, self.negligible, values, doubted)].tolist():
            times = t[k] + (t[k + 1] - t[k]) / 2 * (1.0 + GAUSS)
            values[N_GAUSS * k : N_GAUSS * (k + 1)] = self.sample(k, times)
        return float(integrate(t, values))

    def first_zero(self, direction: int) -> float:
        """The first time at which it passes zero, rising (1), falling (-1) or either (0); NaN if it does not."""
        y = np.ascontiguousarray(self.y)
        k = next_candidate(y, 0)
        while k >= 0:
            times, values = self._fine(k, k + 1)
            at = find_zero(values, direction)
            if not np.isnan(at):
                return float((times[0] + times[-1]) / 2 + at * (times[-1] - times[0]) / 2)
            k = next_candidate(y, k + 1)
        return np.nan
