"""Whether everything held along a run, by the bounds of its certificate and without its allowances."""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.run.batch.fresh_march import Batch
from dalembert.run.evaluate import sample
from dalembert.run.time_loop.clock import Clock
from dalembert.run.time_loop.energy import energy_size, weigh, weighed


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


@jit(i8(Plan, Floats, Clock, Batch, Floats, Floats))
def holds(plan, mem, clock, batch, ts, zs):
    """Whether constraints and equations hold at samples ts (n,), zs (n nz,), and the energy balance between too.

    The energy counts relative to what kinetic, potential energy and work turn over.
    """
    nz, row, w = plan.nz, floats_at(batch.row, batch.n_row), weighed(clock.energy)
    for k in range(ts.size):
        z = zs[k * nz : (k + 1) * nz]
        sample(plan, mem, ts[k : k + 1], z, row[:0], row)
        if not _row_holds(plan, mem, batch, row):
            return 0
        weigh(plan, mem, clock.energy, ts[k], z)
    return w.off <= batch.energy * energy_size(plan, mem, w, clock.t)
