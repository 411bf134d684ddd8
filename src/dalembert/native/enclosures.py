"""Interval Taylor series of functions of one variable along their tape.

The series over an interval [a, b] encloses the value and the scaled derivatives w_k = w^(k)/k! everywhere in it (Moore,
1966; recurrences as in Griewank and Walther, Evaluating Derivatives, ch. 13). Jumps, kinks and poles have no series:
their coefficients are unbounded, those of the rate at a kink apart. A function of several quantities that change with
time is one of time: bounds of their values and rates take the place of their series, and give those of the function.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import engine_object  # noqa: F401 - brings the machine code of native functions
from dalembert.native.jit import jit
from dalembert.native.precision import EPSILON
from dalembert.native.series_tape import (
    ABSOLUTE,
    ADD,
    AND,
    ARC_OF_TWO,
    ARC_SINE,
    ARC_TANGENT,
    AREA_COSINE,
    AREA_SINE,
    AREA_TANGENT,
    CEILING,
    CHOSEN,
    COLUMN,
    CONSTANT,
    EQUAL,
    EXP,
    FLOOR,
    INTEGRAL,
    INVERSE,
    LEAST,
    LESS,
    LESS_EQUAL,
    LOG,
    MOST,
    NEGATIVE,
    NOT,
    PART,
    PIECE,
    POSITIVE,
    POWER,
    PRODUCT,
    SIGN,
    SINE,
    SQUARE,
    TANGENT,
    TANH,
    TRUNCATE,
    VARIABLE,
    SeriesTape,
)  # fmt: skip
from dalembert.native.types import Floats, Ints, f8, i8, several

ORDER = 8  # that of the most accurate explicit method
UPPER = ORDER + 1  # a series is the lower bounds of all orders, then their upper bounds
WIDTH = 2 * UPPER
ROUNDING = 4.0 * EPSILON  # relative rounding error of an operation


@jit(several(f8, 2)(f8, f8, f8, f8))
def _times(a, b, c, d):
    """The product of [a, b] and [c, d]. A zero times infinity is zero: the bound is not reached."""
    if (a == 0.0 and b == 0.0) or (c == 0.0 and d == 0.0):
        return 0.0, 0.0
    p = 0.0 if a == 0.0 or c == 0.0 else a * c
    q = 0.0 if a == 0.0 or d == 0.0 else a * d
    r = 0.0 if b == 0.0 or c == 0.0 else b * c
    s = 0.0 if b == 0.0 or d == 0.0 else b * d
    return min(p, q, r, s), max(p, q, r, s)


@jit(several(f8, 2)(Floats, i8, i8, i8, i8, f8, f8))
def _sum(w, x, y, k, first, slope, offset):
    """Bounds of the sum of (slope j + offset) x_j y_(k - j) over j = first .. k; x and y are where series start."""
    low, high = 0.0, 0.0
    for j in range(first, k + 1):
        p, q = _times(w[x + j], w[x + UPPER + j], w[y + k - j], w[y + UPPER + k - j])
        weight = slope * j + offset
        low += weight * (p if weight > 0.0 else q)
        high += weight * (q if weight > 0.0 else p)
    return low, high


@jit(i8(Floats, i8, i8, f8, f8))
def _set(w, at, k, low, high):
    w[at + k], w[at + UPPER + k] = low, high
    return 0


@jit(i8(Floats, i8, i8, i8, f8))
def _copy(w, at, x, orders, factor):
    """`factor` (1 or -1) times a series."""
    for k in range(orders + 1):
        low, high = w[x + k], w[x + UPPER + k]
        _set(w, at, k, low if factor > 0.0 else -high, high if factor > 0.0 else -low)
    return 0


@jit(i8(Floats, i8, i8, f8, f8))
def _rough(w, at, orders, low, high):
    """A value within bounds, without a series."""
    _set(w, at, 0, low, high)
    for k in range(1, orders + 1):
        _set(w, at, k, -math.inf, math.inf)
    return 0


@jit(i8(Floats, i8, i8, f8, f8))
def _constant(w, at, orders, low, high):
    """Series of a quantity in [low, high] that does not depend on the variable."""
    _set(w, at, 0, low, high)
    for k in range(1, orders + 1):
        _set(w, at, k, 0.0, 0.0)
    return 0


@jit(i8(Floats, i8, i8, f8, f8))
def _flat(w, at, orders, low, high):
    """A constant if it is known, else a value that may jump."""
    if low != high:
        return _rough(w, at, orders, low, high)
    return _constant(w, at, orders, low, high)


@jit(i8(Floats, i8, i8, i8))
def _inverse(w, at, x, orders):
    low, high = w[x], w[x + UPPER]
    if low <= 0.0 <= high:
        return _rough(
            w,
            at,
            orders,
            -math.inf if low < 0.0 else 0.0 if high == 0.0 else 1.0 / high,
            math.inf if high > 0.0 else 0.0 if low == 0.0 else 1.0 / low,
        )
    _set(w, at, 0, 1.0 / high, 1.0 / low)
    for k in range(1, orders + 1):
        p, q = _sum(w, x, at, k, 1, 0.0, 1.0)
        p, q = _times(p, q, w[at], w[at + UPPER])
        _set(w, at, k, -q, -p)
    return 0


@jit(i8(Floats, i8, i8, i8, f8))
def _power(w, at, x, orders, exponent):
    """x^exponent for an exponent that is no whole number."""
    low, high = w[x], w[x + UPPER]
    if high < 0.0:
        return _rough(w, at, orders, math.nan, math.nan)
    low = max(low, 0.0)
    a = (0.0 if exponent > 0.0 else math.inf) if low == 0.0 else low**exponent
    b = (0.0 if exponent > 0.0 else math.inf) if high == 0.0 else high**exponent
    if low == 0.0:
        return _rough(w, at, orders, min(a, b), max(a, b))
    _set(w, at, 0, min(a, b), max(a, b))
    for k in range(1, orders + 1):
        p, q = _sum(w, x, at, k, 1, exponent + 1.0, -float(k))
        p, q = _times(p / k, q / k, 1.0 / high, 1.0 / low)
        _set(w, at, k, p, q)
    return 0


@jit(f8(f8, f8, f8))
def _reaches(low, high, at):
    """Whether [low, high] holds `at` or that plus whole turns."""
    return math.floor((high - at) / (2.0 * math.pi)) > math.floor((low - at) / (2.0 * math.pi)) or low == at


@jit(i8(Floats, i8, f8, f8, f8, f8, f8))
def _wave(w, at, low, high, a, b, top):
    """Bounds of a sine or cosine, whose top is at `top`, over [low, high]; a and b are its values there."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return _set(w, at, 0, -1.0, 1.0)
    is_low, is_high = _reaches(low, high, top + math.pi), _reaches(low, high, top)
    return _set(w, at, 0, -1.0 if is_low else min(a, b), 1.0 if is_high else max(a, b))


