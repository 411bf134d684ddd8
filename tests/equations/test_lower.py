import math
import pickle
import sys
from fractions import Fraction

import casadi
import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import (
    Derivative,
    Eq,
    Float,
    Function,
    Ge,
    Gt,
    Heaviside,
    I,
    Integer,
    Le,
    Lt,
    Mod,
    Ne,
    Piecewise,
    Pow,
    Rational,
)
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

from dalembert.equations.lowering.lower import Lowering, LoweringError, undeclared
from dalembert.errors import DalembertError
from dalembert.model.time_symbols import function_of_time

x, y, z = sympy.symbols("x y z", real=True)
t = dynamicsymbols._t
q, u = dynamicsymbols("q u")
X, Y, Z = casadi.SX.sym("x"), casadi.SX.sym("y"), casadi.SX.sym("z")
V = casadi.vertcat(X, Y, Z)
ATOMS = {x: X, y: Y, z: Z}


def lower(expr):
    return Lowering(ATOMS)(expr)


def evaluate(sx, *point):
    values = [*point, *[0.0] * (3 - len(point))]
    return np.array(casadi.Function("f", [X, Y, Z], [casadi.densify(sx)])(*values)).squeeze()[()]


def at(expr, *point):
    return float(evaluate(lower(expr), *point))


def gradients(expr, *point):
    """The gradient of an expression by both directions of differentiation, and by jacobian."""
    sx = lower(expr)
    reverse = casadi.jtimes(sx, V, casadi.SX(1), True).T
    forward = casadi.horzcat(*(casadi.jtimes(sx, V, casadi.SX(np.eye(3)[k])) for k in range(3)))
    return np.atleast_2d([evaluate(way, *point) for way in (casadi.jacobian(sx, V), reverse, forward)])


def exact(expr, *point):
    substitution = {s: Float(v, 40) for s, v in zip((x, y, z), point, strict=False)}
    return float(sympy.sympify(expr).xreplace(substitution).evalf(30))


def count(*outputs):
    return casadi.Function("f", [X, Y, Z], list(outputs)).n_instructions()


def operations(sx):
    """The number of operations, without reading inputs, constants and writing the output."""
    f = casadi.Function("f", [X, Y, Z], [sx])
    idle = {casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST}
    return sum(f.instruction_id(k) not in idle for k in range(f.n_instructions()))


# --- every function against SymPy -----------------------------------------------------------------------------------

REALS = (-7.3, -1.0, -0.4, 0.0, 1e-9, 0.7, 1.0, 3.9)
POSITIVE = (1e-12, 0.3, 1.0, 2.5, 1e8)
UNIT = (-1.0, -0.6, 0.0, 1e-7, 0.5, 1.0)
NONZERO = (-7.3, -1.0, -1e-3, 1e-3, 0.7, 3.9)

