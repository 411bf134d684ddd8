"""Parameters in terms of others follow these wherever values change: starts, runs, sweeps, events, derivatives."""

import pickle

import numpy as np
import pytest

import dalembert as da


def rod():
    """A mass on a spring: k = 4 s, c = k / 10; both follow the stiffness s."""
    model = da.Model("follower")
    (x,) = model.coordinates("x")
    (s,) = model.parameters(s=1.0)
    (k,) = model.parameters(k=4 * s)
    (c,) = model.parameters(c=k / 10)
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -k * x - c * x.diff()})
    return model


@pytest.fixture(scope="module")
def system():
    return rod().compile()


def values(system, *changes):
    return dict(zip(system.parameters, system.parameter_values(*changes).tolist(), strict=True))


START = {"x": 1.0, "x'": 0.0}


def exact(t, s):
    """x of x'' + 0.4 s x' + 4 s x = 0 from rest at 1."""
    d, w = 0.2 * s, np.sqrt(4 * s - (0.2 * s) ** 2)
    return np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))


def test_values_are_completed_in_order_and_own_values_stay(system):
    assert values(system) == {"s": 1.0, "k": 4.0, "c": 0.4}
    assert values(system, {"s": 2.0}) == {"s": 2.0, "k": 8.0, "c": 0.8}
    assert values(system, {"s": 2.0, "k": 5.0}) == {"s": 2.0, "k": 5.0, "c": 0.5}
    assert values(system, {"s": 2.0}, {"s": 1.0, "k": 5.0, "c": 0.5}) == {"s": 2.0, "k": 5.0, "c": 0.5}
    assert values(pickle.loads(pickle.dumps(system)), {"s": 2.0})["c"] == 0.8


def test_starts_and_runs_follow(system):
    state = system.initial(START)
    assert system.initial(START, parameters={"s": 2.0})["c"] == 0.8
    assert state.with_(s=2.0)["k"] == 8.0
    assert state.with_(k=5.0).with_(s=2.0)["k"] == 5.0
    motion = system.simulate(state, 1.0, parameters={"s": 2.0})
    assert motion["x"][-1] == pytest.approx(exact(1.0, 2.0), rel=1e-6)


def test_events_and_clocks_follow(system):
    """s doubles at t = 0.5; from there on the motion is that of a run with s = 2."""
    state = system.initial(START)
    tick = da.Every(10.0, start=0.5, then={"s": 2.0})
    motion = system.simulate(state, 1.0, events=[tick])
    half = system.simulate(state, 0.5).at(0.5)
    again = system.simulate(system.initial({"x": half["x"], "x'": half.u[0]}, parameters={"s": 2.0}), 0.5)
    assert motion["x"][-1] == pytest.approx(again["x"][-1], abs=1e-7)


def test_sweeps_follow(system):
    runs = system.sweep({"s": [1.0, 2.0, 3.0]}, 1.0, given=START, outputs=[da.Final("x")])
    np.testing.assert_allclose(runs["x_final"], exact(1.0, np.array([1.0, 2.0, 3.0])), rtol=1e-5)


def test_derivatives_follow(system):
    """d x / d s of the exact solution; with k asked for as well, that of s alone is zero."""
    state, h = system.initial(START), 1e-5
    slope = (exact(1.0, 1 + h) - exact(1.0, 1 - h)) / (2 * h)
    motion = system.simulate(state, 1.0, sensitivities=["s"])
    assert motion.sensitivity("x", "s")[-1] == pytest.approx(slope, rel=1e-5)
    assert motion.sensitivity("k", "s")[-1] == 4.0
    assert system.gradient(da.Final("x"), state, 1.0, to=["s"]).gradient[0] == pytest.approx(slope, rel=1e-5)
    apart = system.simulate(state, 1.0, sensitivities=["s", "k"])
    assert apart.sensitivity("x", "s")[-1] == 0.0
    assert 4 * apart.sensitivity("x", "k")[-1] == pytest.approx(slope, rel=1e-5)
    stays = system.simulate(state.with_(k=4.1, c=0.3), 1.0, sensitivities=["s"])
    assert stays.sensitivity("x", "s")[-1] == 0.0


def test_a_fit_follows(system):
    t = np.linspace(0.0, 2.0, 21)
    data = {"t": t, "x": exact(t, 1.7)}
    found = system.fit(data, ["s"], state=system.initial(START))
    assert found.values["s"] == pytest.approx(1.7, rel=1e-6)
    assert found.runs < 12


def test_linearisation_about_a_changed_state_follows(system):
    state = system.equilibrium({}, parameters={"s": 2.0}, guess={"x": 0.0})
    np.testing.assert_allclose(system.linearize(state).A, [[0, 1], [-8, -0.8]], atol=1e-12)


def test_branches_follow():
    """A weight of 1 N on the spring: x = 1 / (4 s)."""
    model = rod()
    model.generalized_force({model.statement.coordinates[0]: 1})
    branch = model.compile().equilibrium(guess={"x": 0.2}).branch("s", (0.5, 2.0))
    np.testing.assert_allclose(branch["x"], 1 / (4 * branch.values), rtol=1e-9)
    np.testing.assert_allclose(branch["k"], 4 * branch.values, rtol=1e-12)


def test_files_keep_what_follows(tmp_path):
    text = rod().to_toml(tmp_path / "rod.toml", given=START, t_end=1.0).read_text(encoding="utf-8")
    assert 'k = "4*s"' in text
    system = da.from_toml(tmp_path / "rod.toml").model.compile()
    assert values(system, {"s": 2.0})["c"] == 0.8


def test_a_ring_or_an_unknown_name_is_a_fault():
    model = da.Model("ring")
    (x,) = model.coordinates("x")
    p, q = da.Model("other").parameters(p=1.0, q=2.0)
    model.particle("P", mass=1.0, position=[x, 0])
    model.parameters({p: q + 1})
    with pytest.raises(da.ModelError, match=r"`p` = q \+ 1 must be in terms of other parameters"):
        model.compile()
