"""IDA on its three residual forms: accuracy, constraints, failure in words, and the chains that others abort on."""

import _thread
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import problems
from dalembert.problems.closed_chain import closed_chain
from dalembert.run.engine import Engine
from dalembert.run.integrators import sundials as sundials_module
from dalembert.run.integrators.sundials import IdaSession

FORMS = [da.HillerAnantharaman(), da.GearGuptaLeimkuhler(), da.PseudoSpeeds()]
EACH = pytest.mark.parametrize("form", FORMS, ids=lambda f: type(f).__name__)


def worst(motion, level="position"):
    return max(np.abs(values).max() for values in motion.violation[level].values())


@EACH
def test_andrews_to_seven_digits(form):
    problem = problems.get("andrews")
    motion = problem.simulate(t_eval=[0.03], integrator=da.IDA(rtol=1e-11, atol=1e-11, form=form))
    reference = problem.reference[0.03]
    assert max(abs(motion[name][0] - reference[name]) for name in motion.system.coordinates) < 1e-7


@EACH
def test_car_axis_to_seven_digits(form):
    problem = problems.get("car_axis")
    motion = problem.simulate(t_eval=[3.0], integrator=da.IDA(rtol=1e-10, atol=1e-11, form=form))
    reference = problem.reference[3.0]
    assert max(abs(motion[name][0] - reference[name]) for name in motion.system.coordinates) < 1e-7
    assert motion.multipliers[0] == pytest.approx([reference["normal"], reference["axle"]], abs=1e-7)


@EACH
@pytest.mark.parametrize("name", ["knife_edge", "appell_hamel", "asymmetric_top", "car", "duffing_tracking"])
def test_velocity_constraints_quaternions_and_servo(name, form):
    problem = problems.get(name)
    t_end = min(problem.t_end, 1.0)
    times = np.linspace(0.0, t_end, 5)
    motion = problem.simulate(t_end=t_end, t_eval=times, integrator=da.IDA(form=form))
    reference = problem.simulate(t_end=t_end, t_eval=times)
    assert motion.success
    np.testing.assert_allclose(motion.q, reference.q, atol=2e-6)
    np.testing.assert_allclose(motion.work, reference.work, atol=1e-5 * (1.0 + np.abs(reference.work).max()))


@EACH
def test_error_and_constraint_residual_follow_the_tolerance(form):
    problem = problems.get("four_bar")
    system = problem.system()
    state, times = problem.state(system), np.linspace(0.0, 5.0, 51)
    fine = system.simulate(state, 5.0, t_eval=times, integrator=da.DOP853(rtol=1e-13, atol=1e-14))
    runs = [
        system.simulate(
            state, 5.0, t_eval=times, integrator=da.IDA(rtol=tol, atol=tol, form=form), drift=da.NoCorrection()
        )
        for tol in (1e-6, 1e-10)
    ]
    errors = [np.abs(run.q - fine.q).max() for run in runs]
    assert errors[1] < 1e-4 ** (2 / 3) * errors[0]  # as tol^(k / (k + 1)) at orders k of at least 2
    assert errors[1] < 1e-6
    for run, tol in zip(runs, (1e-6, 1e-10), strict=True):
        assert worst(run) < 30 * tol
    assert worst(runs[0]) > 100 * worst(runs[1])


@EACH
def test_projection_moves_the_samples_only(form):
    problem = problems.get("four_bar")
    options = {"t_end": 1.0, "t_eval": np.linspace(0.0, 1.0, 11), "integrator": da.IDA(rtol=1e-6, atol=1e-6, form=form)}
    raw, moved = problem.simulate(drift=da.NoCorrection(), **options), problem.simulate(**options)
    assert worst(raw) > 1e-9
    assert worst(moved) < 1e-11
    assert raw.stats == moved.stats
    np.testing.assert_allclose(raw.q, moved.q, atol=1e-5)


def test_the_usual_set_up_with_a_fixed_partition_aborts_and_says_why():
    problem = closed_chain(5)
    motion = problem.simulate(integrator=da.IDA(form=da.PseudoSpeeds(u_ind=["w0", "w1", "w2"])))
    assert not motion.success
    assert motion.t[-1] < 5.0  # the chance that a step leaps over the place has its limits
    A = motion.system.constraint_jacobian(motion.t[-1], motion.q[-1], motion.u[-1])
    assert abs(np.linalg.det(A[:, 3:])) < 0.02  # w3 and w4 do not follow from the others there
    assert "given by `u_ind` are no longer independent" in motion.message
    assert "leave it out" in motion.message
    free = problem.simulate(t_end=5.0, integrator=da.IDA(form=da.PseudoSpeeds()))
    assert free.success
    assert "independent speeds" in free.method  # and from when on
    assert free.method.count("from t =") > 1


