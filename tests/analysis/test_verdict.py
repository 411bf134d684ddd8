"""No analysis returns a success that is built on a motion whose certificate is not ok without saying so."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.verdict import verdict_of

COARSE = da.RK4(0.2)  # its energy error on this pendulum is beyond what the certificate allows


@pytest.fixture(scope="module")
def pendulum():
    model = da.Model("pendulum in x and y")
    x, y = model.coordinates("x y")
    L, m, g = model.parameters(L=1.0, m=1.0, g=9.81)
    model.particle("bob", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    return model.compile()


@pytest.fixture(scope="module")
def start(pendulum):
    return pendulum.initial({"x": 0.8, "x'": 0.0}, guess={"y": -1.0})


def test_the_coarse_motion_reaches_its_end_and_is_not_ok(pendulum, start):
    motion = pendulum.simulate(start, 2.0, integrator=COARSE)
    assert motion.success
    assert verdict_of(motion) == motion.certificate.verdict
    assert "NOT OK" in verdict_of(motion)


def test_a_periodic_motion_that_is_not_ok_is_refused():
    """Damped and driven, the coarse motion closes as well as the exact one does."""
    model = da.Model("a driven pendulum")
    x, y = model.coordinates("x y")
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.generalized_force({x: sp.cos(5 * model.t) - x.diff() / 2})
    model.constrain(x**2 + y**2 - 1, name="rod")
    system, around = model.compile(), {"guess": {"x": 0.0, "y": -1.0}, "period": 2 * sp.pi / 5}
    assert system.periodic(**around).motion.certificate.ok
    with pytest.raises(
        da.InitialStateError, match=r"period 1.25664 of `a driven pendulum` cannot be trusted, .* NOT OK"
    ):
        system.periodic(**around, integrator=da.RK4(0.2))


def test_a_gradient_says_that_its_motion_is_not_ok(pendulum, start):
    cost, to = da.Final(pendulum.coordinates[0]), ["L"]
    fine = pendulum.gradient(cost, start, 2.0, to=to)
    assert fine.success
    assert "NOT OK" not in repr(fine)
    coarse = pendulum.gradient(cost, start, 2.0, to=to, integrator=COARSE)
    assert not coarse.success
    assert coarse.message == coarse.motion.certificate.verdict
    assert "NOT OK" in repr(coarse)


def test_a_function_of_a_motion_that_is_not_ok_raises(pendulum, start):
    exact = pendulum.function(["x"], start, 2.0, to=["L"])
    assert np.isfinite(exact([1.0])).all()
    coarse = pendulum.function(["x"], start, 2.0, to=["L"], integrator=COARSE)
    with pytest.raises(da.DalembertError, match="NOT OK: energy"):
        coarse([1.0])
    with pytest.raises(da.DalembertError, match="NOT OK: energy"):
        coarse.with_jacobian([1.0])


def test_a_linearisation_along_a_motion_that_is_not_ok_says_so(pendulum, start):
    fine = pendulum.linearize(pendulum.simulate(start, 2.0))
    assert fine.success
    coarse = pendulum.linearize(pendulum.simulate(start, 2.0, integrator=COARSE))
    assert not coarse.success
    assert "NOT OK" in repr(coarse)
    with pytest.raises(da.DalembertError, match="the transition matrix"):
        _ = coarse.transition


def test_a_comparison_marks_motions_that_are_not_ok(pendulum, start):
    found = da.compare(
        pendulum, start, 2.0, formulations=[da.LagrangeMultipliers()], drifts=[da.Projection()],
        integrators=[da.DOP853(), COARSE],
    )  # fmt: skip
    fine, coarse = sorted(found.entries, key=lambda entry: entry.integrator)
    assert fine.ok
    assert coarse.ran
    assert not coarse.ok
    lines = str(found).splitlines()
    assert [line.endswith("NOT OK") for line in lines if "RK4" in line] == [True]
    assert [line.endswith("NOT OK") for line in lines[1:] if "DOP853" in line] == [False]


def test_a_small_mechanism_is_judged_by_its_size(pendulum):
    """Off by 1e-7 of the length of its rod, which is 1e-21 in its units: nothing if rows counted as they are."""
    state = pendulum.initial({"x": 0.6e-7}, guess={"y": -0.8e-7}, parameters={"L": 1e-7, "g": 1e-6})
    motion = pendulum.simulate(state, 1.0)
    off = replace(motion, q=motion.q * (1.0 + 1e-7), known=None, energies=None)
    assert verdict_of(motion) == ""
    assert verdict_of(off) == off.certificate.verdict
    assert "position `rod`" in verdict_of(off)


def test_a_drive_that_jumps_between_samples_is_not_ok_in_short_either():
    """Speeds of 1 and -1 have the same energy, and every sample satisfies the constraint."""
    model = da.Model("cart")
    x, a = model.coordinates("x a")
    (h,) = model.parameters(h=1.0)
    model.particle("cart", mass=2, position=[x, 0])
    model.particle("bob", mass=1, position=[x + sp.sin(a), -sp.cos(a)])
    model.gravity([0, -9.81])
    model.constrain(x.diff(model.t) - sp.sign(model.t**2 - h), name="drive")
    system = model.compile()
    state = system.initial({x: 0.0, a: 0.5, a.diff(): 0.0})
    motion = system.simulate(state, 2.0, t_eval=[0.0, 0.5, 2.0])
    assert "`jump of drive`" in verdict_of(motion) == motion.certificate.verdict
    runs = system.sweep({"h": [0.5, 1.0, 9.0]}, 2.0, state=state, outputs=["x"], t_eval=[0.0, 0.5, 2.0])
    assert runs.ok.values.tolist() == [False, False, True]
    with pytest.raises(da.DalembertError, match="cannot be trusted"):
        system.function(["a"], state, 2.0, to=["h"])([1.0])
