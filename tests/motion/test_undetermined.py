"""Motions that the equations do not determine are not OK: no mass and no constraint, in part or all of the time."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

METHODS = [
    {"formulation": da.LagrangeMultipliers()},
    {"formulation": da.UdwadiaKalaba()},
    {"formulation": da.NonminimalKane()},
    {"formulation": da.NullSpace()},
    {"integrator": da.Radau()},
    {"integrator": da.StateSpaceSVD()},
    {"integrator": da.IDA()},
    {"integrator": da.GeneralizedAlpha()},
]


def two_masses(mass):
    """A mass on a spring along x, another one that is free along y."""
    model = da.Model("two masses")
    x = model.coordinates("x y")[0]
    model.speeds("vx vy")
    (k,) = model.parameters(k=1.0)
    m = model.parameters(m=mass)[0] if np.isscalar(mass) else mass(model.t)
    model.matrices(mass=sp.diag(1, m), force=[-k * x, 0])
    return model.compile()


@pytest.mark.parametrize("method", METHODS, ids=lambda how: repr(*how.values()).split("(")[0])
def test_a_coordinate_without_mass_is_named(method):
    system = two_masses(0.0)
    motion = system.simulate(system.initial({"x": 1.0, "vx": 0.0, "y": 0.0, "vy": 0.0}), 1.0, **method)
    assert not motion.certificate.ok
    assert "neither inertia nor a constraint determines the whole motion" in motion.certificate.verdict
    assert "`vy`" in motion.certificate.verdict
    assert "`vx`" not in motion.certificate.verdict


def test_a_massless_motion_beside_a_constraint_is_named():
    model = da.Model("pendulum with an angle of nothing")
    x, y, _ = model.coordinates("x y a")
    model.speeds("vx vy w")
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    system = model.compile()
    motion = system.simulate(system.initial({"x": 1.0, "vx": 0.0, "a": 0.3, "w": 0.2}), 1.0, t_eval=[0.0, 1.0])
    assert motion.certificate.undetermined == ("`w`",)
    assert not motion.certificate.ok
    kept = system.simulate(motion.at(0.0), 1.0, outputs=["x"])
    assert kept.certificate.undetermined == ("`w`",)


def test_mass_that_is_used_up_on_the_way_is_noticed():
    system = two_masses(lambda t: sp.Piecewise((1 - t, t < 1), (0, True)))
    state = system.initial({"x": 1.0, "vx": 0.0, "y": 0.0, "vy": 0.0})
    assert system.simulate(state, 0.9).certificate.ok
    assert system.simulate(state, 3.0, integrator=da.DOP853()).certificate.undetermined == ("`vy`",)


def test_no_mass_where_a_constraint_determines_the_motion_is_ok():
    model = da.Model("massless follower")
    x, y = model.coordinates("x y")
    model.particle("slider", mass=1.0, position=[x, 0])
    model.particle("follower", mass=0.0, position=[x, y])
    model.generalized_force({x: -x})
    model.constrain(y - x**2, name="cam")
    system = model.compile()
    motion = system.simulate(system.initial({x: 1.0}), 3.0)
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose(motion["x"], np.cos(motion.t), atol=1e-8)


def test_the_pole_of_spherical_coordinates_at_one_sample_is_no_fault():
    model = da.Model("spherical pendulum")
    th, _ = model.coordinates("th ph")
    w, p = model.speeds("w p")
    model.energy(kinetic=(w**2 + sp.sin(th) ** 2 * p**2) / 2, potential=-9.81 * sp.cos(th))
    system = model.compile()
    state = system.initial({"th": 0.5, "ph": 0.0, "w": 0.0, "p": 0.0})
    motion = system.simulate(state, 2.0, t_eval=[0.0, 1.0, 2.0])  # goes through th = 0 between samples
    assert motion.certificate.ok, motion.certificate


def test_sweeps_judge_it_alike():
    system = two_masses(0.0)
    state = system.initial({"x": 1.0, "vx": 0.0, "y": 0.0, "vy": 0.0})
    swept = system.sweep({"m": [0.0, 1.0], "k": [1.0, 2.0]}, 1.0, state=state, outputs=["x"])
    assert swept.ok.values.tolist() == [[False, False], [True, True]]


def test_a_multiplier_that_is_unique_at_the_start_only_is_told():
    """The third row repeats the first until t = 1, then it is a sum of both others: the rank stays two."""
    model = da.Model("rows that turn")
    x, y, z = model.coordinates("x y z")
    t = model.t
    model.matrices(mass=sp.eye(3), force=[1, 1, -z])
    model.constrain(x, name="first")
    model.constrain(y, name="second")
    model.constrain(x + sp.Max(0, t - 1) ** 3 * y, name="third")
    system = model.compile()
    motion = system.simulate(system.initial({z: 1.0, "z'": 0.0}), 3.0)
    assert motion.certificate.ok, motion.certificate
    assert system.diagnose(motion.at(0.0)).unique["second"]
    assert set(motion.certificate.not_unique) == {"first", "second", "third"}
