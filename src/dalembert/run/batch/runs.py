"""All runs of a batch in one call of native code: march, verdict, outputs."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, i8
from dalembert.native.types import Ints
from dalembert.run.batch.crossings import find_crossing
from dalembert.run.batch.extrema import find_maximum
from dalembert.run.batch.fresh_march import UNSURE, Batch, march_whole, renew
from dalembert.run.batch.integrals import find_mean
from dalembert.run.batch.readings import CROSSING, FIELDS, FINAL, MEAN, MINIMUM, read
from dalembert.run.batch.verdict import holds
from dalembert.run.status import OK
from dalembert.run.time_loop.clock import Clock


@jit(i8(Plan, Floats, Clock, Batch, Floats, i8, i8, Floats))
def _keep(plan, mem, clock, batch, parameters, k, n, values):
    """The number that output k keeps of the n samples of a run, into `values`; UNSURE if it cannot be told."""
    nz, kept = plan.nz, ints_at(batch.outputs, (k + 1) * FIELDS)[k * FIELDS]
    if kept == FINAL:
        last = floats_at(batch.zs + 8 * (n - 1) * nz, nz)
        values[k] = read(plan, mem, batch, k, floats_at(batch.ts, n)[n - 1], last)
        return OK
    if kept == MEAN:
        return find_mean(plan, mem, clock, batch, parameters, k, n, values)
    if kept == CROSSING:
        return find_crossing(plan, mem, clock, batch, parameters, k, n, values)
    sign = -1.0 if kept == MINIMUM else 1.0
    values[k] = sign * find_maximum(plan, mem, clock, batch, parameters, k, sign, n)
    return UNSURE if math.isnan(values[k]) else OK


@jit(i8(Plan, Floats, Clock, Batch, Floats, Floats, Floats))
def _reduce(plan, mem, clock, batch, start, parameters, values):
    """Run at every step; writes the verdict and the recorded numbers. Returns OK, or a code for Python to handle."""
    status = march_whole(plan, mem, clock, batch, start, parameters, 0)
    if status != OK:
        return status
    n, nz, step = clock.stored, plan.nz, mem[plan.step_length]
    ts, zs = floats_at(batch.ts, n), floats_at(batch.zs, n * nz)
    renew(plan, mem, batch, parameters)
    mem[plan.step_length] = step
    if not holds(plan, mem, clock, batch, ts, zs):
        return UNSURE
    for k in range(batch.n_reduced):
        status = _keep(plan, mem, clock, batch, parameters, k, n, values)
        if status != OK:
            return status
    return OK


@jit(i8(Plan, Floats, Clock, Batch, Floats, Floats, Floats))
def _sample(plan, mem, clock, batch, start, parameters, samples):
    """A run at the times asked for, its verdict, and the outputs there, (nt, m); OK, or for Python to look at."""
    status = march_whole(plan, mem, clock, batch, start, parameters, 1)
    if status != OK:
        return status
    n, nz, m, step = batch.n_times, plan.nz, batch.n_sampled, mem[plan.step_length]
    if clock.stored != n:
        return UNSURE
    ts, zs = floats_at(batch.at_ts, n), floats_at(batch.at_zs, n * nz)
    renew(plan, mem, batch, parameters)
    mem[plan.step_length] = step
    if not holds(plan, mem, clock, batch, ts, zs):
        return UNSURE
    for i in range(n):
        for k in range(m):
            samples[i * m + k] = read(plan, mem, batch, batch.n_reduced + k, ts[i], zs[i * nz : (i + 1) * nz])
    return OK


@jit(i8(Plan, Floats, Clock, Batch, Floats, Floats, Floats, Floats, Ints))
def run_batch(plan, mem, clock, batch, starts, parameters, values, samples, codes):
    """Run from `starts` (n, nq + nu) with their `parameters`; writes the outputs of each run, and a code.

    `values` (n, n_reduced) and `samples` (n, nt, n_sampled) are flat. A code other than 0 asks for the run by itself.
    """
    size, n_p = plan.nq + plan.nu, batch.n_parameters
    n_v, n_s = batch.n_reduced, batch.n_times * batch.n_sampled
    for k in range(codes.size):
        start, p = starts[k * size : (k + 1) * size], parameters[k * n_p : (k + 1) * n_p]
        code = OK
        if n_v > 0:
            code = _reduce(plan, mem, clock, batch, start, p, values[k * n_v : (k + 1) * n_v])
        if code == OK and n_s > 0:
            code = _sample(plan, mem, clock, batch, start, p, samples[k * n_s : (k + 1) * n_s])
        codes[k] = code
    return 0