def test_eliminated_speeds_lose_no_more_energy_than_kept_ones():
    """The partition changes before the eliminated speeds outrun the others, which the error test does not see."""
    lost = {}
    for form in FORMS:
        motion = closed_chain(5).simulate(t_end=20.0, integrator=da.IDA(1e-6, 1e-6, form))
        lost[type(form).__name__] = np.abs(motion.energy_balance).max()
    eliminated = lost.pop("PseudoSpeeds")
    assert eliminated < 5.0 * max(lost.values())  # round-off alone makes a factor of a few


@EACH
def test_redundant_constraints_are_left_out(form):
    model = problems.get("four_bar").build()
    first, second = (c.expression for c in model.statement.constraints)
    model.constrain(first, name="again")
    model.constrain(2 * first - 3 * second, name="mixed")
    system = model.compile()
    motion = system.simulate(problems.get("four_bar").state(system), 2.0, t_eval=[2.0], integrator=da.IDA(form=form))
    reference = problems.get("four_bar").simulate(t_end=2.0, t_eval=[2.0])
    assert motion.success
    np.testing.assert_allclose(motion.q, reference.q, atol=5e-6)


def test_samples_do_not_depend_on_where_they_are_asked_for():
    problem = problems.get("pendulum")
    ida = da.IDA(rtol=1e-10, atol=1e-10)
    steps = problem.simulate(t_end=1.0, integrator=ida)
    assert steps.t[0] == 0.0
    assert steps.t[-1] == 1.0
    assert (np.diff(steps.t) > 0.0).all()
    assert len(steps) == steps.stats["steps"] + 1
    some = np.sort(np.append(np.linspace(0.0, 1.0, 7), steps.t[100]))  # one of them where a step ends
    dense = problem.simulate(t_end=1.0, t_eval=some, integrator=ida)
    assert dense.stats["steps"] == steps.stats["steps"]
    np.testing.assert_array_equal(dense.t, some)
    np.testing.assert_allclose(dense["x"], problem.exact(some)["x"], atol=1e-7)


def test_a_motion_is_continued_between_its_samples():
    motion = problems.get("four_bar").simulate(t_end=1.0, t_eval=np.linspace(0.0, 1.0, 5), integrator=da.IDA())
    exact = problems.get("four_bar").simulate(t_end=1.0, t_eval=[0.6])
    np.testing.assert_allclose(motion.at(0.6).q, exact.q[0], atol=1e-6)
    near = float(np.nextafter(motion.t[2], 1.0))
    np.testing.assert_allclose(motion.at(near).q, motion.q[2], atol=1e-12)


def test_steps_obey_their_limits():
    problem = problems.get("pendulum")
    motion = problem.simulate(t_end=0.5, integrator=da.IDA(first_step=1e-6, max_step=1e-3))
    assert motion.t[1] == pytest.approx(1e-6)
    assert np.diff(motion.t).max() <= 1e-3 * (1 + 1e-9)
    low = problem.simulate(t_end=0.5, integrator=da.IDA(max_order=1, rtol=1e-5, atol=1e-5))
    assert low.stats["steps"] > 3 * problem.simulate(t_end=0.5, integrator=da.IDA(1e-5, 1e-5)).stats["steps"]
    short = problem.simulate(t_end=0.5, integrator=da.IDA(max_steps=7))
    assert not short.success
    assert short.stats["steps"] == 7
    assert "raise `max_steps`" in short.message


def test_failures_are_told_in_words(capsys):
    # A singular position, where constraints are dependent: long steps may leap over it, steps this short do not.
    stopped = problems.get("n_four_bar").simulate(integrator=da.IDA(1e-11, 1e-11))
    assert not stopped.success
    assert abs(stopped["y0"][-1]) < 0.05  # the rods lie in line
    assert "singular" in stopped.message
    model = da.Model("well")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: -1 / (1 - x) ** 0.5})
    undefined = model.compile()
    motion = undefined.simulate(undefined.initial({"x": 0.9, "x_dot": 5.0}), 1.0, integrator=da.IDA())
    assert not motion.success
    assert np.isfinite(motion.q).all()
    assert motion["x"][-1] < 1.0
    assert capsys.readouterr().out == ""  # nothing printed by SUNDIALS


