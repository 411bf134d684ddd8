"""Bounds of a function over boxes, by interval arithmetic along its instructions; all boxes at once.

Every operation gives bounds of its result for operands within theirs (Moore, 1966), widened by some units in the last
place. They are wide where a variable occurs more than once, and become sharp as boxes shrink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.native.lookup import read_leaf

Interval = tuple[np.ndarray, np.ndarray]
WIDER = 4.0 * float(np.finfo(float).eps)
TURN = 2.0 * np.pi


def bounds(function: ca.Function, low: np.ndarray, high: np.ndarray) -> Interval:
    """Bounds of the outputs (n_out, m) for inputs between `low` and `high` (n_in, m); NaN where there is no value.

    What an operation that is not known here gives has no bounds.
    """
    registers: dict[int, Interval] = {}
    nodes = function.instructions_sx() if function.find_functions(0) else ()
    out = np.zeros((function.nnz_out(), low.shape[1])), np.zeros((function.nnz_out(), low.shape[1]))
    with np.errstate(all="ignore"):
        for k in range(function.n_instructions()):
            op, read, written = (
                function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
            )  # fmt: skip
            if op == ca.OP_OUTPUT:
                out[0][written[1]], out[1][written[1]] = registers[read[0]]
            elif op == ca.OP_INPUT:
                registers[written[0]] = low[read[1]], high[read[1]]
            elif op == ca.OP_CONST:
                value = np.full(low.shape[1], function.instruction_constant(k))
                registers[written[0]] = value, value
            elif op == ca.OP_CALL:
                registers |= zip(written, _pieces(nodes[k].which_function(), registers[read[0]]), strict=True)
            else:
                registers[written[0]] = _widened(*_RULES.get(op, _unknown)(*(registers[r] for r in read)))
    return out


def _widened(low: np.ndarray, high: np.ndarray) -> Interval:
    return low - WIDER * np.abs(low), high + WIDER * np.abs(high)


def _pieces(leaf: ca.Function, x: Interval) -> list[Interval]:
    """Bounds of what the leaf of a table returns: the numbers of all pieces that x may lie in."""
    rows = read_leaf(leaf).rows
    low, high = (np.nan_to_num(edge, nan=unknown) for edge, unknown in zip(x, (-np.inf, np.inf), strict=True))
    first, last = (np.searchsorted(rows[1:, 0], edge, side="right") for edge in (low, high))
    ends = np.column_stack([first, last + 1]).ravel()  # from the first to the last, and what is left out
    padded = np.vstack([rows, rows[-1:]])
    least, most = (part.reduceat(padded, ends, axis=0)[::2].T for part in (np.minimum, np.maximum))
    return list(zip(least, most, strict=True))


def _unknown(*operands: Interval) -> Interval:
    some = np.full_like(operands[0][0], np.inf)
    return -some, some


def _hull(*values: np.ndarray) -> Interval:
    """The least interval that holds all values; NaN only where all of them are."""
    return np.fmin.reduce(values), np.fmax.reduce(values)


def _rising(f: Callable[[np.ndarray], np.ndarray], least: float = -np.inf, most: float = np.inf) -> Any:
    """The rule of a function that does not fall, defined between two values."""

    def rule(x: Interval) -> Interval:
        outside = (x[1] < least) | (x[0] > most)
        low, high = f(np.clip(x[0], least, most)), f(np.clip(x[1], least, most))
        return np.where(outside, np.nan, low), np.where(outside, np.nan, high)

    return rule


def _negative(x: Interval) -> Interval:
    return -x[1], -x[0]


def _product(x: Interval, y: Interval) -> Interval:
    """A zero times what is not bounded is zero: the bound is not reached."""
    return _hull(*(np.where((a == 0.0) | (b == 0.0), 0.0, a * b) for a in x for b in y))


def _inverse(x: Interval) -> Interval:
    across = (x[0] < 0.0) & (x[1] > 0.0)
    low = np.where(x[1] == 0.0, -np.inf, 1.0 / x[1])
    high = np.where(x[0] == 0.0, np.inf, 1.0 / x[0])
    return np.where(across, -np.inf, low), np.where(across, np.inf, high)


def _quotient(x: Interval, y: Interval) -> Interval:
    return _product(x, _inverse(y))


def _absolute(x: Interval) -> Interval:
    low, high = _hull(np.abs(x[0]), np.abs(x[1]))
    return np.where((x[0] <= 0.0) & (x[1] >= 0.0), 0.0, low), high


def _square(x: Interval) -> Interval:
    low, high = _absolute(x)
    return low**2, high**2


def _power(x: Interval, y: Interval) -> Interval:
    """x^y: by cases for a constant y that is whole, at the corners for x > 0, where it is monotone in both."""
    n = np.rint(y[0])
    whole = (y[0] == y[1]) & (n == y[0])
    low, high = _hull(x[0] ** n, x[1] ** n)
    within = (x[0] <= 0.0) & (x[1] >= 0.0)
    even, less = n % 2.0 == 0.0, n < 0.0
    low = np.where(within & even & ~less, 0.0, np.where(within & less & ~even, -np.inf, low))
    high = np.where(within & less, np.inf, high)
    corners = _hull(*(np.where(x[1] < 0.0, np.nan, np.maximum(a, 0.0) ** b) for a in x for b in y))
    lost = (y[0] != y[1]) & (x[0] < 0.0)  # a whole y may be among them
    general = np.where(lost, -np.inf, corners[0]), np.where(lost, np.inf, corners[1])
    return np.where(whole, low, general[0]), np.where(whole, high, general[1])


def _wave(f: Callable[[np.ndarray], np.ndarray], top: float) -> Any:
    """The rule of a sine or cosine, whose top is at `top`."""

    def rule(x: Interval) -> Interval:
        low, high = _hull(f(x[0]), f(x[1]))
        tops, bottoms = ((np.floor((x[0] - at) / TURN), np.floor((x[1] - at) / TURN)) for at in (top, top + np.pi))
        lost = ~np.isfinite(x[0]) | ~np.isfinite(x[1])
        return np.where((bottoms[0] != bottoms[1]) | lost, -1.0, low), np.where((tops[0] != tops[1]) | lost, 1.0, high)

    return rule


def _tangent(x: Interval) -> Interval:
    pole = np.floor(x[1] / np.pi - 0.5) != np.floor(x[0] / np.pi - 0.5)
    return np.where(pole, -np.inf, np.tan(x[0])), np.where(pole, np.inf, np.tan(x[1]))


def _cosh(x: Interval) -> Interval:
    low, high = _absolute(x)
    return np.cosh(low), np.cosh(high)


def _arc_cosine(x: Interval) -> Interval:
    return _negative(_rising(lambda v: -np.arccos(v), -1.0, 1.0)(x))


def _arc_of_two(y: Interval, x: Interval) -> Interval:
    """atan2: at the corners, if the box does not touch the cut or the origin."""
    cut = (x[0] <= 0.0) & (y[0] <= 0.0) & (y[1] >= 0.0)
    low, high = _hull(*(np.arctan2(b, a) for a in x for b in y))
    return np.where(cut, -np.pi, low), np.where(cut, np.pi, high)


def _remainder(x: Interval, y: Interval) -> Interval:
    """fmod: x less a multiple of y towards zero; a constant multiple if x / y stays within one."""
    turns = np.trunc(x[0] / y[0]), np.trunc(x[1] / y[1])
    same = (y[0] == y[1]) & (turns[0] == turns[1]) & (x[0] * x[1] >= 0.0)
    most = np.fmax(np.abs(y[0]), np.abs(y[1]))
    low, high = np.where(x[0] < 0.0, -most, 0.0), np.where(x[1] > 0.0, most, 0.0)
    return np.where(same, x[0] - turns[0] * y[0], low), np.where(same, x[1] - turns[0] * y[0], high)


def _truth(certain: np.ndarray, possible: np.ndarray) -> Interval:
    return certain.astype(float), possible.astype(float)


def _equal(x: Interval, y: Interval) -> Interval:
    apart = (x[1] < y[0]) | (y[1] < x[0])
    return _truth((x[0] == x[1]) & (y[0] == y[1]) & (x[0] == y[0]), ~apart)


def _not(x: Interval) -> Interval:
    return _truth((x[0] == 0.0) & (x[1] == 0.0), (x[0] <= 0.0) & (x[1] >= 0.0))


def _true(x: Interval) -> Interval:
    return _not(_not(x))


def _and(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = _true(x), _true(y)
    return a * c, b * d


def _or(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = _true(x), _true(y)
    return np.maximum(a, c), np.maximum(b, d)


def _chosen(condition: Interval, x: Interval) -> Interval:
    """x where the condition is true, else zero."""
    never, always = _not(condition)[0] == 1.0, _true(condition)[0] == 1.0
    low, high = np.fmin(x[0], 0.0), np.fmax(x[1], 0.0)
    return (
        np.where(never, 0.0, np.where(always, x[0], low)),
        np.where(never, 0.0, np.where(always, x[1], high)),
    )


_RULES: dict[int, Callable[..., Interval]] = {
    ca.OP_ADD: lambda x, y: (x[0] + y[0], x[1] + y[1]), ca.OP_SUB: lambda x, y: (x[0] - y[1], x[1] - y[0]),
    ca.OP_MUL: _product, ca.OP_DIV: _quotient, ca.OP_INV: _inverse, ca.OP_NEG: _negative,
    ca.OP_TWICE: lambda x: (2.0 * x[0], 2.0 * x[1]), ca.OP_SQ: _square, ca.OP_POW: _power, ca.OP_CONSTPOW: _power,
    ca.OP_SQRT: _rising(np.sqrt, least=0.0), ca.OP_EXP: _rising(np.exp), ca.OP_LOG: _rising(np.log, least=0.0),
    ca.OP_EXPM1: _rising(np.expm1), ca.OP_LOG1P: _rising(np.log1p, least=-1.0), ca.OP_SIN: _wave(np.sin, 0.5 * np.pi),
    ca.OP_COS: _wave(np.cos, 0.0), ca.OP_TAN: _tangent, ca.OP_ASIN: _rising(np.arcsin, -1.0, 1.0),
    ca.OP_ACOS: _arc_cosine, ca.OP_ATAN: _rising(np.arctan), ca.OP_ATAN2: _arc_of_two, ca.OP_SINH: _rising(np.sinh),
    ca.OP_COSH: _cosh, ca.OP_TANH: _rising(np.tanh), ca.OP_ASINH: _rising(np.arcsinh),
    ca.OP_ACOSH: _rising(np.arccosh, least=1.0), ca.OP_ATANH: _rising(np.arctanh, -1.0, 1.0), ca.OP_FABS: _absolute,
    ca.OP_SIGN: _rising(np.sign), ca.OP_FLOOR: _rising(np.floor), ca.OP_CEIL: _rising(np.ceil),
    ca.OP_FMOD: _remainder, ca.OP_FMIN: lambda x, y: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1])),
    ca.OP_FMAX: lambda x, y: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1])),
    ca.OP_LT: lambda x, y: _truth(x[1] < y[0], x[0] < y[1]),
    ca.OP_LE: lambda x, y: _truth(x[1] <= y[0], x[0] <= y[1]), ca.OP_EQ: _equal,
    ca.OP_NE: lambda x, y: _not(_equal(x, y)), ca.OP_NOT: _not, ca.OP_AND: _and, ca.OP_OR: _or,
    ca.OP_IF_ELSE_ZERO: _chosen,
}  # fmt: skip
