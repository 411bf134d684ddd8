"""Cells of functions: a polynomial of degree 7 tells all of each, nothing is missed, and there are few of them."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.polynomial import chebyshev

from dalembert.equations.lowering.lower import Lowering
from dalembert.native.cells import REMAINDER, SHARP, largest, lay_cells
from dalembert.native.enclosures import ORDER
from dalembert.native.series_tape import read_tape

t = sp.Symbol("t")
SMOOTH = {  # function, span, its largest value
    "push of 10 ms": (sp.exp(-(((t - 50) / sp.Float(1e-2)) ** 2)), 100.0, 1.0),
    "ramp": (1 / (1 + sp.exp(-(t - 5) / sp.Float(0.1))), 10.0, 1.0),
    "steep tanh": (sp.tanh(1000 * (t - 1)), 2.0, 1.0),
    "sine": (sp.sin(t), 100.0, 1.0),
    "burst": (sp.sin(100 * sp.pi * t) * sp.exp(-(((t - 50) / sp.Float(0.2)) ** 2)), 100.0, 1.0),
    "spikes": (sp.exp(200 * (sp.cos(2 * sp.pi * t) - 1)), 50.0, 1.0),
    "high power": ((t / 10) ** 400, 10.0, 1.0),
    "arc tangent": (sp.atan(50 * (t - 3)), 10.0, np.pi / 2),
    "peak": (1 / (1 + (100 * (t - 3)) ** 2), 10.0, 1.0),
    "bend": (sp.sqrt((t - 3) ** 2 + sp.Float(1e-6)), 10.0, 7.0),
    "error function": (sp.erf(30 * (t - 3)), 10.0, 1.0),
    "powers": ((1 + t) ** sp.Rational(-3, 2), 10.0, 1.0),
    "angle": (sp.atan2(sp.sin(t), 2 + sp.cos(t)), 10.0, np.pi / 6),
}


def tape_of(expression):
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [Lowering({t: x})(expression)])
    return function, read_tape(function, 0)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_polynomial_tells_all_of_each_cell(name):
    expression, span, top = SMOOTH[name]
    function, tape = tape_of(expression)
    size = largest(tape, 0.0, span, 100_000)
    assert top / SHARP <= size <= top * 1.0000001
    edges = lay_cells(tape, 0.0, span, size, 0.0, 100_000)
    assert edges[0] == 0.0
    assert edges[-1] == span
    assert (np.diff(edges) > 0.0).all()
    nodes = np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)
    fine = np.linspace(-1.0, 1.0, 41)
    middle, half = 0.5 * (edges[:-1] + edges[1:]), 0.5 * np.diff(edges)
    values, there = (
        function((middle + half * x[:, None]).reshape(1, -1)).full().reshape(len(x), -1) for x in (nodes, fine)
    )
    through = chebyshev.chebval(fine, chebyshev.chebfit(nodes, values, ORDER - 1))
    # Interpolation at Chebyshev points makes 2 (h/4)^P of w_P out of the h^P that a cell is judged by.
    assert (
        np.abs(through - there.T).max() <= 2.0 * 0.25**ORDER * REMAINDER * top + 1e-11 * top
    )  # round-off of t in 1e4 t


@pytest.mark.parametrize(("width", "cells"), [(1e-1, 100), (1e-3, 140), (1e-6, 180)])
def test_cells_grow_with_the_logarithm_of_how_narrow_a_spike_is(width, cells):
    _, tape = tape_of(sp.exp(-(((t - 50) / sp.Float(width)) ** 2)))
    assert len(lay_cells(tape, 0.0, 100.0, 1.0, 0.0, 10_000)) < cells


@pytest.mark.parametrize(
    ("expression", "jumps"),
    [
        (sp.Heaviside(t - 3), [3.0]),
        (sp.Abs(t - 2) + sp.sign(t - 7), [2.0, 7.0]),
        (sp.Piecewise((sp.sin(t), (t > 3) & (t < 5)), (0, True)), [3.0, 5.0]),
        (sp.floor(t / 4), [4.0, 8.0]),
        (sp.Max(0, 1 - sp.Abs(t - 5.1)), [4.1, 5.1, 6.1]),
    ],
)
def test_a_jump_is_a_cell_without_length(expression, jumps):
    _, tape = tape_of(expression)
    edges = lay_cells(tape, 0.0, 10.0, 1.0, 0.0, 10_000)
    assert edges[:-1][np.diff(edges) == 0.0] == pytest.approx(jumps, abs=1e-10)
    assert len(edges) < 40


def test_more_cells_than_asked_for_are_none():
    _, tape = tape_of(sp.exp(sp.cos(100 * t)))
    assert lay_cells(tape, 0.0, 1000.0, 1.0, 0.0, 10_000) is None


@pytest.mark.parametrize("span", [1e-2, 1e-4, 1e-6])
def test_a_late_axis_is_not_halved_below_what_numbers_resolve(span):
    """Numbers are 1.2e-7 apart there: a cell whose middle is its end was halved for ever, beyond the stack."""
    begin = 1e9
    _, tape = tape_of(sp.Max(0, sp.tan((t - begin) / span)))
    size = largest(tape, begin, begin + 3 * span, 100_000)
    edges = lay_cells(tape, begin, begin + 3 * span, size, 0.0, 100_000)
    assert edges[0] == begin
    assert edges[-1] == begin + 3 * span
    assert (np.diff(edges) >= 0.0).all()
    assert len(edges) < 10_000