def test_control_c_keeps_what_is_there():
    problem = problems.get("pendulum")
    problem.simulate(t_end=0.01, integrator=da.IDA())  # loads SUNDIALS, which may take as long as the timer
    threading.Timer(0.7, _thread.interrupt_main).start()
    with pytest.raises(da.SimulationInterrupt) as caught:
        problem.simulate(t_end=1e5, integrator=da.IDA(1e-10, 1e-10))
    motion = caught.value.motion
    assert not motion.success
    assert "interrupted" in motion.message
    assert len(motion) > 10


def test_residual_forms_and_formulations_are_not_confused():
    problem = problems.get("pendulum")
    for form in FORMS:
        with pytest.raises(da.PairingError, match=r"residual form .* integrator=IDA\(form="):
            problem.simulate(formulation=form, integrator=da.DOP853())
    with pytest.raises(da.PairingError, match="does not use MinimalKane"):
        problem.simulate(formulation=da.MinimalKane(), integrator=da.IDA())
    for wrong in (da.PseudoSpeeds, da.MinimalKane(), "GGL"):
        with pytest.raises(da.PairingError, match="is not a residual form"):
            da.IDA(form=wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rtol": -1e-6}, "rtol=-1e-06"),
        ({"rtol": 1e-16}, "below round-off for this method; use at least 1e-14"),
        ({"atol": 0.0}, "atol > 0"),
        ({"first_step": 0.0}, "first_step is 0.0"),
        ({"max_step": -1.0}, "max_step is -1.0"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"max_order": 6}, "max_order is 6"),
    ],
)
def test_options_that_cannot_work_are_refused(options, words):
    with pytest.raises(da.OptionError, match=words):
        da.IDA(**options)


def test_a_state_that_is_nearly_consistent_is_moved_before_the_first_step():
    problem = problems.get("four_bar")
    system = problem.system()
    state = problem.state(system)
    engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.NoCorrection())
    z = state.z + 3e-7
    for form in FORMS:
        settled = form.settled(engine, 0.0, z)
        settled.start(engine, 0.0, z)
        samples = da.IDA(rtol=1e-10, atol=1e-10, form=form).run(engine, z, (0.0, 0.1))
        assert samples.status == 0, form
        assert np.abs(system.position_residual(0.1, samples.z[-1][:3])).max() < 1e-8


def stated(kind):
    """A particle with friction on a wavy track, or with a constraint on its accelerations."""
    model = da.Model(kind)
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    P = model.particle("P", mass=1.3, position=[x, y])
    model.gravity([0, -9.81])
    if kind == "friction":
        track = model.constrain(y - sp.sin(2 * x) / 2, name="track")
        model.nonideal(track, friction=0.1, at=P, regularisation=1e-2)
        return model, {"x": 0.0, "vx": 3.0}
    ax, ay = vx.diff(model.t), vy.diff(model.t)
    law = ay - 0.3 * ax + 0.1 * sp.sin(x) if kind == "linear" else ax**2 + (ay + x) ** 2 - 25
    model.constrain(law, name="law")
    return model, {"x": 0.2, "y": 0.0, "vx": 1.0, "vy": 0.0}


@EACH
@pytest.mark.parametrize("kind", ["friction", "linear", "curved"])
def test_friction_and_acceleration_constraints(kind, form):
    model, given = stated(kind)
    system = model.compile()
    state, times = system.initial(given), np.linspace(0.0, 1.0, 6)
    motion = system.simulate(state, 1.0, t_eval=times, integrator=da.IDA(1e-10, 1e-10, form))
    reference = system.simulate(state, 1.0, t_eval=times)
    assert reference.success
    assert motion.success
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-6)
    np.testing.assert_allclose(motion.work, reference.work, atol=1e-5)


# -- in the time loop of all methods -----------------------------------------------------------------------------------


def test_events_are_located_to_the_tolerance_and_end_runs():
    problem = problems.get("pendulum")
    system = problem.system()
    state, fine = problem.state(system), da.DOP853(rtol=1e-13, atol=1e-14)
    event = da.Event("x", name="lowest")
    expected = [o.t for o in system.simulate(state, 3.0, integrator=fine, events=event).events]
    for form in FORMS:
        motion = system.simulate(state, 3.0, integrator=da.IDA(1e-10, 1e-10, form), events=event)
        assert len(motion.events) == len(expected) > 2
        np.testing.assert_allclose([o.t for o in motion.events], expected, atol=1e-8)
    ended = system.simulate(state, 3.0, integrator=da.IDA(), events=da.Event("x", terminal=True))
    assert ended.t[-1] == pytest.approx(expected[0], abs=1e-6)
    assert abs(ended["x"][-1]) < 1e-9


