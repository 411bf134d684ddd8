"""Vectors as plain triples of SymPy expressions: far quicker than matrices, and terms that are zero never appear."""

from __future__ import annotations

import functools

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model.statement import Vector

ORIGIN: Vector = (sp.S.Zero, sp.S.Zero, sp.S.Zero)
EX: Vector = (sp.S.One, sp.S.Zero, sp.S.Zero)
EY: Vector = (sp.S.Zero, sp.S.One, sp.S.Zero)
EZ: Vector = (sp.S.Zero, sp.S.Zero, sp.S.One)


def dot(a: Vector, b: Vector) -> sp.Expr:
    """a . b."""
    return sp.Add(*[x * y for x, y in zip(a, b, strict=True) if x != 0 and y != 0])


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (
        dot((a[1], -a[2], sp.S.Zero), (b[2], b[1], sp.S.Zero)),
        dot((a[2], -a[0], sp.S.Zero), (b[0], b[2], sp.S.Zero)),
        dot((a[0], -a[1], sp.S.Zero), (b[1], b[0], sp.S.Zero)),
    )


def plus(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def times(factor: sp.Expr, a: Vector) -> Vector:
    """factor * a."""
    x, y, z = (sp.S.Zero if c == 0 else factor * c for c in a)
    return x, y, z


def turned(axes: tuple[Vector, Vector, Vector], a: Vector) -> Vector:
    """The vector with components `a` along `axes`."""
    x, y, z = (dot((axes[0][k], axes[1][k], axes[2][k]), a) for k in range(3))
    return x, y, z


def unit(a: Vector) -> Vector | None:
    """The vector with length 1; None if it is zero."""
    square = dot(a, a)
    return None if square == 0 else times(1 / sp.sqrt(square), a)


def with_plain_numbers(a: Vector) -> Vector:
    """The vector with 0, 1 and -1 as whole numbers, which leave no terms and factors behind as 0.0 and 1.0 do."""
    x, y, z = (_PLAIN.get(c._mpf_, c) if c.is_Float else c for c in a)
    return x, y, z


_PLAIN = {sp.Float(int(number))._mpf_: number for number in (sp.S.Zero, sp.S.One, sp.S.NegativeOne)}


def rate_of(a: Vector, t: sp.Symbol) -> Vector:
    """The derivative by time."""
    known: dict[sp.Expr, sp.Expr] = {}
    x, y, z = (_rate(c, t, known) for c in a)
    return x, y, z


def _rate(a: sp.Expr, t: sp.Symbol, known: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    """`a.diff(t)` by the rules for expressions in vectors. SymPy examines far more than these need.

    `known` holds the derivatives found so far.
    """
    if a.is_Atom:
        return sp.S.One if a == t else sp.S.Zero
    if a not in known:
        known[a] = _differentiated(a, t, known)
    return known[a]


def _differentiated(a: sp.Expr, t: sp.Symbol, known: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    if isinstance(a, sp.Add):
        return sp.Add(*[_rate(term, t, known) for term in a.args])
    if isinstance(a, sp.Mul):
        rates = [_rate(factor, t, known) for factor in a.args]
        return sp.Add(*[sp.Mul(*a.args[:k], d, *a.args[k + 1 :]) for k, d in enumerate(rates) if d != 0])
    if isinstance(a, sp.Pow) and a.exp.is_number:
        return a.exp * a.base ** (a.exp - 1) * _rate(a.base, t, known)
    if isinstance(a, sp.sin | sp.cos):
        return a.fdiff() * _rate(a.args[0], t, known)
    if isinstance(a, AppliedUndef) and a.args == (t,):
        return derivative(a, t)
    if isinstance(a, sp.Derivative) and isinstance(a.expr, AppliedUndef) and a.expr.args == (t,) == a.variables[:1]:
        return derivative(a.expr, t, a.derivative_count + 1)
    return a.diff(t)


@functools.lru_cache(maxsize=1 << 17)
def derivative(function: sp.Expr, t: sp.Symbol, order: int = 1) -> sp.Derivative:
    """`function.diff(t, order)` of an undefined function of time, without SymPy's search for a closed form.

    Systems of many bodies have hundreds of these, and the search takes longer than everything else.
    """
    return sp.Expr.__new__(sp.Derivative, function, _counted(t, order))


def base_of(node: sp.Basic, t: sp.Symbol) -> tuple[sp.Basic, int]:
    """Function of which `node` is a time derivative, and the order; (node, 0) if it is not a time derivative."""
    if not isinstance(node, sp.Derivative) or len(node.args) > 2:
        return node, 0
    base, counted = node.args
    if counted is _FIRST.get(t):  # by far the most of them
        return base, 1
    return (base, int(counted[1])) if counted[0] == t else (node, 0)


def _counted(t: sp.Symbol, order: int) -> sp.Tuple:
    if order > 1:
        return sp.Tuple(t, sp.Integer(order))
    if t not in _FIRST:
        _FIRST[t] = sp.Tuple(t, sp.S.One)
    return _FIRST[t]


_FIRST: dict[sp.Symbol, sp.Tuple] = {}  # (t, 1), one object for all first derivatives
