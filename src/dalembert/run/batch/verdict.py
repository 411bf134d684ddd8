"""Whether everything held along a run, by the bounds of its certificate and without its allowances."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.run.batch.fresh_march import Batch
from dalembert.run.evaluate import sample

TINY = 2.2250738585072014e-308


@jit(i8(Floats, i8, i8, f8))
def _within(row, first, count, most):
    """Whether no |row[first + k]| exceeds a bound; a value that is not a number does."""
    held = 1
    for k in range(first, first + count):
        if not abs(row[k]) <= most:
            held = 0
    return held


@jit(i8(Floats, i8, i8, f8, Floats, i8))
def _within_sizes(row, first, count, most, mem, sizes):
    """Whether no |row[first + k]| exceeds a bound times its size, mem[sizes + k]."""
    held = 1
    for k in range(count):
        if not abs(row[first + k]) <= most * mem[sizes + k]:
            held = 0
    return held


@jit(i8(Plan, Floats, Batch, Floats))
def _row_holds(plan, mem, batch, row):
    """Whether the residuals of one sample are small, a row of `sample`."""
    n_p, n_v, nc, at = plan.np, plan.np + plan.nv, plan.nc, plan.nu + plan.nc
    last = at + n_p + n_v
    return (
        _within_sizes(row, at, n_p, batch.position, mem, plan.row_sizes)
        and _within_sizes(row, at + n_p, n_v, batch.velocity, mem, plan.row_sizes + n_p)
        and _within(row, last, nc, batch.acceleration)
        and _within(row, last + nc + 2, 1, batch.solve)
    )


@jit(i8(Plan, Floats, Batch, Floats, Floats))
def holds(plan, mem, batch, ts, zs):
    """Whether constraints, equations and energy balance hold at samples ts (n,), zs (n nz,).

    The energy counts relative to what kinetic, potential energy and work turn over.
    """
    nz, size, row = plan.nz, plan.nq + plan.nu, floats_at(batch.row, batch.n_row)
    kinetic, work = plan.nu + 2 * plan.nc + 2 * plan.np + plan.nv, 0.0
    least_t, most_t, least_v, most_v, least_w, most_w, off = (
        math.inf,
        0.0,
        math.inf,
        -math.inf,
        math.inf,
        -math.inf,
        0.0,
    )
    start, done = 0.0, 0.0
    for k in range(ts.size):
        sample(plan, mem, ts[k : k + 1], zs[k * nz : (k + 1) * nz], row[:0], row)
        if not _row_holds(plan, mem, batch, row):
            return 0
        T, V = row[kinetic], row[kinetic + 1]
        work = zs[k * nz + size] if nz > size else 0.0
        if k == 0:
            start, done, most_t = T + V, work, T
        least_t, most_t = min(least_t, T), max(most_t, T)
        least_v, most_v = min(least_v, V), max(most_v, V)
        least_w, most_w = min(least_w, work), max(most_w, work)
        change = abs(T + V - start - (work - done))
        if not change <= off:  # also if it is not a number
            off = change
    turned = (most_t - least_t) + (most_v - least_v) + (most_w - least_w)
    scale = max(turned, abs(most_t), abs(least_t), 1e-7 * max(abs(most_v), abs(least_v)), TINY)
    return off / scale <= batch.energy