def test_dense_output_is_that_of_the_solver():
    """Between the ends of its steps the state is as accurate as at them; on a straight line it would be off by 3e-5."""
    problem = problems.get("pendulum")
    ida = da.IDA(rtol=1e-9, atol=1e-9)
    steps = problem.simulate(t_end=1.0, integrator=ida)
    between = 0.5 * (steps.t[200:-1] + steps.t[201:])
    at_steps = np.abs(steps["x"][200:] - problem.exact(steps.t[200:])["x"]).max()
    dense = problem.simulate(t_end=1.0, t_eval=between, integrator=ida)
    assert np.abs(dense["x"] - problem.exact(between)["x"]).max() < 1.5 * at_steps


def test_a_change_of_state_begins_the_solver_anew():
    model = da.Model("bouncing")
    (y,) = model.coordinates("y")
    model.particle("P", mass=1, position=[0, y])
    model.gravity([0, -9.81])
    system = model.compile()
    impact = da.Event(y, direction=-1, then={y.diff(): -0.8 * y.diff()}, name="impact")
    motion = system.simulate(system.initial({y: 1.0, y.diff(): 0.0}), 2.0, integrator=da.IDA(), events=impact)
    fall = np.sqrt(2 / 9.81)
    expected = [fall, fall * (1 + 2 * 0.8), fall * (1 + 2 * 0.8 + 2 * 0.64)]
    np.testing.assert_allclose([o.t for o in motion.events][:3], expected, rtol=1e-6)
    assert motion.certificate.ok


@EACH
def test_singular_positions_are_passed(form):
    problem, times = problems.get("n_four_bar"), np.linspace(0.0, 10.0, 41)
    motion = problem.simulate(t_eval=times, integrator=da.IDA(form=form))
    assert motion.certificate.ok
    assert [passage.passed for passage in motion.passages] == [True] * 10
    # The error of each step is below rtol, and errors of speeds add up to those of positions.
    bound = motion.stats["steps"] * 1e-10 * np.abs(motion.u).max() * times[-1]
    assert bound < 1e-4  # other branches are 1 m away
    for name, values in problem.exact(times).items():
        if name[0] in "xy":
            np.testing.assert_allclose(motion[name], values, atol=bound, err_msg=name)


def test_runs_in_threads_are_those_in_one():
    system = problems.get("four_bar").system()
    state = problems.get("four_bar").state(system)

    def end(_):
        return system.simulate(state, 2.0, t_eval=[2.0], integrator=da.IDA(form=da.PseudoSpeeds())).q

    with ThreadPoolExecutor(4) as threads:
        for q in threads.map(end, range(16)):
            np.testing.assert_array_equal(q, end(0))


def test_memory_of_the_solver_is_freed():
    problems.get("four_bar").simulate(t_end=0.1, integrator=da.IDA())
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, IdaSession)]


def test_a_library_without_sundials_is_told(monkeypatch):
    monkeypatch.setattr(sundials_module, "_libraries", lambda: ())
    with pytest.raises(da.PairingError, match=r"IDA needs SUNDIALS, .* scikit-sundae, or use Radau\(\)"):
        sundials_module.Sundials()


def test_sundials_is_found_beside_the_package_too(monkeypatch):
    """Where symbols of linked libraries are not found through the module, as on Windows."""
    module, *beside = sundials_module._libraries()
    assert hasattr(module, "IDASolve")
    if not beside:
        pytest.skip("this scikit-sundae has no libraries beside it")
    monkeypatch.setattr(sundials_module, "_libraries", lambda: beside)
    assert sundials_module.Sundials().address("IDASolve")


@EACH
@pytest.mark.parametrize("length", [1e-6, 1e-3, 1e3, 1e6])
def test_the_unit_of_length_does_not_matter(form, length):
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81 * length])
    model.constrain(x**2 + y**2 - length**2, name="rod")
    system = model.compile()
    state = system.initial({x: 0.6 * length}, guess={y: -length})
    motion, fine = (
        system.simulate(state, 5.0, t_eval=[5.0], integrator=i)
        for i in (da.IDA(1e-8, form=form), da.DOP853(rtol=1e-13))
    )
    bound = motion.stats["steps"] * 1e-8  # the error of each step is below rtol
    np.testing.assert_allclose(motion.q / length, fine.q / length, atol=bound)
