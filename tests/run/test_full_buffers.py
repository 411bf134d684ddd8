"""A step with more times asked for than the buffer of samples holds: emptied in between, it is the same motion."""

import numpy as np
import pytest

import dalembert as da
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.time_loop import march

INTEGRATORS = (
    None, da.DOP853(rtol=1e-6), da.RK4(step=0.02), da.Radau(), da.GeneralizedAlpha(step=0.02), da.IDA(rtol=1e-6),
)  # fmt: skip


@pytest.fixture(scope="module")
def loops():
    """Two four-bars that pass singular positions."""
    problem = n_four_bar(2)
    system = problem.build().compile()
    return system, problem.state(system)


def motions(monkeypatch, loops, t_end, **options):
    """The motion with all samples in one buffer, and with 17 of them at most."""
    system, state = loops
    found = []
    for room in (10**6, 17):
        monkeypatch.setattr(march, "SAMPLES_PER_BUFFER", room)
        found.append(system.simulate(state, t_end, t_eval=np.linspace(0.0, t_end, 3001), **options))
    return found


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_samples_and_cost_are_the_same(monkeypatch, loops, integrator):
    one, many = motions(monkeypatch, loops, 3.0, integrator=integrator)
    np.testing.assert_array_equal(one.t, many.t)
    np.testing.assert_array_equal(one.q, many.q)
    np.testing.assert_array_equal(one.u, many.u)
    np.testing.assert_array_equal(one.work, many.work)
    assert one.stats == many.stats
    assert one.stats["steps"] < 1000  # several times asked for in each
    assert one.passages == many.passages
    assert str(one.certificate) == str(many.certificate)


@pytest.mark.parametrize("terminal", [False, True])
def test_events_are_the_same(monkeypatch, loops, terminal):
    system, _ = loops
    event = da.Event(system.coordinates[0], name="through", terminal=terminal)
    one, many = motions(monkeypatch, loops, 3.0, events=[event])
    assert [o.t for o in one.events] == [o.t for o in many.events] != []
    assert one.message == many.message
    np.testing.assert_array_equal(one.t, many.t)
    np.testing.assert_array_equal(one.q, many.q)


def test_an_event_that_needs_one_more_place(monkeypatch):
    """A particle that moves evenly: its step is the whole run, and the buffer is full just before the event."""
    model = da.Model("even")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    system = model.compile()
    state = system.initial({x: 0.0, x.diff(): 1.0})
    for room in (16, 17, 18, 19, 1000):
        monkeypatch.setattr(march, "SAMPLES_PER_BUFFER", room)
        event = da.Event(x - 0.505, terminal=True)
        motion = system.simulate(state, 1.0, t_eval=np.linspace(0.0, 1.0, 101), events=[event])
        np.testing.assert_allclose(motion["x"], [*np.linspace(0.0, 0.5, 51), 0.505], rtol=0, atol=1e-12)


def test_a_choice_that_becomes_stale_waits_until_the_step_is_stored(monkeypatch):
    """A partition of a pendulum that swings over is made anew on the way."""
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    system = model.compile()
    state = system.initial({x: 1.0, y: 0.0, y.diff(): 8.0})
    one, many = motions(monkeypatch, (system, state), 3.0, formulation=da.MinimalKane())
    assert "from t =" in one.method
    assert one.method == many.method
    np.testing.assert_array_equal(one.q, many.q)
    np.testing.assert_array_equal(one.multipliers, many.multipliers)