UNARY = [
    (sympy.sin, REALS),
    (sympy.cos, REALS),
    (sympy.tan, REALS),
    (sympy.sec, REALS),
    (sympy.csc, NONZERO),
    (sympy.cot, (*NONZERO, 1.5707963)),
    (sympy.asin, UNIT),
    (sympy.acos, UNIT),
    (sympy.atan, (*REALS, 1e9)),
    (sympy.sinh, REALS),
    (sympy.cosh, REALS),
    (sympy.tanh, (*REALS, 400.0)),
    (sympy.asinh, REALS),
    (sympy.acosh, (1.0, 1.0001, 2.0, 50.0)),
    (sympy.atanh, (-0.99, -0.3, 0.0, 0.999)),
    (sympy.exp, (*REALS, -800.0, 700.0)),
    (sympy.log, POSITIVE),
    (sympy.sqrt, (0.0, *POSITIVE)),
    (sympy.cbrt, POSITIVE),
    (sympy.Abs, REALS),
    (sympy.sign, REALS),
    (sympy.floor, (*REALS, 2.0, -2.0)),
    (sympy.ceiling, (*REALS, 2.0, -2.0)),
    (sympy.erf, REALS),
    (sympy.sinc, (*REALS, -0.9999999, 1.0000001, 1e30)),
    (Heaviside, REALS),
    (lambda a: Heaviside(a, 0), REALS),
    (lambda a: Heaviside(a, 1), REALS),
    (lambda a: Mod(a, 3), (*REALS, 3.0, -3.0, 6.5)),
    (lambda a: Mod(a, -Rational(3, 2)), REALS),
    (lambda a: sympy.log(a, 2), POSITIVE),
    (lambda a: sympy.log(a, y, evaluate=False).subs(y, 10), POSITIVE),
    (lambda a: Pow(sympy.E, a, evaluate=False), REALS),
    (lambda a: 2**a, REALS),
    (lambda a: sympy.pi * a + sympy.E - sympy.GoldenRatio * sympy.EulerGamma + sympy.Catalan, REALS),
    (lambda a: a + sympy.zeta(3) + sympy.besselj(0, 1), REALS),
    (lambda a: a + Rational(1, 3) + Float("0.1") + Integer(10) ** 20, REALS),
    (lambda a: sympy.Min(a, 1, a**2), REALS),
    (lambda a: sympy.Max(a, -1, a**2), REALS),
    *[(lambda a, n=n: a**n, REALS) for n in (1, 2, 3, 4, 5, 7, 16, 31, 1030)],
    *[(lambda a, n=n: a**-n, NONZERO) for n in (1, 2, 3, 6, 11)],
    *[(lambda a, n=n: a ** Rational(n, 2), (0.0, *POSITIVE)) for n in (1, 3, 5, 7)],
    *[(lambda a, n=n: a ** Rational(-n, 2), POSITIVE) for n in (1, 3, 5)],
    *[
        (lambda a, e=e: a**e, POSITIVE)
        for e in (Rational(1, 3), Rational(-7, 5), Float(0.3), Float(2.0), Float(-1.5), sympy.pi)
    ],
]


@pytest.mark.parametrize(("function", "points"), UNARY, ids=range(len(UNARY)))
def test_function_of_one_argument(function, points):
    expr = function(x)
    sx = lower(expr)
    for point in points:
        assert evaluate(sx, point) == pytest.approx(exact(expr, point), rel=4e-15, abs=4e-15), point


@pytest.mark.parametrize(
    "expr",
    [x**y, x / y, x - y, -x * y / 3, sympy.atan2(x, y), Mod(x, y), sympy.Min(x, y, x * y), sympy.log(x, y)],
    ids=str,
)
@pytest.mark.parametrize("point", [(0.5, 2.5), (3.0, 1.5), (7.25, 0.5), (0.5, 0.5)])
def test_function_of_two_arguments(expr, point):
    assert at(expr, *point) == pytest.approx(exact(expr, *point), rel=1e-14)


