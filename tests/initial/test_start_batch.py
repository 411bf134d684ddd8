"""`StartBatch`: many starts at once are those of `System.initial`, to the last bit; doubtful ones are left to it."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.initial.request import read_task
from dalembert.initial.start_batch import StartBatch, is_plain


def starts_of(system, given, parameters, **options):
    """What a batch finds for rows of parameter values (n, np), and its codes."""
    task = read_task(system, given, **options)
    assert is_plain(task)
    return StartBatch(task).find(np.tile(task.target, (len(parameters), 1)), parameters)


@pytest.mark.parametrize("name", ["four_bar", "pendulum", "appell_hamel", "knife_edge", "closed_chain_5"])
def test_starts_are_those_of_initial_to_the_last_bit(name):
    problem = problems.get(name)
    system = problem.system()
    values = np.array(system.parameter_defaults) * np.linspace(0.99, 1.01, 7)[:, None]
    found, codes = starts_of(system, problem.given, values, guess=problem.guess)
    assert not codes.any()
    for z, p in zip(found, values, strict=True):
        state = system.initial(
            problem.given, guess=problem.guess, parameters=dict(zip(system.parameters, p, strict=True))
        )
        assert z.tobytes() == state.z.tobytes()


def test_starts_that_cannot_be_reached_are_left():
    problem = problems.get("four_bar")
    system = problem.system()
    values = np.tile(system.parameter_defaults, (3, 1))
    values[1, system.parameters.index("la")] = 8.0
    _, codes = starts_of(system, problem.given, values, guess=problem.guess)
    assert list(codes) == [0, 1, 0]
    with pytest.raises(da.InitialStateError):
        system.initial(problem.given, guess=problem.guess, parameters={"la": 8.0})


def test_constraints_without_a_gradient_and_states_without_accelerations_are_left():
    model = da.Model("flat")
    x, y = model.coordinates("x y")
    m, k = model.parameters(m=1.0, k=0.0)
    model.energy(kinetic=m * (x.diff() ** 2 + y.diff() ** 2) / 2)
    model.generalized_force({x: 1.0 / (1.0 - k)})
    model.constrain(y, name="flat")
    system = model.compile()
    _, codes = starts_of(system, {"x": 1.0}, np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert list(codes) == [0, 1]
    with pytest.raises(da.InitialStateError, match="not finite"):
        system.initial({"x": 1.0}, parameters={"k": 1.0})
    with pytest.raises(da.InitialStateError, match="gradient vanishes"):
        squared(m=1.0).initial({"x": 1.0})
    _, codes = starts_of(squared(m=1.0), {"x": 1.0}, np.array([[1.0]]))
    assert list(codes) == [1]


def squared(m):
    """A particle on y^2 = 0."""
    model = da.Model("squared")
    x, y = model.coordinates("x y")
    (mass,) = model.parameters(m=m)
    model.energy(kinetic=mass * (x.diff() ** 2 + y.diff() ** 2) / 2)
    model.constrain(y**2, name="flat")
    return model.compile()


def test_what_is_more_than_values_of_coordinates_and_speeds_is_not_plain():
    problem = problems.get("four_bar")
    system = problem.system()
    assert is_plain(read_task(system, problem.given, guess=problem.guess))
    assert not is_plain(read_task(system, {"q1''": 1.0}, guess=problem.guess))
    assert not is_plain(read_task(system, problem.given, guess=problem.guess, bounds={"q2": (0.0, 1.0)}))
    assert not is_plain(read_task(system, problem.given, guess=problem.guess, weights={"q2": 10.0}))
