"""The arithmetic of maxima between samples: where a curve may rise highest, and how high, by polynomials.

Polynomials through neighbouring samples tell where to look. The result is then read at `FINE_NODES` Chebyshev points of
the bracket.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import chebyshev

from dalembert.native.jit import jit
from dalembert.native.types import Floats, Ints, f8, i8

WIDE_SAMPLES = 9  # samples that a polynomial goes through
STENCIL_WIDTH = 1e-3  # distance of the outer two of three points on it, relative to the samples around
FINE_NODES = 17
POINTS = -np.cos(np.pi * np.arange(FINE_NODES) / (FINE_NODES - 1))
COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(POINTS, FINE_NODES - 1))  # of Chebyshev polynomials, from values
GRID = np.linspace(-1.0, 1.0, 257)
ON_GRID = chebyshev.chebvander(GRID, FINE_NODES - 1) @ COEFFICIENTS
_ON_GRID = np.ascontiguousarray(ON_GRID).ravel()


@jit(f8(Floats, Floats, i8, i8, f8))
def polynomial(t, y, first, count, at):
    """The polynomial through `count` samples from `first` on at a time, by the barycentric formula."""
    width = t[first + count - 1] - t[first]
    above, below = 0.0, 0.0
    for j in range(first, first + count):
        if at == t[j]:
            return y[j]
        product = 1.0
        for i in range(first, first + count):
            if i != j:
                product *= (t[j] - t[i]) / width
        share = 1.0 / (product * (at - t[j]))
        above += share * y[j]
        below += share
    return above / below


@jit(f8(Floats, Floats, i8))
def _vertex(t, y, k):
    """Vertex of the parabola through the samples next to k; t[k] if they lie on a line."""
    a, b = t[k] - t[k - 1], t[k] - t[k + 1]
    rise, fall = y[k] - y[k + 1], y[k] - y[k - 1]
    below = a * rise - b * fall
    return t[k] if below == 0.0 else t[k] - 0.5 * (a * a * rise - b * b * fall) / below


@jit(f8(Floats, Floats, i8))
def guess_summit(t, y, k):
    """The value of the maximum next to sample k, by a polynomial; without bound at the ends."""
    n = t.size
    if k <= 0 or k >= n - 1:
        return math.inf
    count = min(WIDE_SAMPLES, n)
    first = min(max(k - (count - 1) // 2, 0), n - count)
    spread = STENCIL_WIDTH * min(t[k] - t[k - 1], t[k + 1] - t[k])
    at = min(max(_vertex(t, y, k), t[k - 1] + spread), t[k + 1] - spread)
    low = polynomial(t, y, first, count, at - spread)
    middle = polynomial(t, y, first, count, at)
    high = polynomial(t, y, first, count, at + spread)
    bend, slope = low - 2.0 * middle + high, high - low
    return middle - slope * slope / (8.0 * bend) if bend < 0.0 else middle


@jit(i8(Floats, f8, Ints))
def find_summits(y, least, found):
    """Samples not below their neighbours next to which the curve may rise to `least`; how many, in `found`."""
    n, count = y.size, 0
    for k in range(n):
        rise = y[k] - y[k - 1] if k > 0 else y[0] - y[1]  # an end like its mirror
        fall = y[k + 1] - y[k] if k < n - 1 else y[k - 1] - y[k]
        if rise >= 0.0 and fall <= 0.0 and y[k] + max(rise, -fall) >= least:
            found[count] = k
            count += 1
    return count


@jit(i8(Floats, Floats, Ints, Floats))
def guess_summits(t, y, summits, guesses):
    """`guess_summit` for each of the samples `summits`."""
    for j in range(summits.size):
        guesses[j] = guess_summit(t, y, summits[j])
    return 0


@jit(f8(Floats, i8))
def on_grid(values, k):
    """The polynomial through `values` (FINE_NODES,) at Chebyshev points, at point k of GRID."""
    total = 0.0
    for j in range(FINE_NODES):
        total += _ON_GRID[k * FINE_NODES + j] * values[j]
    return total


@jit(f8(Floats))
def find_top(values):
    """Largest value of the polynomial through `values` (FINE_NODES,) at Chebyshev points, by a parabola at its top."""
    n, best, k = GRID.size, -math.inf, 0
    for i in range(n):
        value = on_grid(values, i)
        if value > best:
            best, k = value, i
    if not 0 < k < n - 1:
        return best
    before, after = on_grid(values, k - 1), on_grid(values, k + 1)
    below, slope = before - 2.0 * best + after, after - before
    if not below < 0.0:
        return best
    return best - slope * slope / (8.0 * below)
