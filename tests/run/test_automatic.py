"""The default integrator: explicit where that pays, implicit where the motion is stiff, and it says which."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.run.integrators import automatic


def spring_pendulum(stiffness, damping, x0=1.0):
    model = da.Model("spring pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    bob = model.particle("bob", mass=1.0, position=[x, y])
    pin = model.marker(model.ground, [0, 0])
    model.gravity([0, -9.81])
    model.elements.spring("spring", pin, bob, stiffness=stiffness, length=1.0)
    model.elements.damper("damper", pin, bob, coefficient=damping)
    system = model.compile()
    return system, system.initial({"x": x0, "y": 0.0, "vx": 0.0, "vy": 0.0})


@pytest.fixture
def worth_trying(monkeypatch):
    """Any run is worth a trial of the implicit method."""
    monkeypatch.setattr(automatic, "WORTH", 0.0)


def test_a_stiff_motion_goes_on_implicitly(worth_trying):
    system, state = spring_pendulum(1e6, 1e4)
    times = np.linspace(0.0, 3.0, 7)
    chosen = system.simulate(state, 3.0, t_eval=times)
    explicit = system.simulate(state, 3.0, t_eval=times, integrator=da.DOP853())
    assert chosen.certificate.ok
    assert "then Radau" in chosen.certificate.method
    assert "stiff" in chosen.certificate.method
    assert chosen.stats["nfev"] < explicit.stats["nfev"] / 10
    np.testing.assert_array_equal(chosen.t, times)
    np.testing.assert_allclose(chosen.q, explicit.q, atol=1e-7)
    np.testing.assert_allclose(chosen.work, explicit.work, atol=1e-7)  # the damper's, on both sides of the change


def test_every_step_is_kept_across_the_change(worth_trying):
    system, state = spring_pendulum(1e6, 1e4)
    motion = system.simulate(state, 1.0)
    assert motion.t[0] == 0.0
    assert motion.t[-1] == 1.0
    assert (np.diff(motion.t) > 0).all()
    assert len(motion) == motion.stats["steps"] + 1


def test_a_motion_that_is_not_stiff_stays_explicit(worth_trying):
    problem = problems.get("four_bar")
    motion = problem.simulate()
    assert "njev" not in motion.stats
    assert "DOP853 throughout" in motion.certificate.method
    assert motion.stats["nfev"] == pytest.approx(problem.simulate(integrator=da.DOP853()).stats["nfev"], rel=0.03)


def test_the_same_run_twice_is_the_same(worth_trying):
    system, state = spring_pendulum(1e6, 1e4)
    first, second = (system.simulate(state, 1.0) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)


@pytest.fixture(scope="module")
def damped_rod():
    """A pendulum in a thick fluid: speeds decay at 2e4 1/s, then it creeps at 5e-4 1/s."""
    model = da.Model("damped rod")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    bob = model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    model.force([-2e4 * vx, -2e4 * vy], at=bob)
    return model.compile()


@pytest.mark.parametrize("end", [100.0, 640.0])
def test_a_fast_rate_that_is_not_excited_costs_about_what_radau_needs(damped_rod, end):
    state = damped_rod.initial({"x": 1.0, "vx": 0.0}, guess={"y": -0.5})
    chosen, implicit = (damped_rod.simulate(state, end, integrator=way) for way in (da.Automatic(), da.Radau()))
    assert chosen.certificate.ok, chosen.certificate
    assert chosen.stats["nfev"] < 500 * 12.5 + 10 * implicit.stats["nfev"]  # steps before the first look, then implicit
    assert len(chosen) < 500 + 10 * len(implicit)
    np.testing.assert_allclose(chosen.q[-1], implicit.q[-1], rtol=0, atol=1e-7)


def test_a_rod_that_slowly_creeps_under_a_stiff_damper_keeps_its_energy():
    system, state = spring_pendulum(1e4, 2e4)
    by_default, implicit = (system.simulate(state, 100.0, integrator=way) for way in (da.Automatic(), da.Radau()))
    for motion in (by_default, implicit):
        assert motion.certificate.ok, motion.certificate
    assert "then Radau" in by_default.method
    assert by_default.stats["nfev"] < 2 * implicit.stats["nfev"]  # at a hundredth of its rtol


def test_long_runs_that_are_not_stiff_are_left_alone():
    system, state = spring_pendulum(4e4, 0.0, x0=1.1)  # vibrates all the time
    motion = system.simulate(state, 400.0, t_eval=[400.0])
    assert motion.stats["steps"] * 12 > 5e5  # worth a trial, by its work
    assert f"DOP853 throughout, {motion.stats['steps']:,} steps; its steps follow the motion" in motion.method


def test_looks_measure_the_step_of_late():
    system, state = spring_pendulum(1e6, 1e4)
    review = automatic.Review(1e-10)
    seen = []

    class Watched(automatic.Review):
        def __call__(self, run):
            super().__call__(run)
            seen.append((self.step, run.clock.taken))
            return len(seen) < 3  # the run begins anew after each look

    def begin(_rtol):
        return Watched(1e-10)

    assert review.due == automatic.FIRST_LOOK
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automatic, "Review", begin)
        patch.setattr(da.Automatic, "_pays", lambda *_: False)
        system.simulate(state, 1.0)
    assert len(seen) > 2
    for mean, last in seen:
        assert mean == pytest.approx(last, rel=0.5)


def test_tolerances_are_checked():
    with pytest.raises(da.OptionError, match="rtol"):
        da.Automatic(rtol=-1.0)
