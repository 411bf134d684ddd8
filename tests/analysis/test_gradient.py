"""Gradients of costs: closed forms, and the same by differences."""

import numpy as np
import pytest

import dalembert as da

T = 5.0


def oscillator():
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    m, k = model.parameters(m=1.0, k=4.0)
    model.energy(kinetic=m * x.diff() ** 2 / 2, potential=k * x**2 / 2)
    return model.compile(), x, m, k


def test_integral_and_final_value_have_the_closed_form():
    """int x^2 dt + x(T) with x = a cos(w t)."""
    system, x, _, k = oscillator()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    found = system.gradient([da.Integral(x**2), da.Final(x)], state, T, to=[k, "x"])
    w = 2.0
    square = T / 2 + np.sin(2 * w * T) / (4 * w)
    in_w = T * np.cos(2 * w * T) / (2 * w) - np.sin(2 * w * T) / (4 * w**2) - T * np.sin(w * T)
    assert found.value == pytest.approx(square + np.cos(w * T), abs=1e-9)
    assert found["k"] == pytest.approx(in_w / (2 * w), abs=1e-8)
    assert found["x"] == pytest.approx(2 * square + np.cos(w * T), abs=1e-8)
    assert found.names == ("k", "x")


def test_effort_of_a_constraint_is_a_cost():
    """A mass driven along sin(a t): the driving force is -m a^2 sin(a t), its square an integral."""
    model = da.Model("driven")
    (x,) = model.coordinates("x")
    m, v, a = model.parameters(m=2.0, v=0.0, a=1.5)
    model.energy(kinetic=m * x.diff() ** 2 / 2)
    model.constrain(x.diff() - v - a * x, name="drive")
    system = model.compile()
    (drive,) = (da.Integral(_symbol("drive") ** 2),)
    found = system.gradient(drive, system.initial({x: 0.5}), 1.0, to=["m", "a"])
    # x = 0.5 exp(a t), so the force m a^2 x has int = m^2 a^4 / 4 (exp(2 a) - 1) / (2 a).
    value = 4.0 * 1.5**3 / 8 * (np.exp(3.0) - 1)
    slope = 4.0 / 8 * (3 * 1.5**2 * (np.exp(3.0) - 1) + 1.5**3 * 2 * np.exp(3.0))
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found["m"] == pytest.approx(value, rel=1e-8)  # 2 J / m
    assert found["a"] == pytest.approx(slope, rel=1e-8)


def _symbol(name):
    import sympy as sp

    return sp.Symbol(name)


def test_what_is_refused():
    system, x, _, k = oscillator()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    with pytest.raises(da.PairingError, match="neither da"):
        system.gradient(x**2, state, T, to=[k])
    with pytest.raises(da.OptionError, match="`to` is empty"):
        system.gradient(da.Final(x), state, T, to=[])
    with pytest.raises(da.OptionError, match="chooses `t_eval` itself"):
        system.gradient(da.Final(x), state, T, to=[k], t_eval=[1.0])
    bounce = da.Event(x, direction=-1, then={x.diff(): -0.5 * x.diff()})
    with pytest.raises(da.PairingError, match="over events that change the motion"):
        system.gradient(da.Integral(x**2), state, T, to=[k], events=[bounce])
    with pytest.raises(da.UnknownNameError, match="this gradient"):
        system.gradient(da.Final(x), state, T, to=[k])["m"]
