"""A run may start at rest exactly on a jump or kink of a force: it goes on with the forces of the side it enters."""

import numpy as np
import pytest
import sympy as sp
from one_mass import moved_by

import dalembert as da

ADAPTED = [
    da.DOP853(), da.Tsit5(), da.KuttaMerson(), da.Radau(), da.StateSpaceSVD(), da.IDA(), da.GeneralizedAlpha(),
]  # fmt: skip
WITH_ERROR = [method for method in ADAPTED if not isinstance(method, da.GeneralizedAlpha)]


def name(method):
    return type(method).__name__


def ends(force, x, v, t_end, integrator):
    system = moved_by(force)
    motion = system.simulate(system.initial({"x": x, "v": v}), t_end, integrator=integrator)
    assert motion.certificate.ok, motion.certificate.verdict
    return motion["x"][-1], motion["v"][-1]


@pytest.mark.parametrize("at", [0.0, 1.0, -3e5])
@pytest.mark.parametrize("beyond", [3.0, 0.5])
@pytest.mark.parametrize("integrator", ADAPTED, ids=name)
def test_rest_on_a_jump_of_the_force(integrator, beyond, at):
    """x'' = 1 up to the jump, at which it starts, and `beyond` it from there on."""
    x, v = ends(lambda x, _: sp.Piecewise((beyond, x > at), (1, True)), at, 0.0, 2.0, integrator)
    assert x - at == pytest.approx(2.0 * beyond, rel=1e-7, abs=1e-9 * abs(at))
    assert v == pytest.approx(2.0 * beyond, rel=1e-7)


@pytest.mark.parametrize("integrator", ADAPTED, ids=name)
def test_rest_on_a_jump_that_is_left_backwards(integrator):
    x, v = ends(lambda x, _: sp.Piecewise((-3, x > 0), (-1, True)), 0.0, 0.0, 2.0, integrator)
    assert (x, v) == pytest.approx((-2.0, -2.0), rel=1e-8)


@pytest.mark.parametrize("integrator", ADAPTED, ids=name)
def test_a_jump_that_is_passed_at_the_start(integrator):
    """x'' = -sign(x) from x = 0 with speed 1: the parabola of a throw until it is back at t = 2."""
    x, v = ends(lambda x, _: -sp.sign(x), 0.0, 1.0, 1.5, integrator)
    assert (x, v) == pytest.approx((1.5 - 1.5**2 / 2, -0.5), rel=1e-8)


@pytest.mark.parametrize("integrator", ADAPTED, ids=name)
def test_dry_friction_that_slips_at_once(integrator):
    x, v = ends(lambda _, v: 5 - 2 * sp.sign(v), 0.0, 0.0, 2.0, integrator)
    assert (x, v) == pytest.approx((6.0, 6.0), rel=1e-8)


@pytest.mark.parametrize("integrator", [m for m in WITH_ERROR if not isinstance(m, da.IDA)], ids=name)
def test_rest_on_an_endless_slope(integrator):
    """x'' = 1 + sqrt(|x|) has no slope at its start; t = integral of dx / sqrt(2 x + 4/3 x^(3/2))."""
    x, _ = ends(lambda x, _: 1 + sp.sqrt(sp.Abs(x)), 0.0, 0.0, 2.0, integrator)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    roots = 0.5 * np.sqrt(x) * (nodes + 1)  # x = s^2 takes the singularity away
    time = 0.5 * np.sqrt(x) * np.sum(weights * 2.0 / np.sqrt(2.0 + 4.0 / 3.0 * roots))
    assert time == pytest.approx(2.0, rel=2e-8)


def test_rest_on_a_jump_with_a_constraint():
    """A bead on a parabola in the frame of its angle of slope; a wind blows on one side of the vertex only."""
    model = da.Model("bead in wind")
    x, y = model.coordinates("x y")
    bead = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(y - x**2, name="track")
    model.force([sp.Piecewise((4, x > 0), (1, True)), 0], at=bead)
    system = model.compile()
    motion = system.simulate(system.initial({x: 0, "x'": 0}), 1.0)
    assert motion.certificate.ok
    energy = 0.5 * (motion["x'"] ** 2 + motion["y'"] ** 2) + 9.81 * motion["y"]
    assert np.abs(energy - np.where(motion["x"] > 0, 4.0, 1.0) * motion["x"]).max() < 1e-9
    assert motion["x"].max() > 0.3


def test_sticking_stays_where_it_is():
    system = moved_by(lambda _, v: -2 * sp.sign(v))
    motion = system.simulate(system.initial({"x": 1.0, "v": 0.0}), 2.0)
    assert motion.certificate.ok
    assert motion["x"][-1] == 1.0


@pytest.mark.parametrize("shape", [lambda s: (1 - s**2) ** 2, lambda s: s**4 - s**2, lambda s: (1 + s) ** 3 * (1 - s)])
@pytest.mark.parametrize("place", [0.0, 1.0, 30.0])
def test_the_work_of_a_weak_push_far_from_the_origin(place, shape):
    """Forces that are polynomials are exact for the speed and not for the work, which counts beside its own size."""
    model = da.Model("pushed")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    s = sp.Symbol("s")
    moment = (model.t - 3) / sp.Float(0.01)
    push = sp.Piecewise((0.6 * shape(moment), sp.Abs(moment) < 1), (0, True))
    model.generalized_force({x: push})
    system = model.compile()
    motion = system.simulate(system.initial({x: place, "x'": 0}), 4.0)
    assert motion.certificate.ok, motion.certificate.verdict
    impulse = 0.006 * float(sp.integrate(sp.expand(shape(s)), (s, -1, 1)))
    assert motion["x'"][-1] == pytest.approx(impulse, rel=1e-9)
