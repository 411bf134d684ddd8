"""Expressions whose parts repeat: work grows with the distinct parts, not with the 2^60 that would be written out."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

LEVELS = 60


def roots(x):
    """Nested roots, each level of which has the one before in it twice."""
    a = x
    for _ in range(LEVELS):
        a = sp.sqrt(a + x + 2) * sp.sqrt(a + 2 * x + 3)
    return a


def roots_at(x):
    """Their value."""
    a = x
    for _ in range(LEVELS):
        a = np.sqrt(a + x + 2) * np.sqrt(a + 2 * x + 3)
    return a


def pushed(of):
    """A particle of 1 kg pushed along x by the roots of `of(model, x)`."""
    model = da.Model("pushed")
    (x,) = model.coordinates("x")
    P = model.particle("P", mass=1.0, position=[x, 0])
    model.force([roots(of(model, x)), 0], at=P)
    return model.compile(), x


@pytest.mark.parametrize("of", [lambda _, x: x, lambda model, _: model.t], ids=["state", "time"])
def test_a_force_compiles_and_acts(of, bounded):
    with bounded():
        system, _ = pushed(of)
        state = system.initial({"x": 0.25, "x'": 0.0}, t0=0.25)
        assert state["x''"] == pytest.approx(roots_at(0.25), rel=1e-12)
        assert system.simulate(state, 0.3).success


def test_a_constraint_and_an_expression_of_the_motion(bounded):
    with bounded():
        model = da.Model("led")
        x, y = model.coordinates("x y")
        model.particle("P", mass=1.0, position=[x, y])
        model.constrain(y - roots(x), name="rail")
        system = model.compile()
        state = system.initial({"x": 0.25, "x'": 0.1})
        motion = system.simulate(state, 0.1)
        assert motion[roots(x) - y] == pytest.approx(0.0, abs=1e-7)


def test_the_times_of_a_kink_are_found_in_shared_parts(bounded):
    """|roots(t) - c| bends where the roots pass c, once."""
    with bounded():
        model = da.Model("bent")
        (x,) = model.coordinates("x")
        P = model.particle("P", mass=1.0, position=[x, 0])
        model.force([sp.Abs(roots(model.t) - float(roots_at(0.5)), evaluate=False), 0], at=P)
        system = model.compile()
        motion = system.simulate(system.initial({"x": 0.0, "x'": 0.0}), 1.0)
    assert np.abs(motion.t - 0.5).min() < 1e-12
