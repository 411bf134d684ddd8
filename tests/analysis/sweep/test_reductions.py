"""Reductions against closed forms: an oscillator x = x0 cos(w t), and the same motion sampled closely."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da

W = 2.3
T = 7.1
x, v = dynamicsymbols("x v")
# What the local error of rtol = 1e-10 adds up to, over some hundred steps; reductions promise 1e-7 of the range.
ERROR = 2e-7


@pytest.fixture(scope="module")
def oscillator():
    model = da.Model("oscillator")
    q, u = *model.coordinates("x"), *model.speeds("v")
    k, m = model.parameters(k=W**2, m=1.0)
    model.energy(kinetic=m * u**2 / 2, potential=k * q**2 / 2)
    return model.compile()


def reduce(system, *reductions, t_end=T, **options):
    start = system.initial({"x": 1.0, "v": 0.0})
    return system.sweep({"k": [W**2]}, t_end, state=start, outputs=list(reductions), **options).isel(k=0)


def test_extremes_between_steps_and_at_both_ends(oscillator):
    runs = reduce(
        oscillator, da.Maximum("v"), da.Minimum("v"), da.Minimum(x), da.Maximum("x"), da.Maximum(x * v),
        da.Maximum("t"), da.Minimum("t"), da.Maximum("energy"),
    )  # fmt: skip
    exact = {"v_max": W, "v_min": -W, "x_min": -1.0, "x_max": 1.0, "v*x_max": W / 2, "t_max": T, "t_min": 0.0}
    for name, value in exact.items():
        assert runs[name] == pytest.approx(value, abs=ERROR * W)
    assert runs["energy_max"] == pytest.approx(W**2 / 2, rel=ERROR)


@pytest.mark.parametrize("integrator", [da.DOP853(rtol=1e-6, atol=1e-8), da.Tsit5(rtol=1e-8, atol=1e-10), da.RK4(0.02)])
def test_long_steps_do_not_cost_accuracy(oscillator, integrator):
    runs = reduce(oscillator, da.Maximum("v"), da.Mean(x**2), da.CrossingTime("x"), integrator=integrator)
    square = 0.5 + np.sin(2 * W * T) / (4 * W * T)
    assert runs["v_max"] == pytest.approx(W, rel=1e-4)  # what these methods lose over three periods
    assert runs["x**2_mean"] == pytest.approx(square, rel=1e-4)
    assert runs["x_at_0"] == pytest.approx(np.pi / (2 * W), rel=1e-4)


def test_means(oscillator):
    runs = reduce(oscillator, da.Mean("x"), da.Mean(x**2), da.Mean("t"))
    assert runs["x_mean"] == pytest.approx(np.sin(W * T) / (W * T), abs=ERROR)
    assert runs["x**2_mean"] == pytest.approx(0.5 + np.sin(2 * W * T) / (4 * W * T), abs=ERROR)
    assert runs["t_mean"] == pytest.approx(T / 2, rel=1e-12)


def test_crossing_times(oscillator):
    near = 1.0 - 1e-5  # passed twice within 2 acos(1 - 1e-5) / W = 4e-3, far less than a step
    runs = reduce(
        oscillator, da.CrossingTime("x", level=0.5),
        da.CrossingTime("x", level=-near, name="near"), da.CrossingTime("x", level=-near, direction=1, name="back"),
        da.CrossingTime("x", level=1.1, name="never"),
    )  # fmt: skip
    assert runs["x_at_0.5"] == pytest.approx(np.arccos(0.5) / W, abs=ERROR)
    assert runs["near"] == pytest.approx((np.pi - np.arccos(near)) / W, abs=1e-6)
    assert runs["back"] == pytest.approx((np.pi + np.arccos(near)) / W, abs=1e-6)
    assert np.isnan(runs["never"])


def test_first_crossings_by_direction(oscillator):
    falling = reduce(oscillator, da.CrossingTime("x", direction=-1))["x_at_0"]
    rising = reduce(oscillator, da.CrossingTime("x", direction=1))["x_at_0"]
    assert falling == pytest.approx(np.pi / (2 * W), abs=ERROR)
    assert rising == pytest.approx(3 * np.pi / (2 * W), abs=ERROR)


def test_a_multiplier_has_extremes_too(track, start):
    motion = track.simulate(start, 2.0, t_eval=np.linspace(0.0, 2.0, 20_001))
    runs = track.sweep(
        {"m": [1.0]}, 2.0, state=start, outputs=[da.Maximum("track"), da.Mean("track"), da.Minimum("tip")]
    )
    la = motion["track"]
    assert runs["track_max"][0] == pytest.approx(la.max(), rel=1e-7)  # sampled at 1e-4: off by (w 1e-4)^2 / 8
    assert runs["track_mean"][0] == pytest.approx(np.trapezoid(la, motion.t) / 2.0, rel=1e-7)
    assert runs["tip[0]_min"][0] == pytest.approx(motion["tip"][:, 0].min(), abs=1e-7)
    assert runs["tip[1]_min"][0] == pytest.approx(motion["tip"][:, 1].min(), abs=1e-7)


def test_a_kink_does_not_overshoot(oscillator):
    """The speed jumps at an event: the largest value is that at the jump, and the mean that of two sines."""
    turn = da.Event(x, direction=-1, then={v: -v}, name="turn")
    start = oscillator.initial({"x": 1.0, "v": 0.0})
    outputs = [da.Maximum("v"), da.Mean("v"), da.CrossingTime("v", direction=1), da.Maximum(sp.Abs(x))]
    runs = oscillator.sweep({"m": [1.0]}, 1.0, state=start, outputs=outputs, events=[turn]).isel(m=0)
    there = np.pi / (2 * W)
    assert runs["v_max"] == pytest.approx(W, rel=ERROR)
    assert runs["v_at_0"] == pytest.approx(there, abs=ERROR)
    assert runs["v_mean"] == pytest.approx(-1.0 + np.sin(W * (1.0 - there)), abs=ERROR)


def test_wrong_options_are_refused():
    with pytest.raises(da.OptionError, match="direction=2"):
        da.CrossingTime("x", direction=2)
    with pytest.raises(da.OptionError, match="level=nan"):
        da.CrossingTime("x", level=np.nan)
