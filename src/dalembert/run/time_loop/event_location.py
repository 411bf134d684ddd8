"""Zeros of event functions within accepted steps, in native code: noticed, bracketed, located, recorded.

An event occurs where its function changes sign in the direction asked for. Each accepted step is looked at in pieces;
as long as no piece shows a change of sign the states between come from a cubic through both ends, which costs nothing
but the event functions. Only a step that shows one is given its dense output; on it, brought onto the constraints, the
zero is found by Chandrupatla's method (inverse quadratic interpolation where that is safe, else bisection), to the
resolution of time. Two zeros of one function within one piece of a step cancel and are not seen; where the values at
the pieces leave room for that (`_is_unresolved`), the step is counted as doubtful.

A function that is zero at the start has no sign there, unless a run before left it one: it takes that of the first
value beyond its slack, and does not occur by doing so. This is why an event that has just changed the motion does not
occur again at once.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import (
    Floats,
    Plan,
    call_accelerate,
    call_correct,
    call_interpolate,
    call_kernel,
    call_prepare,
    f8,
    i8,
    ints_at,
    move,
)
from dalembert.run.evaluate import load_state
from dalembert.run.time_loop.event_watch import NEAR, PIECES, watched

EPSILON = 2.0**-52

# Where a step is looked at besides, to see whether the values at the pieces tell what happens between them. Functions
# that are slow at the pieces only, as many periods fit between them, are not so here: golden sections avoid multiples.
BETWEEN = 0.25 * (2.0 + 0.5 * (5.0**0.5 - 1.0))


@jit(i8(Plan, Floats))
def _gauge(plan, mem):
    """Event functions at the state evaluated last, into VALUES."""
    w = watched(plan.watch)
    start = plan.x
    if w.reads_rates:  # x and the rates in one piece; without the rates x can be read where it is
        start, n_x = w.input, w.n_x
        move(mem, start, mem, plan.x, n_x)
        move(mem, start + n_x, mem, plan.rates, w.n_rates)
    call_kernel(w.kernel, mem, start, w.values)
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def _gauge_state(plan, mem, t, z):
    """Event functions at (t, z), into VALUES."""
    w = watched(plan.watch)
    load_state(plan, mem, t, z)
    if w.reads_rates:
        call_accelerate(plan.accelerate, (plan, mem))
        plan.nfev += 1
    return _gauge(plan, mem)


@jit(i8(Plan, Floats, i8))
def _keep_values(plan, mem, column):
    """Copy VALUES to another column."""
    w = watched(plan.watch)
    move(mem, column, mem, w.values, w.n)
    return 0


@jit(f8(f8, f8, f8))
def _sign(old, value, slack):
    """Sign of a function that had sign `old` (0: none yet) and now has `value`; up to `slack` it starts at zero."""
    if old == 0.0 and abs(value) <= slack:
        return 0.0
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@jit(i8(f8, f8, i8))
def _crosses(sign, value, direction):
    """Whether a function of this sign has come to `value` by a zero in the direction asked for."""
    return (sign < 0.0 and value >= 0.0 and direction >= 0) or (sign > 0.0 and value <= 0.0 and direction <= 0)


@jit(i8(Plan, Floats, i8, i8))
def _turn(plan, mem, signs, column):
    """Bring `signs` up to a column of values; returns how many functions crossed zero."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    crossed = 0
    for k in range(w.n):
        at, value = signs + k, mem[column + k]
        crossed += _crosses(mem[at], value, ints[w.direction + k])
        mem[at] = _sign(mem[at], value, mem[w.slacks + k])
    return crossed


