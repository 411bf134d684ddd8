"""Estimated errors against true ones: exact solutions of the catalogue, every kind of integrator, events."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert import problems

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


def test_motions_with_events_take_them_again():
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[0, y])
    model.gravity([0, -9.81])
    model.generalized_force({y: -0.1 * v})
    system = model.compile()
    events = [da.Event(y, direction=-1, then={v: -0.8 * v}, name="bounce")]
    motion = system.simulate(
        system.initial({y: 1, v: 0}), 2.0, events=events, integrator=da.Tsit5(rtol=1e-5, atol=1e-7)
    )
    assert len(motion.events) > 2
    with pytest.raises(da.DalembertError, match="pass them again"):
        motion.verify()
    verified = motion.verify(events)
    exact = system.simulate(system.initial({y: 1, v: 0}), 2.0, events=events, integrator=da.DOP853(rtol=1e-13))
    shift = max(abs(a.t - b.t) for a, b in zip(motion.events, exact.events, strict=True))
    assert any("times differ by up to" in line for line in verified.remarks)
    assert 0.0 < verified["y"].error < 1e-2
    assert verified["y"].error > 0.1 * shift
    assert motion.certificate.estimated_error == verified.worst.error


def test_what_cannot_be_verified_says_so(tmp_path):
    problem = problems.get("pendulum")
    system = problem.system()
    motion = system.simulate(problem.state(system), 1.0)
    read = da.Motion.load(motion.save(tmp_path / "m.npz"), system)
    with pytest.raises(da.DalembertError, match="loaded from a file"):
        read.verify()
