"""Rotations and angular velocities of bodies of several kinds, one by one and together."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations.derive import Derivation
from dalembert.equations.symbols import Symbols, kinematics_of


@pytest.fixture(scope="module")
def derivation():
    """Bodies in space and in the plane in turn, with a matrix, a quaternion by expressions and stated velocities."""
    model = da.Model("turning")
    a, b = model.coordinates("a b")
    solid = [0.1, 0.2, 0.25]
    model.body("P", mass=1.0, inertia=0.1)
    model.body("S", mass=1.0, inertia=solid)
    about_x = sp.Matrix([[1, 0, 0], [0, sp.cos(a), -sp.sin(a)], [0, sp.sin(a), sp.cos(a)]])
    model.body("R", mass=1.0, inertia=solid, position=[b, 0, 0], rotation=about_x)
    model.body("Q", mass=1.0, inertia=0.1)
    model.body("T", mass=1.0, inertia=solid)
    half = [sp.cos(a / 2), 0, sp.sin(a / 2), 0]
    model.body("E", mass=1.0, inertia=solid, position=[0, b, 0], rotation=half, angular_velocity=[0, a.diff(), 0])
    statement = model.closed()
    s = Symbols.of(statement)
    return Derivation(statement, s, lambda: kinematics_of(statement, s))


def values(derivation, *graphs):
    s = derivation.kinematics.symbols
    x = np.random.default_rng(4).uniform(0.2, 0.9, s.x.shape[0])
    function = ca.Function("values", [s.x], [ca.densify(ca.vec(graph)) for graph in graphs])
    return [value.full().ravel() for value in function.call([x])]


def test_bodies_together_turn_as_each_of_them(derivation):
    turning, bodies = derivation.turning, derivation.statement.bodies
    for chosen in (bodies, bodies[::-1], bodies[1:4], bodies[:1]):
        together = [turning.attitudes(chosen), turning.angular_velocities(chosen), turning.rates(chosen)]
        single = [
            ca.vertcat(*[ca.vec(of(body)) for body in chosen])
            for of in (turning.attitude, turning.angular_velocity, turning.rate)
        ]
        for own, expected in zip(values(derivation, *together), values(derivation, *single), strict=True):
            np.testing.assert_array_equal(own, expected)


def test_angular_velocities_are_the_rates_of_the_rotations(derivation):
    turning, kinematics = derivation.turning, derivation.kinematics
    for body in derivation.statement.bodies:
        R = turning.attitude(body)
        rate = ca.reshape(kinematics.rate(ca.vec(ca.densify(R))), 3, 3)
        turned = [ca.mtimes(R, ca.skew(w)) for w in (turning.rate(body), turning.angular_velocity(body))]
        found, stated, expected = values(derivation, *turned, rate)
        # entries of order 1, some ten roundings each; quaternions that are coordinates turn by their direction alone
        np.testing.assert_allclose(found, expected, atol=1e-13)
        if body.name in ("R", "E", "P", "Q"):
            np.testing.assert_allclose(stated, expected, atol=1e-13)