@jit(i8(Floats, i8, i8, i8))
def _sine(w, at, x, orders):
    """The sine, and behind it the cosine."""
    cosine, low, high = at + WIDTH, w[x], w[x + UPPER]
    _wave(w, at, low, high, math.sin(low), math.sin(high), 0.5 * math.pi)
    _wave(w, cosine, low, high, math.cos(low), math.cos(high), 0.0)
    for k in range(1, orders + 1):
        p, q = _sum(w, x, cosine, k, 1, 1.0 / k, 0.0)
        r, s = _sum(w, x, at, k, 1, 1.0 / k, 0.0)
        _set(w, at, k, p, q)
        _set(w, cosine, k, -s, -r)
    return 0


@jit(f8(f8))
def _bell(x):
    """1 - tanh(x)^2, without cancellation."""
    e = math.exp(-2.0 * min(abs(x), 350.0))
    return 4.0 * e / (1.0 + e) ** 2


@jit(i8(Floats, i8, i8, i8, f8))
def _riccati(w, at, x, orders, sign):
    """The rest of a series y with dy/dx = 1 + sign y^2, and of that derivative behind it."""
    slope = at + WIDTH
    for k in range(1, orders + 1):
        p, q = _sum(w, x, slope, k, 1, 1.0 / k, 0.0)
        _set(w, at, k, p, q)
        p, q = _sum(w, at, at, k, 0, 0.0, 1.0)
        _set(w, slope, k, p if sign > 0.0 else -q, q if sign > 0.0 else -p)
    return 0


@jit(i8(Floats, i8, i8, i8))
def _tangent(w, at, x, orders):
    """The tangent, and behind it its derivative in x, 1 + tan^2."""
    slope, low, high = at + WIDTH, w[x], w[x + UPPER]
    if np.floor(high / math.pi - 0.5) != np.floor(low / math.pi - 0.5):  # or without bounds
        _rough(w, slope, orders, 1.0, math.inf)
        return _rough(w, at, orders, -math.inf, math.inf)
    a, b = math.tan(low), math.tan(high)
    _set(w, at, 0, a, b)
    _set(w, slope, 0, 1.0 + (0.0 if a <= 0.0 <= b else min(a * a, b * b)), 1.0 + max(a * a, b * b))
    return _riccati(w, at, x, orders, 1.0)


