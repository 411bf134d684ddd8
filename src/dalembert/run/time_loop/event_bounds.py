"""Bounds of event functions over pieces of a step, in native code.

The columns that the functions read are polynomials in a step: cubics through both ends, or those of its dense output. A
piece of them in Bernstein form lies between its least and its largest coefficient, and so does its rate; bounds of the
functions follow by `native.enclosures`.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.enclosures import UPPER, WIDTH, enclose
from dalembert.native.jit import jit
from dalembert.native.plan import (
    Floats,
    Plan,
    call_accelerate,
    call_interpolate,
    call_kernel,
    f8,
    i8,
    ints_at,
    move,
)
from dalembert.native.precision import EPSILON
from dalembert.run.evaluate import load_state
from dalembert.run.time_loop.event_watch import CUBIC, DEGREE, watched

# A cubic through values and slopes at both ends of [0, 1] misses c s^2 (1 - s)^2, one through values at thirds
# c s (s - 1/3) (s - 2/3) (s - 1); c is taken to be at most its own cubic coefficient.
OFF, SLOPE_OFF = 1.0 / 16.0, 2.0 / 9.0
ROUNDED = 4.0 * EPSILON  # of a column, by which its values may differ from those of the polynomial
NODES = 0.5 - 0.5 * np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
_BASIS = np.array(
    [[math.comb(DEGREE, j) * s**j * (1.0 - s) ** (DEGREE - j) for j in range(DEGREE + 1)] for s in NODES.tolist()]
)
TO_BERNSTEIN = np.ascontiguousarray(np.linalg.inv(_BASIS)).ravel()  # of a polynomial by its values at NODES


@jit(i8(Plan, Floats))
def gauge(plan, mem):
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
def gauge_state(plan, mem, t, z):
    """Event functions at (t, z), into VALUES."""
    w = watched(plan.watch)
    load_state(plan, mem, t, z)
    if w.reads_rates:
        call_accelerate(plan.accelerate, (plan, mem))
        plan.nfev += 1
    return gauge(plan, mem)


@jit(i8(Plan, Floats, i8))
def keep_values(plan, mem, column):
    """Copy VALUES to another column."""
    w = watched(plan.watch)
    move(mem, column, mem, w.values, w.n)
    return 0


@jit(i8(Plan, Floats, i8))
def read_columns(plan, mem, target):
    """Copy the columns read, at the state looked at last, to `target`."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    start = w.input if w.reads_rates else plan.x
    for j in range(w.n_reads):
        mem[target + j] = mem[start + ints[w.reads + j]]
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def _see_thirds(plan, mem, t, h, z, stages, znew, zdot):
    """Write columns that follow from the equations to STEP, as cubics through values at thirds of the step."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    nz, start = plan.nz, w.place
    place = mem[start : start + nz]
    for third in range(1, 3):
        s = third / 3.0
        a, b = s * s * (3.0 - 2.0 * s), s * (1.0 - s)
        for i in range(nz):
            place[i] = z[i] + a * (znew[i] - z[i]) + h * b * ((1.0 - s) * stages[i] - s * zdot[i])
        gauge_state(plan, mem, t + s * h, place)
        for j in range(w.n_reads):
            if ints[w.reads + j] >= w.n_x:
                mem[w.step + j * CUBIC + third] = mem[w.input + ints[w.reads + j]] - mem[w.begins + j]
    for j in range(w.n_reads):
        if ints[w.reads + j] >= w.n_x:
            at = w.step + j * CUBIC
            first, second, last = mem[at + 1], mem[at + 2], mem[at + 3]
            mem[at + 1] = (18.0 * first - 9.0 * second + 2.0 * last) / 6.0
            mem[at + 2] = (18.0 * second - 9.0 * first - 5.0 * last) / 6.0
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def see_cubic(plan, mem, t, h, z, stages, znew, zdot):
    """Put the columns read as cubics into STEP: states by values and rates at both ends."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    derived = 0
    for j in range(w.n_reads):
        column, at = ints[w.reads + j], w.step + j * CUBIC
        mem[at], mem[at + 3] = 0.0, mem[w.reaches + j] - mem[w.begins + j]
        if column == 0:
            mem[at + 1], mem[at + 2], mem[at + 3] = h / 3.0, h * (2.0 / 3.0), h
        elif column < w.n_x:
            mem[at + 1], mem[at + 2] = h / 3.0 * stages[column - 1], mem[at + 3] - h / 3.0 * zdot[column - 1]
        else:
            derived = 1
    if derived:
        _see_thirds(plan, mem, t, h, z, stages, znew, zdot)
    for j in range(w.n_reads):
        at = w.step + j * CUBIC
        mem[w.off + j] = abs(mem[at + 3] - 3.0 * (mem[at + 2] - mem[at + 1]))
        if ints[w.reads + j] == 0:
            mem[w.off + j] = 0.0
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats))
def see_dense(plan, mem, t, h, z, stages, znew):
    """Put the columns read as polynomials of the dense output into STEP."""
    w = watched(plan.watch)
    ints = ints_at(plan.ints, plan.n_ints)
    m, nz, start, n = w.n_reads, plan.nz, w.place, DEGREE + 1
    place = mem[start : start + nz]
    for j in range(m):
        mem[w.piece + j * n], mem[w.piece + j * n + DEGREE] = 0.0, mem[w.reaches + j] - mem[w.begins + j]
        mem[w.off + j] = 0.0
    for node in range(1, DEGREE):
        call_interpolate(plan.interpolate, (NODES[node], h, z, stages, znew, place))
        gauge_state(plan, mem, t + NODES[node] * h, place)
        read_columns(plan, mem, w.numbers)
        for j in range(m):
            mem[w.piece + j * n + node] = mem[w.numbers + j] - mem[w.begins + j]
    for j in range(m):
        for row in range(n):
            total = 0.0
            for node in range(n):
                total += TO_BERNSTEIN[row * n + node] * mem[w.piece + j * n + node]
            mem[w.step + j * n + row] = total
            if ints[w.reads + j] == 0:
                mem[w.step + j * n + row] = h * row / DEGREE
    return 0


