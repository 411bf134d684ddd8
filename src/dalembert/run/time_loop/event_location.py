"""Zeros of event functions within accepted steps, in native code: found, or known to be absent.

An event function is a function along the dense output of a step. The columns that it reads are polynomials there.
Over a piece of the step their hulls in Bernstein form bound the function and its rate (`native.enclosures`). A
function whose bounds exclude zero has no zero in the piece. One whose rate keeps its sign has one zero if its values at
both ends have different signs, else none. Any other piece is halved, down to the resolution of time: there a change of
sign is a zero, unless the function is unbounded, as at a pole. A step of more than `PIECES_PER_STEP` pieces leaves the
function in doubt, and the certificate is not ok.

A step is first looked at by the cubic through both ends, which costs no evaluation, widened by its own cubic term. Only
a step in which this leaves room for a zero gets its dense output; on it, brought onto the constraints, the zero is
found by Chandrupatla's method (inverse quadratic interpolation where that is safe, else bisection).

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
    call_correct,
    call_interpolate,
    call_prepare,
    f8,
    i8,
    ints_at,
    move,
)
from dalembert.run.time_loop.event_bounds import (
    EPSILON,
    bound,
    gauge,
    gauge_state,
    is_plain,
    keep_values,
    read_columns,
    see_cubic,
    see_dense,
)
from dalembert.run.time_loop.event_watch import CUBIC, DEGREE, watched

AROUND = 4.0  # times the resolution of time: zeros this close are at one time
PIECES_PER_STEP = 4096
COARSE_PIECES = 8  # of a step seen as a cubic, and of one with a function that is in doubt already


@jit(f8(f8, f8))
def _resolution(h, t_new):
    """Resolution of time in a step of length h to `t_new`, as a part of the step."""
    return 2.0 * EPSILON * max(1.0, abs(t_new) / h)


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
    gauge_state(plan, mem, t, z)
    keep_values(plan, mem, w.starts)
    read_columns(plan, mem, w.begins)
    for k in range(n):
        here = _sign(0.0, mem[w.values + k], mem[w.slacks + k])
        if ints[w.fresh + k]:
            here = 0.0
        elif here == 0.0:
            here = mem[w.signs + k]
        mem[w.signs + k], mem[w.firsts + k], ints[w.fresh + k] = here, here, 0
    w.kept = w.stopped = 0
    return 0


@jit(i8(Plan, Floats, i8))
def _keeps_off(plan, mem, k):
    """Whether the bounds of function k exclude zero, and it has the sign that it had."""
    w = watched(plan.watch)
    sign = mem[w.signs + k]
    return (sign > 0.0 and mem[w.bounds + k] > 0.0) or (sign < 0.0 and mem[w.bounds + w.n + k] < 0.0)


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def _is_suspect(plan, mem, t, h, z, stages, znew, zdot):
    """Whether the cubic through both ends leaves room for a zero of some function, or for its first sign."""
    w = watched(plan.watch)
    n = w.n
    move(mem, w.roots, mem, w.signs, n)
    if _turn(plan, mem, w.roots, w.ends):
        return 1
    see_cubic(plan, mem, t, h, z, stages, znew, zdot)
    left, length = 0.0, 1.0
    while left < 1.0:
        bound(plan, mem, CUBIC, left, length)
        rest = 0
        for k in range(n):
            rest += not (_keeps_off(plan, mem, k) or (length == 1.0 and is_plain(plan, mem, k)))
        if rest == 0:
            left += length
        elif length * COARSE_PIECES > 1.0:
            length *= 0.5
        else:
            return 1
    return 0


@jit(i8(Plan, Floats, f8, f8))
def _sort_out(plan, mem, length, least):
    """Classify the piece of BOUNDS: 2 if no function has a zero in it, 1 if the values at its ends decide, else 0.

    OPEN is set for functions for which they do not decide. A function that is in doubt already is not refined further.
    """
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    known = 2
    for k in range(w.n):
        mem[w.open + k] = 0.0
        if not _keeps_off(plan, mem, k):
            known = min(known, 1)
            if not (is_plain(plan, mem, k) or length <= least):
                mem[w.open + k] = 1.0
                if not (ints[w.doubts + k] > 0 and length * COARSE_PIECES <= 1.0):
                    known = 0
    return known


@jit(i8(Plan, Floats, f8, f8, f8))
def _doubt(plan, mem, t, h, begin):
    """Note that functions in OPEN are in doubt at time t, in the step from `begin` by h."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    for k in range(w.n):
        if mem[w.open + k] > 0.0 and not (ints[w.doubts + k] > 0 and mem[w.last + k] == begin):
            if ints[w.doubts + k] == 0:
                mem[w.doubted + k], mem[w.longest + k] = t, 0.0
            ints[w.doubts + k] += 1
            mem[w.longest + k], mem[w.last + k] = max(mem[w.longest + k], h), begin
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
    gauge_state(plan, mem, at, place)
    return at


