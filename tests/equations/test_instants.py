"""Instants at which an expression of time bends or jumps, found beforehand."""

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import make_interp_spline
from scipy.optimize import brentq

import dalembert as da
from dalembert.equations.instants import instants

WAVES = {
    "square wave": (lambda t: sp.sign(sp.sin(2 * t)), lambda t: np.sin(2 * t)),
    "pulses of a sine": (lambda t: sp.Heaviside(3 * sp.sin(2 * t + 1) - 1), lambda t: 3 * np.sin(2 * t + 1) - 1),
    "pulses of a cosine": (lambda t: sp.Max(0, sp.cos(t / 2) + 0.3), lambda t: np.cos(t / 2) + 0.3),
    "below a level": (lambda t: sp.Piecewise((1, sp.sin(-t) < 0.9), (0, True)), lambda t: np.sin(-t) - 0.9),
    "saw": (lambda t: sp.Abs(sp.Mod(t, 3) - 1), lambda t: t % 3 - 1),
    "two waves": (lambda t: sp.sign(sp.sin(2 * t) + sp.sin(3.1 * t)), lambda t: np.sin(2 * t) + np.sin(3.1 * t)),
    "chirp": (lambda t: sp.sign(sp.sin(t**2 / 2)), lambda t: np.sin(t**2 / 2)),
    "whole parts of a square": (lambda t: sp.floor(t**2 / 7), lambda t: np.sin(np.pi * t**2 / 7)),
    "bends in bends": (
        lambda t: sp.Heaviside(sp.Abs(sp.sin(t) - sp.cos(2 * t)) - 1),
        lambda t: np.abs(np.sin(t) - np.cos(2 * t)) - 1,
    ),
    "jumps in bends": (lambda t: sp.sign(t**2 / 9 - 4 * sp.floor(t**2 / 36) - 2), lambda t: (t**2 / 9) % 4 - 2),
}
KNOWN = {
    "square": (lambda t: sp.sign(t**2 - 3), [np.sqrt(3)]),
    "near roots": (lambda t: sp.Heaviside((t - 1) * (t - 2) * (t - 2.001) * (t - 15)), [1, 2, 2.001, 15]),
    "decay": (lambda t: sp.Piecewise((1, sp.exp(-t) > 0.01), (0, True)), [np.log(100)]),
    "touched": (lambda t: sp.Max((t - 5) ** 2, 0), [5]),
    "constant at first": (lambda t: sp.Heaviside(sp.Max(t**2 - 2, 0)), [np.sqrt(2)]),
    "out of reach": (lambda t: sp.Heaviside(t**2 + 1), []),
    "root of a root": (lambda t: sp.sign(sp.sqrt(t) - 3), [0, 9]),
    "logarithm": (lambda t: sp.sign(sp.log(t + 1) - 2), [np.exp(2) - 1]),
    "without a value at first": (
        lambda t: sp.sign(sp.Piecewise((sp.log(t - 2), t > 2.5), (t**2 - 20, True))),
        [2.5, 3],
    ),
    "pole": (lambda t: sp.Max(1 / (t - 7.5), 1), [8.5]),
    "root of a square": (lambda t: sp.sqrt((t**2 - 3) ** 2), [np.sqrt(3)]),
    "touched by cancellation": (lambda t: sp.sign(t**2 - 6 * t + 9), [3]),
    "touched at the start": (lambda t: sp.acos((1 - t**2) / (1 + t**2)), [0]),
    "triangle wave": (lambda t: sp.asin(sp.sin(t / 3)), [1.5 * np.pi, 4.5 * np.pi]),
    "saw of a tangent": (lambda t: sp.atan(sp.tan(t / 3)), [1.5 * np.pi, 4.5 * np.pi]),
    "sign of a tangent": (lambda t: sp.sign(sp.tan(t / 4)), [0, 2 * np.pi, 4 * np.pi, 6 * np.pi]),
    "angle of a vector": (lambda t: sp.sign(sp.atan2(sp.sin(t / 4), sp.cos(t / 4)) - 1), [0, 4, 4 * np.pi]),
    "essential": (lambda t: 1 / (1 + sp.exp(1 / (t - 6))), [6]),
}
X, Y = np.array([0.0, 4.0, 9.0, 14.0, 20.0]), np.array([0.0, 3.0, 1.0, 4.0, -2.0])