@pytest.mark.parametrize("point", [(0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (-1.0, -1.0), (0.0, 0.0)])
def test_atan2_on_its_branch_points(point):
    assert at(sympy.atan2(x, y), *point) == math.atan2(*point)


def test_outside_the_domain_is_nan_and_poles_are_infinite():
    for expr in (sympy.sqrt(x), sympy.log(x), sympy.asin(x - 1), sympy.acosh(x), x ** Rational(1, 3)):
        assert math.isnan(at(expr, -1.0)), expr
    assert at(1 / x, 0.0) == math.inf
    assert at(sympy.log(x), 0.0) == -math.inf


def test_python_and_numpy_numbers():
    for number in (2, 2.5, np.float64(2.5), np.int64(3), np.float32(0.5), Fraction(1, 4), 10**30):
        assert at(number) == float(number)


# --- random expressions ---------------------------------------------------------------------------------------------


def _grow(children):
    unary = [sympy.sin, sympy.cos, sympy.tanh, sympy.atan, sympy.erf, sympy.sinc, sympy.Abs]
    unary += [lambda a: sympy.sqrt(1 + a**2), lambda a: sympy.log(2 + sympy.sin(a)), lambda a: 1 / (1 + a**2)]
    unary += [lambda a: sympy.exp(sympy.sin(a)), lambda a: (2 + sympy.cos(a)) ** Rational(-3, 2), lambda a: -a / 3]
    unary += [lambda a: (2 + sympy.cos(a)) ** Rational(5, 2), lambda a: sympy.asinh(a) ** 3]
    unary += [lambda a: Piecewise((a, a > y), (y, True))]
    binary = [sympy.Add, sympy.Mul, lambda a, b: a - 2 * b, lambda a, b: a / (2 + sympy.sin(b)), sympy.Min, sympy.Max]
    binary += [lambda a, b: Piecewise((sympy.sqrt(a), a > 0), (b / a, a < -1), (b, True))]
    return st.builds(lambda f, a: f(a), st.sampled_from(unary), children) | st.builds(
        lambda f, a, b: f(a, b), st.sampled_from(binary), children, children
    )


numbers = st.builds(Rational, st.integers(-9, 9), st.integers(1, 5))
expressions = st.recursive(st.sampled_from([x, y, z]) | numbers, _grow, max_leaves=8)
places = st.tuples(*[st.floats(-3, 3).map(lambda v: round(v, 3) + 1e-4)] * 3)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(expressions, places)
def test_random_expressions_agree_with_mpmath(expr, point):
    with mpmath.workdps(30):
        expected = complex(sympy.lambdify((x, y, z), expr, "mpmath")(*map(mpmath.mpf, point)))
    assert at(expr, *point) == pytest.approx(expected.real, rel=1e-9, abs=1e-11)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(expressions, places)
def test_random_derivatives_agree_with_differences(expr, point):
    sx = lower(expr)
    ways = gradients(expr, *point)
    assert np.isfinite(ways).all()
    np.testing.assert_allclose(ways, ways[[0, 0, 0]], rtol=1e-9, atol=1e-10)
    step = 1e-6
    left, right = (np.array([evaluate(sx, *(point + side)) for side in np.eye(3) * s]) for s in (-step, step))
    here = evaluate(sx, *point)
    assume((np.abs(left + right - 2 * here) < 1e-7 * max(1.0, abs(here))).all())  # no kink or jump within the step
    np.testing.assert_allclose(ways[0], (right - left) / (2 * step), rtol=1e-3, atol=1e-3 * max(1.0, abs(here)))


SMOOTH = [
    sympy.sin(x * y) / (1 + z**2),
    sympy.sqrt(x**2 + y**2 + z**2) ** -3 * x,
    x ** Rational(3, 2) * sympy.exp(-y) + sympy.cot(z),
    sympy.atan2(x, y) * sympy.acosh(2 + x) + sympy.sec(y) - sympy.csc(z),
    sympy.sinc(x) * sympy.erf(y) + sympy.log(x, 3) * 2**z + x**y,
    sympy.asin(x / 4) - sympy.acos(y / 4) * sympy.atanh(z / 4) + sympy.Mod(x, y + 1),
]


@pytest.mark.parametrize("expr", SMOOTH, ids=range(len(SMOOTH)))
def test_derivatives_agree_with_sympy(expr):
    point = (0.7, 1.3, 0.4)
    smooth = expr.replace(Mod, lambda a, _: a)  # the same at this point
    expected = [exact(sympy.diff(smooth, s), *point) for s in (x, y, z)]
    for way in gradients(expr, *point):
        np.testing.assert_allclose(way, expected, rtol=1e-12)


@pytest.mark.parametrize("point", [0.0, 1e-9, 1e-4, 0.99999, 1.00001, 30.0, 1e25])
def test_sinc_and_two_derivatives_are_accurate_everywhere(point):
    sx = lower(sympy.sinc(x))
    first = casadi.jacobian(sx, X)
    for derivative, order in ((sx, 0), (first, 1), (casadi.jacobian(first, X), 2)):
        with mpmath.workdps(60):
            expected = float(mpmath.diff(mpmath.sinc, mpmath.mpf(point), order)) if point < 1e20 else 0.0
        assert evaluate(derivative, point) == pytest.approx(expected, rel=1e-12, abs=1e-14)


# --- Piecewise ------------------------------------------------------------------------------------------------------


def test_piecewise_takes_the_first_true_branch():
    expr = Piecewise((1, x < -1), (2, x < 0), (3, Eq(x, 0)), (4, x <= 2), (5, True))
    assert [at(expr, v) for v in (-2, -1, -0.5, 0, 1, 2, 2.1)] == [1, 2, 2, 3, 4, 4, 5]


def test_piecewise_without_default_is_nan_outside():
    expr = Piecewise((x, x > 1), (x**2, x < 0))
    assert at(expr, 2.0) == 2.0
    assert at(expr, -3.0) == 9.0
    assert math.isnan(at(expr, 0.5))


@pytest.mark.parametrize(
    ("condition", "python"),
    [
        (Lt(x, y), lambda a, b: a < b),
        (Le(x, y), lambda a, b: a <= b),
        (Gt(x, y), lambda a, b: a > b),
        (Ge(x, y), lambda a, b: a >= b),
        (Eq(x, y), lambda a, b: a == b),
        (Ne(x, y), lambda a, b: a != b),
        ((x < y) & (x > 0), lambda a, b: 0 < a < b),
        ((x < y) | (x > 1), lambda a, b: a < b or a > 1),
        (sympy.Not((x < y) & (x > 0)), lambda a, b: not 0 < a < b),
        (sympy.Xor(x < y, x > 0, y > 0), lambda a, b: (a < b) ^ (a > 0) ^ (b > 0)),
        (sympy.ITE(x < y, x > 0, y > 0), lambda a, b: a > 0 if a < b else b > 0),
        (sympy.Not(x < y, evaluate=False), lambda a, b: not a < b),
        ((x > -sympy.oo) & (y < sympy.oo) & (x < 1), lambda a, _: a < 1),
        (Piecewise((x, y > 0), (-x, True)) > 0, lambda a, b: (a if b > 0 else -a) > 0),
    ],
    ids=lambda value: str(value) if isinstance(value, sympy.Basic) else "",
)
def test_conditions(condition, python):
    expr = Piecewise((10, condition), (20, True))
    for a in (-1.0, 0.0, 1.0, 2.0):
        for b in (-1.0, 0.0, 1.0, 2.0):
            assert at(expr, a, b) == (10 if python(a, b) else 20)


def test_infinity_is_a_value_of_a_branch():
    assert at(Piecewise((sympy.oo, x < 0), (-sympy.oo, x > 1), (x, True)), -1.0) == math.inf
    assert at(Piecewise((sympy.oo, x < 0), (-sympy.oo, x > 1), (x, True)), 2.0) == -math.inf
    assert at(Piecewise((sympy.oo, x < 0), (-sympy.oo, x > 1), (x, True)), 0.5) == 0.5


def test_true_and_false_branches_that_sympy_left():
    kept = Piecewise((x, sympy.false), (y, sympy.true), (z, True), evaluate=False)
    assert at(kept, 1.0, 2.0, 3.0) == 2.0


# value of the inactive branches at x <= 0, and slope of them at 0, are infinite or undefined
POISON = [
    sympy.sqrt(x),
    sympy.log(x),
    1 / x,
    x ** Rational(-3, 2),
    x ** Rational(1, 3),
    x**y,
    sympy.asin(1 / x),
    sympy.acos(1 + 1 / x),
    sympy.acosh(x),
    sympy.atanh(1 / x),
    sympy.atan2(x, x**2),
    sympy.exp(1 / x**2),
    sympy.sinh(1000 / x**2),
    sympy.cosh(1000 / x**2),
    sympy.cot(x) + sympy.csc(x),
    sympy.Mod(y, x),
    sympy.log(sympy.sqrt(x) * y) / sympy.sqrt(x),
    sympy.log(y, x),
]


@pytest.mark.parametrize("bad", POISON, ids=str)
@pytest.mark.parametrize("value", [0.0, -0.0, -2.0])
def test_inactive_branches_do_not_spoil_value_or_derivatives(bad, value):
    # Two uses under different conditions: here CasADi's own if_else gives nan in reverse differentiation.
    expr = Piecewise((bad * y, x > 0), (sympy.sin(bad) + z, x > 5), (x * z**2, True)) * y + sympy.cos(x)
    point = (value, 1.5, 2.0)
    active = x * y * z**2 + sympy.cos(x)
    assert at(expr, *point) == pytest.approx(exact(active, *point))
    expected = [exact(sympy.diff(active, s), *point) for s in (x, y, z)]
    for way in gradients(expr, *point):
        np.testing.assert_allclose(way, expected, atol=1e-14)
    curvature = sympy.hessian(active, (x, y, z)).subs(dict(zip((x, y, z), point, strict=True)))
    second = evaluate(casadi.hessian(lower(expr), V)[0], *point)
    np.testing.assert_allclose(second, np.array(curvature, float), atol=1e-14)


@pytest.mark.parametrize("bad", POISON, ids=str)
def test_active_branches_keep_value_and_derivatives(bad):
    expr = Piecewise((bad * y, x > 0), (z, True))
    point = (1.0, 1.5, 2.0) if bad.has(sympy.acosh) else (0.75, 1.5, 2.0)
    if bad.has(sympy.asin, sympy.acos, sympy.atanh):
        point, expr = (-1.75, 1.5, 2.0), Piecewise((bad * y, x < -1), (z, True))
    free = bad.replace(Mod, lambda a, b: a - 2 * b)  # floor(1.5/0.75) = 2
    assert at(expr, *point) == pytest.approx(exact(free * y, *point), rel=1e-13, abs=1e-13)
    if not bad.has(sympy.acosh):
        expected = [exact(sympy.diff(free * y, s), *point) for s in (x, y, z)]
        for way in gradients(expr, *point):
            np.testing.assert_allclose(way, expected, rtol=1e-12, atol=1e-12)


def test_an_operation_also_used_outside_keeps_its_own_value_and_slope():
    root = sympy.sqrt(x)
    inside = Piecewise((root, x > 4), (0, True))
    lowering = Lowering(ATOMS)
    both = lowering.vector([inside, root])
    np.testing.assert_allclose(evaluate(both, 1.0), [0.0, 1.0])
    np.testing.assert_allclose(evaluate(casadi.jacobian(both, X), 1.0), [0.0, 0.5])
    # in another call, after the guarded one
    np.testing.assert_allclose(evaluate(casadi.jacobian(lowering(root), X), 1.0), 0.5)
    later = Lowering(ATOMS)
    later(root)
    np.testing.assert_allclose(evaluate(casadi.jacobian(later(inside * y), X), 0.0, 1.0), 0.0)


def test_a_condition_on_the_poisonous_operation_itself():
    root = sympy.sqrt(x)
    expr = Piecewise((root * y + sympy.sin(root), root > 1), (sympy.tan(root) + z, root > 2), (z, True))
    for way in gradients(expr, 0.0, 1.0, 1.0):
        np.testing.assert_allclose(way, [0.0, 0.0, 1.0])
    for way in gradients(expr, 4.0, 1.0, 1.0):
        np.testing.assert_allclose(way, [(1 + math.cos(2)) / 4, 2.0, 0.0])


def test_nested_piecewise_with_poison_at_each_level():
    inner = Piecewise((sympy.log(x), x > 1), (1 / (x - 1), x > 0.5), (y, True))
    expr = Piecewise((sympy.sqrt(x) * inner, x > 0), (inner + z, True))
    for point, active in [
        ((-1.0, 2.0, 3.0), y + z),
        ((0.0, 2.0, 3.0), y + z),
        ((0.25, 2.0, 3.0), sympy.sqrt(x) * y),
        ((0.75, 2.0, 3.0), sympy.sqrt(x) / (x - 1)),
        ((1.0, 2.0, 3.0), None),
        ((2.0, 2.0, 3.0), sympy.sqrt(x) * sympy.log(x)),
    ]:
        if active is None:
            assert not math.isfinite(at(expr, *point))  # 1/(x - 1) is the active branch, and infinite
            continue
        assert at(expr, *point) == pytest.approx(exact(active, *point))
        for way in gradients(expr, *point):
            np.testing.assert_allclose(way, [exact(sympy.diff(active, s), *point) for s in (x, y, z)], atol=1e-13)


def test_nested_piecewise_stay_of_linear_size():
    expr = x
    for k in range(40):
        expr = Piecewise((sympy.sqrt(expr + k), y > k), (1 / (expr + 2), z > k), (expr + 1, True), evaluate=False)
    sx = lower(expr)
    assert count(sx) < 40 * 40
    assert np.isfinite(gradients(expr, 1.0, 5.5, 20.5)).all()


def test_hertzian_contact_has_a_slope_where_it_starts():
    for expr in (sympy.Max(x, 0) ** Rational(3, 2), Piecewise((x ** Rational(3, 2), x >= 0), (0, True))):
        np.testing.assert_allclose(gradients(expr, 0.0), 0.0)


# --- shape of the result --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expr", "most"),
    [
        (x / y, 1),
        (x / (y * z), 2),
        (2 * x / y, 2),
        (3 / x, 1),
        (-x, 1),
        (x - y, 1),
        (y - 2 * x, 2),
        (-x * y, 2),
        (x**2, 1),
        (x**4, 2),
        (1 / x**2, 2),
        (x / y**2, 2),
        (sympy.sqrt(x), 1),
        (x / sympy.sqrt(y), 2),
        (x * y ** Rational(-3, 2), 3),
        (x**2 / z + y / x**2, 4),
        (x * y + 2 * sympy.sin(x * y) - sympy.cos(-3 * x * y), 7),
        (sympy.sqrt(2) * sympy.sin(Rational(1, 7)) * x / sympy.pi, 1),
        (x**15, 6),
    ],
    ids=str,
)
def test_tapes_are_short(expr, most):
    assert operations(lower(expr)) <= most


