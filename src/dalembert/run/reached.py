"""How far each coordinate and speed has come in a run: what the errors of explicit steps are measured beside.

Every quantity counts beside the largest value it has had itself, whatever others do, and at least a small part `least`
of its size. Round-off of the rates is no error that shorter steps mend: where a step fails by no more than that, the
part is raised.
"""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.run.evaluate import evaluate, load_state

LEAST = 2.0**-12  # part of its size that a quantity counts as at least
ROUND_OFF = 2.0**-52


@jit(i8(Plan, Floats))
def _raise(plan, mem):
    """Have every quantity count as `least` of its size at least."""
    size = plan.nq + plan.nu
    reached = floats_at(plan.reached, size)
    for i in range(size):
        reached[i] = max(reached[i], plan.least * mem[plan.sizes + i])
    return 0


@jit(i8(Plan, Floats, Floats))
def set_off(plan, mem, z):
    """Begin at the start z of a run."""
    reached = floats_at(plan.reached, plan.nq + plan.nu)
    plan.least = LEAST
    for i in range(reached.size):
        reached[i] = abs(z[i])
    return _raise(plan, mem)


@jit(i8(Plan, Floats))
def reach(plan, z):
    """Note how far the state z has come."""
    reached = floats_at(plan.reached, plan.nq + plan.nu)
    for i in range(reached.size):
        reached[i] = max(reached[i], abs(z[i]))
    return 0


@jit(f8(Plan, Floats, Floats))
def _largest_change(plan, mem, zdot):
    """The largest difference of the rates in mem from zdot, relative to sizes."""
    worst = 0.0
    for i in range(plan.nq):
        worst = max(worst, abs(mem[plan.rates + i] - zdot[i]) / mem[plan.sizes + i])
    for j in range(plan.nu):
        worst = max(worst, abs(mem[plan.udot + j] - zdot[plan.nq + j]) / mem[plan.sizes + plan.nq + j])
    return worst


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, f8))
def count_round_off(plan, mem, t, h, z, zdot, atol):
    """Raise the least that counts to what round-off of time and state changes in a step h; whether it was less.

    The step begins at (t, z) with the rates zdot.
    """
    load_state(plan, mem, t, z)
    for i in range(plan.nq + plan.nu):
        mem[plan.xq + i] *= 1.0 + ROUND_OFF
    evaluate(plan, mem)
    change = min(_largest_change(plan, mem, zdot), atol / h)
    load_state(plan, mem, t * (1.0 + ROUND_OFF), z)
    evaluate(plan, mem)
    noise = h * max(change, _largest_change(plan, mem, zdot)) / atol
    if not plan.least < noise:
        return 0
    plan.least = noise
    _raise(plan, mem)
    return 1
