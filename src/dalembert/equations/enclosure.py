"""Graphs of bounds: functions along a motion, and their rates, enclosed over boxes of their inputs.

Interval arithmetic (Moore, 1966) written as a graph, so that native code evaluates it in every step. Bounds are those
of exact arithmetic. Unknown operations have no bounds: infinity or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.native.lookup import make_leaf, read_leaf

Interval = tuple[ca.SX, ca.SX]  # one object twice where both bounds are one value
TURN = 2.0 * math.pi
NEVER, ALWAYS = ca.SX(0), ca.SX(1)
UNBOUNDED = ca.SX(-math.inf), ca.SX(math.inf)


class Enclosure(NamedTuple):
    """Bounds of n functions of w and of their rates.

    `function` maps (low, high, least rate, largest rate) of the columns `reads` of w, one block after the other, and
    the parameters, to (low, high, least rate, largest rate) of the functions. The rates of one that may jump are not
    bounded.
    """

    function: ca.Function
    reads: tuple[int, ...]


def enclosure_of(function: ca.Function, fixed: range) -> Enclosure:
    """The enclosure of a function of a column w whose entries `fixed` do not change with time."""
    size = function.size1_in(0)
    reads = [k for k in sorted(set(function.jac_sparsity(0, 0, True).get_triplet()[1])) if k not in fixed]
    box, held = ca.SX.sym("box", 4 * len(reads)), ca.SX.sym("held", len(fixed))
    low, high, least, most = (box[k * len(reads) : (k + 1) * len(reads)] for k in range(4))
    at: list[Interval] = [(NEVER, NEVER)] * size
    ahead: list[Interval] = [(NEVER, NEVER)] * size
    for j, k in enumerate(fixed):
        at[k] = held[j], held[j]
    for j, k in enumerate(reads):
        at[k], ahead[k] = (low[j], high[j]), (least[j], most[j])
    w, rate = ca.SX.sym("w", size), ca.SX.sym("rate", size)
    slope = ca.Function("slope", [w, rate], [ca.densify(ca.jtimes(function(w), w, rate))])
    values, jumps = _walk(function, [at])
    slopes, _ = _walk(slope, [at, ahead])
    slopes = [(_where(j, -math.inf, s[0]), _where(j, math.inf, s[1])) for s, j in zip(slopes, jumps, strict=True)]
    columns = [*zip(*values, strict=True), *zip(*slopes, strict=True)]
    out = ca.vertcat(*(entry for column in columns for entry in column))
    return Enclosure(ca.Function("enclosure", [ca.vertcat(box, held)], [ca.densify(ca.cse(out))]), tuple(reads))


def _walk(function: ca.Function, inputs: Sequence[Sequence[Interval]]) -> tuple[list[Interval], list[ca.SX]]:
    """Bounds of the entries of the output of a function, and whether each may jump, for bounds of its inputs."""
    registers: dict[int, Interval] = {}
    broken: dict[int, ca.SX] = {}
    nodes = function.instructions_sx() if function.find_functions(0) else ()
    n = function.nnz_out()
    out, jumps = [(NEVER, NEVER)] * n, [NEVER] * n
    for k in range(function.n_instructions()):
        op, read, written = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            out[written[1]], jumps[written[1]] = registers[read[0]], broken[read[0]]
            continue
        if op == ca.OP_INPUT:
            registers[written[0]], broken[written[0]] = inputs[read[0]][read[1]], NEVER
            continue
        if op == ca.OP_CONST:
            value = ca.SX(function.instruction_constant(k))
            registers[written[0]], broken[written[0]] = (value, value), NEVER
            continue
        operands, jump = [registers[r] for r in read], _any(broken[r] for r in read)
        if op == ca.OP_CALL:
            found, here = _pieces(nodes[k].which_function(), operands[0])
        else:
            found, here = [_RULES.get(op, _unknown)(*operands)], _JUMPS.get(op, _smooth)(*operands)
        for register, bounds in zip(written, found, strict=True):
            registers[register], broken[register] = bounds, _any([jump, here])
    return out, jumps


def _any(conditions: Iterable[ca.SX]) -> ca.SX:
    found = NEVER
    for condition in conditions:
        found = condition if found.is_zero() else found if condition.is_zero() else ca.logic_or(found, condition)
    return found


def _where(condition: ca.SX, yes: ca.SX | float, no: ca.SX | float) -> ca.SX:
    return ca.SX(ca.if_else(condition, yes, no))


def _is_point(x: Interval) -> bool:
    return x[0] is x[1]


def _hull(*values: ca.SX) -> Interval:
    """The least interval that holds all values; NaN only where all of them are."""
    low = high = values[0]
    for value in values[1:]:
        low, high = ca.fmin(low, value), ca.fmax(high, value)
    return low, high


def _point(value: ca.SX) -> Interval:
    return value, value


def _unknown(*_operands: Interval) -> Interval:
    return UNBOUNDED


def _sum(x: Interval, y: Interval) -> Interval:
    return _point(x[0] + y[0]) if _is_point(x) and _is_point(y) else (x[0] + y[0], x[1] + y[1])


def _negative(x: Interval) -> Interval:
    return _point(-x[0]) if _is_point(x) else (-x[1], -x[0])


def _times(a: ca.SX, b: ca.SX) -> ca.SX:
    """Product of bounds. Zero times infinity is zero, as an infinite bound is not reached."""
    return _where(ca.logic_or(a == 0.0, b == 0.0), 0.0, a * b)


def _product(x: Interval, y: Interval) -> Interval:
    if _is_point(x) and _is_point(y):
        return _point(x[0] * y[0])
    if _is_point(y):
        x, y = y, x
    if _is_point(x) and x[0].is_constant():
        factor = float(x[0])
        return _point(NEVER) if factor == 0.0 else _oriented(factor > 0.0, factor * y[0], factor * y[1])
    return _hull(*(_times(a, b) for a in x[: 1 if _is_point(x) else 2] for b in y))


def _oriented(rises: bool, low: ca.SX, high: ca.SX) -> Interval:  # noqa: FBT001
    return (low, high) if rises else (high, low)


def _inverse(x: Interval) -> Interval:
    if _is_point(x):
        return _point(1.0 / x[0])
    across = ca.logic_and(x[0] < 0.0, x[1] > 0.0)
    low = _where(ca.logic_or(across, x[1] == 0.0), -math.inf, 1.0 / x[1])
    high = _where(ca.logic_or(across, x[0] == 0.0), math.inf, 1.0 / x[0])
    return low, high


def _rising(f: Callable[[ca.SX], ca.SX], least: float = -math.inf, most: float = math.inf) -> Callable[..., Interval]:
    """The rule of a function that does not fall, defined between two values; NaN outside."""

    def rule(x: Interval) -> Interval:
        if _is_point(x):
            return _point(f(x[0]))
        low, high = x
        if least > -math.inf:
            low = ca.fmax(low, ca.fmin(least, high))
        if most < math.inf:
            high = ca.fmin(high, ca.fmax(most, low))
        return f(low), f(high)

    return rule


def _falling(f: Callable[[ca.SX], ca.SX], least: float, most: float) -> Callable[..., Interval]:
    rising = _rising(lambda v: -f(v), least, most)
    return lambda x: _negative(rising(x))


def _absolute(x: Interval) -> Interval:
    if _is_point(x):
        return _point(ca.fabs(x[0]))
    low, high = _hull(ca.fabs(x[0]), ca.fabs(x[1]))
    return _where(ca.logic_and(x[0] <= 0.0, x[1] >= 0.0), 0.0, low), high


def _square(x: Interval) -> Interval:
    low, high = _absolute(x)
    return _point(low * low) if _is_point(x) else (low * low, high * high)


def _power(x: Interval, y: Interval) -> Interval:
    """x^y: by cases for a constant y, at the corners for x > 0, where it is monotone in both; else not bounded."""
    if _is_point(x) and _is_point(y):
        return _point(x[0] ** y[0])
    if not (_is_point(y) and y[0].is_constant()):
        base = ca.fmax(x[0], 0.0), x[1]
        low, high = _hull(*(a**b for a in base for b in y))
        return _where(x[0] < 0.0, -math.inf, low), _where(x[0] < 0.0, math.inf, high)
    n = float(y[0])
    if n < 0.0:
        return _inverse(_power(x, _point(ca.SX(-n))))
    if n % 2.0 == 0.0:
        x = _absolute(x)
    return _rising(lambda v: v**n, -math.inf if n % 1.0 == 0.0 else 0.0)(x)


def _wave(f: Callable[[ca.SX], ca.SX], top: float) -> Callable[[Interval], Interval]:
    """The rule of a sine or cosine, whose top is at `top`."""

    def rule(x: Interval) -> Interval:
        if _is_point(x):
            return _point(f(x[0]))
        low, high = _hull(f(x[0]), f(x[1]))
        tops, bottoms = (ca.floor((x[1] - at) / TURN) > ca.floor((x[0] - at) / TURN) for at in (top, top + math.pi))
        return _where(bottoms, -1.0, low), _where(tops, 1.0, high)

    return rule


def _tangent(x: Interval) -> Interval:
    if _is_point(x):
        return _point(ca.tan(x[0]))
    pole = ca.floor(x[1] / math.pi - 0.5) > ca.floor(x[0] / math.pi - 0.5)
    return _where(pole, -math.inf, ca.tan(x[0])), _where(pole, math.inf, ca.tan(x[1]))


def _cosh(x: Interval) -> Interval:
    low, high = _absolute(x)
    return _point(ca.cosh(low)) if _is_point(x) else (ca.cosh(low), ca.cosh(high))


def _cut(y: Interval, x: Interval) -> ca.SX:
    """Whether a box touches the cut of atan2 or its origin."""
    return ca.logic_and(x[0] <= 0.0, ca.logic_and(y[0] <= 0.0, y[1] >= 0.0))


def _arc_of_two(y: Interval, x: Interval) -> Interval:
    low, high = _hull(*(ca.atan2(b, a) for a in x for b in y))
    return _where(_cut(y, x), -math.pi, low), _where(_cut(y, x), math.pi, high)


def _turns(x: Interval, y: Interval) -> ca.SX:
    """Whether x / y may leave its whole number."""
    if not _is_point(y):
        return ALWAYS
    whole = [ca.if_else(end / y[0] < 0.0, ca.ceil(end / y[0]), ca.floor(end / y[0])) for end in x]
    return ca.logic_or(whole[0] != whole[1], ca.logic_and(x[0] < 0.0, x[1] >= 0.0))


def _remainder(x: Interval, y: Interval) -> Interval:
    """fmod: x less a multiple of y towards zero."""
    most, moved = ca.fmax(ca.fabs(y[0]), ca.fabs(y[1])), _turns(x, y)
    low, high = _where(x[0] < 0.0, -most, 0.0), _where(x[1] > 0.0, most, 0.0)
    return _where(moved, low, ca.fmod(x[0], y[0])), _where(moved, high, ca.fmod(x[1], y[0]))


def _pieces(leaf: ca.Function, x: Interval) -> tuple[list[Interval], ca.SX]:
    """Bounds of the coefficients that the leaf of a table returns, and whether they span more than one piece.

    The bounds are over one piece, over two neighbours, or over all pieces.
    """
    first, last = leaf.call([x[0]]), leaf.call([x[1]])
    if _is_point(x):
        return [_point(part) for part in first], NEVER
    rows = read_leaf(leaf).rows
    numbered = make_leaf(rows[1:, 0], np.arange(len(rows), dtype=float)[:, None])
    apart = numbered.call([x[1]])[1] - numbered.call([x[0]])[1]
    some, many = apart != 0.0, apart > 1.0
    edges = zip(first, last, rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)
    return [
        (_where(many, low, ca.fmin(a, b)), _where(many, high, ca.fmax(a, b))) for a, b, low, high in edges
    ], some  # fmt: skip


def _less(x: Interval, y: Interval) -> Interval:
    return x[1] < y[0], x[0] < y[1]


def _not_more(x: Interval, y: Interval) -> Interval:
    return x[1] <= y[0], x[0] <= y[1]


def _equal(x: Interval, y: Interval) -> Interval:
    apart = ca.logic_or(x[1] < y[0], y[1] < x[0])
    same = ca.logic_and(ca.logic_and(x[0] == x[1], y[0] == y[1]), x[0] == y[0])
    return same, ca.logic_not(apart)


def _not(x: Interval) -> Interval:
    return ca.logic_and(x[0] == 0.0, x[1] == 0.0), ca.logic_and(x[0] <= 0.0, x[1] >= 0.0)


def _true(x: Interval) -> Interval:
    return _not(_not(x))


def _and(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = _true(x), _true(y)
    return a * c, b * d


def _or(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = _true(x), _true(y)
    return ca.fmax(a, c), ca.fmax(b, d)


def _chosen(condition: Interval, x: Interval) -> Interval:
    """x where the condition is true, else zero."""
    never, always = _not(condition)[0], _true(condition)[0]
    low, high = (
        _where(never, 0.0, _where(always, end, bound(end, 0.0)))
        for end, bound in zip(x, (ca.fmin, ca.fmax), strict=True)
    )
    return low, high


def _smooth(*_operands: Interval) -> ca.SX:
    return NEVER


def _differs(rule: Callable[..., Interval]) -> Callable[..., ca.SX]:
    """Whether both bounds that a rule gives differ: those of a function that is constant but for jumps."""

    def jumps(*operands: Interval) -> ca.SX:
        if all(map(_is_point, operands)):
            return NEVER
        low, high = rule(*operands)
        return low != high

    return jumps


_FLOOR, _CEILING, _SIGN = _rising(ca.floor), _rising(ca.ceil), _rising(ca.sign)
_RULES: dict[int, Callable[..., Interval]] = {
    ca.OP_ADD: _sum, ca.OP_SUB: lambda x, y: _sum(x, _negative(y)), ca.OP_MUL: _product, ca.OP_NEG: _negative,
    ca.OP_DIV: lambda x, y: _point(x[0] / y[0]) if _is_point(x) and _is_point(y) else _product(x, _inverse(y)),
    ca.OP_INV: _inverse, ca.OP_TWICE: lambda x: _product((ca.SX(2),) * 2, x), ca.OP_SQ: _square, ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power, ca.OP_SQRT: _rising(ca.sqrt, least=0.0), ca.OP_EXP: _rising(ca.exp),
    ca.OP_LOG: _rising(ca.log, least=0.0), ca.OP_EXPM1: _rising(ca.expm1), ca.OP_LOG1P: _rising(ca.log1p, least=-1.0),
    ca.OP_SIN: _wave(ca.sin, 0.5 * math.pi), ca.OP_COS: _wave(ca.cos, 0.0), ca.OP_TAN: _tangent,
    ca.OP_ASIN: _rising(ca.asin, -1.0, 1.0), ca.OP_ACOS: _falling(ca.acos, -1.0, 1.0), ca.OP_ATAN: _rising(ca.atan),
    ca.OP_ATAN2: _arc_of_two, ca.OP_SINH: _rising(ca.sinh), ca.OP_COSH: _cosh, ca.OP_TANH: _rising(ca.tanh),
    ca.OP_ASINH: _rising(ca.asinh), ca.OP_ACOSH: _rising(ca.acosh, least=1.0),
    ca.OP_ATANH: _rising(ca.atanh, -1.0, 1.0), ca.OP_ERF: _rising(ca.erf), ca.OP_FABS: _absolute, ca.OP_SIGN: _SIGN,
    ca.OP_FLOOR: _FLOOR, ca.OP_CEIL: _CEILING, ca.OP_FMOD: _remainder,
    ca.OP_FMIN: lambda x, y: (ca.fmin(x[0], y[0]), ca.fmin(x[1], y[1])),
    ca.OP_FMAX: lambda x, y: (ca.fmax(x[0], y[0]), ca.fmax(x[1], y[1])), ca.OP_LT: _less, ca.OP_LE: _not_more,
    ca.OP_EQ: _equal, ca.OP_NE: lambda x, y: _not(_equal(x, y)), ca.OP_NOT: _not, ca.OP_AND: _and, ca.OP_OR: _or,
    ca.OP_IF_ELSE_ZERO: _chosen,
}  # fmt: skip
_JUMPS: dict[int, Callable[..., ca.SX]] = {
    ca.OP_SIGN: _differs(_SIGN), ca.OP_FLOOR: _differs(_FLOOR), ca.OP_CEIL: _differs(_CEILING), ca.OP_FMOD: _turns,
    ca.OP_ATAN2: _cut, ca.OP_LT: _differs(_less), ca.OP_LE: _differs(_not_more), ca.OP_EQ: _differs(_equal),
    ca.OP_NE: _differs(_equal),
}  # fmt: skip
