"""Estimated errors against true ones: exact solutions of the catalogue, every kind of integrator, events."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import problems
from dalembert.analysis import verify
from dalembert.problems import railway_wheelset
from dalembert.run.simulate import simulate

FACTOR = 10.0  # by which an estimate may differ from the true error
EXACT = ["pendulum", "sliding_particle", "knife_edge", "chaplygin_sleigh", "vertical_disk", "asymmetric_top",
         "kalaba_udwadia_particle"]  # fmt: skip
REFERENCE = ["andrews", "car_axis"]


def integrators(t_end):
    return [
        da.Automatic(rtol=1e-9, atol=1e-11),
        da.DOP853(rtol=1e-6, atol=1e-8),
        da.Tsit5(rtol=1e-7, atol=1e-9),
        da.RK4(step=t_end / 4000),
        da.Radau(),
        da.StateSpaceSVD(),
        da.GeneralizedAlpha(),
        da.IDA(),
    ]


@pytest.mark.parametrize("name", EXACT)
def test_estimated_errors_are_the_true_ones(name):
    problem = problems.get(name)
    system = problem.system()
    state = problem.state(system)
    t_end = min(problem.t_end, 20.0)
    for integrator in integrators(t_end):
        motion = system.simulate(state, t_end, integrator=integrator, t_eval=np.linspace(0, t_end, 60))
        verified = motion.verify()
        for key, values in problem.exact(motion.t).items():
            if key not in (*system.coordinates, *system.speeds):
                continue
            true = np.abs(motion[key] - values).max()
            floor = 1e-11 * (1.0 + np.abs(values).max())  # what the second run and the exact formulas reach
            assert true <= FACTOR * verified[key].error + floor, (integrator, key)
            assert verified[key].error <= FACTOR * true + floor, (integrator, key)


@pytest.mark.parametrize("name", REFERENCE)
def test_estimated_errors_at_published_values(name):
    problem = problems.get(name)
    system = problem.system()
    state = problem.state(system)
    times = sorted(problem.reference)
    for integrator in (da.DOP853(rtol=1e-6, atol=1e-8), da.Radau(rtol=1e-6, atol=1e-8)):
        motion = system.simulate(state, times[-1], integrator=integrator, t_eval=times)
        verified = motion.verify()
        for key in set(problem.reference[times[-1]]) & {*system.coordinates, *system.speeds}:
            true = max(abs(motion[key][k] - problem.reference[t][key]) for k, t in enumerate(times))
            assert true <= FACTOR * verified[key].error + 1e-8, (integrator, key)
            assert verified[key].error <= FACTOR * true + 1e-8, (integrator, key)


def test_the_certificate_tells_the_estimate_and_says_where_there_is_none():
    problem = problems.get("pendulum")
    motion = problem.simulate()
    assert np.isnan(motion.certificate.estimated_error)
    assert "not accuracy" in str(motion.certificate)
    verified = motion.verify()
    certificate = motion.certificate
    assert certificate.ok
    assert certificate.estimated_error == verified.worst.error == max(d.error for d in verified.coordinates)
    assert f"`{verified.worst.name}` {verified.worst.error:.1e}" in str(certificate)
    assert "not accuracy" not in str(certificate)
    assert pickle.loads(pickle.dumps(motion)).certificate.estimated_error == certificate.estimated_error
    assert problem.simulate(verify=True).certificate.estimated_error == certificate.estimated_error


def test_the_second_run_is_another_one():
    motion = problems.get("pendulum").simulate(verify=True)
    assert "NullSpace" in motion.certificate.verification.method
    assert "Tsit5" in motion.certificate.verification.method
    motion = problems.get("pendulum").simulate(integrator=da.Radau(), t_end=1.0, verify=True)
    assert "DOP853" in motion.certificate.verification.method


def test_a_wrong_motion_is_not_ok():
    problem = problems.get("pendulum")
    motion = replace(problem.simulate(integrator=da.RK4(step=0.2)), tolerances=da.Tolerances(energy=1.0))
    true = np.abs(motion["x"] - problem.exact(motion.t)["x"]).max()
    assert true > 1e-2
    assert motion.certificate.ok
    motion.verify()
    assert not motion.certificate.ok
    assert "second run" in motion.certificate.verdict


def test_stiff_motions_are_verified_by_an_implicit_method():
    model = da.Model("stiff")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -1e7 * v - 1e7 * x})
    system = model.compile()
    state = system.initial({x: 1.0, v: -1.0})
    motion = system.simulate(state, 20.0, integrator=da.Radau(rtol=1e-6, atol=1e-9), t_eval=np.linspace(0, 20, 50))
    verified = motion.verify()
    slow = (-1e7 + np.sqrt(1e14 - 4e7)) / 2  # the fast root is far away; x = exp(slow t) up to 1e-7
    true = np.abs(motion["x"] - np.exp(slow * motion.t)).max()
    assert "Radau" in verified.method
    assert verified["x"].error <= FACTOR * true + 1e-6
    assert true <= FACTOR * verified["x"].error + 1e-6


@cache
def ball():
    """A ball that falls through air, and events: it bounces, it lands, a controller pushes it."""
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    (F,) = model.parameters(F=0.0)
    model.particle("P", mass=1.0, position=[0, y])
    model.gravity([0, -9.81])
    model.generalized_force({y: F - 0.1 * v})
    system = model.compile()
    events = {
        "bounce": da.Event(y, direction=-1, then={v: -0.8 * v}, name="bounce"),
        "floor": da.Event(y, terminal=True, name="floor"),
        "top": da.Event(v, name="top"),
        "clock": da.Every(0.07, then=lambda before: {"F": -before["y"]}, name="clock"),
    }
    return system, system.initial({y: 1, v: 0}), events


ROUGHLY = da.Tsit5(rtol=1e-5, atol=1e-7)
WATCHED = [["bounce"], ["floor"], ["top"], ["clock"], ["bounce", "clock", "top"]]


@pytest.mark.parametrize("names", WATCHED, ids="+".join)
def test_motions_with_events_are_verified_with_them(names):
    system, state, events = ball()
    watched = [events[name] for name in names]
    motion = system.simulate(state, 2.0, events=watched, integrator=ROUGHLY)
    verified = motion.verify()
    exact = system.simulate(state, 2.0, events=watched, integrator=da.DOP853(rtol=1e-13, atol=1e-15))
    told = [line for line in verified.remarks if "times differ by up to" in line]
    assert len(told) == len({o.name for o in motion.events})
    assert [o.name for o in motion.events] == [o.name for o in exact.events]
    kept = ~np.isin(motion.t, [o.t for o in motion.events if o.name != "top"])
    true = np.abs(motion["y"][kept] - exact.sample("y", motion.t[kept])).max()
    assert true <= FACTOR * verified["y"].error + 1e-12
    assert verified["y"].error < 1e-2
    assert motion.certificate.ok
    assert motion.certificate.estimated_error == verified.worst.error


@pytest.mark.parametrize("names", WATCHED, ids="+".join)
def test_loaded_motions_are_run_again_from_their_samples(names, tmp_path):
    system, state, events = ball()
    watched = [events[name] for name in names]
    motion = system.simulate(state, 2.0, events=watched, integrator=ROUGHLY)
    loaded = type(motion).load(motion.save(tmp_path / "m.npz"), system)
    alone = loaded.verify()
    assert any("events were not looked for again" in line for line in alone.remarks)
    assert loaded.certificate.verification is alone
    again = loaded.verify(watched)
    assert not any("not looked for again" in line for line in again.remarks)
    of_run = motion.verify()
    assert again["y"].error == pytest.approx(of_run["y"].error, rel=0.1, abs=1e-12)
    assert alone["y"].error <= 2.0 * of_run["y"].error + 1e-12  # parts start where they started
    assert alone["y"].error >= 0.01 * of_run["y"].error


def test_loaded_motions_begin_at_their_first_sample(tmp_path):
    problem = problems.get("pendulum")
    system, rough = problem.system(), da.DOP853(rtol=1e-6, atol=1e-8)
    times = np.linspace(0.5, 3.0, 20)
    motion = system.simulate(problem.state(system), 3.0, t_eval=times, integrator=rough)
    loaded = da.Motion.load(motion.save(tmp_path / "m.npz"), system)
    verified = loaded.verify()
    tight = system.simulate(motion.at(0.5), 3.0, t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    true = np.abs(motion["x"] - tight["x"]).max()
    assert verified["x"].error == pytest.approx(true, rel=0.01, abs=1e-11)


def test_stored_motions_are_verified(tmp_path):
    system, state, events = ball()
    motion = system.simulate(state, 2.0, integrator=ROUGHLY, events=[events["top"]], store=tmp_path / "run")
    whole = system.simulate(state, 2.0, integrator=ROUGHLY)
    opened = da.Motion.load(tmp_path / "run", system)
    errors = [one.verify()["y"].error for one in (motion, opened, whole)]
    assert errors[0] == pytest.approx(errors[2], rel=1e-6)
    assert errors[1] == pytest.approx(errors[2], rel=1e-6)


def test_outputs_are_verified():
    system, state, _ = ball()
    kept = system.simulate(state, 2.0, integrator=ROUGHLY, outputs=["y", "v"], verify=True)
    whole = system.simulate(state, 2.0, integrator=ROUGHLY, verify=True)
    for name in ("y", "v"):
        estimated = kept.certificate.verification[name].error
        assert estimated == pytest.approx(whole.certificate.verification[name].error, rel=1e-6)
    assert kept.certificate.estimated_error > 0.0


def test_sweeps_are_verified():
    system, state, events = ball()
    options = {"state": state, "integrator": ROUGHLY, "events": [events["bounce"]]}
    runs = system.sweep({"F": [0.0, 1.0, 2.0]}, 2.0, outputs=["y"], verify=True, **options)
    assert runs.ok.values.all()
    for k in range(3):
        replayed = system.replay(runs.isel(F=k), integrator=ROUGHLY, events=options["events"])
        assert runs.estimated_error.values[k] == pytest.approx(replayed.verify().worst.error, rel=1e-9)
    assert "estimated_error" not in system.sweep({"F": [0.0]}, 2.0, outputs=["y"], **options)
    wrong = {**options, "integrator": da.RK4(step=0.2), "events": ()}
    swung = problems.get("pendulum").system()
    start = problems.get("pendulum").state(swung)
    rough = swung.sweep({"g": [9.81]}, 2.0, outputs=["x"], state=start, integrator=wrong["integrator"], verify=True)
    assert rough.estimated_error.values[0] > 1e-3
    assert not rough.ok.values.any()


def test_laws_are_verified():
    model = da.Model("block on a belt")
    x, y = model.coordinates("x y")
    vx, _ = model.speeds("vx vy")
    block = model.particle("block", mass=1.0, position=[x, y])
    model.gravity([2.0, -9.81])
    N = model.constrain(y, name="plane").multiplier
    (T,) = model.unknowns("T")
    model.force([T, 0], at=block)
    model.law(T + 0.3 * N * sp.tanh(vx), determines=T, name="creep")
    system = model.compile()
    motion = system.simulate(system.initial({x: 0, vx: 0}), 2.0, integrator=da.DOP853(rtol=1e-6, atol=1e-8))
    verified = motion.verify()
    exact = system.simulate(system.initial({x: 0, vx: 0}), 2.0, t_eval=motion.t, integrator=da.Radau(rtol=1e-12))
    true = np.abs(motion["x"] - exact["x"]).max()
    assert true <= FACTOR * verified["x"].error + 1e-10
    assert verified["x"].error <= FACTOR * true + 1e-10
    assert "NullSpace" in verified.method
    assert {d.name for d in verified.multipliers} == set(motion.constraint_names)


def test_the_wheelset_is_verified_within_ten_times_its_cost(monkeypatch):
    system = railway_wheelset.build().compile()
    state = system.initial(railway_wheelset.GIVEN, guess=railway_wheelset.GUESS)
    motion = system.simulate(state, 0.1)
    counted = []

    def counting(*arguments, **options):
        counted.append(simulate(*arguments, **options))
        return counted[-1]

    monkeypatch.setattr(verify, "simulate", counting)
    verified = motion.verify()
    assert motion.certificate.ok
    assert verified.worst.error < 1e-8
    assert {d.name for d in verified.multipliers} == set(motion.constraint_names)
    assert sum(other.stats["nfev"] for other in counted) <= 10 * motion.stats["nfev"]


def test_an_event_that_the_second_run_does_not_have_is_not_ok():
    model = da.Model("driven")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({x: -x})
    system = model.compile()
    state = system.initial({x: 1.0, v: 0.0})
    # RK4 loses h^6 / 144 of the amplitude per step: 0.3 % in one turn, so that it does not come back to 0.999.
    far = da.Event(x - sp.Rational(999, 1000), direction=1, name="far")
    motion = replace(
        system.simulate(state, 9.0, events=[far], integrator=da.RK4(step=0.6)), tolerances=da.Tolerances(energy=1.0)
    )
    assert not motion.events
    assert motion.certificate.ok
    verified = motion.verify()
    assert verified.differing == ("event `far` occurred 0 times, in the second run 1 times",)
    assert not motion.certificate.ok


def test_the_steps_of_the_second_run_can_be_shortened():
    system, state, _ = ball()
    motion = system.simulate(state, 2.0)
    for finer in (2.0, 50.0):
        longest = 2.0 / (finer * motion.stats["steps"])
        assert f"max_step={longest}" in motion.verify(second=da.SecondRun(finer=finer)).method
    with pytest.raises(da.OptionError, match="both must be positive"):
        da.SecondRun(finer=0.0)
    with pytest.raises(da.UnknownNameError, match="`z` is not known in what both runs were compared by"):
        motion.verify()["z"]


@pytest.mark.parametrize("start", [1e-6, 1e-12, 1e-16])
def test_a_motion_that_grows_out_of_almost_nothing(start):
    """A bead on a hill: the second run has to be as exact while x is small as the first one is."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(y + x**2 / 10, name="hill")
    system = model.compile()
    motion = system.simulate(system.initial({x: start}), 25.0, integrator=da.DOP853(rtol=1e-7))
    exact = solve_ivp(
        lambda _, z: [z[1], 0.2 * z[0] * (9.81 - 0.2 * z[1] ** 2) / (1 + 0.04 * z[0] ** 2)],
        (0, 25), [start, 0.0], method="DOP853", rtol=1e-13, atol=1e-13 * start,
    ).y[0, -1]  # fmt: skip
    true = abs(motion["x"][-1] - exact)
    assert true / FACTOR < motion.verify()["x"].error < FACTOR * true


def test_the_second_run_sees_what_is_far_below_the_size_of_a_function():
    """Two forces cancel but for a push of 1e-12 of their size within 2 ms, of which the motion consists."""
    model = da.Model("cancelling forces")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    wide, part, width = -(((model.t - 50) / 20) ** 2), 1e-12, 2e-3
    push = sp.exp(-(((model.t - sp.Float(73.3)) / sp.Float(width)) ** 2))
    model.generalized_force({x: sp.exp(wide + sp.Float(part) * push) - sp.exp(wide)})
    system = model.compile()
    motion = system.simulate(system.initial({x: 0.0, x.diff(): 0.0}), 100.0)
    way = part * np.exp(-((23.3 / 20) ** 2)) * width * np.sqrt(np.pi) * (100 - 73.3)
    assert abs(motion["x"][-1] - way) < 0.1 * way
    assert motion.verify()["x"].error < 0.5 * way  # a run that steps over the push is off by all of it