@jit(i8(Floats, i8, i8, i8))
def _tanh(w, at, x, orders):
    """The hyperbolic tangent, and behind it its derivative in x, 1 - tanh^2."""
    slope, low, high = at + WIDTH, w[x], w[x + UPPER]
    _set(w, at, 0, math.tanh(low), math.tanh(high))
    a, b = _bell(low), _bell(high)
    _set(w, slope, 0, min(a, b), 1.0 if low <= 0.0 <= high else max(a, b))
    return _riccati(w, at, x, orders, -1.0)


@jit(f8(i8, f8))
def _value(kind, x):
    """A function that rises, NaN where it has no value."""
    if kind == LOG:
        return math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan
    if kind == ARC_TANGENT:
        return math.atan(x)
    if kind == ARC_SINE:
        return math.asin(max(-1.0, min(1.0, x)))
    if kind == AREA_SINE:
        return math.asinh(x)
    if kind == AREA_COSINE:
        return math.acosh(x) if x >= 1.0 else math.nan
    if kind == AREA_TANGENT:
        return math.atanh(x) if abs(x) < 1.0 else math.inf if x >= 1.0 else -math.inf
    return math.erf(x)


@jit(i8(Floats, i8, i8, i8, i8, i8))
def _integral(w, at, x, slope, kind, orders):
    low, high = w[x], w[x + UPPER]
    least = 0.0 if kind == LOG else 1.0 if kind == AREA_COSINE else -math.inf
    if high >= least:
        low = max(low, least)
    _set(w, at, 0, _value(kind, low), _value(kind, high))
    for k in range(1, orders + 1):
        p, q = _sum(w, x, slope, k, 1, 1.0 / k, 0.0)
        _set(w, at, k, p, q)
    return 0


@jit(i8(Floats, i8, i8, i8, i8, i8))
def _arc_of_two(w, at, y, x, slopes, orders):
    """atan2(y, x), without a series across its cut; x and y over x^2 + y^2 are `slopes` and the series behind it."""
    if w[x] <= 0.0 and w[y] <= 0.0 <= w[y + UPPER]:
        return _rough(w, at, orders, -math.pi, math.pi)
    p, q = math.atan2(w[y], w[x]), math.atan2(w[y], w[x + UPPER])
    r, s = math.atan2(w[y + UPPER], w[x]), math.atan2(w[y + UPPER], w[x + UPPER])
    _set(w, at, 0, min(p, q, r, s), max(p, q, r, s))
    for k in range(1, orders + 1):
        p, q = _sum(w, y, slopes, k, 1, 1.0 / k, 0.0)
        r, s = _sum(w, x, slopes + WIDTH, k, 1, 1.0 / k, 0.0)
        _set(w, at, k, p - s, q - r)
    return 0


@jit(i8(Floats, i8, i8, i8))
def _square(w, at, x, orders):
    for k in range(orders + 1):
        p, q = _sum(w, x, x, k, 0, 0.0, 1.0)
        _set(w, at, k, p, q)
    a, b = abs(w[x]), abs(w[x + UPPER])
    least = 0.0 if w[x] <= 0.0 <= w[x + UPPER] else min(a, b)
    return _set(w, at, 0, least * least, max(a, b) * max(a, b))


@jit(i8(Floats, i8, i8, i8))
def _absolute(w, at, x, orders):
    low, high = w[x], w[x + UPPER]
    if low < 0.0 < high:
        _rough(w, at, orders, 0.0, max(-low, high))
        if orders > 0:
            rate = max(abs(w[x + 1]), abs(w[x + UPPER + 1]))
            _set(w, at, 1, -rate, rate)
        return 0
    return _copy(w, at, x, orders, 1.0 if low >= 0.0 else -1.0)


@jit(i8(Floats, i8, i8, i8, i8, f8))
def _extreme(w, at, x, y, orders, sign):
    """The larger (sign 1) or smaller (-1) of two."""
    lead = sign * (w[x + (UPPER if sign < 0.0 else 0)] - w[y + (0 if sign < 0.0 else UPPER)])
    trail = sign * (w[x + (0 if sign < 0.0 else UPPER)] - w[y + (UPPER if sign < 0.0 else 0)])
    if lead >= 0.0:
        return _copy(w, at, x, orders, 1.0)
    if trail <= 0.0:
        return _copy(w, at, y, orders, 1.0)
    if sign > 0.0:
        _rough(w, at, orders, max(w[x], w[y]), max(w[x + UPPER], w[y + UPPER]))
    else:
        _rough(w, at, orders, min(w[x], w[y]), min(w[x + UPPER], w[y + UPPER]))
    if orders > 0:
        _set(w, at, 1, min(w[x + 1], w[y + 1]), max(w[x + UPPER + 1], w[y + UPPER + 1]))
    return 0


