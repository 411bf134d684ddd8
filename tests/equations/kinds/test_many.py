"""Systems of many elements: what is made once for a kind, and what differs between its instances."""

from __future__ import annotations

import pickle
from weakref import WeakValueDictionary

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equations import kernels
from dalembert.problems.rope import rope

KERNELS = ("sparse_dynamics", "residual", "geometry", "energy", "displacement", "sparse_invariant", "row_rates")
MANY = 600  # free particles, each with a speed: more than are written out as one graph


def particles(push=0.0):
    """Free particles on a line, the third of which is pushed for 2 ms at t = 7.3 s."""
    model = da.Model("particles")
    for k in range(MANY):
        (x,) = model.coordinates(f"x{k}")
        model.particle(f"P{k}", mass=1.0 + 0.001 * k, position=[x, 0])
        if k == 2:
            model.generalized_force({x: push * sp.exp(-(((model.t - sp.Float(7.3)) / sp.Float(2e-3)) ** 2))})
    return model


def test_the_code_does_not_grow_with_the_number_of_instances():
    few, more = rope(60).system(), rope(90).system()
    for name in KERNELS:
        assert few.kernel(name).backend == more.kernel(name).backend == "instances"
        assert few.kernel(name).instructions == more.kernel(name).instructions


def test_print_lists_the_kinds():
    text = repr(rope(60).system())
    assert "58 x kinematics, bodies, invariants" in text
    assert "59 x constraints" in text
    assert "1 x others" in text


def test_a_narrow_push_on_one_of_many_is_met():
    system = particles(push=3.0).compile()
    motion = system.simulate(system.initial({}), 20.0)
    speed = 3.0 * 2e-3 * np.sqrt(np.pi) / 1.002
    assert motion.certificate.ok
    assert motion["x2'"][-1] == pytest.approx(speed, rel=1e-9)
    assert not motion["x3'"].any()


def test_a_mass_that_cannot_be_is_named_whichever_instance_has_it():
    model = rope(60).build()
    model.body("wrong", mass=-1.0, inertia=[1.0, 1.0, 1.0])
    with pytest.raises(da.ModelError, match="mass of `wrong` is -1"):
        model.compile()


def test_a_rotation_that_is_none_is_named_whichever_instance_has_it():
    model = da.Model("turned")
    for k in range(130):
        x, y, z = q = model.coordinates(f"x{k} y{k} z{k}")
        c = 0.8 if k != 77 else 0.9
        R = [[c, -0.6, 0], [0.6, c, 0], [0, 0, 1]]
        model.body(f"B{k}", mass=1.0, inertia=[1.0, 1.0, 1.0], position=q, rotation=R, velocity=None)
        model.constrain(x + y - 0.5 * z, name=f"plane{k}")
    with pytest.raises(da.ModelError, match="rotation of body `B77` is not orthonormal"):
        model.compile()


def test_parameters_and_numbers_stay_apart():
    """Half of the masses are a parameter, the others a number that equals its default."""
    model = da.Model("masses")
    (m,) = model.parameters(m=2.0)
    for k in range(MANY):
        (x,) = model.coordinates(f"x{k}")
        model.particle(f"P{k}", mass=m if k % 2 else 2.0, position=[x, 0])
    model.gravity([-3.0, 0])
    system = model.compile()
    x, u = np.zeros(MANY), np.zeros(MANY)
    M = system.kernel("sparse_dynamics")(np.concatenate([[0.0], x, u, [5.0]]))[MANY : 2 * MANY]
    np.testing.assert_array_equal(M, np.where(np.arange(MANY) % 2, 5.0, 2.0))


def test_systems_are_pickled_as_kinds(monkeypatch):
    system = rope(60).system()
    packed = pickle.dumps(system)
    monkeypatch.setattr(kernels, "_known", WeakValueDictionary())
    monkeypatch.setattr(kernels, "_recent", {})
    again = pickle.loads(packed)
    assert again.kernels is not system.kernels
    x = np.random.default_rng(3).uniform(0.2, 1.0, 1 + system.nq + system.nu + 1)
    for name in KERNELS:
        assert again.kernel(name).backend == "instances"
        np.testing.assert_array_equal(again.kernel(name)(x), system.kernel(name)(x))