def test_common_subexpressions_are_lowered_once():
    expr, depth = x, 60
    for _ in range(depth):
        expr = sympy.sin(expr) * sympy.cos(expr) + y  # as a tree: 2^60 leaves
    assert count(lower(expr)) <= 4 * depth + 10


def test_equal_expressions_that_are_different_objects_share():
    lowering = Lowering(ATOMS)
    a = sympy.sin(x * y) + 1
    sympy.core.cache.clear_cache()
    b = sympy.sin(x * y) + 1
    assert a is not b
    first, second = lowering(a), lowering(b)
    assert count(first, second) == count(first) + 1  # one more output


def test_calls_share_with_each_other():
    lowering = Lowering(ATOMS)
    first, second = lowering(sympy.sin(x * y)), lowering(sympy.sin(x * y) ** 2)
    assert operations(casadi.vertcat(first, second)) == 3


def test_depth_does_not_matter():
    chain, choice = x, x
    for k in range(5000):
        chain = sympy.sin(chain, evaluate=False) + y if k % 2 else sympy.sqrt(chain + 1)
    with sympy.evaluate(False):
        for _ in range(300):
            choice = Piecewise((sympy.sqrt(choice), y > 0), (choice + 1, True))
    expected = 0.5
    for k in range(5000):
        expected = math.sin(expected) + 1.5 if k % 2 else math.sqrt(expected + 1)
    assert at(chain, 0.5, 1.5) == pytest.approx(expected, rel=1e-13)
    assert at(choice, -1.0, -1.0) == 299.0
    assert undeclared([chain], [x]) == [y]
    with pytest.raises(LoweringError, match=r"`Foo\(\.\.\.\)` is undeclared"):
        lower(Function("Foo")(chain))


