"""The time loop, shared by all methods: step, error test, drift correction, output.

A method is three functions: `step` (stages, new state, error norm), `prepare` (dense output of an accepted step) and
`interpolate`. A multistep method that chooses its steps itself has `stride` in the place of `step`. The loop runs in
native code and returns to Python only when its output buffer is full or its budget of steps is used up, so that
progress can be shown and Ctrl-C is heard; everything it needs to go on is in its arrays.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import (
    Floats,
    Plan,
    call_correct,
    call_estimate,
    call_interpolate,
    call_prepare,
    call_step,
    call_stride,
    f8,
    i8,
    move,
    move_few,
)
from dalembert.run.branch_memory import begin_remembering, remember
from dalembert.run.evaluate import is_finite, rates
from dalembert.run.formulations.choice import RECHOOSE
from dalembert.run.reached import count_round_off, reach, set_off, turn_over
from dalembert.run.status import EVENT, MORE, NOT_FINITE, OK, STEP_COLLAPSE, SUSPECT, TOO_MANY_STEPS, UNMAPPED, UNSOUND
from dalembert.run.time_loop.argument_maps import SEEN, UNKNOWN, go_on, mapped, seen_part, time_limit
from dalembert.run.time_loop.clock import Clock
from dalembert.run.time_loop.energy import DENSE, begin_weighing, energy_size, potential_jump, weigh, weighed
from dalembert.run.time_loop.event_location import begin, watch
from dalembert.run.time_loop.event_watch import is_crowded, watched
from dalembert.run.time_loop.jump_departure import depart
from dalembert.run.time_loop.singular import begin_following, conditioning, follow, is_noticed, is_suspect, look_back
from dalembert.solve.solver import call_judge


@jit(i8(Clock, f8, Floats, Floats, Floats))
def _store(clock, t, z, ts, zs):
    k, n = clock.stored, z.size
    ts[k] = t
    move(zs, k * n, z, 0, n)
    clock.stored = k + 1
    return 0


@jit(i8(Plan, Floats, Clock))
def _set_limit(plan, mem, clock):
    """Set the latest time at which the next step must end."""
    clock.limit = min(clock.t_end, clock.stop - clock.gap, clock.near)
    if plan.maps != 0:
        clock.limit = time_limit(plan, mem, clock.t, clock.h if plan.stride == 0 else math.inf, clock.limit)
    return 0


@jit(f8(Clock))
def _step_end(clock):
    """The time at the end of the step at hand: exactly its limit if it goes that far."""
    return clock.limit if clock.taken == clock.limit - clock.t else clock.t + clock.taken


@jit(f8(Plan, Clock))
def _next_step(plan, clock):
    """Length of the next step, never beyond the limit; fixed steps are counted from the start and so do not drift."""
    left = clock.limit - clock.t
    if clock.adaptive:
        h = min(clock.h, clock.h_max)
        return left if h >= left or left - h < max(1e-9 * h, 2.0 * clock.h_min) else h
    count = clock.accepted
    if clock.n_stops > 0 or plan.maps != 0:  # more steps than the fixed ones: those that end elsewhere
        count = math.floor((clock.t - clock.t_start) / clock.h + 1e-9)
    h = clock.t_start + (count + 1) * clock.h - clock.t
    return left if left < h * (1.0 + 1e-9) else h


# The controller aims at 0.8 of the step that would just pass. Against 0.9 and stronger gains (1, 0.3), 12 problems of
# the catalogue need 12 % (DOP853), 7 % (Tsit5), 4 % (Kutta-Merson) fewer evaluations at equal error, and 7 % instead of
# 20 % of the steps of DOP853 are rejected.
SAFETY, INTEGRAL, PROPORTIONAL = 0.8, 0.8, 0.1  # gains times the order of the error estimate
SHRINK, GROW = 0.2, 10.0
# For 20 problems of the catalogue, DOP853, Tsit5 and Kutta-Merson with tolerances 1e-4 and 1e-7, first steps are mostly
# 0.3 to 0.8 of the step that would just pass, and longer for two problems.
FIRST_STEP = 2.0


NO_ERROR, SMALLEST = 1e-300, math.log(1e-4)  # a smaller error before does not count


@jit(f8(f8, f8, f8))
def _factor(now, last, exponent):
    """Factor on the step by a PI controller (Gustafsson), bounded, from the logarithms of this and the last error."""
    factor = SAFETY * math.exp(exponent * (PROPORTIONAL * last - (INTEGRAL + PROPORTIONAL) * now))
    return min(GROW, max(SHRINK, factor))


@jit(f8(f8, f8))
def _representable(t, h):
    """The length by which a step of about h from t moves the clock: late clocks are coarse, and lengths add up."""
    return (t + h) - t


@jit(i8(Plan, Floats, Clock))
def _accept(plan, mem, clock):
    """Try steps until one passes the error test and can be corrected; leaves its length in clock.taken.

    With an `estimate` the rates at the new state are left in zdot. They are taken after the correction: it changes
    the estimate by O(h^(p+2)), less than it tells, and saves an evaluation per step.
    """
    n, t = clock.nz, clock.t
    z, znew, zdot = floats_at(clock.z, n), floats_at(clock.znew, n), floats_at(clock.zdot, n)
    stages = floats_at(clock.stages, clock.n_stages)
    h, planned = _next_step(plan, clock), clock.h
    cut = h < planned  # to end where it must
    if clock.adaptive and h < clock.limit - t:
        h = _representable(t, h)
    # Gains that follow the step use the planned step: for a step cut short, to end at a stop, they would be huge.
    paced = max(h, min(planned, clock.h_max))
    shrunk = False
    while True:
        if clock.adaptive and h < clock.h_min:
            return STEP_COLLAPSE
        mem[plan.step_length] = paced
        error = call_step(plan.step, (plan, mem, t, h, z, stages, znew, clock.rtol, clock.atol))
        status, factor = OK, 0.5
        if error <= 1.0:
            status = call_correct(plan.correct, (plan, mem, t + h, znew))
            if status == OK and plan.estimate:
                rates(plan, mem, t + h, znew, zdot)
                error = call_estimate(plan.estimate, (plan, h, z, stages, znew, zdot, clock.rtol, clock.atol))
        if not math.isfinite(error):
            status, factor = NOT_FINITE, 0.25
        elif error > 1.0:
            if plan.follows and count_round_off(plan, mem, t, h, z, stages[:n], znew, clock.atol):
                clock.rejected += 1
                continue
            status, factor = STEP_COLLAPSE, max(SHRINK, 0.9 * error ** (-clock.exponent))
        if status == OK:
            break
        if not clock.adaptive or (h * factor < clock.h_min):
            return status
        clock.rejected += 1
        h = _representable(t, h * factor)
        paced *= factor
        shrunk = True
    if clock.adaptive:
        level = math.log(max(error, NO_ERROR))
        grow = _factor(level, clock.last_level, clock.exponent)
        clock.h = h * (min(1.0, grow) if shrunk else grow)
        if cut and not shrunk:
            clock.h = max(clock.h, planned)
        clock.last_level = max(level, SMALLEST)
    clock.taken = h
    return OK


@jit(i8(Plan, Floats, Clock))
def _stride(plan, mem, clock):
    """Like `_accept`, for a method that tests errors and chooses lengths itself. It continues from its own states.

    Drift control corrects only the states that are passed on.
    """
    n, t = clock.nz, clock.t
    z, znew, stages = floats_at(clock.z, n), floats_at(clock.znew, n), floats_at(clock.stages, clock.n_stages)
    status = call_stride(plan.stride, (plan, mem, t, clock.limit, z, stages, znew))
    if status != OK:
        return status
    clock.taken = clock.h = mem[plan.step_length]
    return call_correct(plan.correct, (plan, mem, t + clock.taken, znew))


@jit(i8(Plan, Floats, Clock, Floats, Floats, Floats))
def _pass(plan, mem, clock, z, zdot, before):
    """Go on from an instant: the state and the rates beyond it, and the next one.

    The state moves along with the clock, at the rates of either side: what a short gap loses adds up over many. Who
    changes a potential energy in an instant does that work.
    """
    begin = clock.t
    clock.t = min(clock.stop + clock.gap, clock.t_end)
    across, added = clock.t - begin, potential_jump(plan, mem, begin, clock.t, z)
    move(before, 0, zdot, 0, z.size)
    for i in range(z.size):
        z[i] += across * zdot[i]
    clock.next_stop += 1
    clock.stop = math.inf
    if clock.next_stop < clock.n_stops:
        clock.stop = floats_at(clock.stops, clock.n_stops)[clock.next_stop]
    if clock.part < 1.0:
        clock.near = clock.t + clock.part * (min(clock.stop, clock.t_end) - clock.t)
    rates(plan, mem, clock.t, z, zdot)
    remember(plan, mem, clock.t)
    for i in range(z.size):
        z[i] += 0.5 * across * (zdot[i] - before[i])
    if added != 0.0:
        z[plan.nq + plan.nu] += added
    return 0


@jit(i8(Plan, Floats, Clock, f8, f8))
def conclude(plan, mem, clock, h, t_new):
    """Locate events in an accepted step of length h, store its samples, and move to its end.

    A step that ends just before an instant at which an expression of time bends or jumps goes on just after it.
    Returns EVENT if an event ends the run in it, MORE if the buffer is full and has to be emptied before this is called
    again, else OK.
    """
    n, t = clock.nz, clock.t
    z, znew, zdot = floats_at(clock.z, n), floats_at(clock.znew, n), floats_at(clock.zdot, n)
    stages, t_eval = floats_at(clock.stages, clock.n_stages), floats_at(clock.t_eval, clock.n_times)
    ts, zs = floats_at(clock.ts, clock.capacity), floats_at(clock.zs, clock.capacity * n)
    landed = t_new >= clock.stop - clock.gap
    after = clock.stop if landed else t_new
    fresh = clock.filling == 0
    if fresh:
        clock.until = watch(plan, mem, t, h, t_new, z, stages, znew, zdot) if plan.watch != 0 else math.inf
    stop, clock.filling = clock.until, 1
    if t_eval.size == 0:
        if stop == math.inf:
            _store(clock, after, znew, ts, zs)
    elif clock.next < t_eval.size and t_eval[clock.next] <= after:
        if fresh and t_eval[clock.next] < t_new:
            call_prepare(plan.prepare, (plan, mem, t, h, z, stages, znew, zdot))
        while clock.next < t_eval.size and t_eval[clock.next] <= after and t_eval[clock.next] < stop:
            if clock.stored >= clock.capacity:
                return MORE
            at = t_eval[clock.next]
            place = zs[clock.stored * n : (clock.stored + 1) * n]
            if at >= t_new:
                move(place, 0, znew, 0, n)
            else:
                call_interpolate(plan.interpolate, ((at - t) / h, h, z, stages, znew, place))
                call_correct(plan.correct, (plan, mem, at, place))
            ts[clock.stored] = at
            clock.stored += 1
            clock.next += 1
    if stop < math.inf and clock.stored >= clock.capacity:
        return MORE
    clock.filling, clock.near = 0, math.inf
    clock.accepted += 1
    if stop < math.inf:  # the last sample is the state there, asked for or not
        move(znew, 0, mem, watched(plan.watch).place, n)
        _store(clock, stop, znew, ts, zs)
        clock.t = stop
        weigh(plan, mem, clock.energy, stop, znew)
        return EVENT
    if clock.accepted >= clock.weigh_at or t_new >= clock.t_end:
        weigh(plan, mem, clock.energy, t_new, znew)
        if plan.follows:
            turn_over(plan, energy_size(plan, mem, weighed(clock.energy), t_new))
        clock.weigh_at = clock.accepted + 1 + clock.accepted // DENSE
    move_few(z, 0, znew, 0, n)
    clock.t = t_new
    if plan.follows:
        reach(plan, z)
    if landed:
        _pass(plan, mem, clock, z, zdot, stages)
    move_few(stages, 0, zdot, 0, n)
    if plan.maps != 0 and not landed:
        go_on(plan, mem, t_new)
    return OK


@jit(i8(Plan, Floats, Clock))
def _advance(plan, mem, clock):
    """Make a step that keeps to the cells of functions; with maps, the rates at its end are left in zdot."""
    n = clock.nz
    z, znew, zdot = floats_at(clock.z, n), floats_at(clock.znew, n), floats_at(clock.zdot, n)
    shortened = False
    while True:
        if not clock.unmapped:
            _set_limit(plan, mem, clock)
            status = _accept(plan, mem, clock) if plan.stride == 0 else _stride(plan, mem, clock)
            if status != OK or plan.maps == 0:
                return status
            if not plan.estimate:
                rates(plan, mem, clock.t + clock.taken, znew, zdot)
        part = seen_part(plan, mem, clock.t, clock.taken, clock.h_min, z, floats_at(clock.stages, n), znew, zdot)
        clock.unmapped = part == UNKNOWN
        if clock.unmapped:
            return UNMAPPED
        if part >= SEEN:
            if shortened:
                clock.h = min(clock.h, 2.0 * clock.taken)
            return OK
        clock.rejected += 1
        clock.near = clock.t + clock.taken * part
        if clock.adaptive and mapped(plan.maps).jumped == 0.0:
            clock.h, shortened = clock.near - clock.t, True


@jit(i8(Plan, Floats, Clock, i8))
def _make_step(plan, mem, clock, where):
    """Make a step, with the rates at its end and the quality of their solve; OK if it can be concluded."""
    n, followed = clock.nz, conditioning(where)
    znew, zdot = floats_at(clock.znew, n), floats_at(clock.zdot, n)
    if plan.stale < 0:
        plan.stale += 1
    if clock.accepted >= clock.allowed:
        return TOO_MANY_STEPS
    if not followed.judged:
        if not clock.unmapped:
            plan.least_quality = math.inf
        status = _advance(plan, mem, clock)
        if status != OK:
            return status
    t, h, t_new = clock.t, clock.taken, _step_end(clock)
    if followed.judged or not (plan.estimate or plan.maps):
        rates(plan, mem, t_new, znew, zdot)
    if not is_finite(zdot):
        return NOT_FINITE
    remember(plan, mem, t_new)
    if plan.nc > 0:
        call_judge(plan.judge, (plan, mem, plan.nc))
        if not followed.judged and is_noticed(plan, mem, where, t, h, clock.t_end - t):
            z, stages = floats_at(clock.z, n), floats_at(clock.stages, clock.n_stages)
            if is_suspect(plan, mem, where, t, h, clock.t_end - t, t_new, z, stages, znew, zdot):
                return SUSPECT
    clock.quality, clock.shortest = mem[plan.quality], mem[plan.shortest]
    return OK


@jit(i8(Plan, Floats, Clock, i8))
def proceed(plan, mem, clock, budget):
    """Integrate until the end, until `budget` steps are done, or until the buffer of samples is full; returns a status.

    Without times asked for, every accepted step is stored. Otherwise samples are taken from the dense output and
    corrected. Event functions are looked at after each step (`event_location`); one that ends the run is the last
    sample. A step in which constraints may become dependent is handed over before it is concluded (SUSPECT, see
    `singular`).
    """
    done, where = 0, clock.conditioning
    while clock.t < clock.t_end:
        if not clock.filling:
            full = clock.n_times == 0 and clock.stored >= clock.capacity
            if done >= budget or full or plan.stale > 0 or is_crowded(plan):
                return MORE
            status = _make_step(plan, mem, clock, where)
            if status != OK:
                return status
        h, t_new = clock.taken, _step_end(clock)
        status = conclude(plan, mem, clock, h, t_new)
        if status != OK:
            return status
        follow(where, clock.quality, clock.shortest, h, t_new)
        done += 1
    return OK


@jit(f8(Plan, Floats, Floats, f8, f8))
def _norm(plan, v, z, rtol, atol):
    total, n = 0.0, plan.nq + plan.nu
    units = floats_at(plan.units, n)
    for i in range(n):
        total += (v[i] / (atol * units[i] + rtol * abs(z[i]))) ** 2
    return math.sqrt(total / n)


@jit(i8(Plan, Floats, Clock))
def _plan_first_step(plan, mem, clock):
    """A first step for adaptive methods, from the rates at the start in `stages`.

    After Hairer et al., II.4, but in units of the root of |z| / |z''|, that of the motion itself: other units of time
    change the outcome, and those of the whole mechanism grow with its number of parts.
    """
    t, n, rtol, atol = clock.t, clock.nz, clock.rtol, clock.atol
    z, znew, zdot = floats_at(clock.z, n), floats_at(clock.znew, n), floats_at(clock.zdot, n)
    stages = floats_at(clock.stages, clock.n_stages)
    unit = 1.0 / mem[plan.row_sizes + 2 * plan.np + plan.nv]  # of time, so that it does not matter which one is used
    d0, d1 = _norm(plan, z, z, rtol, atol), unit * _norm(plan, stages, z, rtol, atol)
    h0 = unit * (1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1)
    h0 = min(max(h0, 2.0 * clock.h_min), clock.t_end - t)  # next to zero, where an impact stops, d0 is round-off
    for i in range(n):
        znew[i] = z[i] + h0 * stages[i]
    rates(plan, mem, t + h0, znew, zdot)
    if not is_finite(zdot):
        clock.h = h0 * 1e-3
        return OK
    for i in range(n):
        zdot[i] -= stages[i]
    d2 = unit * unit * _norm(plan, zdot, z, rtol, atol) / h0
    period = math.sqrt(d0 / d2) if d0 > 1e-5 and d2 > 1e-5 else 1.0  # in units
    top = max(period * d1, period * period * d2)
    h1 = max(1e-6 * unit, h0 * 1e-3) if top <= 1e-15 else FIRST_STEP * period * unit / top ** (1.0 / clock.order)
    clock.h = min(100.0 * h0, h1, clock.h_max, clock.t_end - t)
    return OK


@jit(i8(Plan, Floats, Clock, i8))
def launch(plan, mem, clock, budget):
    """Rates at the start and the length of the first step, then `proceed`.

    Before a step is made: UNSOUND if a recalled choice is not good at the start, UNMAPPED if a map is missing there.
    """
    n, where = clock.nz, clock.conditioning
    z, znew, zdot = floats_at(clock.z, n), floats_at(clock.znew, n), floats_at(clock.zdot, n)
    stages = floats_at(clock.stages, clock.n_stages)
    plan.nfev = 0
    begin_weighing(plan, mem, clock.energy, clock.t, z)
    begin_remembering(plan, mem, clock.t)
    rates(plan, mem, clock.t, z, zdot)
    finite = is_finite(zdot)
    if clock.recalled and not (finite and plan.fallbacks == 0 and mem[plan.quality] > RECHOOSE):
        return UNSOUND
    if not finite:
        return NOT_FINITE
    if plan.maps != 0 and depart(plan, mem, clock, z, zdot, znew, stages[:n]) != OK:
        return UNMAPPED
    move(stages, 0, zdot, 0, n)
    if plan.follows:
        set_off(plan, mem, z, energy_size(plan, mem, weighed(clock.energy), clock.t), clock.rtol)
    remember(plan, mem, clock.t)
    if plan.nc > 0:
        begin_following(plan, mem, where, clock.t)
    if clock.adaptive:
        if not clock.h > 0.0:
            _plan_first_step(plan, mem, clock)
        clock.h = max(clock.h, 2.0 * clock.h_min)  # a plan has not failed yet: at a late clock it may be shorter
    if plan.nc > 0:
        look_back(plan, mem, where, clock.t, clock.h, z, stages, znew, zdot)
    if plan.watch != 0:
        begin(plan, mem, clock.t, z)
    return proceed(plan, mem, clock, budget)
