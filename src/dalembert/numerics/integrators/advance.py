"""The time loop, shared by all explicit one-step methods: step, error test, drift correction, output.

A method is three functions: `step` (stages, new state, error norm), `prepare` (dense output of an accepted step) and
`interpolate`. The loop runs in native code and returns to Python only when its output buffer is full or its budget of
steps is used up, so that progress can be shown and Ctrl-C is heard; everything it needs to go on is in its arrays.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.numerics.evaluate import is_finite, rates
from dalembert.numerics.integrators.crossing import PLACE, is_crowded, watch
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.layout import (
    CORRECT,
    ESTIMATE,
    EVENTS,
    INTERPOLATE,
    OCCURRED,
    PREPARE,
    STALE,
    STEP,
    STEP_LENGTH,
    Floats,
    Ints,
    call_correct,
    call_estimate,
    call_interpolate,
    call_prepare,
    call_step,
    f8,
    i8,
    move,
)
from dalembert.numerics.native_cache import jit
from dalembert.numerics.status import EVENT, MORE, NOT_FINITE, OK, STEP_COLLAPSE, TOO_MANY_STEPS

# clock: time, step, start, end, tolerances, bounds on the step, exponent of the controller, error and length of the
# last step
T, H, T_START, T_END, RTOL, ATOL, H_MAX, H_MIN, EXPONENT, LAST_ERROR, TAKEN = range(11)
# count: accepted and rejected steps, allowed steps, next index of t_eval, samples stored, adaptive or not
ACCEPTED, REJECTED, ALLOWED, NEXT, STORED, ADAPTIVE, COUNT_SIZE = range(7)

EPS = float(np.finfo(float).eps)


def new_clock(t0: float, t1: float, method: Method) -> np.ndarray:
    """The clock at the start of an interval, its entries in the order of their names."""
    h_max, h_min = min(method.max_step, t1 - t0), 16.0 * EPS * max(abs(t0), abs(t1))
    rtol, atol = method.rtol, method.atol
    return np.array((t0, method.first_step, t0, t1, rtol, atol, h_max, h_min, 1.0 / method.order, 1.0, 0.0))


@jit(i8(Floats, Ints, f8, Floats, Floats, Floats))
def _store(clock, count, t, z, ts, zs):
    k, n = count[STORED], z.size
    ts[k] = t
    move(zs, k * n, z, 0, n)
    count[STORED] = k + 1
    return 0


@jit(f8(Floats, Ints))
def _next_step(clock, count):
    """Length of the next step, never beyond the end; fixed steps are counted from the start and so do not drift."""
    left = clock[T_END] - clock[T]
    if count[ADAPTIVE]:
        h = min(clock[H], clock[H_MAX])
        return left if h >= left or left - h < 1e-9 * h else h
    h = clock[T_START] + (count[ACCEPTED] + 1) * clock[H] - clock[T]
    return left if left < h * (1.0 + 1e-9) else h


# The controller aims at 0.8 of the step that would just pass. Against 0.9 and stronger gains (1, 0.3), 12 problems of
# the catalogue need 12 % (DOP853), 7 % (Tsit5), 4 % (Kutta-Merson) fewer evaluations at equal error, and 7 % instead of
# 20 % of the steps of DOP853 are rejected.
SAFETY, INTEGRAL, PROPORTIONAL = 0.8, 0.8, 0.1  # gains times the order of the error estimate
SHRINK, GROW = 0.2, 10.0


@jit(f8(f8, f8, f8))
def _factor(error, last, exponent):
    """Factor on the step by a PI controller (Gustafsson), bounded."""
    if error == 0.0:
        return GROW
    now = error ** (-(INTEGRAL + PROPORTIONAL) * exponent)
    factor = SAFETY * now * max(last, 1e-4) ** (PROPORTIONAL * exponent)
    return min(GROW, max(SHRINK, factor))


@jit(i8(Ints, Floats, Floats, Ints, Floats, Floats, Floats, Floats))
def _accept(plan, mem, clock, count, z, znew, zdot, stages):
    """Try steps until one passes the error test and can be corrected; leaves its length in clock[TAKEN].

    With an `estimate` the rates at the new state are left in zdot. They are taken after the correction: it changes
    the estimate by O(h^(p+2)), less than it tells, and saves an evaluation per step.
    """
    t = clock[T]
    h = _next_step(clock, count)
    shrunk = False
    while True:
        if count[ADAPTIVE] and h < clock[H_MIN]:
            return STEP_COLLAPSE
        mem[plan[STEP_LENGTH]] = h
        error = call_step(plan[STEP], (plan, mem, t, h, z, stages, znew, clock[RTOL], clock[ATOL]))
        status, factor = OK, 0.5
        if error <= 1.0:
            status = call_correct(plan[CORRECT], (plan, mem, t + h, znew))
            if status == OK and plan[ESTIMATE]:
                rates(plan, mem, t + h, znew, zdot)
                error = call_estimate(plan[ESTIMATE], (plan, h, z, stages, znew, zdot, clock[RTOL], clock[ATOL]))
        if not math.isfinite(error):
            status, factor = NOT_FINITE, 0.25
        elif error > 1.0:
            status, factor = STEP_COLLAPSE, max(SHRINK, 0.9 * error ** (-clock[EXPONENT]))
        if status == OK:
            break
        if not count[ADAPTIVE] or (h * factor < clock[H_MIN]):
            return status
        count[REJECTED] += 1
        h *= factor
        shrunk = True
    if count[ADAPTIVE]:
        grow = _factor(error, clock[LAST_ERROR], clock[EXPONENT])
        clock[H] = h * (min(1.0, grow) if shrunk else grow)
        clock[LAST_ERROR] = error
    clock[TAKEN] = h
    return OK


@jit(
    i8(Ints, Floats, Floats, Ints, Floats, Floats, Floats, Floats, Floats, Floats, Floats, i8)
)  # fmt: skip
def advance(
    plan, mem, clock, count, z, znew, zdot, stages, t_eval, ts, zs, budget,
):  # fmt: skip
    """Integrate until the end, until `budget` steps are done, or until the buffer `ts` is full; returns a status.

    `t_eval` empty: every accepted step is stored. Otherwise samples are taken from the dense output and corrected.
    Event functions are looked at after each step (`crossing`); one that ends the run is the last sample.
    """
    n = z.size
    done = 0
    while clock[T] < clock[T_END]:
        if done >= budget or (t_eval.size == 0 and count[STORED] >= ts.size) or plan[STALE] > 0 or is_crowded(plan):
            return MORE
        if plan[STALE] < 0:
            plan[STALE] += 1
        if count[ACCEPTED] >= count[ALLOWED]:
            return TOO_MANY_STEPS
        status = _accept(plan, mem, clock, count, z, znew, zdot, stages)
        if status != OK:
            return status
        t, h = clock[T], clock[TAKEN]
        t_new = clock[T_END] if t + h >= clock[T_END] * (1.0 - 1e-15) and h == clock[T_END] - t else t + h
        if not plan[ESTIMATE]:
            rates(plan, mem, t_new, znew, zdot)
        if not is_finite(zdot):
            return NOT_FINITE
        stop = watch(plan, mem, t, h, t_new, z, stages, znew, zdot) if plan[EVENTS] > 0 else math.inf
        if t_eval.size == 0:
            if stop == math.inf:
                _store(clock, count, t_new, znew, ts, zs)
        elif count[NEXT] < t_eval.size and t_eval[count[NEXT]] <= t_new:
            call_prepare(plan[PREPARE], (plan, mem, t, h, z, stages, znew, zdot))
            while count[NEXT] < t_eval.size and t_eval[count[NEXT]] <= t_new and t_eval[count[NEXT]] < stop:
                at = t_eval[count[NEXT]]
                place = zs[count[STORED] * n : (count[STORED] + 1) * n]
                if at == t_new:
                    move(place, 0, znew, 0, n)
                else:
                    call_interpolate(plan[INTERPOLATE], ((at - t) / h, h, z, stages, znew, place))
                    call_correct(plan[CORRECT], (plan, mem, at, place))
                ts[count[STORED]] = at
                count[STORED] += 1
                count[NEXT] += 1
        if stop < math.inf:  # the last sample is the state there, asked for or not
            move(znew, 0, mem, plan[plan[OCCURRED] + PLACE], n)
            _store(clock, count, stop, znew, ts, zs)
            clock[T] = stop
            count[ACCEPTED] += 1
            return EVENT
        move(z, 0, znew, 0, n)
        move(stages, 0, zdot, 0, n)
        clock[T] = t_new
        count[ACCEPTED] += 1
        done += 1
    return OK


@jit(f8(Floats, Floats, i8, f8, f8))
def _norm(v, z, n, rtol, atol):
    total = 0.0
    for i in range(n):
        total += (v[i] / (atol + rtol * abs(z[i]))) ** 2
    return math.sqrt(total / n)


@jit(i8(Ints, Floats, Floats, Ints, Floats, Floats, Floats, Floats, i8, i8))
def start(plan, mem, clock, count, z, znew, zdot, stages, size, order):
    """Rates at the start and, for adaptive methods without a given step, a first step (Hairer et al., II.4)."""
    t, n = clock[T], z.size
    rates(plan, mem, t, z, zdot)
    if not is_finite(zdot):
        return NOT_FINITE
    move(stages, 0, zdot, 0, n)
    if not count[ADAPTIVE] or clock[H] > 0.0:
        return OK
    rtol, atol = clock[RTOL], clock[ATOL]
    d0, d1 = _norm(z, z, size, rtol, atol), _norm(zdot, z, size, rtol, atol)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, clock[T_END] - t)
    for i in range(n):
        znew[i] = z[i] + h0 * stages[i]
    rates(plan, mem, t + h0, znew, zdot)
    if not is_finite(zdot):
        clock[H] = h0 * 1e-3
        return OK
    for i in range(n):
        zdot[i] -= stages[i]
    d2 = _norm(zdot, z, size, rtol, atol) / h0
    top = max(d1, d2)
    h1 = max(1e-6, h0 * 1e-3) if top <= 1e-15 else (0.01 / top) ** (1.0 / order)
    clock[H] = min(100.0 * h0, h1, clock[H_MAX], clock[T_END] - t)
    return OK