@jit(f8(i8, f8))
def _step(op, x):
    """A function that is constant but for jumps."""
    if op == SIGN:
        return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0
    if not math.isfinite(x) or op == FLOOR:
        return np.floor(x)
    if op == CEILING or x < 0.0:  # TRUNCATE rounds to zero
        return np.ceil(x)
    return np.floor(x)


@jit(several(f8, 2)(Floats, i8, i8, i8))
def _truth(w, op, x, y):
    """Bounds of a condition, 0 or 1 each."""
    a, b, c, d = w[x], w[x + UPPER], w[y], w[y + UPPER]
    if op == LESS:
        return (1.0 if b < c else 0.0), (1.0 if a < d else 0.0)
    if op == LESS_EQUAL:
        return (1.0 if b <= c else 0.0), (1.0 if a <= d else 0.0)
    if op == EQUAL:
        return (1.0 if a == b == c == d else 0.0), (0.0 if b < c or d < a else 1.0)
    never, always = a == 0.0 and b == 0.0, a > 0.0 or b < 0.0
    if op == NOT:
        return (1.0 if never else 0.0), (0.0 if always else 1.0)
    nor, surely = c == 0.0 and d == 0.0, c > 0.0 or d < 0.0
    if op == AND:
        return (1.0 if always and surely else 0.0), (0.0 if never or nor else 1.0)
    return (1.0 if always or surely else 0.0), (0.0 if never and nor else 1.0)


@jit(i8(Floats, i8, i8, i8, i8))
def _chosen(w, at, x, y, orders):
    """y where x is true, else zero."""
    low, high = w[x], w[x + UPPER]
    if low == 0.0 and high == 0.0:
        return _flat(w, at, orders, 0.0, 0.0)
    if low > 0.0 or high < 0.0:
        return _copy(w, at, y, orders, 1.0)
    return _rough(w, at, orders, min(w[y], 0.0), max(w[y + UPPER], 0.0))


@jit(i8(Floats, i8, f8))
def _piece(numbers, table, x):
    """The number of the piece of a table that x lies in."""
    width, low, high = int(numbers[table + 1]), 0, int(numbers[table]) - 1
    first = table + 2
    while low < high:
        middle = (low + high + 1) // 2
        if numbers[first + middle * width] <= x:
            low = middle
        else:
            high = middle - 1
    return low


@jit(i8(Floats, Floats, i8, i8, i8, i8, i8))
def _part(w, numbers, at, piece, table, part, orders):
    """A number of the pieces that a table is in."""
    width, low, high = int(numbers[table + 1]), int(w[piece]), int(w[piece + UPPER])
    least, most = math.inf, -math.inf
    for k in range(low, high + 1):
        value = numbers[table + 2 + k * width + part]
        least, most = min(least, value), max(most, value)
    return _flat(w, at, orders, least, most)


@jit(i8(Floats, i8, f8))
def _widen(w, at, rounding):
    """Make room for rounding in the value and its rate."""
    for k in range(2):
        w[at + k] -= rounding * abs(w[at + k])
        w[at + UPPER + k] += rounding * abs(w[at + UPPER + k])
    return 0