def forced(force):
    model = da.Model("forced")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: force(model.t)})
    return model.compile()


@pytest.mark.parametrize("name", WAVES)
def test_zeros_of_waves_are_found(name):
    force, argument = WAVES[name]
    found = instants(forced(force), np.zeros(0), (0.0, 20.0))
    times = np.linspace(0.0, 20.0, 200_001)
    signs = np.sign(argument(times))
    changes = times[1:][signs[1:] * signs[:-1] < 0]  # every change of sign lies within a grid step of an instant
    assert len(changes) >= 3
    assert all(np.abs(found - t).min() < 2e-4 for t in changes)


def test_a_wave_that_does_not_reach_its_level_has_no_instants():
    assert instants(forced(lambda t: sp.Heaviside(sp.sin(t) - 2)), np.zeros(0), (0.0, 20.0)).size == 0


@pytest.mark.parametrize("name", KNOWN)
def test_zeros_of_curves_are_found_to_round_off(name):
    force, times = KNOWN[name]
    found = instants(forced(force), np.zeros(0), (0.0, 20.0))
    assert found[np.abs(found - 7.5) > 1e-6] == pytest.approx(np.array(times, dtype=float), rel=1e-12)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_zeros_of_tables_are_found(kind):
    """Where sign(tau(t^2 / 20) - 2) jumps, by SciPy's interpolation."""
    model = da.Model("table")
    (x,) = model.coordinates("x")
    tau = model.table("tau", X, Y, kind=kind)
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: sp.sign(tau(model.t**2 / 20) - 2)})
    found = instants(model.compile(), np.zeros(0), (0.0, 20.0))
    through = make_interp_spline(X, Y, k=1 if kind == "linear" else 3)
    ends = np.sqrt(20 * X)
    wanted = [brentq(lambda t: through(t**2 / 20) - 2, *pair) for pair in np.column_stack([ends[:-1], ends[1:]])]
    assert found == pytest.approx(np.sort([*ends, *wanted]), rel=1e-12)


def test_zeros_of_a_table_of_a_table_are_found():
    """tau(2 + tau(t)) bends where tau(t) passes 2 less than a point; tau is tau(t) = t up to 3, then 6 - t."""
    model = da.Model("table")
    (x,) = model.coordinates("x")
    tau = model.table("tau", [0, 3, 6], [0, 3, 0])
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: tau(2 + tau(model.t))})
    assert instants(model.compile(), np.zeros(0), (0.0, 6.0)) == pytest.approx([0, 1, 3, 5, 6], rel=1e-12)


def test_zeros_move_with_parameters_and_late_spans():
    model = da.Model("late")
    (x,) = model.coordinates("x")
    (h,) = model.parameters(h=4.0)
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: sp.Heaviside(model.t**2 - h)})
    system = model.compile()
    assert instants(system, np.array([4.0]), (-10.0, 10.0)) == pytest.approx([-2.0, 2.0], rel=1e-14)
    assert instants(system, np.array([1e12 + 2e6 + 1]), (1e6, 1e6 + 3)) == pytest.approx([1e6 + 1], rel=1e-14)
    assert instants(system, np.array([4.0]), (3.0, 10.0)).size == 0


def test_a_function_that_passes_values_without_end_is_refused_by_name():
    system = forced(lambda t: sp.sign(sp.sin(1 / t)))
    with pytest.raises(da.OptionError, match=r"1/\(pi\*t\)` passes a value .* too often"):
        instants(system, np.zeros(0), (0.0, 1.0))


def test_more_instants_than_a_run_can_end_steps_on_are_refused():
    system = forced(lambda t: sp.sign(sp.sin(2 * sp.pi * 5_000_000 * t)))
    state = system.initial({"x": 0.0, "x_dot": 0.0})
    with pytest.raises(da.OptionError, match=r"bends or jumps about 2e\+07 times in this span.*shorter time"):
        system.simulate(state, 2.0)
    short = system.simulate(state, 1e-5)
    assert short.certificate.ok
    np.testing.assert_allclose(short["x"][-1], 1e-5 * 1e-7 / 2, rtol=1e-6)  # faster for 1e-7 s, slower for 1e-7 s, ...
