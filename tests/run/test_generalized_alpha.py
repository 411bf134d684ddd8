"""Generalized-alpha: order 2, numerical damping as chosen, constraints at round-off, restarts and step control."""

import numpy as np
import pytest
import sympy as sp
from implicit_runs import TIGHT, errors_by_step, errors_by_tolerance, worst

import dalembert as da
from dalembert import problems
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.engine import Engine


@pytest.mark.parametrize("rho_inf", [0.0, 0.8, 1.0])
@pytest.mark.parametrize(
    ("name", "end"), [("pendulum", 2.0), ("knife_edge", 3.0), ("four_bar", 2.0), ("asymmetric_top", 2.0)]
)
def test_order_two_with_constraints_at_round_off(name, end, rho_inf):
    methods = [da.GeneralizedAlpha(step=h, rho_inf=rho_inf) for h in (0.01, 0.005, 0.0025)]
    errors = errors_by_step(name, end, methods)
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders[-1, 0] == pytest.approx(2.0, abs=0.1), errors
    assert orders[-1, 1] > 1.9 or errors[-1][1] < 1e-9, errors


def test_its_own_multipliers_converge_with_order_two():
    problem = problems.get("four_bar")
    system = problem.system()
    state = problem.state(system)
    true = system.simulate(state, 1.0, t_eval=[1.0], integrator=TIGHT).multipliers[-1]
    errors = []
    for h in (0.01, 0.005, 0.0025):
        engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.NoCorrection())
        da.GeneralizedAlpha(step=h).run(engine, state.z, (0.0, 1.0))
        at = engine.work.parts["step_work"].la_new
        errors.append(np.abs(engine.mem[at : at + system.nc] - true).max())
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(2.0, abs=0.15), errors


def oscillator(stiffness):
    model = da.Model("oscillator")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    (k,) = model.parameters(k=stiffness)
    model.energy(potential=k * x**2 / 2)
    system = model.compile()
    return system, system.initial({"x": 1.0, "x'": 0.0})


@pytest.mark.parametrize("rho_inf", [0.3, 0.8, 1.0])
def test_high_frequencies_are_damped_as_asked(rho_inf):
    system, state = oscillator(1e10)  # 1000 radians per step
    motion = system.simulate(state, 0.4, integrator=da.GeneralizedAlpha(step=0.01, rho_inf=rho_inf))
    # a threefold eigenvalue -rho: x = (c + d n + e n^2) (-rho)^n, so that without the power a parabola remains
    n = np.arange(4, 19)
    parabola = motion["x"][n] * (-rho_inf) ** -n.astype(float)
    assert np.abs(np.diff(parabola, 3)).max() < 1e-3 * np.abs(parabola).max()


def test_without_damping_the_energy_of_a_linear_oscillator_stays():
    system, state = oscillator(100.0)
    motion = system.simulate(state, 50.0, integrator=da.GeneralizedAlpha(step=0.05, rho_inf=1.0))
    assert np.abs(motion.energy / motion.energy[0] - 1).max() < 1e-9
    damped = system.simulate(state, 50.0, integrator=da.GeneralizedAlpha(step=0.05, rho_inf=0.5))
    assert damped.energy[-1] < 0.5 * damped.energy[0]


def test_error_follows_the_tolerance_and_samples_between_steps_keep_the_constraints():
    tolerances = np.array([1e-4, 1e-6, 1e-8])
    errors = errors_by_tolerance(da.GeneralizedAlpha, tolerances)
    assert (errors < 1000 * tolerances).all()
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_the_local_error_is_estimated_soundly():
    problem = problems.get("four_bar")
    system = problem.system()
    state = problem.state(system)
    times = system.simulate(state, 2.0, integrator=da.GeneralizedAlpha(rtol=1e-6, atol=1e-6)).t
    motion = system.simulate(state, 2.0, integrator=da.GeneralizedAlpha(rtol=1e-6, atol=1e-6))
    ratios = []
    for k in range(20, len(times) - 1, 40):  # one step each, against the true motion from its start
        z = np.concatenate([motion.q[k], motion.u[k]])
        engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.Projection())
        true = TIGHT.run(engine, z, (times[k], times[k + 1]), times[[k + 1]]).z[-1]
        step = np.concatenate([motion.q[k + 1], motion.u[k + 1]])
        scale = 1e-6 + 1e-6 * np.maximum(np.abs(z), np.abs(step))
        ratios.append(np.sqrt(np.mean(((step - true) / scale) ** 2)))
    assert 0.1 < np.median(ratios) < 2.0
    assert np.max(ratios) < 5.0


