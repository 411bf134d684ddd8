"""Rows of joints derived by kind against those derived row by row from the coordinates."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations import derived as derivation
from dalembert.model.time_symbols import function_of_time

KINDS = ("revolute", "prismatic", "cylindrical", "spherical", "universal", "planar", "fixed", "point_on_line")
N = 6


def chain(kind="spherical", slow=None):
    """Bodies joined to the one before, the last one to the ground too; a parameter among places that differ.

    With a number `slow`, the last body but one moves by speeds that are not its velocities: x' = slow u.
    """
    model = da.Model("chain")
    (l,) = model.parameters(l=0.1)
    last, end = model.ground, [0.0, 0.0, 0.0]
    for k in range(N):
        motion = {}
        if slow and k == N - 2:
            x, y, z = model.coordinates("x y z")
            u = [function_of_time(name) for name in ("ux", "uy", "uz")]
            model.speeds(u, kinematics=dict(zip((x, y, z), (slow * v for v in u), strict=True)))
            motion = {"position": [x, y, z], "rotation": model.quaternion("e", speeds="w1 w2 w3")}
        body = model.body(f"B{k}", mass=1.0, inertia=[0.01, 0.02, 0.02], **motion)
        axis = {"axis": [0.1 * k, 1.0, 0.2]}
        start = [-l, 0.02 * k, 0.0]
        getattr(model.joints, kind)(f"J{k}", model.marker(last, end, **axis), model.marker(body, start, **axis))
        last, end = body, [0.1, 0.0, 0.03 * k]
    getattr(model.joints, kind)("closed", model.marker(model.ground, [0.3, 0.1, 0.2]), model.marker(last, end))
    return model


def by_hand(monkeypatch):
    """Have everything derived row by row."""
    monkeypatch.setattr(derivation, "rows_by_kind", lambda *_: None)


def derived(model):
    """phi, psi, A (all of it) and b of a model at one random state, quaternions not of unit length."""
    m = model.compile().mechanics
    x = np.random.default_rng(3).uniform(0.2, 1.0, m.x.shape[0])
    function = ca.Function("rows", [m.x], [m.phi, m.psi, ca.densify(m.A), m.b])
    return [value.full() for value in function(x)]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_kind_are_those_of_the_coordinates(monkeypatch, kind):
    found = derived(chain(kind))
    by_hand(monkeypatch)
    for own, expected in zip(found, derived(chain(kind)), strict=True):
        # terms of order 1 to 10, some hundred roundings each
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


def on_a_rod():
    """A body that hangs on one rod: a single row in all."""
    model = da.Model("body on a rod")
    body = model.body("B", mass=1.0, inertia=[0.01, 0.02, 0.02])
    model.joints.rod("R", model.marker(model.ground, [0, 0, 0]), model.marker(body, [0.1, 0, 0]), length=0.5)
    return model


def test_a_single_row_of_a_kind(monkeypatch):
    found = derived(on_a_rod())
    by_hand(monkeypatch)
    for own, expected in zip(found, derived(on_a_rod()), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


def test_a_body_whose_speeds_are_not_its_velocities_is_left_to_the_coordinates(monkeypatch):
    found = derived(chain(slow=2))
    by_hand(monkeypatch)
    for own, expected in zip(found, derived(chain(slow=2)), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("slow", "left"), [(None, 0), (2, 2), (1, 0)])
def test_which_rows_are_derived_by_kind(left_over, slow, left):
    chain(slow=slow).compile()
    # Two joints hold on to a body with speeds of its own.
    assert [len(names) for names in left_over] == [3 * left]


def falling(n, *, planar):
    """A chain of n bodies on hinges, stretched out at rest, after 0.3 s of falling in a vertical plane."""
    model = da.Model("chain")
    rest, axis = ([0.0], {}) if planar else ([0.0, 0.0], {"axis": [0.0, 1.0, 0.0]})
    model.gravity([*rest, -9.81])
    before = model.marker(model.ground, [0.0, *rest], **axis)
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0 + 0.1 * k, inertia=0.002 if planar else [0.001, 0.002, 0.002])
        model.joints.revolute(f"J{k}", before, model.marker(body, [-0.05, *rest], **axis))
        before = model.marker(body, [0.05, *rest], **axis)
    system = model.compile()
    state = system.initial(guess={f"B{k}_x": 0.1 * k + 0.05 for k in range(n)})
    motion = system.simulate(state, 0.3, t_eval=[0.3], integrator=da.DOP853(rtol=1e-10, atol=1e-10))
    height = "y" if planar else "z"
    return np.array([[motion[f"B{k}_x"][-1], motion[f"B{k}_{height}"][-1]] for k in range(n)])


def test_hinges_in_space_that_stand_on_one_plane_move_as_those_in_the_plane():
    flat, spatial = (falling(N, planar=planar) for planar in (True, False))
    assert flat[-1, 1] < -0.1
    # Both runs keep 1e-10 of the error of a step; a chain of twenty links magnifies it some hundred times in 0.3 s.
    np.testing.assert_allclose(spatial, flat, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_a_kind_are_the_derivatives_by_the_coordinates(kind):
    """At quaternions of any length, with bodies whose own speeds are not their velocities among them."""
    for slow in (None, 0.5):
        m = chain(kind, slow).compile().mechanics
        x = np.random.default_rng(5).uniform(0.2, 1.0, m.x.shape[0])
        found, expected = ca.Function("G", [m.x], [ca.densify(m.G), ca.densify(ca.jacobian(m.phi, m.q))])(x)
        np.testing.assert_allclose(found.full(), expected.full(), rtol=1e-12, atol=1e-12)


def rolling():
    """Discs and balls on the ground and on a ball, hinges geared along a chain and about the ground, and screws."""
    model = da.Model("rolling")
    (r,) = model.parameters(r=0.3)
    plane, last, before = model.ground, model.marker(model.ground, [0.0, 0.1, 0.2], axis=[0.2, 1.0, 0.3]), None
    for k in range(3):
        disc, ball, wheel, nut, arm = (
            model.body(f"{name}{k}", mass=1.0, inertia=[0.01, 0.02, 0.02]) for name in ("D", "S", "W", "N", "A")
        )
        hub = model.marker(disc, [0.0, 0.1 * k, 0.0], axis=[0.1 * k, 1.0, 0.0])
        model.contacts.disc(f"disc{k}", hub, radius=r * (1 + 0.1 * sp.sin(model.t)), tube=0.05 * (k % 2), plane=plane)
        model.contacts.sphere(f"ball{k}", ball, radius=r / (k + 1), plane=plane)
        plane = model.marker(ball, [0.0, 0.0, 0.1 * k], axis=[0.0, 0.3, 1.0])
        own = model.marker(model.ground, [k, 0.0, 0.0]), model.marker(wheel, [0.1, 0.2, 0.0])
        pivot, hinge = (
            model.joints.revolute(f"{name}{k}", *ends)
            for name, ends in (("pivot", own), ("hinge", (last, model.marker(arm, [0.1, 0.02 * k, 0.0]))))
        )
        model.joints.gear(f"gear{k}", pivot, hinge, ratio=r + k)
        if before is not None:
            model.joints.gear(f"chained{k}", before, hinge, ratio=-0.5)
        model.joints.screw(f"screw{k}", model.marker(arm, [0, 0, 0.1]), model.marker(nut, [0.1 * k, 0, 0]), pitch=r)
        last, before = model.marker(arm, [0.1, 0.0, 0.3]), hinge
    return model


def test_velocity_rows_of_a_kind_are_those_of_the_coordinates(monkeypatch, left_over):
    found = derived(rolling())
    # A gear of two hinges that share a body is left to the coordinates: they would be there twice.
    assert left_over == [["chained1", "chained2"]]
    by_hand(monkeypatch)
    for own, expected in zip(found, derived(rolling()), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
