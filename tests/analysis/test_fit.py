"""Fits: parameters recovered from noise within their own error bars, and what the data cannot tell."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sympy as sp

import dalembert as da

mpl.use("Agg")
TRUE = {"m2": 0.8, "L1": 1.0, "L2": 0.7, "c": 0.05}
FIRST = {"m2": 0.9, "L1": 1.05, "L2": 0.65, "c": 0.02, "a": 0.95}
NOISE = 0.01


@pytest.fixture(scope="module")
def pendulum():
    """A damped double pendulum."""
    model = da.Model("double pendulum")
    a, b = model.coordinates("a b")
    m1, m2, L1, L2, g, c = model.parameters(m1=1.0, m2=0.8, L1=1.0, L2=0.7, g=9.81, c=0.05)
    x, y = L1 * sp.sin(a), -L1 * sp.cos(a)
    model.particle("P1", mass=m1, position=[x, y])
    model.particle("P2", mass=m2, position=[x + L2 * sp.sin(b), y - L2 * sp.cos(b)])
    model.gravity([0, -g])
    model.generalized_force({a: -c * a.diff(), b: -c * b.diff()})
    model.output("tip", x + L2 * sp.sin(b))
    return model.compile()


def measured(system, state, seed, times, *outputs):
    motion, rng = system.simulate(state, times[-1], t_eval=times), np.random.default_rng(seed)
    return {"t": times, **{key: motion[key] + NOISE * rng.standard_normal(len(times)) for key in outputs}}


def start(system):
    return system.initial({"a": 1.0, "b": 1.5, "a'": 0.0, "b'": 0.0})


def test_recovers_a_double_pendulum_within_three_sigma(pendulum):
    state = start(pendulum)
    data = measured(pendulum, state, 1, np.linspace(0.0, 8.0, 400), "a", "tip")
    found = pendulum.fit(data, FIRST, state=state, sigma=NOISE)
    assert found.success
    assert not found.unidentifiable
    for name, value in {**TRUE, "a": 1.0}.items():
        assert abs(found[name] - value) <= 3.0 * found.sigma[name]
        assert found.sigma[name] < 0.02 * max(value, 0.1)
    # 2 x 400 residuals of unit variance: their sum of squares is 800 - 5 +- 3 sqrt(2 x 800).
    assert abs(2.0 * found.cost - 795.0) < 120.0
    assert len(found.plot().axes) == 4
    assert "tip" in found.experiments[0].labels


def test_error_bars_are_those_of_repeated_experiments(pendulum):
    """Sigma estimated from the scatter agrees with that from the noise."""
    state = start(pendulum)
    data = measured(pendulum, state, 2, np.linspace(0.0, 5.0, 300), "a", "b")
    known = pendulum.fit(data, ["L1", "c"], state=state, sigma={"a": NOISE, "b": NOISE})
    guessed = pendulum.fit(data, ["L1", "c"], state=state)
    np.testing.assert_allclose(known.covariance, guessed.covariance, rtol=0.3)
    scatter = [
        pendulum.fit(measured(pendulum, state, seed, np.linspace(0.0, 5.0, 300), "a", "b"), ["L1"], state=state)["L1"]
        for seed in range(12)
    ]
    one = pendulum.fit(data, ["L1"], state=state, sigma=NOISE).sigma["L1"]
    assert 0.45 * one < np.std(scatter, ddof=1) < 1.75 * one  # chi-square of 11 at 1e-3


def test_missing_samples_frames_and_several_experiments(pendulum):
    state, other = start(pendulum), pendulum.initial({"a": -0.5, "b": 0.4, "a'": 0.0, "b'": 0.0})
    times = np.linspace(0.0, 4.0, 150)
    first = measured(pendulum, state, 3, times, "a", "b")
    first["a"][20:40] = np.nan
    table = pd.DataFrame(measured(pendulum, other, 4, times, "a")).set_index("t")
    found = pendulum.fit([first, table], {"c": 0.03, "L1": 1.02, "a": None}, state=[state, other], sigma=NOISE)
    assert found.names == ("c", "L1", "a[0]", "a[1]")
    for name, value in {"c": 0.05, "L1": 1.0, "a[0]": 1.0, "a[1]": -0.5}.items():
        assert abs(found[name] - value) <= 3.5 * found.sigma[name]
    assert np.isnan(found.residuals[0][20:40, 0]).all()


def test_robust_loss_forgives_an_outlier(pendulum):
    state = start(pendulum)
    data = measured(pendulum, state, 5, np.linspace(0.0, 4.0, 150), "a")
    data["a"][[30, 31, 32, 90]] += 3.0
    plain = pendulum.fit(data, ["L1"], state=state, sigma=NOISE)
    robust = pendulum.fit(data, ["L1"], state=state, sigma=NOISE, loss=da.Cauchy(2.0))
    assert abs(robust["L1"] - 1.0) < 4.0 * robust.sigma["L1"]
    assert abs(plain["L1"] - 1.0) > 4.0 * plain.sigma["L1"]


def oscillator():
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    m, k = model.parameters(m=1.0, k=4.0)
    model.energy(kinetic=m * x.diff() ** 2 / 2, potential=k * x**2 / 2)
    return model.compile()


def test_mass_and_stiffness_of_an_oscillator_cannot_be_told_apart():
    """x depends on k / m only: the direction is equal relative changes of both."""
    system = oscillator()
    state = system.initial({"x": 1.0, "x'": 0.0})
    data = measured(system, state, 6, np.linspace(0.0, 5.0, 100), "x")
    found = system.fit(data, ["m", "k"], state=state)
    (direction,) = found.unidentifiable
    assert direction == pytest.approx({"m": 1.0, "k": 1.0}, abs=1e-5)
    assert np.isinf([found.sigma["m"], found.sigma["k"]]).all()
    assert "cannot tell apart" in str(found)
    # A prior on the mass settles it; then k / m is what the data say.
    settled = system.fit(data, ["m", "k"], state=state, priors={"m": (2.0, 1e-3)}, sigma=NOISE)
    assert not settled.unidentifiable
    assert settled["m"] == pytest.approx(2.0, abs=5e-3)
    assert abs(settled["k"] / settled["m"] - 4.0) < 0.02


def test_bounds_hold():
    system = oscillator()
    state = system.initial({"x": 1.0, "x'": 0.0})
    data = measured(system, state, 7, np.linspace(0.0, 3.0, 60), "x")
    found = system.fit(data, {"k": 5.0}, state=state, bounds={"k": (4.5, 10.0)})
    assert found["k"] == pytest.approx(4.5, abs=1e-6)


def test_closed_chain_from_one_angle():
    """A four-bar from its crank alone: lengths of links move the consistent start too."""
    from dalembert import problems

    problem = problems.get("four_bar")
    system = problem.system()
    state = problem.state(system)
    data = measured(system, state, 8, np.linspace(0.0, 1.5, 200), "q1")
    found = system.fit(data, {"lb": 2.02, "lc": 0.97, "q1": 0.2}, state=state, sigma=NOISE)
    for name, value in {"lb": 2.0, "lc": 1.0, "q1": np.deg2rad(10.0)}.items():
        assert abs(found[name] - value) <= 3.5 * found.sigma[name]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"data": {"x": [1.0]}}, da.ArrayError, "no times"),
        ({"data": {"t": [0.0, 1.0]}}, da.ArrayError, "no outputs"),
        ({"data": {"t": [1.0, 0.5], "x": [0.0, 0.0]}}, da.ArrayError, "strictly increasing"),
        ({"data": {"t": [-1.0, 0.5], "x": [0.0, 0.0]}}, da.ArrayError, "not after the start"),
        ({"data": {"t": [0.0, 0.5], "x": [np.nan, np.nan]}}, da.ArrayError, "every sample is missing"),
        ({"data": {"t": [0.0, 0.5], "x": [0.0]}}, da.ArrayError, r"must be \(2,\)"),
        ({"data": {"t": [0.0, 0.5], "w": [0.0, 1.0]}}, da.UnknownNameError, "`w` is not known"),
        ({"vary": ["mass"]}, da.UnknownNameError, "`mass` is not known"),
        ({"vary": []}, da.OptionError, "vary must be"),
        ({"bounds": {"k": (5.0, 6.0)}}, da.OptionError, "outside its bounds"),
        ({"bounds": {"k": 3.0}}, da.OptionError, "give a pair of numbers"),
        ({"priors": {"k": (1.0, 0.0)}}, da.OptionError, "must be positive"),
        ({"priors": {"m": (1.0, 0.1)}}, da.UnknownNameError, "what is varied"),
        ({"sigma": {"y": 1.0}}, da.OptionError, "not for x"),
        ({"loss": "huber"}, da.PairingError, "da.Huber"),
        ({"t_eval": [1.0]}, da.OptionError, "does not take `t_eval`"),
    ],
)
def test_bad_input_is_named(change, error, message):
    system = oscillator()
    state = system.initial({"x": 1.0, "x'": 0.0})
    call = {"data": {"t": [0.0, 0.5], "x": [1.0, 0.5]}, "vary": ["k"], "state": state, **change}
    with pytest.raises(error, match=message):
        system.fit(call.pop("data"), call.pop("vary"), **call)


def test_a_fitted_motion_that_is_not_ok_is_no_success():
    model = da.Model("equal slider-crank")
    a, b, x = model.coordinates("a b x")
    (g,) = model.parameters(g=9.81)
    model.particle("pin", mass=1, position=[sp.cos(a), sp.sin(a)])
    model.particle("slider", mass=1, position=[x, 0])
    model.constrain(sp.cos(a) + sp.cos(b) - x)
    model.constrain(sp.sin(a) - sp.sin(b))
    model.gravity([0, -g])
    system = model.compile()
    state = system.initial({a: 0.8, a.diff(): 4.0}, guess={b: 0.8, x: 1.4})
    times = np.linspace(0.0, 0.6, 30)  # at t = 0.24 the bars lie on each other
    motion = system.simulate(state, 0.6, t_eval=times)
    found = system.fit({"t": times, "x": motion["x"]}, {"g": 9.8}, state=state)
    assert not found.motion.certificate.ok
    assert not found.success
    assert "the fitted motion is NOT OK" in found.message
