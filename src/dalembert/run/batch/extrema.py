"""The largest and smallest value of a quantity along a run, also between its steps.

Where it matters the run is integrated once more from the step before. The comparisons and their order are those of
`analysis.sweep.curve`; both use the arithmetic of `summits`.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.native.types import Ints
from dalembert.run.batch.fresh_march import UNSURE, Batch, march_between
from dalembert.run.batch.readings import read
from dalembert.run.batch.summits import FINE_NODES, POINTS, find_summits, find_top, guess_summits
from dalembert.run.status import OK
from dalembert.run.time_loop.clock import Clock

AGREED = 1e-6  # of the range of the curve: values closer than this are not resolved further
NOISE = 1e-9  # of the size of the curve: the same, for curves such as a conserved energy
KINKED = 0.05  # of the rise in a bracket: a peak that lies higher above its points is not that of a polynomial


@jit(i8(Plan, Floats, Batch, i8, f8, i8))
def read_steps(plan, mem, batch, output, sign, n):
    """`sign` times an output at the n samples of a run, into `values`; UNSURE if one of them is not finite."""
    nz, ts, zs, y = plan.nz, floats_at(batch.ts, n), floats_at(batch.zs, n * plan.nz), floats_at(batch.values, n)
    for k in range(n):
        y[k] = sign * read(plan, mem, batch, output, ts[k], zs[k * nz : (k + 1) * nz])
        if not math.isfinite(y[k]):
            return UNSURE
    return OK


@jit(f8(Floats))
def negligible_of(y):
    """Differences that do not count along a curve with these samples."""
    best, least = -math.inf, math.inf
    for k in range(y.size):
        best, least = max(best, y[k]), min(least, y[k])
    return max(AGREED * (best - least), NOISE * max(abs(best), abs(least)))


@jit(i8(Plan, Floats, Clock, Batch, Floats, i8, f8, i8, i8, i8))
def read_fine(plan, mem, clock, batch, parameters, output, sign, first, start, count):
    """Values of an output at the fine times from `start` on, `count` of them, after sample `first`."""
    nz, times, values = plan.nz, floats_at(batch.fine_t, FINE_NODES), floats_at(batch.fine_y, FINE_NODES)
    status = march_between(plan, mem, clock, batch, parameters, first, start, count)
    if status != OK:
        return status
    fine = floats_at(batch.fine_zs, count * nz)
    for k in range(count):
        values[start + k] = sign * read(plan, mem, batch, output, times[start + k], fine[k * nz : (k + 1) * nz])
    return OK


@jit(f8(Plan, Floats, Clock, Batch, Floats, i8, f8, i8, i8))
def _peak(plan, mem, clock, batch, parameters, output, sign, first, last):
    """The largest value between two samples; NaN if the run could not be integrated once more."""
    t, y = floats_at(batch.ts, batch.capacity), floats_at(batch.values, batch.capacity)
    times, values = floats_at(batch.fine_t, FINE_NODES), floats_at(batch.fine_y, FINE_NODES)
    middle, half = (t[first] + t[last]) / 2, (t[last] - t[first]) / 2
    for k in range(FINE_NODES):
        times[k] = middle + half * POINTS[k]
    if read_fine(plan, mem, clock, batch, parameters, output, sign, first, 1, FINE_NODES - 2) != OK:
        return math.nan
    values[0], values[FINE_NODES - 1] = y[first], y[last]
    top = find_top(values)
    if not math.isfinite(top):
        return math.nan
    highest, lowest, k = values[0], values[0], 0
    for i in range(1, FINE_NODES):
        lowest = min(lowest, values[i])
        if values[i] > highest:
            highest, k = values[i], i
    if top - highest <= KINKED * (highest - lowest):
        return max(top, highest)
    left, right = times[max(k - 1, 0)], times[min(k + 1, FINE_NODES - 1)]
    for i in range(1, FINE_NODES - 1):
        times[i] = left + (right - left) * (1.0 + POINTS[i]) / 2
    if read_fine(plan, mem, clock, batch, parameters, output, sign, first, 1, FINE_NODES - 2) != OK:
        return math.nan
    for i in range(1, FINE_NODES - 1):
        highest = max(highest, values[i])
    return highest


@jit(i8(Floats, Ints, i8))
def _next(guesses, summits, count):
    """The highest guess among summits not yet visited, the first of equal ones; -1 if there is none."""
    best = -1
    for j in range(count):
        if summits[j] >= 0 and (best < 0 or guesses[j] > guesses[best]):
            best = j
    return best


@jit(f8(Plan, Floats, Clock, Batch, Floats, i8, f8, i8))
def find_maximum(plan, mem, clock, batch, parameters, output, sign, n):
    """The largest value of `sign` times an output along the n samples of a run; NaN if it cannot be told."""
    ts, y, summits = floats_at(batch.ts, n), floats_at(batch.values, n), ints_at(batch.summits, n)
    guesses, best = floats_at(batch.guesses, n), -math.inf
    if read_steps(plan, mem, batch, output, sign, n) != OK:
        return math.nan
    for k in range(n):
        best = max(best, y[k])
    if n < 2:
        return best
    negligible = negligible_of(y)
    count, off = find_summits(y, best, summits), -1.0  # off: error of the guesses; not known yet
    guesses[0] = math.inf
    if count > 1:
        guess_summits(ts, y, summits[:count], guesses)
    for _ in range(count):
        j = _next(guesses, summits, count)
        k, guessed = summits[j], guesses[j]
        if math.isnan(guessed):
            return math.nan
        if off >= 0.0 and guessed + 2.0 * off <= best + negligible:
            break
        summits[j] = -1
        first, last = max(k - 1, 0), min(k + 1, n - 1)
        found = _peak(plan, mem, clock, batch, parameters, output, sign, first, last)
        if math.isnan(found):
            return math.nan
        if math.isfinite(guessed):
            off = max(off, abs(found - guessed))
        best = max(best, found)
    return best