@jit(i8(Plan, Floats, i8))
def _go_on(plan, mem, column):
    """Bring SIGNS up to a column of values, and FIRSTS where functions had no sign before."""
    w = watched(plan.watch)
    _turn(plan, mem, w.signs, column)
    for k in range(w.n):
        if mem[w.firsts + k] == 0.0:
            mem[w.firsts + k] = mem[w.signs + k]
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def begin(plan, mem, t, z):
    """Values and signs at the start; functions that have just occurred have no sign, zero ones keep theirs."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    n = w.n
    _gauge_state(plan, mem, t, z)
    _keep_values(plan, mem, w.starts)
    for k in range(n):
        here = _sign(0.0, mem[w.values + k], mem[w.slacks + k])
        if ints[w.fresh + k]:
            here = 0.0
        elif here == 0.0:
            here = mem[w.signs + k]
        mem[w.signs + k], mem[w.firsts + k], ints[w.fresh + k] = here, here, 0
    w.kept = w.stopped = 0
    w.first = 1
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def _is_suspect(plan, mem, t, h, z, stages, znew, zdot):
    """Whether some function may be zero within the step, by the cubic through both ends; ENDS are known.

    Leaves the values at the start and at the ends of all pieces in PIECES.
    """
    w = watched(plan.watch)
    n, nz = w.n, plan.nz
    suspect = 0
    for k in range(n):
        suspect += w.first and mem[w.signs + k] == 0.0
    move(mem, w.roots, mem, w.signs, n)
    move(mem, w.pieces, mem, w.starts, n)
    start = w.place
    place = mem[start : start + nz]
    for piece in range(NEAR, PIECES.size):
        s = PIECES[piece] if piece < PIECES.size - 1 else BETWEEN
        a, b = s * s * (3.0 - 2.0 * s), s * (1.0 - s)
        for i in range(nz):
            place[i] = z[i] + a * (znew[i] - z[i]) + h * b * ((1.0 - s) * stages[i] - s * zdot[i])
        _gauge_state(plan, mem, t + s * h, place)
        if s == BETWEEN:
            _keep_values(plan, mem, w.between)
        else:
            _keep_values(plan, mem, w.pieces + (piece - NEAR + 1) * n)
            suspect += _turn(plan, mem, w.roots, w.values)
    move(mem, w.pieces + 4 * n, mem, w.ends, n)
    return suspect + _turn(plan, mem, w.roots, w.ends)


@jit(i8(Plan, Floats, i8, f8))
def _is_unresolved(plan, mem, k, until):
    """Whether function k leaves room for two more zeros in a piece that begins before the part `until` of the step.

    Let its second difference be at most 2 c there. Between values a, b of one sign it bends to zero only if sqrt(c) >
    sqrt|a| + sqrt|b|; between values of both signs it turns only if c > |a| + |b|. Here 2 c is the second difference
    next to the piece plus the third and fourth ones, by which it may differ: small where pieces resolve the function.
    So is what the value BETWEEN pieces misses the polynomial through all of them by; in the middle of a piece, a second
    difference of 8 times that would explain it.
    """
    w = watched(plan.watch)
    n, at = w.n, w.pieces + k
    first = mem[at] - 2.0 * mem[at + n] + mem[at + 2 * n]
    second = mem[at + n] - 2.0 * mem[at + 2 * n] + mem[at + 3 * n]
    third = mem[at + 2 * n] - 2.0 * mem[at + 3 * n] + mem[at + 4 * n]
    fourth = third - 2.0 * second + first
    rest = max(abs(second - first), abs(third - second)) + abs(fourth)
    x = 4.0 * BETWEEN
    bend = first + (x - 2.0) / 3.0 * (second - first + 0.25 * (x - 3.0) * fourth)
    expected = mem[at] + x * (mem[at + n] - mem[at] + 0.5 * (x - 1.0) * bend)
    rest += 16.0 * abs(mem[w.between + k] - expected)
    for piece in range(4):
        a, b = mem[at + piece * n], mem[at + (piece + 1) * n]
        if 0.25 * piece >= until or min(abs(a), abs(b)) <= mem[w.slacks + k]:
            continue
        left = first if piece < 2 else second
        right = first if piece == 0 else (second if piece == 1 else third)
        size = abs(a) + abs(b)
        if (a > 0.0) == (b > 0.0):
            up = 1.0 if a > 0.0 else -1.0
            left, right = max(0.0, up * left), max(0.0, up * right)
            size += 2.0 * math.sqrt(abs(a) * abs(b))
        if 0.5 * (max(abs(left), abs(right)) + rest) > size:
            return 1
    return 0


@jit(i8(Plan, Floats, f8, f8, f8))
def _doubt(plan, mem, t, h, until):
    """Count the functions that the step from t by h, or its part `until`, does not resolve."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    for k in range(w.n):
        if _is_unresolved(plan, mem, k, until):
            if ints[w.doubts + k] == 0:
                mem[w.doubted + k], mem[w.longest + k] = t, 0.0
            ints[w.doubts + k] += 1
            mem[w.longest + k] = max(mem[w.longest + k], h)
    return 0


