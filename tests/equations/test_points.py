"""Markers that move with their bodies, found by kind, against positions and velocities that SymPy writes out."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations.derive import Derivation
from dalembert.equations.symbols import Symbols, kinematics_of
from dalembert.model.markers import velocity_of
from dalembert.model.statement import Point


def statement_of(kind):
    """A model with a body that turns in one of several ways, and markers on it; the model and its markers."""
    model = da.Model(kind)
    (l,) = model.parameters(l=0.3)
    if kind == "planar":
        body = model.body("B", mass=1.0, inertia=0.1)
    elif kind == "free":
        body = model.body("B", mass=1.0, inertia=[0.1, 0.2, 0.2])
    elif kind == "matrix":
        x, a = model.coordinates("x a")
        R = sp.Matrix([[sp.cos(a), 0, sp.sin(a)], [0, 1, 0], [-sp.sin(a), 0, sp.cos(a)]])
        body = model.body("B", mass=1.0, inertia=[0.1, 0.2, 0.2], position=[x, 0, x**2], rotation=R)
    else:
        x, a = model.coordinates("x a")
        v, w = model.speeds("v w")
        body = model.body(
            "B", mass=1.0, inertia=0.1, position=[x, l], rotation=a, velocity=[v, 0], angular_velocity=[0, 0, w]
        )
    particle = model.particle("P", mass=1.0, position=[body.position[0] + l, sp.sin(model.t)])
    places = ([0.1, l], [0, 0]) if kind in ("planar", "stated") else ([0.1, l, 0.4], [0, 0, 0])
    return model, [particle, *(model.marker(body, place) for place in places), body, model.marker(model.ground, [1, l])]


@pytest.mark.parametrize("kind", ["planar", "free", "matrix", "stated"])
def test_markers_move_as_they_do_written_out(kind):
    model, points = statement_of(kind)
    statement = model.closed()
    s = Symbols.of(statement)
    d = Derivation(statement, s, lambda: kinematics_of(statement, s))
    written = [Point(p.name, p.position, velocity_of(p, model.t)) for p in points]
    both = [f(some) for some in (points, written) for f in (d.points.positions, d.points.velocities)]
    function = ca.Function("points", [s.x], [ca.densify(column) for column in both])
    place, velocity, expected_place, expected_velocity = (
        value.full() for value in function(np.random.default_rng(2).uniform(0.2, 1.0, s.x.shape[0]))
    )
    assert place.shape == velocity.shape == (3 * len(points), 1)
    # numbers of order 1, some tens of roundings
    np.testing.assert_allclose(place, expected_place, rtol=0, atol=1e-14)
    np.testing.assert_allclose(velocity, expected_velocity, rtol=0, atol=1e-14)


def loaded(*, many, written):
    """Bodies in space and in the plane, with forces at markers and torques; `many` of them go by one sweep."""
    model = da.Model("loaded")
    (c,) = model.parameters(c=2.0)
    for k in range(9 if many else 2):
        spatial = model.body(f"S{k}", mass=1.0, inertia=[0.1, 0.2, 0.3])
        planar = model.body(f"P{k}", mass=1.0, inertia=0.1)
        for body, place in ((spatial, [0.1, 0.2 * k, 0.3]), (planar, [0.1 * k, 0.2])):
            at = model.marker(body, place)
            model.force([c * sp.sin(model.t + k), k, 0], at=Point("point", at.position) if written else at)
        model.torque([k, c, 0.3], on=spatial)
        model.torque(c * k, on=planar)
        model.nonideal(vector=[c, 0, 0], at=spatial)
    return model.compile()


@pytest.mark.parametrize("many", [True, False])
def test_forces_at_markers_are_those_at_points_written_out(many):
    systems = [loaded(many=many, written=written) for written in (False, True)]
    found = []
    for system in systems:
        m = system.mechanics
        x = np.random.default_rng(4).uniform(0.2, 1.0, m.x.shape[0])
        functions = ca.Function("forces", [m.x], [ca.densify(e) for e in (m.f, m.active, m.c, m.power)])
        found.append([value.full() for value in functions(x)])
    for own, expected in zip(*found, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-13, atol=1e-13)


def test_what_stands_in_the_place_of_a_marker_is_checked():
    model = da.Model("faulty")
    body = model.body("B", mass=1.0, inertia=0.1)
    (x, *_), stranger = body.position, sp.Symbol("stranger")
    model.force([1, 0], at=model.marker(body, [stranger, x.diff(model.t)]))
    with pytest.raises(da.ModelError) as refused:
        model.compile()
    assert "position of point `B` contains `stranger`" in str(refused.value)
    assert "may depend on coordinates" in str(refused.value)