def braid(nodes):
    """Expressions that use each other again and again: few nodes, but as a tree of the order of 2^nodes leaves."""
    pool = [x, y, z]
    with sympy.evaluate(False):
        for k in range(nodes):
            a, b = pool[-1 - k % 7 % len(pool)], pool[-(k % 3) - 1]
            pool.append(sympy.Add(a, b, x) if k % 3 else sympy.sin(a))
    return pool[-100:]


def calls_to_lower(exprs):
    """The graph of the expressions, and how many functions were called on the way, those of C included."""
    calls, lowering = 0, Lowering(ATOMS)

    def count_call(_frame, event, _function):
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count_call)
    try:
        graph = lowering.vector(exprs)
    finally:
        sys.setprofile(None)
    return graph, calls


def test_work_grows_with_the_nodes_and_not_with_the_tree():
    (_, fewer), (graph, more) = calls_to_lower(braid(5_000)), calls_to_lower(braid(20_000))
    assert more < 4.2 * fewer  # linear: 4; n log n: 4.7; quadratic: 16
    assert count(graph) < 2 * 20_000 + 200  # at most two additions a node; inputs and outputs


def test_vector():
    lowering = Lowering(ATOMS)
    column = lowering.vector([x, 0, 2.5, x * y])
    assert column.shape == (4, 1)
    assert column.nnz() == 4
    np.testing.assert_allclose(evaluate(column, 2.0, 3.0), [2.0, 0.0, 2.5, 6.0])
    assert lowering.vector([]).shape == (0, 1)
    for matrix in (sympy.Matrix([x, y]), sympy.Matrix([[x, y]]), sympy.ImmutableMatrix([x, y])):
        np.testing.assert_allclose(evaluate(lowering.vector(matrix), 2.0, 3.0), [2.0, 3.0])


