"""Bounds by interval series hold whatever is inside, and become sharp as boxes shrink."""

import casadi as ca
import numpy as np
import pytest

from dalembert.native.enclosures import bounds
from dalembert.native.series_tape import read_tape

X, Y = ca.SX.sym("x"), ca.SX.sym("y")
OPERATIONS = {
    "sum": X + Y, "difference": X - Y, "product": X * Y, "quotient": X / Y, "inverse": 1 / X, "minus": -X,
    "square": X**2, "cube": X**3, "inverse cube": X**-3, "inverse square": X**-2, "power": X**1.5, "any power": X**Y,
    "root": ca.sqrt(X), "exp": ca.exp(X), "log": ca.log(X), "expm1": ca.expm1(X), "log1p": ca.log1p(X),
    "sin": ca.sin(X), "cos": ca.cos(X), "tan": ca.tan(X), "asin": ca.asin(X), "acos": ca.acos(X), "atan": ca.atan(X),
    "atan2": ca.atan2(X, Y), "sinh": ca.sinh(X), "cosh": ca.cosh(X), "tanh": ca.tanh(X), "asinh": ca.asinh(X),
    "acosh": ca.acosh(X), "atanh": ca.atanh(X), "abs": ca.fabs(X), "sign": ca.sign(X), "floor": ca.floor(X),
    "ceil": ca.ceil(X), "mod": ca.fmod(X, Y), "mod of two": ca.fmod(X, 2), "min": ca.fmin(X, Y), "max": ca.fmax(X, Y),
    "less": X < Y, "at most": X <= Y, "equal": ca.eq(X, Y), "not equal": ca.ne(X, Y),
    "and": ca.logic_and(X > 0, Y > 0), "or": ca.logic_or(X > 0, Y > 0), "not": ca.logic_not(X > 0),
    "choice": ca.if_else(X > Y, X * Y, ca.exp(X)), "error": ca.erf(X), "mixed": ca.sin(X * Y) - X * ca.exp(-Y**2),
}  # fmt: skip


def boxes(widest, count=400):
    rng = np.random.default_rng(5)
    low = rng.uniform(-4.0, 4.0, (2, count))
    low[:, ::7] = np.round(low[:, ::7])  # corners on zeros, poles and jumps
    return low, low + rng.uniform(0.0, widest, (2, count)), rng


def bounds_in_boxes(function, low, high):
    """Least and largest values in boxes (2, n) of (x, y), as of functions of x with y within bounds."""
    tape = read_tape(function, 0)
    rows = [bounds(tape.at(a, b), a[:1], b[:1])[0] for a, b in zip(low.T, high.T, strict=True)]
    return np.array(rows)[:, :2].T[:, None]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("widest", [0.0, 1e-6, 1.0, 9.0])
def test_values_inside_a_box_are_within_the_bounds(name, widest):
    function = ca.Function("f", [ca.vertcat(X, Y)], [OPERATIONS[name]])
    low, high, rng = boxes(widest)
    least, most = bounds_in_boxes(function, low, high)
    for share in (np.zeros((2, 1)), np.ones((2, 1)), *rng.uniform(0.0, 1.0, (40, 2, 1))):
        value = function(np.minimum(low + share * (high - low), high)).full()
        known = np.isfinite(value)
        assert (least[known] <= value[known]).all()
        assert (most[known] >= value[known]).all()


@pytest.mark.parametrize("name", ["mixed", "choice", "quotient", "power", "tan", "atan2", "mod"])
def test_bounds_of_points_are_sharp(name):
    function = ca.Function("f", [ca.vertcat(X, Y)], [OPERATIONS[name]])
    low, _, _ = boxes(0.0)
    low = low[:, np.arange(low.shape[1]) % 7 != 0]
    least, most = bounds_in_boxes(function, low, low)
    value = function(low).full()
    known = np.isfinite(value)
    assert (most - least)[known] == pytest.approx(0.0, abs=1e-12 * np.abs(value[known]).max())


@pytest.mark.parametrize("name", ["abs", "min", "max"])
def test_kinks_keep_the_bounds_of_their_rates(name):
    function = ca.Function("f", [ca.vertcat(X, Y)], [OPERATIONS[name]])
    tape = read_tape(function, 0).at(np.array([0.0, 0.5]))
    assert bounds(tape, np.array([-1.0]), np.array([2.0]))[0, 2:] == pytest.approx([-(name == "abs"), 1.0])
