"""Which gradients may vanish: told from the model, so that other runs need not follow them."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.run.vanishing_rows import lengths_function, rows_that_may_vanish


@pytest.mark.parametrize("name", ["knife_edge", "vertical_disk"])
def test_wheels_and_blades_hold_everywhere(name):
    assert not rows_that_may_vanish(problems.get(name).system())


def test_equal_bars_may_be_upright():
    model = da.Model("bars")
    a, b = model.coordinates("a b")
    model.energy(kinetic=(a.diff() ** 2 + b.diff() ** 2) / 2)
    model.constrain(sp.sin(a) + sp.sin(b))
    assert rows_that_may_vanish(model.compile())


def test_lengths_that_are_equal_for_the_defaults_only_may_vanish():
    """|(cos a, k sin a)| is 1 for k = 1; for k = 0 it vanishes at a right angle."""
    model = da.Model("ellipse")
    x, y, a = model.coordinates("x y a")
    (k,) = model.parameters(k=1.0)
    model.energy(kinetic=(x.diff() ** 2 + y.diff() ** 2 + a.diff() ** 2) / 2)
    model.constrain(sp.cos(a) * x.diff() + k * sp.sin(a) * y.diff())
    assert rows_that_may_vanish(model.compile())


def test_lengths_that_are_equal_for_a_default_of_zero_may_vanish():
    """|(cos a + e, sin a)| is 1 for e = 0; for e = 1 it vanishes at a straight angle."""
    model = da.Model("eccentric")
    x, y, a = model.coordinates("x y a")
    (e,) = model.parameters(e=0.0)
    model.energy(kinetic=(x.diff() ** 2 + y.diff() ** 2 + a.diff() ** 2) / 2)
    model.constrain((sp.cos(a) + e) * x.diff() + sp.sin(a) * y.diff())
    assert rows_that_may_vanish(model.compile())


def test_only_rows_that_may_vanish_are_followed():
    """The first gradient has a number in it; that of the second vanishes at the origin."""
    model = da.Model("a gap beside a plane")
    x, y, z = model.coordinates("x y z")
    model.energy(kinetic=(x.diff() ** 2 + y.diff() ** 2 + z.diff() ** 2) / 2)
    model.constrain(x + sp.sin(y) * z - 1)
    model.constrain(y**2 + z**2 - 1)
    assert rows_that_may_vanish(model.compile()) == (1,)


def test_the_length_of_the_shortest_row_is_relative_to_its_size():
    """Gradients (2 y, 2 z) and (cos y, -3 sin z) by hand, with sizes of speeds and rows that are no powers of two."""
    model = da.Model("two rows")
    y, z = model.coordinates("y z")
    model.energy(kinetic=(y.diff() ** 2 + z.diff() ** 2) / 2)
    model.constrain(y**2 + z**2 - 1)
    model.constrain(sp.sin(y) + 3 * sp.cos(z))
    system = model.compile()
    sizes, rows, place = np.array([1.1, 1.2, 0.7, 0.9, 5.0]), np.array([1.3, 1.4, 3.5, 4.5, 7.0]), np.array([0.3, 0.4])
    first = max(2 * 0.3 * 0.7, 2 * 0.4 * 0.9) / 3.5
    second = max(np.cos(0.3) * 0.7, 3 * np.sin(0.4) * 0.9) / 4.5
    found = lengths_function(system)(np.concatenate([sizes, rows, [0.0], place, np.zeros(2)]))
    assert float(found) == pytest.approx(min(first, second) ** 2, rel=1e-14)
