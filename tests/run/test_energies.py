"""The energy is balanced over every step of a run, whatever samples are asked for."""

import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipk

import dalembert as da
from dalembert import problems
from dalembert.run.run_facts import Energies
from dalembert.run.time_loop.energy import DENSE

COARSE = [da.RK4(0.2), da.Tsit5(rtol=1e-2), da.Radau(rtol=1e-2), da.GeneralizedAlpha(), da.IDA(rtol=1e-2)]


@pytest.fixture(scope="module")
def pendulum():
    return problems.get("pendulum").system()


@pytest.fixture(scope="module")
def start(pendulum):
    return problems.get("pendulum").state(pendulum)


def energies(motion):
    return [(f.worst, f.t) for f in motion.certificate.findings if f.level == "energy"]


@pytest.mark.parametrize("integrator", COARSE, ids=lambda one: type(one).__name__)
def test_one_sample_at_the_end_is_judged_as_all_steps_are(pendulum, start, integrator):
    whole = pendulum.simulate(start, 2.0, integrator=integrator)
    ended = pendulum.simulate(start, 2.0, t_eval=[2.0], integrator=integrator)
    assert not whole.certificate.ok
    assert not ended.certificate.ok
    assert energies(ended)[0] == pytest.approx(energies(whole)[0], rel=1.0 / DENSE)


def test_a_motion_that_returns_to_rest_is_no_false_alarm(pendulum, start):
    """After a period of 4 sqrt(L/g) K(1/2) both energies are as at the start: no sample shows more."""
    period = 4.0 * np.sqrt(1.0 / 9.81) * ellipk(0.5)
    motion = pendulum.simulate(start, period, t_eval=[0.0, period])
    assert motion["y"] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert motion.certificate.ok
    assert motion.energies.kinetic[1] > 0.5 * 9.81  # of all that the fall sets free


def test_energies_are_those_of_the_samples_at_every_step(pendulum, start):
    motion = pendulum.simulate(start, 2.0)
    found, e = motion.energies, motion.evaluation
    assert found.start == pytest.approx(motion.energy[0], rel=1e-14)
    assert found.kinetic == pytest.approx((e.kinetic.min(), e.kinetic.max()), rel=1e-14)
    assert found.potential == pytest.approx((e.potential.min(), e.potential.max()), rel=1e-14)


def test_few_samples_of_a_coarse_motion_stay_not_ok(pendulum, start, tmp_path):
    coarse = pendulum.simulate(start, 2.0, integrator=COARSE[0])
    assert energies(coarse.resampled([2.0])) == energies(coarse)
    ended = pendulum.simulate(start, 2.0, t_eval=[2.0], integrator=COARSE[0])
    ended.save(tmp_path / "ended.npz")
    assert energies(da.Motion.load(tmp_path / "ended.npz", pendulum)) == energies(ended)


def test_runs_of_a_sweep_that_are_sampled_once_are_judged_at_every_step(pendulum, start):
    runs = pendulum.sweep({"m": [1.0, 2.0]}, 2.0, state=start, outputs=["x"], t_eval=[2.0], integrator=COARSE[0])
    assert not runs.ok.any()
    assert all("energy" in str(message) for message in runs.message.values)


def test_a_sequence_is_balanced_from_its_start_on():
    """A ball that loses a quarter of its speed in each bounce, by long steps; the only sample is the last."""
    model = da.Model("ball")
    (y,) = model.coordinates("y")
    model.particle("ball", mass=1.0, position=[0, y])
    model.gravity([0, -9.81])
    model.generalized_force({y: -(y.diff() ** 3) / 10})
    system = model.compile()
    bounce = da.Event(y, direction=-1, then={y.diff(): -0.75 * y.diff()})
    start = system.initial({y: 1.0, y.diff(): 0.0})
    fine = system.simulate(start, 1.5, t_eval=[1.5], events=[bounce])
    assert fine.certificate.ok
    coarse = system.simulate(start, 1.5, t_eval=[1.5], events=[bounce], integrator=da.RK4(0.25))
    whole = system.simulate(start, 1.5, events=[bounce], integrator=da.RK4(0.25))
    assert len(whole.segments) > 1
    assert not coarse.certificate.ok
    assert energies(coarse)[0] == pytest.approx(energies(whole)[0], rel=1e-9)


def test_work_goes_on_where_one_method_follows_another():
    """Ranges and imbalances of two marches, by hand: the second begins after 3 J of work with the balance 0.5 J off."""
    first = Energies(0.0, 1.0, 0.25, 2.0, (0.0, 4.0), (-1.0, 1.0), (0.0, 3.0))
    second = Energies(5.0, 4.5, 0.125, 7.0, (2.0, 5.0), (-2.0, 0.0), (-1.0, 2.0))
    both = first.joined(second, done=3.0, off=4.5 - 1.0 - 3.0)
    assert both == Energies(0.0, 1.0, 0.625, 7.0, (0.0, 5.0), (-2.0, 1.0), (0.0, 5.0))
    assert both.size == 5.0 + 3.0 + 5.0
    broken = first.joined(second._replace(off=np.nan))
    assert np.isnan(broken.off)
    assert np.isnan(broken.joined(first).off)


STIFFNESS = {
    "step": lambda t: 4 + 5 * sp.Heaviside(t**2 - 1),
    "in pieces": lambda t: sp.Piecewise((4, t < 1), (9, True)),
}


@pytest.mark.parametrize("name", STIFFNESS)
@pytest.mark.parametrize("integrator", [da.DOP853(), da.Radau(), da.RK4(0.005)], ids=lambda value: type(value).__name__)
def test_a_potential_that_jumps_in_time_is_no_false_alarm(name, integrator):
    """Two harmonic motions one after the other; who stiffens the spring in an instant does that work."""
    model = da.Model("spring")
    (x,) = model.coordinates("x")
    model.energy(kinetic=x.diff() ** 2 / 2, potential=STIFFNESS[name](model.t) * x**2 / 2)
    system = model.compile()
    motion = system.simulate(system.initial({x: 1.0, x.diff(): 0.0}), 2.0, integrator=integrator)
    there, speed = np.cos(2), -2 * np.sin(2)
    assert motion["x"][-1] == pytest.approx(there * np.cos(3) + speed / 3 * np.sin(3), abs=1e-7)
    assert motion.certificate.ok
    assert motion.work[-1] == pytest.approx(5 * there**2 / 2, abs=1e-7)


def test_a_kinetic_energy_that_jumps_in_time_is_not_ok():
    """Momentum would stay, so speeds would have to jump: the equations hold no such impulse."""
    model = da.Model("mass")
    (x,) = model.coordinates("x")
    model.energy(kinetic=sp.Piecewise((1, model.t < 1), (4, True)) * x.diff() ** 2 / 2, potential=2 * x**2)
    system = model.compile()
    assert not system.simulate(system.initial({x: 1.0, x.diff(): 0.0}), 2.0).certificate.ok
