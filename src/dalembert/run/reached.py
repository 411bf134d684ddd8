"""How far a run has come: the largest value of each coordinate and speed so far, and sizes that grow with it.

The tolerance of an error is relative to what each coordinate has done so far, whatever others do, and never below
round-off: that of coordinates of its size, and of the time where equations depend on it. Sizes grow when a state leaves
them behind; they never shrink.
"""

from __future__ import annotations

import math

from dalembert.equations.kinds import ANGLE, LENGTH
from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move
from dalembert.run.evaluate import load_state
from dalembert.run.measure import evaluate_sizing, lead_by_sizes, measure_rows, measure_speeds, measure_state
from dalembert.run.sizing import sizing_at
from dalembert.run.ways import find_straight, finite, inertia_of

ROUNDING = 2.0**-52  # least tolerance of an error of a step, relative to sizes
GROWN = 2.0  # times its size, or what it was when sizes last grew: a value beyond has left them behind


@jit(i8(Plan, Floats))
def _measure_noise(plan, mem):
    """Round-off of u', and of q'' by what it leads to: forces and reactions that balance leave that much of each.

    Of the state at which the kernels were called, with the multipliers found last.
    """
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    first, noise = plan.noise, plan.noise + plan.nq
    for j in range(plan.nu):
        mem[noise + j] = abs(mem[plan.force + j])
    for k in range(plan.nc):
        for p in range(ints[s.a_starts + k], ints[s.a_starts + k + 1]):
            mem[noise + ints[s.a_columns + p]] += abs(mem[ints[s.a_places + p]] * mem[plan.multiplier + k])
    for j in range(plan.nu):
        inertia = inertia_of(plan, mem, j)
        mem[noise + j] = finite(ROUNDING * mem[noise + j] / inertia) if inertia > 0.0 else 0.0
    for i in range(plan.nq):
        mem[first + i] = 0.0
        for p in range(ints[s.c_starts + i], ints[s.c_starts + i + 1]):
            mem[first + i] += abs(mem[s.leads + p]) * mem[noise + ints[s.c_columns + p]]
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats))
def reach(plan, mem, t, h, z):
    """Note how far the state z has come by a step of length h; returns whether it has left sizes behind."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    late = plan.rounding * (1.0 + plan.late * abs(t) * mem[plan.row_sizes + 2 * plan.np + plan.nv])
    per_noise, beyond = plan.rounding / ROUNDING * h, 0
    for i in range(plan.nq + plan.nu):
        value, size = abs(z[i]), mem[plan.sizes + i]
        if value > mem[plan.reached + i]:
            mem[plan.reached + i] = value
            if value > GROWN * max(size, mem[plan.marks + i]) and (i >= plan.nq or ints[s.kinds + i] != ANGLE):
                beyond = 1
        round_off = late * size + per_noise * (h if i < plan.nq else 1.0) * mem[plan.noise + i]
        mem[plan.reached + i] = max(mem[plan.reached + i], round_off)
    return beyond


@jit(i8(Plan, Floats, f8, Floats))
def set_off(plan, mem, t, z):
    """Begin to note how far a run comes, from its start z, where accelerations were just found."""
    load_state(plan, mem, t, z)
    evaluate_sizing(plan, mem)
    _measure_noise(plan, mem)
    return reach(plan, mem, t, 0.0, z)


@jit(i8(Plan, Floats, Floats))
def _hold_back(plan, mem, z):
    """Have sizes of lengths in the state z, last evaluated, reach no further than gradients of rows stay as they are.

    A rod that flies away does not become longer.
    """
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    way = 0.0
    for i in range(plan.nq):
        if ints[s.kinds + i] == LENGTH:
            way = max(way, mem[plan.shift + i] * mem[plan.sizes + i] ** 2)
    if not 0.0 < way < math.inf:
        return 0
    least = find_straight(plan, mem, z, LENGTH, way)
    for i in range(plan.nq):
        if ints[s.kinds + i] == LENGTH and mem[plan.shift + i] > 0.0:
            mem[plan.sizes + i] = math.sqrt(least / mem[plan.shift + i])
    return 0


@jit(i8(Plan, Floats))
def _quicken(plan, mem):
    """The rate, at which speeds are as large as they have become."""
    rate, speeds = plan.row_sizes + 2 * plan.np + plan.nv, plan.shift
    lead_by_sizes(plan, mem, speeds)
    for j in range(plan.nu):
        mem[rate] = max(mem[rate], mem[plan.sizes + plan.nq + j] / mem[speeds + j])
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def grow(plan, mem, t, z):
    """Let sizes grow to those in the state z, which has reached them; the rate is that of the motion there."""
    rate, count = plan.row_sizes + 2 * plan.np + plan.nv, plan.x - plan.sizes
    move(mem, plan.former, mem, plan.sizes, count)
    span = 1.0 / mem[rate]
    measure_state(plan, mem, t, z, span)
    load_state(plan, mem, t, z)
    evaluate_sizing(plan, mem)
    _hold_back(plan, mem, z)
    mem[rate] = measure_speeds(plan, mem, span)
    for k in range(count - 1):
        mem[plan.sizes + k] = max(mem[plan.sizes + k], mem[plan.former + k])
    for i in range(plan.nq + plan.nu):
        mem[plan.marks + i] = max(mem[plan.marks + i], abs(z[i]))
        if i >= plan.nq:
            mem[plan.sizes + i] = max(mem[plan.sizes + i], abs(z[i]))
    measure_rows(plan, mem, 1.0)
    _measure_noise(plan, mem)
    _quicken(plan, mem)
    return reach(plan, mem, t, 0.0, z)
