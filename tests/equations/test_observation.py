"""Bounds of expressions and of their rates over boxes of states: they hold every value, and shrink with the boxes."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations.observation import observer_of
from dalembert.native.enclosures import bounds

SMOOTH = [
    "x", "x**2 + y**2 - 1", "sin(3*x)*y - vx", "exp(-(100*x - 100)**2) - 1/2", "sqrt(x**2 + y**2) - k", "acos(x/5)",
    "x**3 - (y + 2)**k", "(x - 1)**5", "tanh(50*x - 50*y)", "erf(x)*cosh(y)", "cub(x) - 0.3", "log(x + 2)*y",
]  # fmt: skip
BROKEN = [
    "Abs(x - 1) - 0.2", "tan(x)", "1/x", "x**(-2)", "atan2(y, x)", "Piecewise((x, x < 1), (y, True))", "Max(x, y, vx)",
    "floor(x) - y", "Mod(x, k) - 1", "Heaviside(x - y)", "sign(x - y)", "tab(x) - y", "x**(1/3)", "asin(sin(x))",
]  # fmt: skip


@cache
def system():
    model = da.Model("plane")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    (k,) = model.parameters(k=2.0)
    knots, values = [0, 1, 2, 4, 5], [0, 1, -1, 2, 0]
    kinds = {"tab": "linear", "cub": "cubic"}
    tables = {name: model.table(name, knots, values, kind=kind) for name, kind in kinds.items()}
    model.particle("P", mass=k, position=[x, y])
    model.generalized_force({x: tables["tab"](x) + tables["cub"](x)})
    return model.compile(), {"x": x, "y": y, "vx": vx, "vy": vy, "k": k} | tables


def prepared(text):
    """Bounds of an expression over a box, columns it reads, and its value and rate as a function of w and w'."""
    compiled, names = system()
    observation = observer_of(compiled).observe([sp.sympify(text, locals=names)], "test")
    size = observation.function.size1_in(0)
    w, ahead = ca.SX.sym("w", size), ca.SX.sym("ahead", size)
    value = observation.function(w)
    exact = ca.Function("exact", [w, ahead], [value, ca.jtimes(value, w, ahead)])
    held = np.zeros(size)
    held[5] = 2.0  # the parameter
    tape = observation.tape.at(held)

    def enclosure(*box):
        tape.numbers[: 4 * len(tape.columns)] = np.array(box, dtype=float).T.ravel()
        return bounds(tape, np.zeros(1), np.zeros(1))[0]

    return enclosure, list(tape.columns), exact, size


def sampled(exact, size, reads, box, rng, count):
    """Values and rates (count, 2) at random points of a box (low, high, least rate, largest rate)."""
    found = []
    for _ in range(count):
        w, ahead = np.zeros(size), np.zeros(size)
        w[5] = 2.0  # the parameter
        w[reads], ahead[reads] = rng.uniform(box[0], box[1]), rng.uniform(box[2], box[3])
        found.append([float(v) for v in exact(w, ahead)])
    return np.array(found)


@pytest.mark.parametrize("text", [*SMOOTH, *BROKEN])
def test_bounds_hold_all_values_and_rates(text):
    enclosure, reads, exact, size = prepared(text)
    rng = np.random.default_rng(3)
    for _ in range(60):
        middle, width, n = rng.uniform(-1, 4, len(reads)), 10.0 ** rng.uniform(-4, 0.3), len(reads)
        rate = rng.normal(size=n)
        box = [middle - width * rng.random(n), middle + width * rng.random(n), rate - width, rate + width]
        low, high, least, most = enclosure(*box)
        values, rates = sampled(exact, size, reads, box, rng, 12).T
        known = np.isfinite(values)
        slack = 1e-12 * (1.0 + np.abs(values[known]))
        inside = (values[known] >= low - slack) & (values[known] <= high + slack)
        assert inside.all(), (text, box)
        if np.isfinite([least, most]).all():  # a jump or a pole has no rate
            slack = 1e-10 * (1.0 + np.abs(rates))
            assert ((rates >= least - slack) & (rates <= most + slack)).all(), (text, box)


@pytest.mark.parametrize("text", SMOOTH)
def test_bounds_of_smooth_functions_shrink_with_the_box(text):
    enclosure, reads, exact, size = prepared(text)
    n, at = len(reads), np.full(len(reads), 0.9) + 0.05 * np.arange(len(reads))
    one = np.ones(n)
    value, rate = sampled(exact, size, reads, [at, at, one, one], np.random.default_rng(0), 1)[0]
    for width in (1e-6, 1e-8):
        low, high, least, most = enclosure(at - width, at + width, one, one)
        assert low <= value <= high
        # Slopes of the functions above are below 1e4 there, second derivatives below 1e6.
        assert high - low < 1e5 * width
        assert most - least < 1e7 * width
        assert least - 1e-9 * abs(rate) <= rate <= most + 1e-9 * abs(rate)


def test_jumps_and_poles_have_no_bounds_of_their_rates():
    for text, at in (("sign(x)", 0.0), ("floor(x)", 1.0), ("1/x", 0.0), ("tan(x)", np.pi / 2), ("Mod(x, k)", 2.0)):
        enclosure, *_ = prepared(text)
        across = enclosure([at - 1e-9], [at + 1e-9], [1.0], [1.0])
        beside = enclosure([at + 1e-9], [at + 2e-9], [1.0], [1.0])
        assert not np.isfinite(across[2:]).all(), text
        assert np.isfinite(beside).all(), text
        assert np.isfinite(across[:2]).all() == (text not in ("1/x", "tan(x)"))
