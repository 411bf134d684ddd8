"""The default integrator: explicit where that pays, implicit where the motion is stiff, and it says which."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems


def spring_pendulum(stiffness, damping):
    model = da.Model("spring pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    bob = model.particle("bob", mass=1.0, position=[x, y])
    pin = model.marker(model.ground, [0, 0])
    model.gravity([0, -9.81])
    model.elements.spring("spring", pin, bob, stiffness=stiffness, length=1.0)
    model.elements.damper("damper", pin, bob, coefficient=damping)
    system = model.compile()
    return system, system.initial({"x": 1.0, "y": 0.0, "vx": 0.0, "vy": 0.0})


@pytest.fixture
def worth_trying(monkeypatch):
    """Any run is worth a trial of the implicit method."""
    da.Automatic()  # loads the module
    from dalembert.run.integrators import automatic

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


def test_tolerances_are_checked():
    with pytest.raises(da.OptionError, match="rtol"):
        da.Automatic(rtol=-1.0)