@jit(i8(Plan, Floats, i8, f8, f8))
def _cut_out(plan, mem, n, left, length):
    """Put the piece of STEP, polynomials of n coefficients, from `left` by `length` into PIECE (de Casteljau)."""
    w = watched(plan.watch)
    right = left + length
    for j in range(w.n_reads):
        b = w.piece + j * n
        move(mem, b, mem, w.step + j * n, n)
        if right < 1.0:
            for order in range(1, n):
                for k in range(n - 1, order - 1, -1):
                    mem[b + k] = (1.0 - right) * mem[b + k - 1] + right * mem[b + k]
        if left > 0.0:
            s = left / right
            for order in range(1, n):
                for k in range(n - order):
                    mem[b + k] = (1.0 - s) * mem[b + k] + s * mem[b + k + 1]
    return 0


@jit(i8(Plan, Floats, i8))
def is_plain(plan, mem, k):
    """True if the values of function k at both ends of the piece decide on its zeros there.

    The function then does not reach zero, or is monotonic without poles and jumps, or is within its slack of zero.
    """
    w = watched(plan.watch)
    low, high, slack = mem[w.bounds + k], mem[w.bounds + w.n + k], mem[w.slacks + k]
    least, most = mem[w.bounds + 2 * w.n + k], mem[w.bounds + 3 * w.n + k]
    monotone = (least >= 0.0 and most < math.inf) or (most <= 0.0 and least > -math.inf)
    return low > 0.0 or high < 0.0 or monotone or (low >= -slack and high <= slack)


@jit(f8(Plan, Floats, i8, f8, f8))
def _enter(plan, mem, j, low, high):
    """Give the tape bounds of column j, told less its value at the start of the step, with their possible error."""
    w = watched(plan.watch)
    begin, off = mem[w.begins + j], OFF * mem[w.off + j]
    off += ROUNDED * max(abs(begin + low), abs(begin + high))
    mem[w.numbers + 4 * j], mem[w.numbers + 4 * j + 1] = begin + low - off, begin + high + off
    return off


@jit(i8(Plan, Floats))
def _enclose(plan, mem):
    """Put bounds of the functions and of their rates into BOUNDS, by those of the columns."""
    w = watched(plan.watch)
    series, numbers = mem[w.series : w.series + w.n_code // 4 * WIDTH], mem[w.numbers : w.numbers + w.n_numbers]
    last = enclose(ints_at(w.code, w.n_code), numbers, series, 0.0, 0.0, 1, 0.0)
    for k in range(w.n):
        at = last - (w.n - 1 - k) * WIDTH
        for j in range(2):
            mem[w.bounds + 2 * j * w.n + k] = series[at + j]
            mem[w.bounds + (2 * j + 1) * w.n + k] = series[at + UPPER + j]
    return 0


@jit(i8(Plan, Floats, i8, f8))
def _refine(plan, mem, n, length):
    """Tighten the bounds of the functions to the value at the begin of the piece plus the largest change by the rate.

    The new bounds are second-order forms: common parts of columns, as in a difference of two, do not widen them.
    """
    w = watched(plan.watch)
    move(mem, w.copy, mem, w.bounds, 4 * w.n)
    for j in range(w.n_reads):
        _enter(plan, mem, j, mem[w.piece + j * n], mem[w.piece + j * n])
    _enclose(plan, mem)
    for k in range(w.n):
        low, high = mem[w.bounds + k], mem[w.bounds + w.n + k]
        least, most = mem[w.copy + 2 * w.n + k] * length, mem[w.copy + 3 * w.n + k] * length
        if math.isfinite(low + high) and math.isfinite(least + most):
            mem[w.copy + k] = max(mem[w.copy + k], low + min(0.0, least))
            mem[w.copy + w.n + k] = min(mem[w.copy + w.n + k], high + max(0.0, most))
    move(mem, w.bounds, mem, w.copy, 4 * w.n)
    return 0


@jit(i8(Plan, Floats, i8, f8, f8))
def bound(plan, mem, n, left, length):
    """Put bounds of the functions and of their rates per step, over the piece from `left` by `length`, into BOUNDS."""
    w = watched(plan.watch)
    _cut_out(plan, mem, n, left, length)
    for j in range(w.n_reads):
        b = w.piece + j * n
        low = high = mem[b]
        least, most = math.inf, -math.inf
        for k in range(1, n):
            low, high = min(low, mem[b + k]), max(high, mem[b + k])
            rise = mem[b + k] - mem[b + k - 1]
            least, most = min(least, rise), max(most, rise)
        off, scale, rates = SLOPE_OFF * mem[w.off + j], (n - 1) / length, w.numbers + 4 * j + 2
        _enter(plan, mem, j, low, high)
        mem[rates], mem[rates + 1] = scale * least - off, scale * most + off
    _enclose(plan, mem)
    for k in range(w.n):
        if not is_plain(plan, mem, k):
            _refine(plan, mem, n, length)
            break
    return 0
