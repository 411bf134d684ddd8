"""The first time at which a quantity passes a level along a run, also between its steps.

Where it may, the run is integrated once more from the step before. `analysis.sweep.curve` uses the same arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.run.batch.extrema import read_fine, read_steps
from dalembert.run.batch.fresh_march import UNSURE, Batch
from dalembert.run.batch.readings import DIRECTION, FIELDS
from dalembert.run.batch.summits import FINE_NODES, GRID, POINTS, on_grid
from dalembert.run.status import OK
from dalembert.run.time_loop.clock import Clock

BARYCENTRIC = (-1.0) ** np.arange(FINE_NODES) * np.where(np.isin(np.arange(FINE_NODES), (0, FINE_NODES - 1)), 0.5, 1.0)
CROSSING_HALVINGS = 64  # more than halve an interval of GRID to neighbouring numbers


@jit(i8(Floats, i8, f8))
def _comes_close(y, k, sign):
    """Whether `sign` y is below zero at sample k, not below its neighbours, and may rise to zero next to it."""
    n = y.size
    rise = sign * (y[k] - y[k - 1]) if k > 0 else sign * (y[0] - y[1])  # an end like its mirror
    fall = sign * (y[k + 1] - y[k]) if k < n - 1 else sign * (y[k - 1] - y[k])
    return sign * y[k] < 0.0 and rise >= 0.0 and fall <= 0.0 and sign * y[k] + max(rise, -fall) >= 0.0


@jit(i8(Floats, i8))
def next_candidate(y, first):
    """The first interval from `first` on in which y may pass zero, twice perhaps; -1 if there is none."""
    for k in range(first, y.size - 1):
        if (y[k] < 0.0 <= y[k + 1]) or (y[k] > 0.0 >= y[k + 1]):
            return k
        for j in range(k, k + 2):
            if _comes_close(y, j, 1.0) or _comes_close(y, j, -1.0):
                return k
    return -1


@jit(f8(Floats, f8))
def _value(values, x):
    """The polynomial through `values` (FINE_NODES,) at Chebyshev points, by the barycentric formula."""
    above, below = 0.0, 0.0
    for j in range(FINE_NODES):
        if x == POINTS[j]:
            return values[j]
        share = BARYCENTRIC[j] / (x - POINTS[j])
        above += share * values[j]
        below += share
    return above / below


@jit(f8(Floats, f8, f8))
def _bisect(values, left, right):
    """Zero of the polynomial between two points, by bisection; the end with the smaller value if there is none."""
    low, high = _value(values, left), _value(values, right)
    if low * high > 0.0:  # a sample that is zero up to round-off
        return right if abs(high) < abs(low) else left
    for _ in range(CROSSING_HALVINGS):
        middle = (left + right) / 2
        if (_value(values, middle) < 0.0) == (low < 0.0):
            left = middle
        else:
            right = middle
    return right


@jit(f8(Floats, i8))
def find_zero(values, direction):
    """First zero in [-1, 1] of the polynomial through `values` (FINE_NODES,) at Chebyshev points; NaN if none."""
    before, last = values[0], GRID.size - 1
    for k in range(1, last + 1):
        after = values[FINE_NODES - 1] if k == last else on_grid(values, k)
        if (before < 0.0 <= after and direction >= 0) or (before > 0.0 >= after and direction <= 0):
            return _bisect(values, GRID[k - 1], GRID[k])
        before = after
    return math.nan


@jit(i8(Plan, Floats, Clock, Batch, Floats, i8, i8, Floats))
def find_crossing(plan, mem, clock, batch, parameters, output, n, kept):
    """The first time at which an output passes its level, NaN if it does not, into `kept`; UNSURE if not known."""
    level, outputs = floats_at(batch.levels, output + 1)[output], ints_at(batch.outputs, (output + 1) * FIELDS)
    t, y = floats_at(batch.ts, n), floats_at(batch.values, n)
    times, values = floats_at(batch.fine_t, FINE_NODES), floats_at(batch.fine_y, FINE_NODES)
    if n < 2 or read_steps(plan, mem, batch, output, 1.0, n) != OK:
        return UNSURE
    for k in range(n):
        y[k] -= level
    kept[output] = math.nan
    k = next_candidate(y, 0)
    while k >= 0:
        middle, half = (t[k] + t[k + 1]) / 2, (t[k + 1] - t[k]) / 2
        for j in range(FINE_NODES):
            times[j] = middle + half * POINTS[j]
        if read_fine(plan, mem, clock, batch, parameters, output, 1.0, k, 1, FINE_NODES - 2) != OK:
            return UNSURE
        for j in range(1, FINE_NODES - 1):
            values[j] -= level
        values[0], values[FINE_NODES - 1] = y[k], y[k + 1]
        at = find_zero(values, outputs[output * FIELDS + DIRECTION])
        if not math.isnan(at):
            kept[output] = (times[0] + times[FINE_NODES - 1]) / 2 + at * (times[FINE_NODES - 1] - times[0]) / 2
            return OK
        k = next_candidate(y, k + 1)
    return OK
