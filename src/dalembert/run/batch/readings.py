"""Readings of the outputs of a batch from a state: an entry, the time, a solved quantity, an expression."""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_accelerate, call_kernel, f8, i8, move
from dalembert.native.types import Ints
from dalembert.run.batch.fresh_march import Batch
from dalembert.run.evaluate import load_state

STATE, TIME, SOLVED, ENERGY, EXPRESSION, QUANTITY = range(6)  # how an output is read
FINAL, MAXIMUM, MINIMUM, MEAN, CROSSING, SAMPLE = range(6)  # the recorded reduction
# Integers of an output: what is kept, how it is read, the entry or kernel, whether accelerations are needed, how many
# values the kernel has and which of them counts; of a crossing its direction.
KEPT, HOW, WHICH, NEEDS_SOLVED, N_OUT, COMPONENT, DIRECTION = range(7)
FIELDS = 7


@jit(f8(Plan, Floats, Batch, Ints))
def _observe(plan, mem, batch, output):
    """One value of a kernel at the state in mem.

    An expression reads w = (t, q, u, p, q', u', power, la), without q' and power; a quantity (t, q, u, p, u', la).
    """
    w, nq, nu, nc = floats_at(batch.w, batch.n_w), plan.nq, plan.nu, plan.nc
    known, observed = 1 + nq + nu + batch.n_parameters, output[HOW] == EXPRESSION
    rates = known + nq if observed else known
    multipliers = rates + nu + 1 if observed else rates + nu
    for k in range(known, w.size):  # kernels do not write zeros
        w[k] = 0.0
    move(w, 0, mem, plan.x, known)
    if output[NEEDS_SOLVED]:
        call_accelerate(plan.accelerate, (plan, mem))
        move(w, rates, mem, plan.udot, nu)
        move(w, multipliers, mem, plan.multiplier, nc)
    first = w.size - output[N_OUT]
    call_kernel(output[WHICH], w, 0, first)
    return w[first + output[COMPONENT]]


@jit(f8(Plan, Floats, Batch, i8, f8, Floats))
def read(plan, mem, batch, output, t, z):
    """An output at a state (t, z)."""
    row = ints_at(batch.outputs + 8 * output * FIELDS, FIELDS)
    how, which = row[HOW], row[WHICH]
    if how == STATE:
        return z[which]
    if how == TIME:
        return t
    load_state(plan, mem, t, z)
    if how == SOLVED:  # counted from u'
        call_accelerate(plan.accelerate, (plan, mem))
        return mem[plan.udot + which]
    if how == ENERGY:
        call_kernel(plan.energy, mem, plan.x, plan.energies)
        return mem[plan.energies] + mem[plan.energies + 1]
    return _observe(plan, mem, batch, row)
