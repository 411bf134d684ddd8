"""Consistent states: what is given stays, the rest is found, and what cannot be is said by name."""

import re

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da


@pytest.fixture(scope="module")
def four_bar():
    model = da.Model("four-bar")
    q1, q2, q3 = model.coordinates("q1 q2 q3")
    la, lb, lc, ln = model.parameters(la=0.8, lb=2.0, lc=1.0, ln=2.0)
    p2 = [la * cos(q1), la * sin(q1)]
    p3 = [p2[0] + lb * cos(q1 + q2), p2[1] + lb * sin(q1 + q2)]
    p4 = [p3[0] + lc * cos(q1 + q2 + q3), p3[1] + lc * sin(q1 + q2 + q3)]
    model.particle("P2", mass=1, position=p2)
    model.particle("P3", mass=1, position=p3)
    model.gravity([0, -9.81])
    model.constrain([p4[0] - ln, p4[1]], name="loop")
    return model.compile()


def test_positions_velocities_accelerations(four_bar):
    state = four_bar.initial({"q1": np.deg2rad(10), "q1_dot": 0.7}, guess={"q2": 0.2, "q3": -2.6})
    np.testing.assert_allclose(np.rad2deg(state.q), [10, 6.57526576, -151.3836336], atol=1e-7)
    assert state["q1_dot"] == 0.7
    assert np.abs(four_bar.position_residual(0.0, state.q)).max() < 1e-14
    assert np.abs(four_bar.velocity_residual(0.0, state.q, state.u)).max() < 1e-14
    M, f = four_bar.mass_matrix(0, state.q, state.u), four_bar.forces(0, state.q, state.u)
    np.testing.assert_allclose(M @ state.udot, f + state.reactions, atol=1e-10)
    assert re.search(r"q2 +0\.114760037 ", repr(state))


def test_the_guess_chooses_the_branch(four_bar):
    state = four_bar.initial({"q1": np.deg2rad(10)}, guess={"q2": -0.5, "q3": 2.0})
    assert np.rad2deg(state["q3"]) == pytest.approx(151.3836336, abs=1e-7)  # the mirror image of the first branch
    assert np.abs(four_bar.position_residual(0.0, state.q)).max() < 1e-13


def test_what_cannot_close_is_named_with_its_residual(four_bar):
    with pytest.raises(
        da.InitialStateError, match=r"position constraints cannot all be met with q1 held at 0.3.*`loop\["
    ) as caught:
        four_bar.initial({"q1": 0.3}, parameters={"ln": 10.0})
    assert max(caught.value.residuals.values()) > 1.0


def test_a_singular_guess_is_left_by_itself():
    model = da.Model("circle")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain(x**2 + y**2 - 1, name="rod")
    state = model.compile().initial()  # the guess is the centre, where the gradient vanishes
    assert state["x"] ** 2 + state["y"] ** 2 == pytest.approx(1.0, abs=1e-13)


def test_rates_of_coordinates_can_be_given():
    model = da.Model("rotor")
    x, y, a = model.coordinates("x y a")
    v, _, _ = model.speeds(
        "v w s",
        kinematics={x: dyn("v") * cos(a) - dyn("s") * sin(a), y: dyn("v") * sin(a) + dyn("s") * cos(a), a: dyn("w")},
    )
    model.body("B", mass=1, inertia=0.1, position=[x, y], rotation=a)
    model.constrain(dyn("s"), name="skate")
    system = model.compile()
    state = system.initial({"a": 0.3, x.diff(): 2.0, "w": 1.0})
    assert state["v"] * np.cos(0.3) == pytest.approx(2.0, abs=1e-13)
    assert state["x'"] == pytest.approx(2.0, abs=1e-13)
    assert state[v] > 0
    with pytest.raises(da.InitialStateError, match="velocity constraints"):
        system.initial({"a": 0.0, y.diff(): 2.0})


def dyn(name):
    from sympy.physics.mechanics import dynamicsymbols

    return dynamicsymbols(name)


def test_conflicting_accelerations_are_refused():
    model = da.Model("contradiction")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain(x.diff(model.t, 2) - 1, name="push")
    model.constrain(x.diff(model.t, 2) - 2, name="pull")
    with pytest.raises(da.InitialStateError, match="no acceleration satisfies") as caught:
        model.compile().initial()
    assert set(caught.value.residuals) <= {"push", "pull"}
    assert caught.value.residuals


def test_motion_without_inertia_is_refused():
    model = da.Model("massless")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({y: 1.0})
    with pytest.raises(da.InitialStateError, match="neither inertia nor a constraint"):
        model.compile().initial()


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        ({"q9": 1.0}, {}, da.UnknownNameError, "known: q1, q2"),
        ({"q1": float("nan")}, {}, da.ArrayError, "must be finite"),
        ({"q1": 1j}, {}, da.ArrayError, "real number"),
        ({"q1": "ten"}, {}, da.ArrayError, "real number"),
        ({"q1": 0.2}, {"guess": {"q2": float("inf")}}, da.ArrayError, "guess value of `q2`"),
        ({"q1": 0.2}, {"parameters": {"lz": 1.0}}, da.UnknownNameError, "parameters"),
        ({"q1": 0.2}, {"t0": float("nan")}, da.ArrayError, "t0 is nan"),
    ],
)
def test_bad_values(four_bar, given, options, error, words):
    with pytest.raises(error, match=words):
        four_bar.initial(given, **options)


def test_a_large_system_without_position_constraints_starts_where_it_is_told():
    model, n = da.Model("skates"), 200
    for k in range(n):
        model.contacts.skate(f"C{k}", model.marker(model.body(f"B{k}", mass=1.0, inertia=0.1), [0.1, 0.0]))
    system = model.compile()
    assert system.is_large
    assert not any(row.level == "position" for row in system.rows)
    state = system.initial({"B7_vx": 2.0}, guess={f"B{k}_x": float(k) for k in range(n)})
    assert state["B7_vx"] == 2.0
    np.testing.assert_array_equal(state.q[::3], np.arange(n))