def test_a_restart_forgets_what_belongs_to_another_motion():
    problem = problems.get("pendulum")
    system = problem.system()
    state = problem.state(system)
    integrator = da.GeneralizedAlpha(step=0.01)
    whole = system.simulate(state, 1.0, integrator=integrator)
    engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.NoCorrection())
    first = integrator.run(engine, state.z, (0.0, 1.0)).z[-1]
    again = integrator.run(engine, state.z, (0.0, 1.0)).z[-1]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(whole.at(0.505).q, problem_at(system, state, 0.505), atol=2e-3)


def problem_at(system, state, t):
    return system.simulate(state, t, t_eval=[t], integrator=TIGHT).q[-1]


@pytest.mark.parametrize("integrator", [da.GeneralizedAlpha(step=1e-3), da.GeneralizedAlpha(rtol=1e-7, atol=1e-9)])
def test_through_singular_positions(integrator):
    problem = n_four_bar(2)
    motion = problem.simulate(t_end=2.0, integrator=integrator)
    assert motion.success, motion.message
    assert worst(motion) < 1e-10
    exact = problem.exact(motion.t)
    assert max(np.abs(motion[name] - exact[name]).max() for name in ("x0", "y0", "x2", "y2")) < 1e-3


def test_redundant_constraints_leave_the_motion_as_it_is():
    motions = []
    for copies in (1, 3):
        model = da.Model("pendulum")
        x, y = model.coordinates("x y")
        model.particle("P", mass=1, position=[x, y])
        model.gravity([0, -9.81])
        for k in range(copies):
            model.constrain((k + 1) * (x**2 + y**2 - 1), name=f"rod{k}")
        system = model.compile()
        state = system.initial({"x": 0.6, "x'": 0.0}, guess={"y": -0.8})
        motions.append(system.simulate(state, 2.0, integrator=da.GeneralizedAlpha(step=0.005)))
    np.testing.assert_allclose(motions[0].q, motions[1].q, atol=1e-8)


def test_car_axis_and_andrews_at_moderate_tolerances():
    for name, time, error in (("andrews", 0.03, 2e-3), ("car_axis", 3.0, 2e-3)):
        problem = problems.get(name)
        motion = problem.simulate(t_eval=[time], integrator=da.GeneralizedAlpha(rtol=1e-6, atol=1e-8))
        reference = problem.reference[time]
        for coordinate in motion.system.coordinates:
            assert motion[coordinate][-1] == pytest.approx(reference[coordinate], abs=error), coordinate


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5])
def test_the_error_of_the_slow_motion_is_seen_beside_a_stiff_spring(rtol):
    model = da.Model("spring pendulum")
    x, y = model.coordinates("x y")
    k, m, g = model.parameters(k=1e6, m=0.01, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.energy(potential=k * (sp.sqrt(x**2 + y**2) - 1) ** 2 / 2)
    system = model.compile()
    state = system.initial({"x": 0.8, "y": -0.6, "x'": 0.0, "y'": 0.0})
    true = system.simulate(state, 2.0, t_eval=[2.0], integrator=da.DOP853(rtol=1e-8, atol=1e-10))
    motion = system.simulate(state, 2.0, integrator=da.GeneralizedAlpha(rtol=rtol, atol=rtol / 100, rho_inf=0.3))
    assert np.abs(motion.q[-1] - true.q[-1]).max() < 100 * rtol
    assert motion.stats["nfev"] < 0.1 * true.stats["nfev"]


@pytest.mark.parametrize("integrator", [da.GeneralizedAlpha(step=1e-3), da.StateSpaceSVD(rtol=1e-7, atol=1e-9)])
def test_events_are_found_and_passed(integrator):
    problem = problems.get("pendulum")
    system = problem.system()
    state = problem.state(system)
    bottom = da.Event("x", name="bottom")
    motion, true = (
        system.simulate(state, 3.0, integrator=chosen, events=[bottom]) for chosen in (integrator, da.DOP853())
    )
    assert motion.success, motion.message
    found, expected = ([at.t for at in m.events] for m in (motion, true))
    assert len(found) == len(expected) > 1
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_order_is_kept_where_a_force_jumps():
    """x'' = sign(t - 1) cos(t) from rest: a step that goes on with the acceleration before the jump is of order 1."""
    model = da.Model("jump")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: sp.sign(model.t - 1) * sp.cos(model.t)})
    system = model.compile()
    state = system.initial({x: 0.0, x.diff(): 0.0})
    exact = -1 + 2 * np.cos(1) - np.cos(3) - 4 * np.sin(1)
    errors = np.array(
        [
            abs(system.simulate(state, 3.0, integrator=da.GeneralizedAlpha(step=3.0 / n))["x"][-1] - exact)
            for n in (50, 100, 200, 400)
        ]
    )
    assert np.log2(errors[:-1] / errors[1:]).min() > 1.9
