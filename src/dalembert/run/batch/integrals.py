"""The mean of a quantity along a run: Gauss quadrature of polynomials through its steps.

Where polynomials through more and through fewer samples do not agree, the run is integrated once more from the step
before. `analysis.sweep.curve` uses the same arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.native.types import Ints
from dalembert.run.batch.extrema import negligible_of, read_fine, read_steps
from dalembert.run.batch.fresh_march import UNSURE, Batch
from dalembert.run.batch.summits import FINE_NODES, WIDE_SAMPLES, polynomial
from dalembert.run.status import OK
from dalembert.run.time_loop.clock import Clock

# Samples of the polynomial that one through WIDE_SAMPLES samples is compared with; one less around an interval.
NARROW_SAMPLES = 7
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(4)
N_GAUSS = 4


@jit(f8(Floats, Floats, i8, i8, f8))
def _around(t, y, k, most, at):
    """The polynomial through up to `most` samples around interval k, at a time."""
    count = min(most, t.size)
    first = min(max(k - (count - 1) // 2, 0), t.size - count)
    return polynomial(t, y, first, count, at)


@jit(i8(Floats, Floats, f8, Floats, Ints))
def gauss_values(t, y, negligible, values, doubted):
    """y at the Gauss points of all intervals, (n - 1, N_GAUSS); how many of them are `doubted`, and which."""
    count = 0
    for k in range(t.size - 1):
        half, agreed = (t[k + 1] - t[k]) / 2, 1
        for j in range(N_GAUSS):
            at = t[k] + half * (1.0 + GAUSS[j])
            value = _around(t, y, k, WIDE_SAMPLES - 1, at)
            values[k * N_GAUSS + j] = value
            if not abs(_around(t, y, k, NARROW_SAMPLES - 1, at) - value) <= negligible:
                agreed = 0
        if not agreed:
            doubted[count] = k
            count += 1
    return count


@jit(f8(Floats, Floats))
def integrate(t, values):
    """Integral over t (n,) of a function with these `values` at the Gauss points of all intervals."""
    total = 0.0
    for k in range(t.size - 1):
        share = 0.0
        for j in range(N_GAUSS):
            share += values[k * N_GAUSS + j] * WEIGHTS[j]
        total += (t[k + 1] - t[k]) / 2 * share
    return total


@jit(i8(Plan, Floats, Clock, Batch, Floats, i8, i8, Floats))
def find_mean(plan, mem, clock, batch, parameters, output, n, kept):
    """The mean of an output over the n samples of a run, into `kept`; UNSURE if it cannot be told."""
    t, y, values = floats_at(batch.ts, n), floats_at(batch.values, n), floats_at(batch.gauss, n * N_GAUSS)
    doubted = ints_at(batch.summits, n)
    times, fine = floats_at(batch.fine_t, FINE_NODES), floats_at(batch.fine_y, FINE_NODES)
    if n < 2 or read_steps(plan, mem, batch, output, 1.0, n) != OK:
        return UNSURE
    for i in range(gauss_values(t, y, negligible_of(y), values, doubted)):
        k = doubted[i]
        half = (t[k + 1] - t[k]) / 2
        for j in range(N_GAUSS):
            times[j] = t[k] + half * (1.0 + GAUSS[j])
        if read_fine(plan, mem, clock, batch, parameters, output, 1.0, k, 0, N_GAUSS) != OK:
            return UNSURE
        for j in range(N_GAUSS):
            values[k * N_GAUSS + j] = fine[j]
    kept[output] = integrate(t, values) / (t[n - 1] - t[0])
    return OK if math.isfinite(kept[output]) else UNSURE
