"""Vectors as triples: what SymPy's matrices and derivatives give, only faster."""

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from dalembert.model.vectors import (
    EX,
    EY,
    EZ,
    ORIGIN,
    cross,
    derivative,
    dot,
    minus,
    plus,
    rate_of,
    times,
    turned,
    unit,
)

t = dynamicsymbols._t
a = (sp.Symbol("a"), sp.S.Zero, dynamicsymbols("x"))
b = (sp.Integer(2), sp.Symbol("b"), sp.sin(dynamicsymbols("y")))


def matrix(v):
    return sp.Matrix(list(v))


def test_products_are_those_of_matrices():
    assert sp.expand(dot(a, b) - matrix(a).dot(matrix(b))) == 0
    assert (matrix(cross(a, b)) - matrix(a).cross(matrix(b))).expand() == sp.zeros(3, 1)
    assert matrix(plus(a, b)) == matrix(a) + matrix(b)
    assert matrix(minus(a, b)) == matrix(a) - matrix(b)
    assert matrix(times(sp.Symbol("k"), a)) == sp.Symbol("k") * matrix(a)
    axes = ((sp.S(0), sp.S(1), sp.S(0)), (sp.S(-1), sp.S(0), sp.S(0)), EZ)
    assert matrix(turned(axes, b)) == sp.Matrix([list(axis) for axis in axes]).T * matrix(b)
    assert cross(EX, EY) == EZ


def test_unit_vectors():
    assert unit(ORIGIN) is None
    assert unit((sp.S(3), sp.S(0), sp.S(-4))) == (sp.Rational(3, 5), 0, sp.Rational(-4, 5))


def test_derivatives_are_the_very_ones_of_sympy():
    """They are keys of dictionaries: equal, with equal hashes, and read back the same."""
    x = dynamicsymbols("x")
    for order in (1, 2):
        ours, theirs = derivative(x, t, order), x.diff(t, order)
        assert ours == theirs
        assert hash(ours) == hash(theirs)
        assert ours.derivative_count == order
        assert (3 * ours).subs(theirs, 2) == 6
    assert rate_of(a, t) == (0, 0, x.diff(t))
    assert rate_of(b, t)[2] == b[2].diff(t)


def test_rates_are_the_derivatives_that_sympy_finds():
    t, c = sp.symbols("t c")
    x, y = (sp.Function(name)(t) for name in "xy")
    other = sp.Function("z")(x, t)  # of more than the time: SymPy's own rules
    for a in (
        c, t, x, 3 * t**2, x.diff(t, 2), x * y * sp.sin(c * x + y), sp.sqrt(x**2 + c) / y, sp.exp(x) * sp.atan2(y, x),
        c**x, x**y, sp.cos(x) ** 3 * x.diff(t), abs(x), other, other.diff(t), sp.Piecewise((x, t < 1), (y, True)),
        x.diff(t).subs(x, y), sp.Integral(x, (t, 0, c)),
    ):  # fmt: skip
        rate, _, _ = rate_of((a, sp.S.Zero, sp.S.Zero), t)
        assert sp.expand(rate - a.diff(t)) == 0
