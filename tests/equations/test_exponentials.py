"""Quotients of exponentials that are more than numbers hold: values and two derivatives, in both backends."""

import casadi as ca
import mpmath
import numpy as np
import pytest
import sympy as sp

from dalembert.equations.lowering.lower import Lowering, LoweringError
from dalembert.native import kernel as native
from dalembert.native.kernel import compile_kernel
from dalembert.native.object_cache import ObjectCache

s, a, b = sp.symbols("s a b", real=True)
S, A, B = ca.SX.sym("s"), ca.SX.sym("a"), ca.SX.sym("b")
WHERE = (-1200.0, -720.0, -650.0, -37.3, -0.5, 0.0, 1e-9, 2.5, 40.2, 650.0, 720.0, 1200.0)
GIVEN = {a: 0.75, b: 3.0}
LARGE = 1e290  # what is larger, or smaller than its inverse, is not compared
BACKENDS = pytest.mark.parametrize("limit", [native.NATIVE_LIMIT, 0], ids=["native", "interpreter"])

BOUNDED = {
    "logistic": 1 / (1 + sp.exp(-s)),
    "rising logistic": sp.exp(s) / (3 + 2 * sp.exp(s)),
    "logistic of parameters": a * sp.exp(s) / (b + a * sp.exp(s)),
    "number taken out": sp.exp(s) / (sp.Float(1e-120) + sp.exp(s)),
    "bump": sp.exp(s) / (1 + sp.exp(s)) ** 2,
    "secant": 1 / sp.cosh(s),
    "tangent": sp.sinh(s) / sp.cosh(s),
    "slope of the secant": sp.sinh(s) / sp.cosh(s) ** 2,
    "tangent of exponentials": (sp.exp(s) - sp.exp(-s)) / (sp.exp(s) + sp.exp(-s)),
    "half": sp.exp(s / 2) / (1 + sp.exp(s)),
    "root": 1 / sp.sqrt(1 + sp.exp(s)),
    "Richards": (1 + 2 * sp.exp(-s)) ** sp.Rational(-3, 10),
    "high power": sp.exp(s) / (1 + sp.exp(s)) ** 20,
    "two divisors": sp.exp(s) / ((1 + sp.exp(s)) * (1 + sp.exp(-s))),
    "three terms": (1 + sp.exp(s)) / (1 + sp.exp(s) + sp.exp(2 * s)),
    "square inside": 1 / (1 + (1 + sp.exp(s)) ** 2),
    "all terms fall": sp.exp(-3 * s) / (sp.exp(-s) + sp.exp(-2 * s)),
    "beside a polynomial": (sp.cosh(s) + s) / (s**2 + 1 + sp.exp(s) * sp.cosh(s)),
    "two hyperbolic cosines": sp.cosh(s) / sp.cosh(s - 1),
    "opaque numerator": sp.sqrt(2 + sp.exp(s)) / (1 + sp.exp(s)),
    "logarithm": sp.log(1 + sp.exp(s)),
}


@pytest.fixture
def kernel_of(tmp_path):
    """Compile the value of an expression and two derivatives with respect to s, as a function of s."""
    cache = ObjectCache(tmp_path / "kernels")
    return lambda expression, limit: compiled(expression, limit, cache)


def compiled(expression, limit, cache):
    value = Lowering({s: S, a: A, b: B})(expression)
    first = ca.jacobian(value, S)
    column = ca.densify(ca.vertcat(value, first, ca.jacobian(first, S)))
    kernel = compile_kernel(ca.Function("f", [ca.vertcat(S, A, B)], [column]), native_limit=limit, cache=cache)
    assert kernel.backend == ("native" if limit else "interpreter")
    return lambda at: kernel(np.array([at, *GIVEN.values()]))


def references(expression):
    return [sp.lambdify(s, sp.diff(expression.subs(GIVEN), s, k), "mpmath") for k in range(3)]


@BACKENDS
@pytest.mark.parametrize("name", BOUNDED)
def test_quotients_are_right(kernel_of, name, limit):
    """Right to the last bits of what is larger: the value or 1. Only what doubles do not hold may be no number."""
    kernel, exact = kernel_of(BOUNDED[name], limit), references(BOUNDED[name])
    for at in WHERE:
        with mpmath.workdps(1200):
            expected = [f(mpmath.mpf(at)) for f in exact]
        for value, wanted in zip(kernel(at), expected, strict=True):
            if abs(wanted) < LARGE or np.isfinite(value):
                assert abs(value - wanted) <= 5e-14 * max(1, abs(wanted)), (at, value, wanted)


@pytest.mark.parametrize("name", ["logistic", "rising logistic", "bump", "secant", "slope of the secant", "root"])
def test_tails_keep_their_digits(kernel_of, name):
    """So that 1e13 times a logistic function is as accurate as it."""
    kernel, exact = kernel_of(BOUNDED[name], native.NATIVE_LIMIT), references(BOUNDED[name])
    for at in (-600.0, -300.0, -40.0, 40.0, 300.0, 600.0):
        with mpmath.workdps(1200):
            expected = [float(f(mpmath.mpf(at))) for f in exact]
        np.testing.assert_allclose(kernel(at), expected, rtol=2e-13, atol=1e-290)


@pytest.mark.parametrize("power", [1, 2])
def test_secants_are_as_even_as_ever(kernel_of, power):
    """A bead at the top of a hill sees a slope that is accurate beside its distance from the top."""
    _, slope, _ = kernel_of(1 / sp.cosh(s) ** power, native.NATIVE_LIMIT)(1e-12)
    assert slope == pytest.approx(-power * 1e-12, rel=1e-14)


@BACKENDS
def test_quotients_that_are_no_logistic_functions(kernel_of, limit):
    """With a clamp they would be 1."""
    quotient = kernel_of(sp.cosh(s) / sp.cosh(s - 1), limit)
    assert [quotient(at)[0] for at in (650.0, 709.0, 5e5)] == pytest.approx([np.e] * 3, rel=1e-13)
    shared = kernel_of(sp.exp(s) / (sp.exp(s - 1) + sp.exp(-s)), limit)
    assert [shared(at)[0] for at in (650.0, 800.0)] == pytest.approx([np.e] * 2, rel=1e-13)


@BACKENDS
def test_products_of_sums_are_right_or_refused(kernel_of, limit):
    """Tails of exp(-709) are there to be multiplied by exp(709)."""
    product = kernel_of(sp.cosh(s) * (1 / (1 + sp.exp(s)) + 1 / (2 + sp.exp(s))), limit)
    assert [product(at)[0] for at in (300.0, 650.0, 708.0)] == pytest.approx([1.0] * 3, rel=1e-12)
    assert not np.isfinite(product(720.0)[0])


@BACKENDS
@pytest.mark.parametrize("expression", [sp.exp(s), sp.cosh(s), sp.exp(s) / (1 + sp.exp(-s)), sp.exp(s) - sp.exp(s - 1)])
def test_what_is_too_large_is_no_number(kernel_of, expression, limit):
    values = kernel_of(expression, limit)
    assert np.isfinite(values(700.0)[0])
    assert not np.isfinite(values(800.0)[0])


def test_quotients_of_numbers():
    low = Lowering({})
    assert float(low(sp.cosh(650) / sp.cosh(649))) == pytest.approx(np.e, rel=1e-13)
    assert float(low(sp.exp(800) / sp.exp(799))) == pytest.approx(np.e)
    with pytest.raises(LoweringError, match="not a finite real number"):
        low(sp.cosh(800) / sp.cosh(799))