@jit(f8(Plan, Floats, i8, f8, f8, f8, f8, f8, Floats, Floats, Floats))
def _locate(plan, mem, k, left, right, t, h, t_new, z, stages, znew):
    """Zero of function k in the piece (left, right) (T. R. Chandrupatla, Adv. Eng. Softw. 28 (1997) 145-149)."""
    w = watched(plan.watch)
    b, a, c = left, right, left
    fb, fa = mem[w.left + k], mem[w.right + k]
    fc = fb
    if fa == 0.0:
        return a
    resolution = _resolution(h, t_new)
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
    roots, together = w.roots, AROUND * _resolution(h, t_new)
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


@jit(f8(Plan, Floats, f8, f8, f8, f8, f8, Floats, Floats, Floats))
def _search(plan, mem, left, right, t, h, t_new, z, stages, znew):
    """Record the zeros in the piece (left, right), of which values at `left` are in LEFT; as `watch` returns."""
    w = watched(plan.watch)
    ints, least = ints_at(plan.ints, plan.n_ints), _resolution(h, t_new)
    _look(plan, mem, right, t, h, t_new, z, stages, znew)
    keep_values(plan, mem, w.right)
    for k in range(w.n):
        mem[w.roots + k] = math.inf
        if _crosses(mem[w.signs + k], mem[w.right + k], ints[w.direction + k]):
            at = _locate(plan, mem, k, left, right, t, h, t_new, z, stages, znew)
            around = max(0.0, at - AROUND * least)
            bound(plan, mem, DEGREE + 1, around, min(1.0, at + AROUND * least) - around)
            if mem[w.bounds + k] > -math.inf and mem[w.bounds + w.n + k] < math.inf:
                mem[w.roots + k] = at
    at = _take(plan, mem, t, h, t_new, z, stages, znew)
    if at == math.inf:
        _go_on(plan, mem, w.right)
        move(mem, w.left, mem, w.right, w.n)
    return at


@jit(f8(Plan, Floats, f8, f8, f8, Floats, Floats, Floats))
def _scan(plan, mem, t, h, t_new, z, stages, znew):
    """Record occurrences in a step whose dense output is in STEP, piece by piece. Returns as `watch`."""
    w = watched(plan.watch)
    least = _resolution(h, t_new)
    left, length, seen, pieces = 0.0, 1.0, 0.0, 0  # LEFT holds values at `seen`
    move(mem, w.left, mem, w.starts, w.n)
    while left < 1.0:
        bound(plan, mem, DEGREE + 1, left, length)
        known, pieces = _sort_out(plan, mem, length, least), pieces + 1
        spent = pieces >= PIECES_PER_STEP or w.kept > 2 * w.room
        if known == 0 and not spent:
            length *= 0.5
            continue
        if known < 2:
            _doubt(plan, mem, t + left * h, h, t)
            if seen < left:
                _look(plan, mem, left, t, h, t_new, z, stages, znew)
                keep_values(plan, mem, w.left)
            seen = left + length
            at = _search(plan, mem, left, seen, t, h, t_new, z, stages, znew)
            if at < math.inf:
                return at
        left += length
        if spent:
            length = 1.0 - left
        elif math.floor(0.5 * left / length) * 2.0 * length == left and left + 2.0 * length <= 1.0:
            length *= 2.0
    return math.inf


@jit(f8(Plan, Floats, f8, f8, f8, Floats, Floats, Floats, Floats))
def watch(plan, mem, t, h, t_new, z, stages, znew, zdot):
    """Record occurrences in the accepted step from t by h to `t_new`; the rates at its end were evaluated last.

    Returns the time of an event that ends the run, with the state there in PLACE; infinity if there is none.
    """
    w = watched(plan.watch)
    gauge(plan, mem)
    keep_values(plan, mem, w.ends)
    read_columns(plan, mem, w.reaches)
    if _is_suspect(plan, mem, t, h, z, stages, znew, zdot):
        call_prepare(plan.prepare, (plan, mem, t, h, z, stages, znew, zdot))
        see_dense(plan, mem, t, h, z, stages, znew)
        at = _scan(plan, mem, t, h, t_new, z, stages, znew)
        if at < math.inf:
            return at
    else:
        _go_on(plan, mem, w.ends)
    move(mem, w.starts, mem, w.ends, w.n)
    move(mem, w.begins, mem, w.reaches, w.n_reads)
    return math.inf
