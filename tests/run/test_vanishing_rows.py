"""Which gradients may vanish: told from the model, so that other runs need not follow them."""

import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.run.vanishing_rows import may_vanish


@pytest.mark.parametrize("name", ["knife_edge", "vertical_disk"])
def test_wheels_and_blades_hold_everywhere(name):
    assert not may_vanish(problems.get(name).system())


def test_equal_bars_may_be_upright():
    model = da.Model("bars")
    a, b = model.coordinates("a b")
    model.energy(kinetic=(a.diff() ** 2 + b.diff() ** 2) / 2)
    model.constrain(sp.sin(a) + sp.sin(b))
    assert may_vanish(model.compile())


def test_lengths_that_are_equal_for_the_defaults_only_may_vanish():
    """|(cos a, k sin a)| is 1 for k = 1; for k = 0 it vanishes at a right angle."""
    model = da.Model("ellipse")
    x, y, a = model.coordinates("x y a")
    (k,) = model.parameters(k=1.0)
    model.energy(kinetic=(x.diff() ** 2 + y.diff() ** 2 + a.diff() ** 2) / 2)
    model.constrain(sp.cos(a) * x.diff() + k * sp.sin(a) * y.diff())
    assert may_vanish(model.compile())


def test_lengths_that_are_equal_for_a_default_of_zero_may_vanish():
    """|(cos a + e, sin a)| is 1 for e = 0; for e = 1 it vanishes at a straight angle."""
    model = da.Model("eccentric")
    x, y, a = model.coordinates("x y a")
    (e,) = model.parameters(e=0.0)
    model.energy(kinetic=(x.diff() ** 2 + y.diff() ** 2 + a.diff() ** 2) / 2)
    model.constrain((sp.cos(a) + e) * x.diff() + sp.sin(a) * y.diff())
    assert may_vanish(model.compile())
