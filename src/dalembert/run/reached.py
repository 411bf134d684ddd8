"""Distance covered by each coordinate and speed in a run, and the energy turned over, beside which errors count.

Every quantity counts beside the largest value it has had itself, so that small ones get as many digits as large ones.
It counts as at least a small part of its size, because what is smaller may be made of the errors of others: an angle
that stays zero while a linkage folds. Shorter steps do not mend round-off; where a step fails, each quantity counts
beside what makes its round-off tolerable.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.evaluate import evaluate, load_state
from dalembert.run.rounded_rows import ROUND_OFF
from dalembert.run.sizing import sizing_at
from dalembert.run.ways import inertia_of

ERRORS = 2.0**21  # times rtol: the part of its size below which a quantity may be made of errors of others


@jit(i8(Plan, Floats, Floats, f8, f8))
def set_off(plan, mem, z, energy, rtol):
    """Begin at the start z of a run, beside which the balance has this `energy`."""
    size = plan.nq + plan.nu
    reached, least = floats_at(plan.reached, size + 1), min(1.0, ERRORS * rtol)
    for i in range(size):
        reached[i] = max(abs(z[i]), least * mem[plan.sizes + i])
    reached[size] = energy
    return 0


@jit(i8(Plan, f8))
def turn_over(plan, energy):
    """Note the energy that the balance has come to be judged beside."""
    reached, size = floats_at(plan.reached, plan.nq + plan.nu + 1), plan.nq + plan.nu
    reached[size] = max(reached[size], energy)
    return 0


@jit(i8(Plan, Floats))
def reach(plan, z):
    """Note how far the state z has come."""
    reached = floats_at(plan.reached, plan.nq + plan.nu)
    for i in range(reached.size):
        reached[i] = max(reached[i], abs(z[i]))
    return 0


@jit(f8(Plan, Floats, Floats, i8))
def _change(plan, mem, zdot, i):
    """By how much the rate of quantity i in mem differs from that in zdot."""
    if i < plan.nq:
        return abs(mem[plan.rates + i] - zdot[i])
    return abs(mem[plan.udot + i - plan.nq] - zdot[i])


@jit(i8(Plan, Floats, i8, f8))
def _round_forces(plan, mem, noise, per_rate):
    """Add to the noise of u the round-off of u' from forces and reactions, which may cancel."""
    s, ints, nu, sums = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), plan.nu, plan.rhs
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    for j in range(nu):
        mem[sums + j] = abs(mem[plan.force + j])
    for k in range(plan.nc):
        for p in range(ints[s.a_starts + k], ints[s.a_starts + k + 1]):
            mem[sums + ints[s.a_columns + p]] += abs(mem[ints[s.a_places + p]] * mem[plan.multiplier + k])
    for j in range(nu):
        inertia = inertia_of(plan, mem, j)
        if inertia > 0.0:
            mem[noise + j] += per_rate * ROUND_OFF * mem[sums + j] / inertia
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8))
def count_round_off(plan, mem, t, h, z, zdot, spare, atol):
    """Count the effect of round-off in time, state and forces on a step h from (t, z), with the rates zdot.

    Returns whether that was not counted before. There is `spare` room for a state.
    """
    s, ints, size, noise = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), plan.nq + plan.nu, plan.shift
    per_rate, counted, reached = h / atol, 0, floats_at(plan.reached, size)
    load_state(plan, mem, t, z)
    for i in range(size):
        mem[plan.xq + i] *= 1.0 + ROUND_OFF
    evaluate(plan, mem)
    fastest = 0.0
    for i in range(plan.nq, size):
        fastest = max(fastest, abs(zdot[i]) / mem[plan.sizes + i])
    quality = plan.least_quality if plan.nc > 0 else 1.0
    magnified = ROUND_OFF * fastest / quality if quality > 0.0 else math.inf
    for i in range(size):
        own = mem[plan.sizes + i]
        change = _change(plan, mem, zdot, i) + ROUND_OFF * abs(zdot[i]) + (magnified * own if i >= plan.nq else 0.0)
        mem[noise + i] = min(per_rate * change, own)
    move(spare, 0, mem, plan.rates, plan.nq)
    move(spare, plan.nq, mem, plan.udot, plan.nu)
    mem[plan.x] = t * (1.0 + ROUND_OFF)
    evaluate(plan, mem)
    for i in range(size):
        mem[noise + i] += per_rate * _change(plan, mem, spare, i)
    _round_forces(plan, mem, noise + plan.nq, per_rate)
    call_kernel(s.kernel, mem, plan.x, s.out)
    for i in range(plan.nq):
        for p in range(ints[s.c_starts + i], ints[s.c_starts + i + 1]):
            mem[noise + i] += h * abs(mem[s.leads + p]) * mem[noise + plan.nq + ints[s.c_columns + p]]
    for i in range(size):
        if reached[i] < mem[noise + i] < math.inf:
            reached[i], counted = mem[noise + i], 1
    return counted
