"""The catalogue: every problem runs with default settings, is certified, and matches its exact motion."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.view.overview import scene_of

EVERY = pytest.mark.parametrize("problem", problems.all(), ids=lambda p: p.name)
EXACT = pytest.mark.parametrize("problem", [p for p in problems.all() if p.exact], ids=lambda p: p.name)


def worst_violation(motion, level, among):
    """The worst residual of a level relative to the size of its row."""
    sizes = {f.name: f.size for f in motion.certificate.findings if f.level == level}
    residuals = motion.violation.get(level, {})
    return max((np.abs(v[among]).max(initial=0.0) / sizes[name] for name, v in residuals.items()), default=0.0)


@EVERY
def test_default_run_is_certified(problem):
    motion = problem.simulate()
    assert motion.certificate.ok, motion.certificate
    assert motion.t[-1] == problem.t_end
    singular = motion.evaluation.condition < 1e-6  # A02: some samples
    redundant = singular.all()
    assert worst_violation(motion, "position", slice(None)) < 1e-12  # ten times what Projection keeps
    assert worst_violation(motion, "velocity", slice(None) if redundant else ~singular) < 1e-11
    assert worst_violation(motion, "velocity", slice(None)) < 2e-8  # in 100 runs of A02: up to 6e-9


@EXACT
def test_default_run_matches_exact_motion(problem):
    times = np.linspace(0.0, problem.t_end, 51)[1:]
    motion = problem.simulate(t_eval=times)
    assert motion.certificate.ok, motion.certificate
    for name, values in problem.exact(times).items():
        np.testing.assert_allclose(motion[name], values, rtol=0, atol=problem.tolerance, err_msg=name)


@pytest.mark.parametrize("problem", [p for p in problems.all() if p.reference], ids=lambda p: p.name)
def test_default_run_matches_reference(problem):
    motion = problem.simulate(t_eval=list(problem.reference))
    for row, values in enumerate(problem.reference.values()):
        for name, value in values.items():
            assert motion[name][row] == pytest.approx(value, rel=problem.tolerance, abs=problem.tolerance), name


@EXACT
def test_exact_motion_begins_at_the_initial_state(problem):
    state = problem.state(problem.system())
    for name, (value,) in problem.exact(np.zeros(1)).items():
        assert state[name] == pytest.approx(value, abs=1e-12), name


@EVERY
def test_can_be_drawn(problem):
    scene = scene_of(problem.simulate(t_end=min(problem.t_end, 1.0)))
    assert scene.lines
    assert all(np.isfinite(line.points).all() for line in scene.lines)


@EVERY
def test_says_what_it_is(problem):
    assert problem.source
    assert problem.note.endswith(".")
    assert problem.name in repr(problem)
    assert problems.get(problem.name) is problem
    assert (problem.tolerance > 0) == (problem.exact is not None or bool(problem.reference))


def test_names_are_unique():
    names = [problem.name for problem in problems.all()]
    assert len(set(names)) == len(names)


def test_unknown_problem_suggests():
    with pytest.raises(da.UnknownNameError, match="did you mean `pendulum`"):
        problems.get("pendulm")


def test_changed_parameters_change_state_and_motion():
    problem = problems.get("pendulum")
    assert problem.state(problem.system(), {"L": 2.0})["x"] == pytest.approx(-2.0)
    slow = problem.simulate(parameters={"L": 4.0, "g": 9.81 * 4}, t_eval=[1.0])  # same frequency
    assert slow["x"][0] == pytest.approx(4.0 * problem.exact(np.ones(1))["x"][0], abs=1e-8)
