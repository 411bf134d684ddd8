"""Gradients of costs: closed forms, and the same by differences."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems

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
    found = system.gradient(da.Integral(sp.Symbol("drive") ** 2), system.initial({x: 0.5}), 1.0, to=["m", "a"])
    # x = 0.5 exp(a t), so the force m a^2 x has int = m^2 a^4 / 4 (exp(2 a) - 1) / (2 a).
    value = 4.0 * 1.5**3 / 8 * (np.exp(3.0) - 1)
    slope = 4.0 / 8 * (3 * 1.5**2 * (np.exp(3.0) - 1) + 1.5**3 * 2 * np.exp(3.0))
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found["m"] == pytest.approx(value, rel=1e-8)  # 2 J / m
    assert found["a"] == pytest.approx(slope, rel=1e-8)


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


@pytest.mark.parametrize(
    ("name", "t_end", "cost", "options"),
    [
        ("four_bar", 1.0, [da.Integral("loop_x"), da.Final("q2")], {}),
        ("four_bar", 0.5, [da.Final("u1'")], {"formulation": da.MinimalKane(), "integrator": da.Tsit5(rtol=1e-11)}),
        ("four_bar", 0.5, [da.Final("q3")], {"drift": da.Baumgarte(20.0, 100.0)}),
        ("andrews", 0.02, [da.Final("beta"), da.Integral("gamma'")], {}),
        ("asymmetric_top", 1.0, [da.Final("e0")], {}),
    ],
    ids=str,
)
def test_sweep_back_agrees_with_forward_sensitivities(name, t_end, cost, options):
    """Two ways to one gradient: a column for each parameter, and one sweep for all."""
    from dalembert.analysis.gradient import _forward

    problem = problems.get(name)
    system = problem.system()
    state = problem.state(system)
    options = {"integrator": da.DOP853(rtol=1e-12, atol=1e-13), **options}
    to = [*system.parameters[:8], *[n for n in problem.given if n in system.coordinates][:1]]
    swept = system.gradient(cost, state, t_end, to=to, **options)
    assert swept.how == "adjoint"
    forward = _forward(system, cost, state, t_end, to, options)
    size = np.abs(forward.gradient).max()
    np.testing.assert_allclose(swept.gradient, forward.gradient, atol=1e-9 * size)
    assert swept.value == pytest.approx(forward.value, rel=1e-9)


def test_fixed_steps_are_differentiated_as_they_are():
    """Long steps of RK4: the gradient is that of the numbers it gives, far from the exact one."""
    system, x, _, k = oscillator()
    steps = {"integrator": da.RK4(step=0.5)}

    def cost(stiffness):
        state = system.initial({x: 1.0, x.diff(): 0.0}, parameters={k: stiffness})
        return state, float(system.simulate(state, T, **steps)["x"][-1])

    e = 1e-3
    expected = (8 * (cost(4 + e)[1] - cost(4 - e)[1]) - (cost(4 + 2 * e)[1] - cost(4 - 2 * e)[1])) / (12 * e)
    found = system.gradient(da.Final(x), cost(4.0)[0], T, to=[k], **steps)
    assert found.how == "adjoint"
    assert found["k"] == pytest.approx(expected, rel=1e-10)
    exact = -T * np.sin(2 * T) / 4
    assert abs(found["k"] - exact) > 1e-2


def test_events_and_friction_go_forward():
    system, x, _, k = oscillator()
    state = system.initial({x: 1.0, x.diff(): 0.0})
    bounce = da.Event(x, direction=-1, then={x.diff(): -x.diff()}, name="wall")
    found = system.gradient(da.Final(x), state, 2.0, to=[k], events=[bounce])
    assert found.how == "forward sensitivities"
    # An elastic wall at zero: x = |cos(w t)|.
    assert found.value == pytest.approx(abs(np.cos(4.0)), abs=1e-9)
    assert found["k"] == pytest.approx(np.sign(np.cos(4.0)) * -2.0 * np.sin(4.0) / 4, abs=1e-8)
