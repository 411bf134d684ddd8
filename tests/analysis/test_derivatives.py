"""Gradients of accelerations and multipliers, in states and parameters, against differences."""

import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.derivatives import differentiate
from dalembert.initial.accelerations import complete_state


@pytest.fixture(scope="module")
def state():
    """A bead on a curve with a force that pulls it, its numbers being parameters."""
    model = da.Model("bead")
    x, y = model.coordinates("x y")
    m, g, k = model.parameters(m=1.3, g=9.81, k=2.0)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(y - sp.sin(x) - x**2 / 3, name="track")
    model.generalized_force({x: -k * x * sp.cos(y) - 0.3 * x.diff() ** 3})
    return model.compile().initial({"x": 0.4, "x'": 0.7})


def differences(state, change, step=1e-6):
    """(u', la) by central differences along a change of (q, u, p)."""
    s = state.system

    def at(side):
        q, u, p = np.split(np.concatenate([state.q, state.u, state.parameters]) + side * step * change, [2, 4])
        near = complete_state(s, state.t, q, u, p)
        return np.concatenate([near.udot, near.multipliers])

    return (at(1) - at(-1)) / (2 * step)


def test_response_to_every_state_and_parameter(state):
    """Off the constraints too: A u' = b determines u' wherever the state is."""
    found = differentiate(state).response(np.eye(7))
    assert found.loose.shape == (1, 0)
    for k, change in enumerate(np.eye(7)):
        got = np.concatenate([found.udot[:, k], found.la[:, k]])
        np.testing.assert_allclose(got, differences(state, change), atol=1e-7)


def test_blocks_by_name(state):
    s, d = state.system, differentiate(state)
    at = (state.t, state.q, state.u, state.parameters)
    np.testing.assert_allclose(d.of("balance", "udot"), s.mass_matrix(*at), atol=1e-14)
    np.testing.assert_allclose(d.of("acceleration", "udot"), s.constraint_jacobian(*at), atol=1e-14)
    np.testing.assert_allclose(d.of("balance", "la"), -s.constraint_jacobian(*at).T, atol=1e-14)
    np.testing.assert_allclose(d.of("position", "q"), s.constraint_jacobian(*at), atol=1e-14)
    np.testing.assert_allclose(d.values[: d.rows["rates"].start], 0.0, atol=1e-12)
    assert len(d.labels) == len(d.values)


def test_a_linearisation_is_data(state):
    lin = state.system.linearize(state, outputs=["track"])
    again = pickle.loads(pickle.dumps(lin))
    np.testing.assert_array_equal(again.A, lin.A)
    np.testing.assert_array_equal(again.C, lin.C)
    assert repr(again) == repr(lin)


def test_a_massless_coordinate_held_by_constraints_leaves_no_states():
    model = da.Model("massless")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1.0, position=[x, 0])
    model.generalized_force({y: -y})
    model.constrain(y - x, name="tie")
    model.constrain(y + x, name="other")
    system = model.compile()
    assert system.linearize(system.initial()).states == ()  # both are held
