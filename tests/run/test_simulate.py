"""Simulation as a user meets it: samples, certificate, failures that keep what was computed, clear refusals."""

import functools
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.run.engine import Engine


def particle_on_circle():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    L, m, g = model.parameters(L=1.0, m=2.0, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    return model, (x, y, vx, vy, L, m, g)


@pytest.fixture(scope="module")
def pendulum():
    return particle_on_circle()[0].compile()


@pytest.fixture(scope="module")
def state(pendulum):
    return pendulum.initial({"x": 1.0}, guess={"y": 0.0})


def test_values_by_symbol_and_by_name_with_shapes(pendulum, state):
    _, (x, _, vx, _, _, _, g) = particle_on_circle()
    motion = pendulum.simulate(state, 3.0, t_eval=np.linspace(0, 3, 31), parameters={g: 1.62})
    assert motion.success
    assert motion.q.shape == motion.u.shape == motion.udot.shape == motion.reactions.shape == (31, 2)
    assert motion.multipliers.shape == (31, 1)
    assert motion.energy.shape == motion.t.shape == (31,)
    np.testing.assert_array_equal(motion["x"], motion[x])
    np.testing.assert_array_equal(motion[x.diff()], motion[vx])
    np.testing.assert_array_equal(motion["vx'"], motion.udot[:, 0])
    np.testing.assert_array_equal(motion["rod"], motion.multipliers[:, 0])
    # Rod force along the rod balances gravity and gives the centripetal acceleration: m (v^2 - g y) / L, inwards.
    speed2 = (motion.u**2).sum(axis=1)
    force = np.einsum("ti,ti->t", motion.reactions, -motion.q)
    np.testing.assert_allclose(force, 2.0 * (speed2 - 1.62 * motion["y"]), rtol=1e-9, atol=1e-9)
    with pytest.raises(da.UnknownNameError, match="did you mean `x`"):
        motion["x_"]


def test_at_agrees_with_samples_and_is_a_consistent_state(pendulum, state):
    motion = pendulum.simulate(state, 3.0, t_eval=[0.0, 1.0, 3.0])
    np.testing.assert_array_equal(motion.at(1.0).q, motion.q[1])
    middle = motion.at(2.2)
    again = pendulum.simulate(middle, 3.0)
    np.testing.assert_allclose(again.q[-1], motion.q[-1], atol=1e-9)
    with pytest.raises(da.ArrayError, match="within the motion"):
        motion.at(4.0)


def test_certificate_tells_levels_times_and_versions(pendulum, state):
    certificate = pendulum.simulate(state, 3.0).certificate
    assert certificate.ok
    assert {f.level for f in certificate.findings} == {"position", "velocity", "acceleration", "solve", "energy"}
    text = str(certificate)
    for word in ("rod", "Projection", "DOP853", "steps", "nfev", "conditioning", "llvmlite", "OK"):
        assert word in text


def test_save_and_load(tmp_path, pendulum, state):
    motion = pendulum.simulate(state, 1.0)
    loaded = da.Motion.load(motion.save(tmp_path / "motion.npz"), pendulum)
    np.testing.assert_array_equal(loaded.q, motion.q)
    np.testing.assert_array_equal(loaded.reactions, motion.reactions)
    assert loaded.certificate.ok
    other = da.Model("other")
    (a,) = other.coordinates("a")
    other.particle("P", mass=1, position=[a, 0])
    with pytest.raises(da.DalembertError, match="holds a motion of `pendulum`"):
        da.Motion.load(tmp_path / "motion.npz", other.compile())


def test_tables(pendulum, state):
    motion = pendulum.simulate(state, 1.0, t_eval=[0.0, 0.5, 1.0])
    frame = motion.to_pandas()
    assert list(frame.columns) == ["x", "y", "vx", "vy", "la(rod)", "energy"]
    np.testing.assert_array_equal(motion.to_xarray()["q"].sel(coordinate="x").values, motion["x"])


def test_nan_in_the_run_keeps_the_samples_and_says_why():
    model = da.Model("root")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: sp.sqrt(x) - 2})
    system = model.compile()
    state = system.initial({"x": 1.0})
    for integrator in (da.DOP853(), da.RK4(0.01)):
        motion = system.simulate(state, 10.0, integrator=integrator)
        assert not motion.success
        assert "not finite" in motion.message
        assert len(motion) > 3
        assert motion["x"][-1] > -1e-9
        assert np.isfinite(motion.q).all()
        assert "NOT OK" in motion.certificate.verdict


