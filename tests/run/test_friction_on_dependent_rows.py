"""Friction on redundant constraints: how these share a load is open, and the motion may or may not depend on it.

A floor stated twice, with equal friction, is one floor. So is a table on four legs that does not turn: its legs slide
alike. With unequal coefficients, or slipping in unequal directions, the motion depends on the shares, and says so.
"""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import PairingError
from dalembert.run.time_loop.passage import Passages

G, MU = 9.81, 0.3
METHODS = {
    "Lagrange": {"formulation": da.LagrangeMultipliers()},
    "MinimalState": {"formulation": da.MinimalState()},
    "Baumgarte": {"drift": da.Baumgarte(20, 100)},
    "StateSpaceSVD": {"integrator": da.StateSpaceSVD(rtol=1e-9, atol=1e-11)},
    "Radau": {"integrator": da.Radau()},
    "GeneralizedAlpha": {"integrator": da.GeneralizedAlpha(rtol=1e-8, atol=1e-10)},
    "IDA": {"integrator": da.IDA()},
    "IDA, GGL": {"integrator": da.IDA(form=da.GearGuptaLeimkuhler())},
    "IDA, pseudo speeds": {"integrator": da.IDA(form=da.PseudoSpeeds())},
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def floor(*again, first=MU):
    """A particle on a floor y = 0 that is stated once more per pair of a factor and a coefficient of friction."""
    model = da.Model("floor")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    for k, (factor, mu) in enumerate([(1, first), *again]):
        model.nonideal(model.constrain(factor * y, name=f"floor{k}"), friction=mu, at=P)
    return model.compile()


def table(*coefficients, height=1.0):
    """A table of mass 4 on four legs, all of which stay on the floor; one coefficient of friction for each leg."""
    model = da.Model("table")
    x, y, z = model.coordinates("x y z")
    model.speeds("vx vy vz")
    e = model.quaternion("e", speeds="wx wy wz")
    top = model.body("top", mass=4.0, inertia=[1, 1, 1], position=[x, y, z], rotation=e)
    model.gravity([0, 0, -G])
    for k, (a, b) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
        foot = sp.Matrix([a, b, -height])
        leg = model.constrain((sp.Matrix([x, y, z]) + e.matrix * foot)[2], name=f"leg{k}")
        model.nonideal(leg, friction=coefficients[k], at=model.marker(top, list(foot)))
    return model.compile()


UPRIGHT = {"x": 0, "y": 0, "e1": 0, "e2": 0, "e3": 0}


@every_method
@pytest.mark.parametrize("factor", [1, 2, -1, 1e-3])
def test_a_floor_stated_twice_is_one_floor(factor, method):
    system = floor((factor, MU))
    state = system.initial({"x": 0, "vx": 5.0})
    assert system.diagnose(state).ok
    motion = system.simulate(state, 1.0, **method)
    assert motion["vx"][-1] == pytest.approx(5.0 - MU * G, rel=1e-6)
    assert motion.certificate.ok, motion.certificate
    assert set(motion.certificate.not_unique) == {"floor0", "floor1"}


@every_method
def test_steps_with_redundant_rows_stay_in_native_code(method, monkeypatch):
    treated, treat = [], Passages.treat
    monkeypatch.setattr(Passages, "treat", lambda passages: treated.append(passages.run.t) or treat(passages))
    system = floor((2, MU))
    motion = system.simulate(system.initial({"x": 0, "vx": 5.0}), 1.0, **method, t_eval=[1.0])
    assert motion.certificate.ok, motion.certificate
    assert len(treated) <= 0.1 * motion.stats["steps"]


@every_method
def test_a_table_that_does_not_turn_slides_like_a_particle(method):
    system = table(MU, MU, MU, MU)
    state = system.initial(UPRIGHT | {"vx": 3.0, "vy": 1.0, "wz": 0}, guess={"z": 1})
    motion = system.simulate(state, 0.5, **method)
    slowed = 1.0 - MU * G * 0.5 / np.sqrt(10.0)
    np.testing.assert_allclose([motion["vx"][-1], motion["vy"][-1]], [3.0 * slowed, slowed], rtol=1e-6)
    assert motion.certificate.ok, motion.certificate


@every_method
def test_unequal_floors_leave_the_motion_open(method):
    system = floor((1, 0.6))
    state = system.initial({"x": 0, "vx": 5.0})
    diagnosis = system.diagnose(state)
    assert not diagnosis.ok
    assert diagnosis.deciding == ("floor0", "floor1")
    assert "depends on how `floor0`, `floor1` share their load" in str(diagnosis)
    motion = system.simulate(state, 0.5, **method)
    assert not motion.certificate.ok
    assert motion.certificate.undecided.rows == ("floor0", "floor1")
    assert "the motion is not unique from t = 0 on" in motion.certificate.verdict
    # All take the one in which multipliers are the least ones: each row bears half of the weight.
    assert motion["vx"][-1] == pytest.approx(5.0 - (MU + 0.6) / 2 * G * 0.5, rel=1e-6)


@pytest.mark.parametrize("method", [METHODS[name] for name in ("Lagrange", "IDA", "Radau")])
def test_a_table_that_turns_leaves_the_motion_open_from_there_on(method):
    model_system = table(MU, MU, MU, MU)
    state = model_system.initial(UPRIGHT | {"vx": 3.0, "vy": 1.0, "wz": 1.0}, guess={"z": 1})
    certificate = model_system.simulate(state, 0.1, **method).certificate
    assert not certificate.ok
    assert certificate.undecided.rows == ("leg0", "leg1", "leg2", "leg3")


def test_what_is_open_later_is_found_later():
    """At rest nothing slides: regularised friction has no direction, and the shares do not matter yet."""
    model = da.Model("pushed later")
    x, y = model.coordinates("x y")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    model.force([sp.Piecewise((0, model.t < 1), (20, True)), 0], at=P)
    for k, mu in enumerate((0.2, 0.4)):
        model.nonideal(model.constrain(y, name=f"floor{k}"), friction=mu, at=P)
    system = model.compile()
    state = system.initial({"x": 0, "x'": 0})
    assert system.diagnose(state).deciding == ()
    undecided = system.simulate(state, 2.0).certificate.undecided
    assert undecided is not None
    assert undecided.t == pytest.approx(1.0, abs=0.3)


def test_friction_by_laws_on_a_floor_stated_twice():
    model = da.Model("laws")
    x, y = model.coordinates("x y")
    (vx, _) = model.speeds("vx vy")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -G])
    for k in (0, 1):
        (T,) = model.unknowns(f"T{k}")
        model.force([T, 0], at=P)
        N = model.constrain((k + 1) * y, name=f"floor{k}").multiplier
        model.law(T + MU * (k + 1) * N * vx / sp.sqrt(vx**2 + 1e-6), determines=T)
    system = model.compile()
    state = system.initial({"x": 0, "vx": 5.0})
    diagnosis = system.diagnose(state)
    assert diagnosis.ok
    assert not any(diagnosis.unique.values())
    motion = system.simulate(state, 1.0)
    assert motion["vx"][-1] == pytest.approx(5.0 - MU * G, rel=1e-6)
    assert motion.certificate.ok, motion.certificate


def test_null_space_refuses_redundant_rows_whose_reactions_are_not_ideal():
    system = floor((1, MU))
    with pytest.raises(PairingError, match="redundant"):
        system.simulate(system.initial({"x": 0, "vx": 5.0}), 0.1, formulation=da.NullSpace())


def test_more_rows_than_speeds_are_verified():
    """`NullSpace`, which `verify` tries first, cannot take redundant rows that rub, however many there are."""
    system = floor((1, MU), (2, MU))
    state = system.initial({"x": 0, "vx": 5.0})
    with pytest.raises(PairingError, match="1 of its 3 constraints are redundant"):
        system.simulate(state, 0.5, formulation=da.NullSpace())
    verified = system.simulate(state, 0.5).verify()
    assert verified.samples > 0
    assert verified["x"].error < 1e-9
