"""Convergence orders, dense output and step control, measured on mechanisms with exact answers."""

import numpy as np
import pytest

import dalembert as da


def pendulum():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    L, m, g = model.parameters(L=1.0, m=1.0, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    return model.compile()


@pytest.fixture(scope="module")
def system():
    return pendulum()


@pytest.fixture(scope="module")
def state(system):
    return system.initial({"x": 0.6}, guess={"y": -0.8})


@pytest.fixture(scope="module")
def fine(system, state):
    return system.simulate(state, 2.0, t_eval=np.linspace(0, 2, 41), integrator=da.DOP853(rtol=1e-14, atol=1e-15))


@pytest.mark.parametrize("drift", [da.Projection(), da.NoCorrection()])
def test_rk4_has_order_four(system, state, fine, drift):
    steps = [0.04, 0.02, 0.01, 0.005]
    errors = [
        np.abs(system.simulate(state, 2.0, t_eval=[2.0], integrator=da.RK4(h), drift=drift).q[-1] - fine.q[-1]).max()
        for h in steps
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(4.0, abs=0.25)


def test_rk4_interpolates_between_steps_to_its_own_order(system, state, fine):
    errors = [
        np.abs(system.simulate(state, 2.0, t_eval=fine.t, integrator=da.RK4(h)).q - fine.q).max() for h in (0.03, 0.015)
    ]
    assert np.log2(errors[0] / errors[1]) > 3.3


def test_dop853_error_follows_the_tolerance(system, state, fine):
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        motion = system.simulate(state, 2.0, t_eval=fine.t, integrator=da.DOP853(rtol=rtol, atol=rtol / 100))
        errors.append(np.abs(motion.q - fine.q).max())
        assert errors[-1] < 100 * rtol
    assert errors[0] > 1e3 * errors[2]


def test_samples_do_not_depend_on_where_they_are_asked_for(system, state, fine):
    tight = da.DOP853(rtol=1e-12, atol=1e-13)
    steps = system.simulate(state, 2.0, integrator=tight)
    dense = system.simulate(state, 2.0, t_eval=fine.t, integrator=tight)
    np.testing.assert_allclose(dense.q, fine.q, atol=1e-10)
    np.testing.assert_allclose(steps.q[-1], dense.q[-1], atol=1e-14)
    assert steps.t[0] == 0.0
    assert steps.t[-1] == 2.0
    assert (np.diff(steps.t) > 0).all()


def test_fixed_steps_hit_the_end_exactly(system, state):
    motion = system.simulate(state, 1.0, integrator=da.RK4(0.3))
    np.testing.assert_allclose(motion.t, [0.0, 0.3, 0.6, 0.9, 1.0], atol=1e-15)


@pytest.mark.parametrize("integrator", [da.DOP853, da.Radau, da.StateSpaceSVD, da.GeneralizedAlpha])
def test_first_step_and_longest_step_are_obeyed(system, state, integrator):
    motion = system.simulate(state, 1.0, integrator=integrator(first_step=1e-3, max_step=0.02))
    assert motion.t[1] == pytest.approx(1e-3)
    assert np.diff(motion.t).max() <= 0.02 + 1e-12


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.RK4(0.0), "step is 0.0"),
        (lambda: da.RK4(float("nan")), "positive"),
        (lambda: da.DOP853(rtol=-1e-6), "rtol=-1e-06"),
        (lambda: da.DOP853(rtol=1e-18), "below round-off"),
        (lambda: da.DOP853(atol=0.0), "atol > 0"),
        (lambda: da.DOP853(max_step=0.0), "max_step"),
        (lambda: da.DOP853(first_step=-1.0), "first_step"),
        (lambda: da.Projection(tolerance=0.0), "tolerance is 0.0"),
    ],
)
def test_options_that_cannot_work_are_refused(make, words):
    with pytest.raises(da.OptionError, match=words):
        make()


@pytest.mark.parametrize("order", [1, -1])
def test_what_a_system_was_run_with_before_does_not_matter(order):
    """Native code of one method must not be taken for that of another, both being kept with the system."""
    used = pendulum()
    ways = [{"drift": da.Yoon()}, {"integrator": da.StateSpaceSVD()}, {"integrator": da.GeneralizedAlpha()}]
    ways += [{"integrator": da.Radau()}, {"integrator": da.IDA(form=da.GearGuptaLeimkuhler())}]
    for way in ways[::order]:
        after, first = (
            system.simulate(system.initial({"x": 0.6}, guess={"y": -0.8}), 0.5, **way) for system in (used, pendulum())
        )
        assert after.success
        np.testing.assert_array_equal(after.q, first.q)