@pytest.mark.parametrize("kind", [sympy.Matrix, sympy.ImmutableMatrix, sympy.SparseMatrix, list, np.array])
def test_matrix_keeps_zeros_out_of_its_pattern(kind):
    m = Lowering(ATOMS).matrix(kind([[x, 0, sympy.S.Zero], [0, x * y, 1]]))
    assert m.shape == (2, 3)
    assert m.nnz() == 3
    np.testing.assert_allclose(evaluate(m, 2.0, 3.0), [[2, 0, 0], [0, 6, 1]])


def test_empty_matrices():
    lowering = Lowering(ATOMS)
    assert lowering.matrix(sympy.zeros(2, 3)).shape == (2, 3)
    assert lowering.matrix(sympy.zeros(2, 3)).nnz() == 0
    assert lowering.matrix(sympy.Matrix(0, 3, [])).shape == (0, 3)
    assert lowering.matrix([[], []]).shape == (2, 0)
    assert lowering.matrix([]).shape == (0, 0)


def test_coordinates_rates_and_time():
    names = {q: X, q.diff(t): Y, q.diff(t, 2): Z}
    expr = q + 2 * q.diff(t) + 3 * q.diff(t, 2)
    assert float(evaluate(Lowering(names)(expr), 1.0, 10.0, 100.0)) == 321.0
    assert float(evaluate(Lowering({t: X})(sympy.sin(t) + t), 1.0)) == pytest.approx(math.sin(1) + 1)


