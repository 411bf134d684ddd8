"""One number of a state, as outputs of a batch are read: an entry of it, time, what is solved for, an expression."""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_accelerate, call_kernel, f8, i8, move
from dalembert.run.batch.fresh_march import Batch
from dalembert.run.evaluate import load_state

STATE, TIME, SOLVED, ENERGY, EXPRESSION = range(5)  # how an output is read
FINAL, MAXIMUM, MINIMUM, SAMPLE = range(4)  # what is kept of it
FIELDS = 4  # integers of an output: what is kept, how it is read, the entry or kernel, whether accelerations are needed


@jit(f8(Plan, Floats, Batch, i8, i8))
def _observe(plan, mem, batch, kernel, solved):
    """An expression of w = (t, q, u, p, q', u', power, la) at the state in mem; q' and power are not read."""
    w, nq, nu, nc = floats_at(batch.w, batch.n_w), plan.nq, plan.nu, plan.nc
    known = 1 + nq + nu + batch.n_parameters
    for k in range(known, w.size):
        w[k] = 0.0
    move(w, 0, mem, plan.x, known)
    if solved:
        call_accelerate(plan.accelerate, (plan, mem))
        move(w, known + nq, mem, plan.udot, nu)
        move(w, known + nq + nu + 1, mem, plan.multiplier, nc)
    last = w.size - 1  # kernels do not write zeros
    call_kernel(kernel, w, 0, last)
    return w[last]


@jit(f8(Plan, Floats, Batch, i8, f8, Floats))
def read(plan, mem, batch, output, t, z):
    """An output at a state (t, z)."""
    outputs = ints_at(batch.outputs, (output + 1) * FIELDS)
    how, which = outputs[output * FIELDS + 1], outputs[output * FIELDS + 2]
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
    return _observe(plan, mem, batch, which, outputs[output * FIELDS + 3])
