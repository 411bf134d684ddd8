"""Zeros of event functions within accepted steps, in native code: noticed, bracketed, located, recorded.

An event occurs where its function changes sign in the direction asked for. Each accepted step is looked at in pieces;
as long as no piece shows a change of sign the states between come from a cubic through both ends, which costs nothing
but the event functions. Only a step that shows one is given its dense output; on it, brought onto the constraints, the
zero is found by Chandrupatla's method (inverse quadratic interpolation where that is safe, else bisection), to the
resolution of time. Two zeros of one function within one piece of a step cancel and are not seen.

A function that is zero at the start has no sign there: it takes that of the first value beyond `SLACK`, and does not
occur by doing so. This is why an event that has just changed the motion does not occur again at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.equations.native import Kernel
from dalembert.numerics.evaluate import load_state
from dalembert.numerics.layout import (
    ACCELERATE,
    CORRECT,
    EVENT_KERNEL,
    EVENT_VALUES,
    EVENTS,
    INTERPOLATE,
    NFEV,
    NZ,
    OCCURRED,
    PREPARE,
    RATES,
    Floats,
    Ints,
    X,
    call_accelerate,
    call_correct,
    call_interpolate,
    call_kernel,
    call_prepare,
    f8,
    i8,
    move,
)
from dalembert.numerics.native_cache import jit

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine

SLACK = 1e-12  # values this small are zero for a function that starts there, in its unit
ROOM = 256  # occurrences kept before the loop hands them over
EPSILON = 2.0**-52

# Ends of the pieces of a step. Those before NEAR are looked at in a first step only: they find the sign of functions
# that start at zero, however soon they come back to it.
NEAR = 14
PIECES = np.array([*(0.25 ** (NEAR + 1 - k) for k in range(NEAR)), 0.25, 0.5, 0.75, 1.0])

# Integers at plan[OCCURRED]: occurrences kept; whether one ended the run; whether functions read the rates; whether no
# step was made yet; sizes of x and of the rates; places in mem of the input, of a state and of the occurrences; then
# per function its direction, whether it ends the run, whether it has just occurred; then which function occurred.
KEPT, STOPPED, READS_RATES, FIRST, N_X, N_RATES, INPUT, PLACE, RECORDS, PER_EVENT = range(10)
# Columns of floats at mem[EVENT_VALUES], one entry per function: sign, values at the start and the end of a step, at
# the state last looked at and at both ends of a piece, and where in the step the zero is.
SIGNS, STARTS, ENDS, VALUES, LEFT, RIGHT, ROOTS, COLUMNS = range(8)


@dataclass(frozen=True)
class Watch:
    """Event functions for a run: their kernel, and per function direction, whether it ends the run, just occurred.

    The kernel reads (t, q, u, p, q', u', power, la); `reads_rates` says whether it needs more than (t, q, u, p).
    """

    kernel: Kernel
    directions: tuple[int, ...]
    stops: tuple[bool, ...]
    fresh: tuple[bool, ...]
    reads_rates: bool

    @contextmanager
    def over(self, engine: Engine) -> Iterator[None]:
        """Let an engine that has not run yet watch these functions for as long as the context lasts."""
        self._lay_out(engine)
        try:
            yield
        finally:
            engine.plan[EVENTS] = 0

    def _lay_out(self, engine: Engine) -> None:
        n, nz = len(self.directions), engine.nz
        n_x = 1 + engine.size + len(engine.parameters)
        n_rates = engine.size + 1 + engine.system.nc
        capacity = ROOM + len(PIECES) * n
        start, ints = len(engine.mem), len(engine.plan)
        at = start + COLUMNS * n
        header = [0, 0, int(self.reads_rates), 1, n_x, n_rates, at, at + n_x + n_rates, at + n_x + n_rates + nz]
        block = np.array([*header, *self.directions, *self.stops, *self.fresh, *[0] * capacity], dtype=np.int64)
        engine.plan = np.concatenate([engine.plan, block])
        engine.mem = np.concatenate([engine.mem, np.zeros(header[RECORDS] + capacity * (1 + nz) - start)])
        engine.plan[[EVENTS, EVENT_KERNEL, EVENT_VALUES, OCCURRED]] = n, self.kernel.address, start, ints


def occurrences(engine: Engine) -> list[tuple[int, float, np.ndarray]]:
    """Those kept since the last call, in order: function, time, state (nz,)."""
    plan, nz = engine.plan, engine.nz
    if not plan[EVENTS]:
        return []
    ints, count = int(plan[OCCURRED]), int(plan[plan[OCCURRED] + KEPT])
    which = ints + PER_EVENT + 3 * int(plan[EVENTS])
    first = int(plan[ints + RECORDS])
    rows = engine.mem[first : first + count * (1 + nz)].reshape(count, 1 + nz).copy()
    plan[ints + KEPT] = 0
    return [(int(plan[which + k]), float(rows[k, 0]), rows[k, 1:]) for k in range(count)]


@jit(i8(Ints))
def is_crowded(plan):
    """Whether occurrences should be handed over before the next step."""
    return plan[EVENTS] > 0 and plan[plan[OCCURRED] + KEPT] >= ROOM


@jit(i8(Ints, Floats))
def _gauge(plan, mem):
    """Event functions at the state evaluated last, into VALUES."""
    ints, start = plan[OCCURRED], plan[X]
    if plan[ints + READS_RATES]:  # x and the rates in one piece; without the rates x can be read where it is
        start, n_x = plan[ints + INPUT], plan[ints + N_X]
        move(mem, start, mem, plan[X], n_x)
        move(mem, start + n_x, mem, plan[RATES], plan[ints + N_RATES])
    call_kernel(plan[EVENT_KERNEL], mem, start, plan[EVENT_VALUES] + VALUES * plan[EVENTS])
    return 0


@jit(i8(Ints, Floats, f8, Floats))
def _gauge_state(plan, mem, t, z):
    """Event functions at (t, z), into VALUES."""
    load_state(plan, mem, t, z)
    if plan[plan[OCCURRED] + READS_RATES]:
        call_accelerate(plan[ACCELERATE], (plan, mem))
        plan[NFEV] += 1
    return _gauge(plan, mem)


@jit(i8(Ints, Floats, i8))
def _keep_values(plan, mem, column):
    """Copy VALUES to another column."""
    n, values = plan[EVENTS], plan[EVENT_VALUES]
    move(mem, values + column * n, mem, values + VALUES * n, n)
    return 0


@jit(f8(f8, f8))
def _sign(old, value):
    """Sign of a function that had sign `old` (0: none yet) and now has `value`."""
    if old == 0.0 and abs(value) <= SLACK:
        return 0.0
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@jit(i8(f8, f8, i8))
def _crosses(sign, value, direction):
    """Whether a function of this sign has come to `value` by a zero in the direction asked for."""
    return (sign < 0.0 and value >= 0.0 and direction >= 0) or (sign > 0.0 and value <= 0.0 and direction <= 0)


@jit(i8(Ints, Floats, i8, i8))
def _turn(plan, mem, signs, column):
    """Bring `signs` up to a column of values; returns how many functions crossed zero."""
    n, values, crossed = plan[EVENTS], plan[EVENT_VALUES], 0
    for k in range(n):
        at, value = values + signs * n + k, mem[values + column * n + k]
        crossed += _crosses(mem[at], value, plan[plan[OCCURRED] + PER_EVENT + k])
        mem[at] = _sign(mem[at], value)
    return crossed


@jit(i8(Ints, Floats, f8, Floats))
def begin(plan, mem, t, z):
    """Values and signs at the start; functions that have just occurred have no sign."""
    n, values, ints = plan[EVENTS], plan[EVENT_VALUES], plan[OCCURRED]
    _gauge_state(plan, mem, t, z)
    _keep_values(plan, mem, STARTS)
    for k in range(n):
        fresh = plan[ints + PER_EVENT + 2 * n + k]
        mem[values + SIGNS * n + k] = 0.0 if fresh else _sign(0.0, mem[values + VALUES * n + k])
    plan[ints + KEPT] = plan[ints + STOPPED] = 0
    plan[ints + FIRST] = 1
    return 0


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, Floats, Floats))
def _is_suspect(plan, mem, t, h, z, stages, znew, zdot):
    """Whether some function may be zero within the step, by the cubic through both ends; ENDS are known."""
    n, values, nz = plan[EVENTS], plan[EVENT_VALUES], plan[NZ]
    first = plan[OCCURRED] + FIRST
    for k in range(n):
        if plan[first] and mem[values + SIGNS * n + k] == 0.0:
            return 1
        mem[values + ROOTS * n + k] = mem[values + SIGNS * n + k]
    if _turn(plan, mem, ROOTS, ENDS):
        return 1
    move(mem, values + ROOTS * n, mem, values + SIGNS * n, n)
    start = plan[plan[OCCURRED] + PLACE]
    place = mem[start : start + nz]
    for piece in range(NEAR, PIECES.size - 1):
        s = PIECES[piece]
        a, b = s * s * (3.0 - 2.0 * s), s * (1.0 - s)
        for i in range(nz):
            place[i] = z[i] + a * (znew[i] - z[i]) + h * b * ((1.0 - s) * stages[i] - s * zdot[i])
        _gauge_state(plan, mem, t + s * h, place)
        if _turn(plan, mem, ROOTS, VALUES):
            return 1
    return _turn(plan, mem, ROOTS, ENDS)


@jit(f8(Ints, Floats, f8, f8, f8, f8, Floats, Floats, Floats))
def _look(plan, mem, s, t, h, t_new, z, stages, znew):
    """Put the state at t + s h, on the constraints, into PLACE and the event functions there into VALUES."""
    start, nz = plan[plan[OCCURRED] + PLACE], plan[NZ]
    place = mem[start : start + nz]
    at = t_new if s == 1.0 else t + s * h
    if s == 1.0:
        move(place, 0, znew, 0, nz)
    else:
        call_interpolate(plan[INTERPOLATE], (s, h, z, stages, znew, place))
        call_correct(plan[CORRECT], (plan, mem, at, place))
    _gauge_state(plan, mem, at, place)
    return at


@jit(f8(Ints, Floats, i8, f8, f8, f8, f8, f8, Floats, Floats, Floats))
def _locate(plan, mem, k, left, right, t, h, t_new, z, stages, znew):
    """Where in the piece (left, right) function k is zero (T. R. Chandrupatla, Adv. Eng. Softw. 28 (1997) 145-149)."""
    n, values = plan[EVENTS], plan[EVENT_VALUES]
    b, a, c = left, right, left
    fb, fa = mem[values + LEFT * n + k], mem[values + RIGHT * n + k]
    fc = fb
    if fa == 0.0:
        return a
    resolution = 2.0 * EPSILON * max(1.0, abs(t_new) / h)
    share, best = 0.5, a
    for _ in range(200):
        s = a + share * (b - a)
        _look(plan, mem, s, t, h, t_new, z, stages, znew)
        fs = mem[values + VALUES * n + k]
        if (fs > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = s, fs
        best = a if abs(fa) < abs(fb) else b
        limit = resolution / abs(b - a)
        if limit > 0.5 or fa == 0.0:
            break
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        share = 0.5
        if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = min(1.0 - limit, max(limit, share))
    return best


@jit(i8(Ints, Floats, i8, f8))
def _record(plan, mem, k, t):
    """Keep the state in PLACE as an occurrence of function k at time t."""
    ints, nz = plan[OCCURRED], plan[NZ]
    kept = plan[ints + KEPT]
    plan[ints + PER_EVENT + 3 * plan[EVENTS] + kept] = k
    at = plan[ints + RECORDS] + kept * (1 + nz)
    mem[at] = t
    move(mem, at + 1, mem, plan[ints + PLACE], nz)
    plan[ints + KEPT] = kept + 1
    return 0


@jit(f8(Ints, Floats, f8, f8, f8, Floats, Floats, Floats))
def _take(plan, mem, t, h, t_new, z, stages, znew):
    """Record the zeros in ROOTS in their order; returns the time of the first that ends the run, else infinity.

    With it go all that are zero there too or would be before time can tell: one cannot say which was first.
    """
    n, values, ints = plan[EVENTS], plan[EVENT_VALUES], plan[OCCURRED]
    roots, together = values + ROOTS * n, 8.0 * EPSILON * max(1.0, abs(t_new) / h)
    while True:
        first = 0
        for k in range(n):
            if mem[roots + k] < mem[roots + first]:
                first = k
        s = mem[roots + first]
        if s == math.inf:
            return math.inf
        at = _look(plan, mem, s, t, h, t_new, z, stages, znew)
        if not plan[ints + PER_EVENT + n + first]:
            _record(plan, mem, first, at)
            mem[roots + first] = math.inf
            continue
        for k in range(n):
            if mem[roots + k] - s <= together or (
                mem[roots + k] < math.inf and abs(mem[values + VALUES * n + k]) <= SLACK
            ):
                _record(plan, mem, k, at)
        plan[ints + STOPPED] = 1
        return at


@jit(f8(Ints, Floats, f8, f8, f8, Floats, Floats, Floats, Floats))
def watch(plan, mem, t, h, t_new, z, stages, znew, zdot):
    """Record what occurs in the accepted step from t by h to `t_new`; rates at its end were evaluated last.

    Returns the time of an event that ends the run, with the state there in PLACE; infinity if there is none.
    """
    n, values, ints = plan[EVENTS], plan[EVENT_VALUES], plan[OCCURRED]
    _gauge(plan, mem)
    _keep_values(plan, mem, ENDS)
    if _is_suspect(plan, mem, t, h, z, stages, znew, zdot):
        call_prepare(plan[PREPARE], (plan, mem, t, h, z, stages, znew, zdot))
        move(mem, values + LEFT * n, mem, values + STARTS * n, n)
        left = 0.0
        for piece in range(0 if plan[ints + FIRST] else NEAR, PIECES.size):
            right = PIECES[piece]
            _look(plan, mem, right, t, h, t_new, z, stages, znew)
            _keep_values(plan, mem, RIGHT)
            for k in range(n):
                sign, value = mem[values + SIGNS * n + k], mem[values + RIGHT * n + k]
                crossed = _crosses(sign, value, plan[ints + PER_EVENT + k])
                mem[values + ROOTS * n + k] = (
                    _locate(plan, mem, k, left, right, t, h, t_new, z, stages, znew) if crossed else math.inf
                )
            at = _take(plan, mem, t, h, t_new, z, stages, znew)
            if at < math.inf:
                return at
            _turn(plan, mem, SIGNS, RIGHT)
            move(mem, values + LEFT * n, mem, values + RIGHT * n, n)
            left = right
    else:
        _turn(plan, mem, SIGNS, ENDS)
    move(mem, values + STARTS * n, mem, values + ENDS * n, n)
    plan[ints + FIRST] = 0
    return math.inf