@jit(i8(Ints, Floats, Floats, i8, f8, f8, i8))
def _operate(code, numbers, w, k, low, high, orders):
    op, at = code[4 * k], k * WIDTH
    a, b, third = code[4 * k + 1], code[4 * k + 2], code[4 * k + 3]
    x, y = a * WIDTH, b * WIDTH
    if op == CONSTANT:
        return 0 if a < 0 else _constant(w, at, orders, numbers[a], numbers[b])
    if op == VARIABLE:
        _constant(w, at, orders, low, high)
        return _set(w, at, 1, 1.0, 1.0) if orders > 0 else 0
    if op == COLUMN:
        _rough(w, at, orders, numbers[a], numbers[a + 1])
        return _set(w, at, 1, numbers[a + 2], numbers[a + 3]) if orders > 0 else 0
    if op == ADD:
        for j in range(orders + 1):
            _set(w, at, j, w[x + j] + w[y + j], w[x + UPPER + j] + w[y + UPPER + j])
        return 0
    if op == NEGATIVE:
        return _copy(w, at, x, orders, -1.0)
    if op == PRODUCT:
        for j in range(orders + 1):
            p, q = _sum(w, x, y, j, 0, 0.0, 1.0)
            _set(w, at, j, p, q)
        return 0
    if op == SQUARE:
        return _square(w, at, x, orders)
    if op == INVERSE:
        return _inverse(w, at, x, orders)
    if op == EXP:
        _set(w, at, 0, math.exp(min(w[x], 709.0)), math.exp(w[x + UPPER]) if w[x + UPPER] < 709.0 else math.inf)
        for j in range(1, orders + 1):
            p, q = _sum(w, x, at, j, 1, 1.0 / j, 0.0)
            _set(w, at, j, p, q)
        return 0
    if op == POWER:
        return _power(w, at, x, orders, numbers[b])
    if op == SINE:
        return _sine(w, at, x, orders)
    if op == TANH:
        return _tanh(w, at, x, orders)
    if op == TANGENT:
        return _tangent(w, at, x, orders)
    if op == INTEGRAL:
        return _integral(w, at, x, y, third, orders)
    if op == ARC_OF_TWO:
        return _arc_of_two(w, at, x, y, third * WIDTH, orders)
    return _operate_roughly(code, numbers, w, k, orders)


@jit(i8(Ints, Floats, Floats, i8, i8))
def _operate_roughly(code, numbers, w, k, orders):
    """The operations that bend or jump."""
    op, at = code[4 * k], k * WIDTH
    a, b, third = code[4 * k + 1], code[4 * k + 2], code[4 * k + 3]
    x, y = a * WIDTH, b * WIDTH
    if op == ABSOLUTE:
        return _absolute(w, at, x, orders)
    if op in (LEAST, MOST):
        return _extreme(w, at, x, y, orders, 1.0 if op == MOST else -1.0)
    if op == POSITIVE:  # the power x, where y is positive
        return _copy(w, at, x, orders, 1.0) if w[y] > 0.0 else _rough(w, at, orders, -math.inf, math.inf)
    if op == CHOSEN:
        return _chosen(w, at, x, y, orders)
    if op == PIECE:
        return _flat(w, at, orders, float(_piece(numbers, b, w[x])), float(_piece(numbers, b, w[x + UPPER])))
    if op == PART:
        return _part(w, numbers, at, x, b, third, orders)
    if op in (SIGN, FLOOR, CEILING, TRUNCATE):
        return _flat(w, at, orders, _step(op, w[x]), _step(op, w[x + UPPER]))
    p, q = _truth(w, op, x, y)
    return _flat(w, at, orders, p, q)


@jit(i8(Ints, Floats, Floats, f8, f8, i8, f8))
def enclose(code, numbers, w, low, high, orders, rounding):
    """The series of functions over [low, high] up to an order into w (size WIDTH,); returns where the last one starts.

    With a `rounding` above zero there is room for that part of each result.
    """
    n = code.size // 4
    for k in range(n):
        _operate(code, numbers, w, k, low, high, orders)
        if rounding > 0.0 and (ADD <= code[4 * k] <= INTEGRAL or code[4 * k] == ARC_OF_TWO):
            _widen(w, k * WIDTH, rounding)
        if rounding > 0.0 and code[4 * k] in (SINE, TANH, TANGENT):
            _widen(w, k * WIDTH + WIDTH, rounding)
    return (n - 1) * WIDTH


@jit(i8(Ints, Floats, Floats, Floats, Floats, f8, Floats))
def _enclose_all(code, numbers, w, left, right, rounding, out):
    for k in range(left.size):
        at = enclose(code, numbers, w, left[k], right[k], 1, rounding)
        for j in range(2):
            out[4 * k + 2 * j], out[4 * k + 2 * j + 1] = w[at + j], w[at + UPPER + j]
    return 0


def bounds(tape: SeriesTape, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The least and largest value of a function and of its rate over pieces, left (n,) to right (n,): (n, 4)."""
    return _enclosed(tape, left, right, ROUNDING)


def values(tape: SeriesTape, at: np.ndarray) -> np.ndarray:
    """The value of a function and its rate at points (n,): (n, 2)."""
    return _enclosed(tape, at, at, 0.0)[:, ::2]


def _enclosed(tape: SeriesTape, left: np.ndarray, right: np.ndarray, rounding: float) -> np.ndarray:
    out = np.empty(4 * left.size)
    if left.size:
        _enclose_all(tape.code, tape.numbers, np.zeros(tape.size * WIDTH), left, right, rounding, out)
    return out.reshape(-1, 4)
