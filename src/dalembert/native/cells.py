"""Cells of the axis of a variable, in each of which a polynomial of low degree represents a function.

A cell [a, b] is fine if |w_P| (b - a)^P, the remainder of the Taylor series of order P = ORDER, is at most a small part
of the size of the function. Others are halved. Where there is no series, at jumps, kinks and poles, cells shrink down
to nearly nothing.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.enclosures import ORDER, UPPER, WIDTH, enclose
from dalembert.native.jit import jit
from dalembert.native.precision import EPSILON, RESOLVED
from dalembert.native.series_tape import SeriesTape
from dalembert.native.types import Floats, Ints, f8, i8

REMAINDER = 1e-6  # of the size of the function, unless less is asked for
SHARP = 2.0  # times a value that was found may be a bound of the largest one
SAMPLES = 64  # at which a largest value is looked for first
HUGE = 1e150  # a value that no motion gets to, as of exp(400); next to 1e308 there are no series
FINEST = 2.0**-40  # of the line: the shortest cells
FEW = 4096  # cells that there is room for at first
PATIENCE = 16  # times as many cells are looked at as there is room for: towards a jump they are halved 40 times


@jit(f8(f8, f8))
def _shortest(low, high):
    """The length below which cells of [low, high] are not halved: next to it numbers have no middle, late in time."""
    return max(FINEST * (high - low), RESOLVED * max(abs(low), abs(high)))


@jit(f8(Ints, Floats, Floats, f8))
def _value(code, numbers, w, x):
    """The absolute value of a function at a point; 0 if it has none."""
    at = enclose(code, numbers, w, x, x, 0, 0.0)
    value = max(abs(w[at]), abs(w[at + UPPER]))
    return value if math.isfinite(value) else 0.0


@jit(f8(Ints, Floats, Floats, Floats, f8, f8, i8))
def _largest(code, numbers, w, stack, low, high, most):
    """The largest absolute value in [low, high], within a factor of SHARP if that takes at most `most` enclosures."""
    size, depth, shortest = 0.0, 1, _shortest(low, high)
    for k in range(SAMPLES + 1):
        size = max(size, _value(code, numbers, w, low + (high - low) * k / SAMPLES))
    stack[0], stack[1] = low, high
    while depth > 0 and most > 0:
        depth -= 1
        a, b = stack[2 * depth], stack[2 * depth + 1]
        at = enclose(code, numbers, w, a, b, 0, 0.0)
        most -= 1
        bound = max(abs(w[at]), abs(w[at + UPPER]))
        if not bound > SHARP * size or b - a <= shortest:
            continue
        middle = 0.5 * (a + b)
        size = max(size, _value(code, numbers, w, middle))
        stack[2 * depth], stack[2 * depth + 1] = middle, b
        stack[2 * depth + 2], stack[2 * depth + 3] = a, middle
        depth += 2
    return size


FINE, HALVED, JUMP = 1, 0, -1


@jit(i8(Ints, Floats, Floats, f8, f8, f8, f8, f8, f8))
def _judge(code, numbers, w, a, b, size, least, remainder, shortest):
    """FINE if a polynomial represents a cell, HALVED if not; JUMP if it is too short to halve and has no series.

    A `size` of zero stands for that of the function in the cell itself, and `least` if that is smaller.
    """
    at = enclose(code, numbers, w, a, b, ORDER, 0.0)
    if math.isnan(w[at]) and math.isnan(w[at + UPPER]):
        return FINE  # the function has no value here
    if w[at] > HUGE or w[at + UPPER] < -HUGE:
        return FINE  # no motion gets here
    change, rest = w[at + UPPER] - w[at], max(abs(w[at + ORDER]), abs(w[at + UPPER + ORDER]))
    if rest != 0.0:  # in cells of 1e31 and more it underflows, and (b - a)^P overflows
        rest *= (b - a) ** ORDER
    if size == 0.0:
        size = max(least, _value(code, numbers, w, 0.5 * (a + b)))
    if rest <= remainder * size or change <= EPSILON * size:
        return FINE
    if b - a > shortest:
        return HALVED
    return FINE if math.isfinite(rest) else JUMP


@jit(i8(Ints, Floats, Floats, Floats, f8, f8, f8, f8, f8, Floats))
def _lay(code, numbers, w, stack, low, high, size, least, remainder, edges):
    """Write the upper ends of the cells of [low, high]; returns how many, -1 without room.

    Neighbours that are one fine cell are joined. A jump is a cell without length; one on the edge between two short
    cells is found in both, and counts once.
    """
    shortest, count, depth, left = _shortest(low, high), 0, 1, PATIENCE * edges.size
    begin, jumped = low, math.nan  # of the cell written last, and the end of the last jump
    stack[0], stack[1] = low, high
    while depth > 0:
        depth, left = depth - 1, left - 1
        a, b = stack[2 * depth], stack[2 * depth + 1]
        found = _judge(code, numbers, w, a, b, size, least, remainder, shortest)
        if found == HALVED and left > 0:
            middle = 0.5 * (a + b)
            stack[2 * depth], stack[2 * depth + 1] = middle, b
            stack[2 * depth + 2], stack[2 * depth + 3] = a, middle
            depth += 2
            continue
        if count + 2 > edges.size or left < 0:
            return -1
        if found == JUMP:
            if jumped != a:
                edges[count] = a
                count += 1
            begin = jumped = b
        elif begin < a and _judge(code, numbers, w, begin, b, size, least, remainder, shortest) == FINE:
            edges[count - 1] = b
        else:
            begin = a
            edges[count] = b
            count += 1
    edges[count] = high  # behind a jump at the end
    return count + (count == 0 or edges[count - 1] < high)


@jit(f8(Floats, f8, f8))
def period_start(edges, period, s):
    """How far the period that contains s lies beyond cells with these edges; 0 without a period."""
    return period * math.floor((s - edges[0]) / period) if period > 0.0 else 0.0


def largest(tape: SeriesTape, low: float, high: float, most: int) -> float:
    """The largest absolute value of a function over [low, high], within a factor of two."""
    w, stack = _room(tape)
    return float(_largest(tape.code, tape.numbers, w, stack, low, high, most))


def lay_cells(
    tape: SeriesTape, low: float, high: float, size: float, least: float, most: int, remainder: float = REMAINDER
) -> np.ndarray | None:
    """The edges (n + 1,) of the cells of [low, high], in order; None if there are more than `most`.

    A jump, kink or pole is a cell without length. `size` is that of the function; 0 takes the size in each cell, at
    least `least`. In each cell, a polynomial leaves out at most `remainder` of it.
    """
    w, stack = _room(tape)
    room = FEW
    while True:
        edges = np.empty(min(room, most))
        count = _lay(tape.code, tape.numbers, w, stack, low, high, size, least, remainder, edges)
        if count >= 0:
            return np.concatenate([[low], edges[:count]])
        if room >= most:
            return None
        room *= 16


def _room(tape: SeriesTape) -> tuple[np.ndarray, np.ndarray]:
    """The series of a tape, and a stack of cells to be halved."""
    return np.zeros(tape.size * WIDTH), np.zeros(4 * 128)


def supremum(tape: SeriesTape) -> float:
    """A bound of the absolute value of a function on the whole line, infinity if none is found."""
    w, _ = _room(tape)
    at = int(enclose(tape.code, tape.numbers, w, -np.inf, np.inf, 0, 0.0))
    bound = max(abs(w[at]), abs(w[at + UPPER]))
    return float(bound) if np.isfinite(bound) else np.inf
