"""Departure of a run from a jump: a start at which an argument lies on a jump of its function, in native code.

The forces there are those of one side, and the motion may enter the other: the first stages of no step, however short,
see the side that it is on. So the run begins a moment later, beyond the jump, with the forces that hold there.
"""

from __future__ import annotations

import math

from dalembert.native.cells import FINEST
from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_correct, f8, i8, ints_at
from dalembert.run.evaluate import is_finite, rates
from dalembert.run.run_maps import Maps, mapped
from dalembert.run.status import OK, UNMAPPED
from dalembert.run.time_loop.argument_maps import find_cell, next_jump, reach_over, set_out, take_arguments
from dalembert.run.time_loop.clock import Clock

LONGEST = 1e-3  # of the time in which a system moves by its size: its departure takes no longer
MIDPOINT_SWEEPS = 5  # of the implicit midpoint rule, whose error is then that of the rule
BLURS = 2.0  # from a jump: nearer, an argument is on it


@jit(i8(Plan, Floats, Maps))
def _is_mapped(plan, mem, w):
    """True if the maps contain all arguments at hand. Otherwise, leaves for each the range to be mapped."""
    ints, found = ints_at(plan.ints, plan.n_ints), 1
    for k in range(w.timed, w.n):
        s = mem[w.begins + ints[w.arguments + k]]
        margin = max(abs(s), mem[w.sizes + k])
        mem[w.lows + k], mem[w.highs + k] = s - margin, s + margin
        if math.isfinite(s) and 0.0 < margin < math.inf and not reach_over(plan, mem, w, k, s - margin, s + margin):
            found = 0
    return found


@jit(i8(Plan, Floats, Maps, i8))
def _is_on_jump(plan, mem, w, block):
    """True if one of the arguments in a block of mem lies on a jump of its function."""
    ints = ints_at(plan.ints, plan.n_ints)
    for k in range(w.timed, w.n):
        s, edges = mem[block + ints[w.arguments + k]], floats_at(ints[w.edges + k], ints[w.counts + k])
        if edges.size == 0 or not math.isfinite(s):
            continue
        near = BLURS * FINEST * (edges[edges.size - 1] - edges[0])
        if (
            next_jump(edges, floats_at(w.periods, w.n)[k], s - near, s + near, find_cell(plan, mem, w, k, s - near))
            < math.inf
        ):
            return 1
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def _move(plan, mem, t, h, z, zdot, znew, middle):
    """The state znew after a time h from z with the rates zdot, by the implicit midpoint rule; `middle`: its rates."""
    for i in range(z.size):
        middle[i] = zdot[i]
    for _ in range(MIDPOINT_SWEEPS):
        for i in range(z.size):
            znew[i] = z[i] + 0.5 * h * middle[i]
        rates(plan, mem, t + 0.5 * h, znew, middle)
    for i in range(z.size):
        znew[i] = z[i] + h * middle[i]
    if not is_finite(znew) or call_correct(plan.correct, (plan, mem, t + h, znew)) != OK:
        return 0
    rates(plan, mem, t + h, znew, middle)
    return is_finite(middle)


@jit(i8(Plan, Floats, Clock, Floats, Floats, Floats, Floats))
def depart(plan, mem, clock, z, zdot, znew, spare):
    """Move a start off the jumps that it lies on; z and zdot are then those beyond. UNMAPPED if maps are missing.

    Where no side keeps the motion, as in dry friction that sticks, the start stays.
    """
    w, t, h = mapped(plan.maps), clock.t, clock.h_min
    if w.timed == w.n:
        return OK
    set_out(plan, mem, w, t, z, zdot)
    if not _is_mapped(plan, mem, w):
        return UNMAPPED
    if not _is_on_jump(plan, mem, w, w.begins):
        return OK
    latest = min(clock.t_end, t + LONGEST / mem[plan.row_sizes + 2 * plan.np + plan.nv])
    while t + h < latest and _move(plan, mem, t, h, z, zdot, znew, spare):
        take_arguments(plan, mem, w, t + h, znew, spare, w.ends)
        if not _is_on_jump(plan, mem, w, w.ends):
            for i in range(z.size):
                z[i], zdot[i] = znew[i], spare[i]
            clock.t = t + h
            return OK
        h *= 2.0
    return rates(plan, mem, t, z, zdot)  # OK: what is evaluated last is the start