@jit(f8(Plan, Floats, f8, f8, f8, f8, Floats, Floats, Floats))
def _look(plan, mem, s, t, h, t_new, z, stages, znew):
    """Put the state at t + s h, on the constraints, into PLACE and the event functions there into VALUES."""
    w = watched(plan.watch)
    start, nz = w.place, plan.nz
    place = mem[start : start + nz]
    at = t_new if s == 1.0 else t + s * h
    if s == 1.0:
        move(place, 0, znew, 0, nz)
    else:
        call_interpolate(plan.interpolate, (s, h, z, stages, znew, place))
        call_correct(plan.correct, (plan, mem, at, place))
    _gauge_state(plan, mem, at, place)
    return at


@jit(f8(Plan, Floats, i8, f8, f8, f8, f8, f8, Floats, Floats, Floats))
def _locate(plan, mem, k, left, right, t, h, t_new, z, stages, znew):
    """Where in the piece (left, right) function k is zero (T. R. Chandrupatla, Adv. Eng. Softw. 28 (1997) 145-149)."""
    w = watched(plan.watch)
    b, a, c = left, right, left
    fb, fa = mem[w.left + k], mem[w.right + k]
    fc = fb
    if fa == 0.0:
        return a
    resolution = 2.0 * EPSILON * max(1.0, abs(t_new) / h)
    share, best = 0.5, a
    for _ in range(200):
        s = a + share * (b - a)
        _look(plan, mem, s, t, h, t_new, z, stages, znew)
        fs = mem[w.values + k]
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


@jit(i8(Plan, Floats, i8, f8))
def _record(plan, mem, k, t):
    """Keep the state in PLACE as an occurrence of function k at time t."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    nz = plan.nz
    kept = w.kept
    ints[w.which + kept] = k
    at = w.records + kept * (1 + nz)
    mem[at] = t
    move(mem, at + 1, mem, w.place, nz)
    w.kept = kept + 1
    return 0


@jit(f8(Plan, Floats, f8, f8, f8, Floats, Floats, Floats))
def _take(plan, mem, t, h, t_new, z, stages, znew):
    """Record the zeros in ROOTS in their order; returns the time of the first that ends the run, else infinity.

    With it go all that are zero there too or would be before time can tell: one cannot say which was first.
    """
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    n = w.n
    roots, together = w.roots, 8.0 * EPSILON * max(1.0, abs(t_new) / h)
    while True:
        first = 0
        for k in range(n):
            if mem[roots + k] < mem[roots + first]:
                first = k
        s = mem[roots + first]
        if s == math.inf:
            return math.inf
        at = _look(plan, mem, s, t, h, t_new, z, stages, znew)
        if not ints[w.stops + first]:
            _record(plan, mem, first, at)
            mem[roots + first] = math.inf
            continue
        for k in range(n):
            here = mem[roots + k] < math.inf and abs(mem[w.values + k]) <= mem[w.slacks + k]
            if mem[roots + k] - s <= together or here:
                _record(plan, mem, k, at)
        w.stopped = 1
        return at


@jit(f8(Plan, Floats, f8, f8, f8, Floats, Floats, Floats, Floats))
def watch(plan, mem, t, h, t_new, z, stages, znew, zdot):
    """Record what occurs in the accepted step from t by h to `t_new`; rates at its end were evaluated last.

    Returns the time of an event that ends the run, with the state there in PLACE; infinity if there is none.
    """
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    n = w.n
    _gauge(plan, mem)
    _keep_values(plan, mem, w.ends)
    if _is_suspect(plan, mem, t, h, z, stages, znew, zdot):
        call_prepare(plan.prepare, (plan, mem, t, h, z, stages, znew, zdot))
        move(mem, w.left, mem, w.starts, n)
        left = 0.0
        for piece in range(0 if w.first else NEAR, PIECES.size):
            right = PIECES[piece]
            _look(plan, mem, right, t, h, t_new, z, stages, znew)
            _keep_values(plan, mem, w.right)
            for k in range(n):
                sign, value = mem[w.signs + k], mem[w.right + k]
                crossed = _crosses(sign, value, ints[w.direction + k])
                mem[w.roots + k] = (
                    _locate(plan, mem, k, left, right, t, h, t_new, z, stages, znew) if crossed else math.inf
                )
            at = _take(plan, mem, t, h, t_new, z, stages, znew)
            if at < math.inf:
                _doubt(plan, mem, t, h, (at - t) / h)
                return at
            _go_on(plan, mem, w.right)
            move(mem, w.left, mem, w.right, n)
            left = right
    else:
        _go_on(plan, mem, w.ends)
    _doubt(plan, mem, t, h, 1.0)
    move(mem, w.starts, mem, w.ends, n)
    w.first = 0
    return math.inf
