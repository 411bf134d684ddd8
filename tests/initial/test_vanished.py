"""Rows whose own gradient vanishes in a state are told by `diagnose`, and not linearised about."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da


def bars():
    """Two bars of length 1, the end of the second on the x axis: sin a + sin b = 0, for which both may be upright."""
    model = da.Model("bars")
    a, b = model.coordinates("a b")
    model.particle("pin", mass=1.0, position=[sp.cos(a), sp.sin(a)])
    model.particle("slider", mass=1.0, position=[sp.cos(a) + sp.cos(b), sp.sin(a) + sp.sin(b)])
    model.gravity([0, -9.81])
    model.constrain(sp.sin(a) + sp.sin(b), name="way")
    return model.compile()


def test_upright_bars_are_not_linearised_about():
    system = bars()
    state = system.initial({"a": np.pi / 2, "b": -np.pi / 2})
    with pytest.raises(da.LinearizationError, match="gradient of `way` vanishes") as raised:
        system.linearize(state)
    assert raised.value.directions == ("way",)


def test_the_diagnosis_of_upright_bars_says_that_the_row_has_no_gradient():
    system = bars()
    found = system.diagnose(system.initial({"a": np.pi / 2, "b": -np.pi / 2}))
    assert "`way` has no gradient" in str(found)
    assert found.ranks["position"] == 0


def test_bars_elsewhere_are():
    system = bars()
    state = system.initial({"a": -np.pi / 2 + 0.1, "b": np.pi / 2 - 0.1})
    assert len(system.linearize(state).states) == 2
    assert system.diagnose(state).ranks["position"] == 1


@pytest.mark.parametrize("factor", [1e-9, 1.0])
def test_a_row_that_the_others_imply_does_no_harm_whatever_its_factor(factor):
    model = da.Model("line")
    x, y = model.coordinates("x y")
    model.particle("bead", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.energy(potential=2 * x**2)
    model.constrain(factor * y)
    model.constrain(factor * y * (1 + x**2) * y)
    system = model.compile()
    eigenvalues = system.linearize(system.initial({"x": 0.0, "y": 0.0})).eigenvalues
    np.testing.assert_allclose(np.sort(eigenvalues.imag), [-2.0, 2.0], rtol=1e-12)
