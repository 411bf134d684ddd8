"""Explicit Runge-Kutta methods: orders measured with every drift control, dense output, steps, options."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.problems.n_four_bar import n_four_bar

ADAPTIVE = [da.KuttaMerson, da.Tsit5, da.DOP853]

# -- orders measured on mechanisms ------------------------------------------------------------------------------------

STEPS = {
    da.RK4: (4, 0.005),
    da.KuttaMerson: (4, 0.005),
    da.Tsit5: (5, 0.02),
    da.DOP853: (8, 0.08),
}
DRIFTS = ["NoCorrection", "Baumgarte", "Projection", "Blajer", "Yoon"]


@pytest.fixture(scope="module", params=[("pendulum", 2.0, 1.0), ("knife_edge", 4.0, 4.0), ("four_bar", 2.0, 1.0)])
def mechanism(request):
    name, t_end, scale = request.param
    problem = problems.get(name)
    system = problem.system()
    state, times = problem.state(system), np.linspace(0, t_end, 26)[1:]
    fine = system.simulate(state, t_end, t_eval=times, integrator=da.DOP853(rtol=1e-14, atol=1e-15))
    return system, state, fine, scale


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("integrator", STEPS)
def test_every_drift_control_keeps_the_order_with_gains_that_do_not_follow_the_step(mechanism, integrator, drift):
    system, state, fine, scale = mechanism
    order, step = STEPS[integrator]
    if drift == "Baumgarte":
        control = da.Baumgarte(20, 100) if system.count("position") else da.Baumgarte(gamma=5)
    else:
        control = getattr(da, drift)()
    errors = []
    for h in (step * scale, step * scale / 2):
        motion = system.simulate(state, fine.t[-1], t_eval=fine.t, integrator=integrator(step=h), drift=control)
        errors.append(np.abs(motion.q - fine.q).max())
    measured = np.log2(errors[0] / errors[1])
    assert measured > order - 0.35
    if order == 4:
        assert measured < order + 0.35


@pytest.mark.parametrize("integrator", [da.RK4, da.Tsit5])
def test_default_gains_of_fixed_steps_cost_the_order(pendulum, integrator):
    """Gains of (0.05 / h)^2 act on stages that lie O(h^2) off the constraint: motions converge with h^2 only."""
    system, state = pendulum
    exact = problems.get("pendulum").exact(np.array([2.0]))
    errors = []
    for step in (0.002, 0.001):
        motion = system.simulate(state, 2.0, t_eval=[2.0], integrator=integrator(step=step), drift=da.Baumgarte())
        errors.append(max(abs(motion[name][-1] - exact[name][0]) for name in ("x", "y")))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.35)


@pytest.fixture(scope="module")
def pendulum():
    problem = problems.get("pendulum")
    system = problem.system()
    return system, problem.state(system)


@pytest.mark.parametrize(
    ("integrator", "order", "step"),
    [(da.RK4, 3, 0.01), (da.KuttaMerson, 3, 0.01), (da.Tsit5, 4, 0.02), (da.DOP853, 7, 0.1)],
)
def test_dense_output_has_the_order_it_claims(pendulum, integrator, order, step):
    system, state = pendulum
    errors = []
    for h in (step, step / 2):
        times = h * (np.arange(int(1.0 / h)) + 0.4)
        fine = system.simulate(state, 1.0, t_eval=times, integrator=da.DOP853(rtol=1e-14, atol=1e-15))
        motion = system.simulate(state, 1.0, t_eval=times, integrator=integrator(step=h), drift=da.NoCorrection())
        errors.append(np.abs(motion.q - fine.q).max())
    assert np.log2(errors[0] / errors[1]) > order + 1 - 0.4  # the error of an interpolant of order p is O(h^(p+1))


# -- step control ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ADAPTIVE)
@pytest.mark.parametrize(
    "drift", [da.Projection(), da.Baumgarte(), da.Blajer(), da.Yoon()], ids=lambda d: type(d).__name__
)
def test_error_follows_the_tolerance(pendulum, integrator, drift):
    system, state = pendulum
    exact = problems.get("pendulum").exact(np.array([3.0]))
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9):
        motion = system.simulate(state, 3.0, t_eval=[3.0], drift=drift, integrator=integrator(rtol=rtol, atol=rtol))
        errors.append(max(abs(motion[name][-1] - values[0]) for name, values in exact.items() if name in ("x", "y")))
        assert errors[-1] < 100 * rtol
    assert errors[0] > 30 * errors[2]


def test_few_steps_are_rejected():
    problem = problems.get("four_bar")
    for integrator, share in ((da.DOP853(), 0.12), (da.Tsit5(), 0.06), (da.KuttaMerson(rtol=1e-8), 0.06)):
        stats = problem.simulate(t_end=10.0, integrator=integrator).stats
        assert stats["rejected"] < share * stats["steps"]


@pytest.mark.parametrize("drift", [da.Projection(), da.NoCorrection(), da.Blajer()])
def test_the_last_stage_of_tsit5_is_the_first_of_the_next_step(drift):
    stats = problems.get("four_bar").simulate(t_end=5.0, drift=drift, integrator=da.Tsit5(rtol=1e-8)).stats
    assert stats["nfev"] <= 6 * (stats["steps"] + stats["rejected"]) + 2


def test_fixed_and_adapted_steps_of_one_method_agree(pendulum):
    system, state = pendulum
    for integrator in ADAPTIVE:
        adapted = system.simulate(state, 1.0, t_eval=[1.0], integrator=integrator(rtol=1e-11))
        fixed = system.simulate(state, 1.0, t_eval=[1.0], integrator=integrator(step=1e-3))
        assert fixed.stats["steps"] == 1000
        assert fixed.stats["rejected"] == 0
        np.testing.assert_allclose(fixed.q, adapted.q, atol=1e-9)


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ADAPTIVE)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rtol": -1e-6}, "rtol=-1e-06"),
        ({"rtol": 1e-18}, "below round-off"),
        ({"atol": -1.0}, "atol > 0"),
        ({"atol": float("nan")}, "atol > 0"),
        ({"rtol": 1.5}, "rtol < 1"),
        ({"step": 0.0}, "step is 0.0"),
        ({"step": float("inf")}, "positive and finite"),
        ({"step": 1e-3, "rtol": 1e-6}, "give one of them"),
        ({"step": 1e-3, "max_step": 1.0}, "max_step=1.0 adapts"),
        ({"first_step": -1.0}, "first_step is -1.0"),
        ({"max_step": 0.0}, "max_step is 0.0"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"max_steps": 2.5}, "positive integer"),
    ],
)
def test_options_that_cannot_work_are_refused(integrator, options, words):
    with pytest.raises(da.OptionError, match=words) as caught:
        integrator(**options)
    assert integrator.__name__ in str(caught.value)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (1e-17, "cannot resolve in double precision; use at least 3.6e-15"),
        (1e-11, "more than max_steps = 1,000,000,000"),
    ],
)
def test_fixed_steps_too_small_for_the_interval_are_refused(pendulum, step, words):
    system, state = pendulum
    for integrator in (da.RK4(step), da.KuttaMerson(step=step), da.DOP853(step=step)):
        with pytest.raises(da.OptionError, match=words):
            system.simulate(state, 1.0, integrator=integrator)


def test_the_certificate_shows_the_options_in_use(pendulum):
    system, state = pendulum
    shown = system.simulate(state, 0.1, integrator=da.KuttaMerson(step=1e-3)).method
    assert "KuttaMerson(step=0.001)" in shown
    assert "Tsit5(rtol=1e-08)" in system.simulate(state, 0.1, integrator=da.Tsit5(rtol=1e-8)).method


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_a_sample_at_the_end_of_a_step_costs_no_dense_output(pendulum, integrator):
    system, state = pendulum
    method = integrator(rtol=1e-6, atol=1e-6)
    steps, end = (system.simulate(state, 1.0, t_eval=times, integrator=method) for times in (None, [1.0]))
    between = system.simulate(state, 1.0, t_eval=[0.5, 1.0], integrator=method)
    assert end.stats == steps.stats
    assert (end.q[-1] == steps.q[-1]).all()
    assert between.stats["nfev"] - steps.stats["nfev"] == integrator.scheme.tableau.dense.further


def test_the_first_step_follows_the_motion_not_the_number_of_parts():
    """All cranks turn alike; 160 loops reach further than 10, so relative errors of more entries count."""
    first = []
    for n in (10, 160):
        problem = n_four_bar(n)
        system = problem.system()
        motion = system.simulate(problem.state(system), 0.5, integrator=da.DOP853(rtol=1e-5, atol=1e-5))
        first.append(motion.t[1])
    assert first[1] == pytest.approx(first[0], rel=0.1)