# --- errors ---------------------------------------------------------------------------------------------------------

frame = ReferenceFrame("N")
w = sympy.Symbol("w")
ERRORS = [
    (x + w, w, "`w` is undeclared"),
    (sympy.Symbol("x") + 1, sympy.Symbol("x"), "`x` is undeclared.*other assumptions"),
    (sympy.sin(t), t, "`t` is undeclared"),
    (q + 1, q, r"`q\(t\)` is undeclared"),
    (Function("f")(x), Function("f")(x), r"`f\(x\)` is undeclared"),
    (x * q.diff(t), q.diff(t), r"`Derivative\(q\(t\), t\)` is undeclared.*declare `q\(t\)`"),
    (Derivative(Function("f")(x), x), None, "derivative with respect to `x`"),
    (Derivative(sympy.sin(x), x), None, r"not carried out; call `\.doit\(\)`"),
    (x + I, I, "`I` is imaginary"),
    (sympy.sqrt(-2) * x, I, "imaginary"),
    (sympy.zoo, sympy.zoo, "divides by zero"),
    (sympy.nan, sympy.nan, "`nan` is not a number"),
    (sympy.oo, sympy.oo, "`oo` is infinite"),
    (-sympy.oo, -sympy.oo, "`-oo` is infinite"),
    (sympy.oo * x, None, "calculates with an infinity"),
    (Piecewise((sympy.oo * x, x > 0), (1, True)), None, "calculates with an infinity"),
    (Integer(10) ** 400 * x, None, "finite real number"),
    (Float("1e400") * x, None, "finite real number"),
    (Pow(-1, Rational(1, 3)) * x, Pow(-1, Rational(1, 3)), "not a finite real number"),
    (sympy.asin(2) * x, sympy.asin(2), r"`asin\(2\)` is not a finite real number"),
    (sympy.gamma(x), sympy.gamma(x), "`gamma` is not supported"),
    (sympy.Integral(sympy.exp(x**2), (x, 0, y)), None, "`Integral` is not supported"),
    (sympy.DiracDelta(x), sympy.DiracDelta(x), "`DiracDelta` is not supported"),
    (sympy.Tuple(x), None, "`Tuple` is not supported"),
    (Pow(sympy.log(1, evaluate=False), -1, evaluate=False) * x, None, "divides by zero"),
    (x < 1, x < 1, "`x < 1` is a condition"),
    (sympy.true, sympy.true, "is a condition"),
    (sympy.sin(x < 1, evaluate=False), None, "calculates with a condition"),
    (Piecewise((1, sympy.Symbol("x", real=True)), (2, True)), None, "uses a number as a condition"),
    (Piecewise((x < 1, x > 0), (2, True)), None, "condition where a value belongs"),
    (Piecewise((1, sympy.And(x, y > 0)), (2, True)), None, "uses a number as a condition"),
    (Piecewise((1, Eq(x < 1, y < 1, evaluate=False)), (2, True)), None, "compares conditions"),
    (True, True, "neither an expression nor a number"),
    (np.bool_(True), None, "neither an expression nor a number"),
    ("x", "x", r"`'x'` \(str\) is neither"),
    (1j, 1j, "neither an expression nor a number"),
    (None, None, "neither an expression nor a number"),
    (math.nan, None, "not a finite number"),
    (math.inf, math.inf, "not a finite number"),
    (10**400, None, "not a finite number"),
    (x * frame.x, None, r"is a vector.*`\.to_matrix\(frame\)`"),
    (frame.x | frame.y, None, "is a vector"),
    (sympy.Matrix([x]), None, "use `vector` or `matrix`"),
    (sympy.ImmutableMatrix([x]), None, "use `vector` or `matrix`"),
    ([x], None, "use `vector` or `matrix`"),
]