def test_collapse_of_the_step_keeps_the_samples():
    model = da.Model("fall to the centre")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: -1 / x**2})
    system = model.compile()
    motion = system.simulate(system.initial({"x": 1.0}), 5.0)
    assert not motion.success
    assert motion.t[-1] == pytest.approx(np.pi / np.sqrt(8), abs=1e-6)  # free fall to a point mass ends there
    assert "collapsed" in motion.message or "not finite" in motion.message


def test_too_many_steps(pendulum, state):
    motion = pendulum.simulate(state, 10.0, integrator=da.DOP853(max_steps=5))
    assert not motion.success
    assert len(motion) == 6
    assert "max_steps" in motion.message


def test_ctrl_c_raises_and_keeps_what_was_computed(monkeypatch, pendulum, state):
    calls = []

    def interrupt(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    from dalembert.run.time_loop import march

    original = march.March.slice
    monkeypatch.setattr(march.March, "slice", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        pendulum.simulate(state, 1e6, integrator=da.RK4(1e-3))
    motion = caught.value.motion
    assert isinstance(caught.value, da.SimulationInterrupt)
    assert not motion.success
    assert "interrupted" in motion.message
    assert len(motion) > 10
    assert motion.t[-1] < 1e6


def test_memory_is_bounded_by_the_outputs(pendulum, state):
    motion = pendulum.simulate(state, 100.0, t_eval=[0.0, 50.0, 100.0], integrator=da.RK4(1e-3))
    assert len(motion) == 3
    assert motion.stats["steps"] == 100_000


def test_threads_run_side_by_side_with_the_same_result(pendulum, state):
    results = {}

    def work(k):
        results[k] = pendulum.simulate(state, 5.0, integrator=da.RK4(1e-3), t_eval=[5.0]).q[-1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(1, 4):
        np.testing.assert_array_equal(results[k], results[0])


FROM_THE_START = """
from concurrent.futures import ThreadPoolExecutor
from dalembert import problems

problem = problems.get("four_bar")
system = problem.system()

def last(_):
    return tuple(system.simulate(problem.state(system), 1.0, t_eval=[1.0]).q[-1])

with ThreadPoolExecutor(8) as pool:
    print(len(set(pool.map(last, range(16)))))
"""


def test_threads_may_be_the_first_to_use_a_system():
    """Native code is made when first needed, by one of them for all; apart, because a failure ends the process."""
    run = subprocess.run([sys.executable, "-c", FROM_THE_START], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["1"], run.stderr


def test_a_pickled_system_simulates_alike(pendulum, state):
    copy = pickle.loads(pickle.dumps(pendulum))
    again = copy.simulate(copy.initial({"x": 1.0}, guess={"y": 0.0}), 2.0)
    np.testing.assert_allclose(again.q[-1], pendulum.simulate(state, 2.0).q[-1], atol=1e-13)


def test_interpreted_kernels_give_the_same_motion(monkeypatch, state):
    from dalembert.equations import kernels as module
    from dalembert.native.kernel import compile_kernel

    native = state.system.simulate(state, 2.0, t_eval=[2.0])
    interpreted = functools.partial(compile_kernel, native_limit=0, loops_from=10**6)
    monkeypatch.setattr(module, "compile_kernel", interpreted)
    model, _ = particle_on_circle()
    model.name = model.statement.name = "interpreted"
    slow = model.compile()
    motion = slow.simulate(slow.initial({"x": 1.0}), 2.0, t_eval=[2.0])
    np.testing.assert_allclose(motion.q, native.q, atol=1e-11)


def test_pivoted_solve_gives_the_same_motion_as_the_unrolled_one(pendulum, state):
    engine = Engine(pendulum, state.parameters, da.LagrangeMultipliers(), da.Projection())
    unrolled = engine.rates(0.0, state.z)
    from dalembert.run.formulations import lagrange_multipliers

    engine.plan.accelerate = lagrange_multipliers.accelerate_pivoted.address
    np.testing.assert_allclose(engine.rates(0.0, state.z), unrolled, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"t_end": -1.0}, da.OptionError, "not after t0"),
        ({"t_end": float("nan")}, da.OptionError, "not finite"),
        ({"t_end": (2.0, 1.0)}, da.OptionError, "not after"),
        ({"t_eval": [0.0, 2.0]}, da.ArrayError, "beyond the interval"),
        ({"t_eval": [0.5, 0.5]}, da.ArrayError, "strictly increasing"),
        ({"t_eval": []}, da.ArrayError, "non-empty"),
        ({"t_end": "10"}, da.OptionError, "t_end must be real, got '10'; write a number such as 10.0, or"),
        ({"t_end": None}, da.OptionError, "t_end must be real, got None"),
        ({"t_end": (0.0, "1")}, da.OptionError, "t_end must be real"),
        ({"t_end": [0.0, [1.0, 2.0]]}, da.OptionError, "t_end must be real"),
        ({"t_end": True}, da.OptionError, "t_end must be real, got True"),
        ({"t_eval": "abc"}, da.OptionError, r"t_eval must be real, got 'abc'; write t_eval=np.linspace\(0, 1, 101\)"),
        ({"t_eval": ["0.5"]}, da.OptionError, "t_eval must be real"),
        ({"t_eval": [None, 0.5]}, da.OptionError, "t_eval must be real"),
        ({"t_eval": [0.5j]}, da.OptionError, "t_eval must be real"),
        ({"t_eval": [0.0, [0.5]]}, da.OptionError, "t_eval must be real"),
        ({"t_eval": {0.5}}, da.OptionError, "t_eval must be real"),
        ({"parameters": "g"}, da.OptionError, "parameters='g' is no mapping; write"),
        ({"events": 5}, da.PairingError, "events=5: not an Event; write"),
        ({"store": 5}, da.OptionError, "store=5 is no path; write store='run'"),
        ({"parameters": {"gg": 1.0}}, da.UnknownNameError, "did you mean `g`"),
        ({"parameters": {"g": float("inf")}}, da.ArrayError, "must be finite"),
        ({"parameters": {"L": 1.1}}, da.InconsistentStateError, "call system.initial"),
        ({"integrator": da.DOP853}, da.PairingError, "make a value of it: integrator=da.DOP853"),
        ({"drift": "projection"}, da.PairingError, "is not a drift"),
        ({"formulation": 3}, da.PairingError, "is not a formulation"),
    ],
)
def test_wrong_calls_are_refused_in_words(pendulum, state, change, error, words):
    options = {"t_end": 1.0, **change}
    with pytest.raises(error, match=words):
        pendulum.simulate(state, options.pop("t_end"), **options)


@pytest.mark.parametrize("time", ["a", None, 1j, [None], ["0.5"], [[0.5], [0.2, 0.3]]])
def test_times_of_a_motion_must_be_numbers(pendulum, state, time):
    motion = pendulum.simulate(state, 1.0)
    clocked = pendulum.simulate(state, 1.0, events=[da.Every(0.4, then={"g": 9.0})])
    for one in (motion, clocked):
        for ask in (one.at, one.resampled, lambda t, m=one: m.sample("x", t)):
            if ask == one.at and isinstance(time, list):
                continue
            with pytest.raises(da.OptionError, match=r"must be real, got .*; write"):
                ask(time)


def test_times_may_be_any_real_numbers(pendulum, state):
    import sympy as sp

    half = pendulum.simulate(state, sp.Rational(1, 2), t_eval=[0, sp.Rational(1, 4), np.float32(0.5)])
    assert half.t.tolist() == [0.0, 0.25, 0.5]
    assert half.at(np.int64(0)).t == half.at(sp.Integer(0)).t == 0.0


def test_an_inconsistent_state_is_refused_with_the_numbers(pendulum, state):
    from dataclasses import replace

    with pytest.raises(da.InconsistentStateError, match=r"violates 2 of 2 .*worst: velocity of `rod`") as caught:
        pendulum.simulate(replace(state, q=state.q + 0.1, u=state.u + 1.0), 1.0)
    assert ("position", "rod") in caught.value.residuals
    with pytest.raises(da.PairingError, match="needs a State"):
        pendulum.simulate({"x": 1.0}, 1.0)