@pytest.mark.parametrize(
    ("expr", "node", "message"), ERRORS, ids=[f"{k}-{m[:20]}" for k, (_, _, m) in enumerate(ERRORS)]
)
def test_what_cannot_be_lowered_is_named(expr, node, message):
    with pytest.raises(LoweringError, match=message) as caught:
        lower(expr)
    assert isinstance(caught.value, DalembertError)
    assert isinstance(caught.value, ValueError)
    if node is not None:
        assert caught.value.node == node


def test_an_error_leaves_the_lowering_usable():
    lowering = Lowering(ATOMS)
    with pytest.raises(LoweringError):
        lowering(sympy.sin(x) + w)
    assert float(evaluate(lowering(sympy.sin(x)), 1.0)) == math.sin(1.0)


def test_errors_of_shape():
    lowering = Lowering(ATOMS)
    with pytest.raises(LoweringError, match=r"shape \(2, 2\) is not a vector"):
        lowering.vector(sympy.eye(2))
    with pytest.raises(LoweringError, match=r"differ in length: \[1, 2\]"):
        lowering.matrix([[x], [x, y]])
    with pytest.raises(LoweringError, match="a sequence of rows is needed"):
        lowering.matrix([x, y])
    with pytest.raises(LoweringError, match="a sequence of rows is needed"):
        lowering.matrix(x)
    with pytest.raises(LoweringError, match="use `vector` or `matrix`"):
        lowering.vector([[x]])


def test_errors_of_atoms():
    with pytest.raises(LoweringError, match=r"`x\*\*2` cannot stand for a value"):
        Lowering({x**2: X})
    with pytest.raises(LoweringError, match=r"`'x'` cannot stand for a value"):
        Lowering({"x": X})
    with pytest.raises(LoweringError, match="`x` must stand for a scalar"):
        Lowering({x: V})
    with pytest.raises(LoweringError, match="`x` must stand for a scalar"):
        Lowering({x: casadi.MX.sym("x")})


def test_errors_can_be_pickled():
    with pytest.raises(LoweringError) as caught:
        lower(w)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.node) == (str(caught.value), w)


# --- undeclared -----------------------------------------------------------------------------------------------------


def test_undeclared_lists_leaves_by_name_once():
    f = Function("f")
    exprs = [x + w * q, sympy.sin(q.diff(t)) + f(x, y), Piecewise((z, w > 0), (1, True)), 3.0, sympy.Integer(2)]
    assert undeclared(exprs, []) == [q.diff(t), f(x, y), q, w, x, z]
    assert undeclared(exprs, {x, q, q.diff(t)}) == [f(x, y), w, z]


def test_what_is_declared_hides_its_inside():
    assert undeclared([q.diff(t) + u, t], [q.diff(t), u, t]) == []
    assert undeclared([q.diff(t, 2)], [q, q.diff(t), t]) == [q.diff(t, 2)]
    assert undeclared([q], [q]) == []


def test_undeclared_looks_into_matrices_and_unevaluated_derivatives():
    assert undeclared([sympy.Matrix([[x, 0], [0, y]]), sympy.ImmutableMatrix([z])], [y]) == [x, z]
    assert undeclared([Derivative(sympy.sin(x), x)], []) == [x]


def test_a_symbol_that_is_equal_to_one_declared_is_the_same_atom():
    """Objects are looked up by identity first, others by value."""
    q, again = function_of_time("q"), sympy.Function("q")(sympy.Symbol("t"))
    value = casadi.SX.sym("value")
    assert q is not again
    column = Lowering({q: value}).vector([again, q])
    assert casadi.is_equal(column[0], value)
    assert casadi.is_equal(column[1], value)
