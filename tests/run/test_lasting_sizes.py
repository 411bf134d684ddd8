"""Sizes that last: drives that begin long after the start, motions that grow out of almost nothing, late clocks."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import Float, Max, Rational, cosh, exp, lambdify, sin, sinh, tanh

import dalembert as da
from dalembert import problems
from dalembert.run.rounded_rows import HELD_PRECISION

RTOL = 1e-10  # of a default run
BEGIN, END = 0.0, 10.0


def driven(shape, *, of_velocity):
    """A mass whose position or velocity is a function of time, the other coordinate free; the function."""
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    stated = shape(model.t)
    model.constrain((x.diff() if of_velocity else x) - stated, name="drive")
    return model.compile(), lambdify(model.t, stated, "numpy")


def ramp(width):
    return lambda t: 1 / (1 + exp(-(t - 5) / width))


def bell(width):
    return lambda t: exp(-(((t - 5) / width) ** 2))


@pytest.mark.parametrize("width", [0.1, 0.05, 0.01])
def test_a_position_driven_up_a_ramp(width):
    """At the start the ramp is 2e-22 to 7e-218; its size is what it comes to."""
    system, stated = driven(ramp(width), of_velocity=False)
    motion = system.simulate(system.initial({}), END)
    assert motion.certificate.ok, motion.certificate
    assert np.abs(motion["x"] - stated(motion.t)).max() < RTOL
    s = stated(motion.t)
    assert np.abs(motion["x_dot"] - s * (1 - s) / width).max() < RTOL / width


@pytest.mark.parametrize("width", [0.1, 0.05, 0.01])
def test_a_velocity_driven_up_a_ramp(width):
    """`simulate` takes the state of `initial`, and the way is the integral of the ramp."""
    system, _ = driven(ramp(width), of_velocity=True)
    motion = system.simulate(system.initial({"x": 0.0}), END)
    assert motion.certificate.ok, motion.certificate
    exact = width * (np.logaddexp(0, (END - 5) / width) - np.logaddexp(0, -5 / width))
    assert motion["x"][-1] == pytest.approx(exact, abs=20 * RTOL * exact)


@pytest.mark.parametrize("of_velocity", [False, True])
def test_a_drive_that_swells_and_ends(of_velocity):
    system, stated = driven(bell(1.0), of_velocity=of_velocity)
    motion = system.simulate(system.initial({} if not of_velocity else {"x": 0.0}), END)
    assert motion.certificate.ok, motion.certificate
    held = motion["x_dot"] if of_velocity else motion["x"]
    assert np.abs(held - stated(motion.t)).max() < RTOL
    if of_velocity:
        assert motion["x"][-1] == pytest.approx(np.sqrt(np.pi), abs=20 * RTOL * np.sqrt(np.pi))


def test_work_of_a_drive_that_is_still_where_models_are_probed():
    """The drive is 1e-22 for |t| < 1: that it works is known from its statement, not from values there."""
    system, _ = driven(ramp(0.1), of_velocity=False)
    assert system.works
    motion = system.simulate(system.initial({}), END)
    kinetic = 0.5 * (motion.u**2).sum(axis=1)
    assert np.abs(motion.work - kinetic).max() < 1e-8 * kinetic.max()


@pytest.mark.parametrize("width", [1e-2, 1e-3])
def test_work_of_a_drive_that_grows_out_of_less_than_numbers_hold(width):
    """exp((t - 6.7)/w) is 1e-291 or less where models are probed, and SymPy writes it as a number times exp(t/w)."""
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain(x - exp((model.t - Float(6.7)) / Float(width)), name="drive")
    system = model.compile()
    motion = system.simulate(system.initial({"y": 0.0, "y_dot": 0.0}, t0=6.7 - 3 * width), 6.7 + 3 * width)
    assert motion.certificate.ok, motion.certificate
    v = np.exp((motion.t[[0, -1]] - 6.7) / width) / width
    assert motion.work[-1] == pytest.approx((v[1] ** 2 - v[0] ** 2) / 2, rel=1e-9)


@cache
def track(curvature, *, across=False):
    """A bead under gravity on y = c x^2, or on the saddle y = c (x^2 - z^2)."""
    model = da.Model("bead")
    names = model.coordinates("x z y" if across else "x y")
    x, y = names[0], names[-1]
    height = curvature * (x**2 - names[1] ** 2) if across else curvature * x**2
    model.particle("P", mass=1, position=list(names))
    model.gravity([0] * (len(names) - 1) + [-9.81])
    model.constrain(y - height, name="track")
    return model.compile()


def on_a_track(curvature, x0, t_end):
    """x at the end, from the equation of the bead alone: (1 + k^2 x^2) x'' + k^2 x x'^2 + g k x = 0 with k = 2 c."""
    k = 2 * curvature

    def rates(_, z):
        x, v = z
        return [v, -k * x * (k * v**2 + 9.81) / (1 + k**2 * x**2)]

    return solve_ivp(rates, (0, t_end), [x0, 0.0], method="DOP853", rtol=1e-13, atol=1e-13 * x0).y[0, -1]


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("start", [1e-3, 1e-6, 1e-8, 1e-10])
def test_an_instability_grows_out_of_a_small_disturbance(start, across):
    """x grows by exp(1.4 t): what it has reached is its size, and y = -x^2/10 is held where forces balance."""
    system = track(-0.1, across=across)
    given = {"x": start, "z": 0.0} if across else {"x": start}
    motion = system.simulate(system.initial(given), 25.0)
    assert motion.certificate.ok, motion.certificate
    assert motion.stats["steps"] < 200
    grown = np.exp(np.sqrt(2 * 0.1 * 9.81) * 5.0)  # an error made once grows until the motion is as large as the hill
    assert motion["x"][-1] == pytest.approx(on_a_track(-0.1, start, 25.0), rel=20 * RTOL * grown)


@pytest.mark.parametrize("curvature", [1.0, 0.1])
@pytest.mark.parametrize("start", [6e-17, 1e-12, 1e-3])
def test_a_bead_in_a_bowl_is_small_beside_nothing(curvature, start):
    motion = track(curvature).simulate(track(curvature).initial({"x": start}), 10.0)
    assert motion.certificate.ok, motion.certificate
    assert motion.t[-1] == 10.0
    assert motion["x"][-1] == pytest.approx(on_a_track(curvature, start, 10.0), abs=1e-8 * start)


def test_a_rod_that_flies_away_does_not_become_longer():
    """Rows are sized by how far gradients stay as they are, not by the distance from the origin."""
    model = da.Model("rod")
    x1, y1, x2, y2 = model.coordinates("x1 y1 x2 y2")
    model.particle("A", mass=1, position=[x1, y1])
    model.particle("B", mass=3, position=[x2, y2])
    model.constrain((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="rod")
    system = model.compile()
    state = system.initial({x1: 0.0, y1: 0.0, y2: 0.0, "x1_dot": 10.0, "y1_dot": 0.0, "y2_dot": 1.0}, guess={x2: 1.0})
    motion = system.simulate(state, 100.0)
    assert motion.certificate.ok, motion.certificate
    assert motion["x1"][-1] > 900
    assert motion.scales.position[0] < 10 * 2 * 2**0.5  # |gradient| times the length, a few times over
    assert np.abs(motion.violation["position"]["rod"]).max() < 1e-13 * motion.scales.position[0] + 1e3 * 2.0**-50


def test_a_late_clock_does_not_shorten_steps():
    """At t0 = 1e9 the time of a stage is rounded by 1e-7, and so is what a drive asks for there: no step mends that."""
    model = da.Model("driven")
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x - sin(model.t), name="drive")
    model.constrain(y, name="floor")
    system = model.compile()
    steps = []
    for begin in (0.0, 1e9):
        motion = system.simulate(system.initial({}, t0=begin), begin + 10.0)
        assert motion.certificate.ok, motion.certificate
        assert np.abs(motion["x"] - np.sin(motion.t)).max() < 1e-12
        steps.append(motion.stats["steps"])
    assert steps[1] <= 2 * steps[0]


def test_a_step_pays_for_being_brought_back():
    """A velocity that rises within a millisecond, between stages, is brought onto its ramp: the way shows that."""
    system, _ = driven(lambda t: (1 + tanh((t - 5) / 2e-3)) / 2, of_velocity=True)
    motion = system.simulate(system.initial({"x": 0.0}), END)
    assert motion.certificate.ok, motion.certificate
    assert motion["x"][-1] == pytest.approx(5.0, abs=20 * RTOL * 5.0)


@pytest.mark.parametrize("small", [1e-1, 1e-3, 1e-5])
def test_small_coordinates_are_as_accurate_as_large_ones(small):
    """Two oscillators, one of metres that drives one of down to a micrometre: each by what it has done itself."""
    model = da.Model("swing and reed")
    x, y = model.coordinates("x y")
    model.particle("swing", mass=1, position=[x, 0])
    model.particle("reed", mass=1, position=[0, y])
    model.generalized_force({x: -x, y: -30.0 * y + small * x})
    system = model.compile()
    times = np.linspace(0, 10, 101)
    motion = system.simulate(system.initial({x: 1.0, y: 0.0}), 10.0, t_eval=times)
    w = np.sqrt(30.0)
    exact = small * (np.cos(times) - np.cos(w * times)) / (w**2 - 1)
    rate = small * (w * np.sin(w * times) - np.sin(times)) / (w**2 - 1)
    assert np.abs(motion["y"] - exact).max() < 20 * RTOL * np.abs(exact).max()
    assert np.abs(motion["y_dot"] - rate).max() < 20 * RTOL * np.abs(rate).max()


def test_a_sweep_judges_like_a_run():
    system = track(-0.1)
    starts = [1e-3, 1e-6, 1e-8]
    runs = system.sweep({"x": starts}, 25.0, outputs=["x"], given={"x": 1e-3})
    assert runs["ok"].to_numpy().all()
    for k, start in enumerate(starts):
        alone = system.simulate(system.initial({"x": start}), 25.0, t_eval=[25.0])
        assert float(runs["x_final"][k]) == pytest.approx(alone["x"][-1], rel=20 * RTOL)


def test_a_length_of_zero_is_refused_by_name():
    """A pendulum of length 0 stays at its pin, where its row has no gradient: nobody tells how it moves."""
    problem = problems.get("pendulum")
    system = problem.system()
    state = problem.state(system, {"L": 0.0})
    with pytest.raises(da.InconsistentStateError, match=r"`rod`.*its gradient vanishes"):
        system.simulate(state, 1.0)


SHAPES = {  # with what they end at, and the integral of the difference from a jump to that
    "logistic": (lambda s: 1 / (1 + exp(-s)), 1.0, 0.0),
    "rising logistic": (lambda s: 2 * exp(s) / (2 + 2 * exp(s)), 1.0, 0.0),
    "logistic of a power": (lambda s: (1 + 2 * exp(-s)) ** Rational(-1, 3), 1.0, np.pi / 12**0.5 + np.log(3**1.5 / 2)),
    "hyperbolic tangent": (lambda s: (1 + sinh(s) / cosh(s)) / 2, 1.0, 0.0),
    "hyperbolic secant": (lambda s: 1 / cosh(s), 0.0, np.pi),
    "logistic bump": (lambda s: exp(s) / (1 + exp(s)) ** 2, 0.0, 1.0),
}


@pytest.mark.parametrize("width", [3e-3, 2.2e-5])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_whose_exponentials_overflow_long_before_they_begin(name, width):
    """exp(5/w) is more than numbers hold, and SymPy takes it out of exp(-(t - 5)/w)."""
    shape, end, rest = SHAPES[name]
    for of_velocity in (False, True):
        system, _ = driven(lambda t: shape((t - 5) / Float(width)), of_velocity=of_velocity)
        motion = system.simulate(system.initial({"x": 0.0} if of_velocity else {}), END)
        assert motion.certificate.ok, motion.certificate
        exact = end * (END - 5.0) + rest * width if of_velocity else end
        held = 0.0 if of_velocity else HELD_PRECISION  # of the size of the drive, which is 1
        assert motion["x"][-1] == pytest.approx(exact, abs=20 * RTOL * max(end, width) + held)


def test_widths_may_be_parameters():
    model = da.Model("pushed")
    (x,) = model.coordinates("x")
    (w,) = model.parameters(w=1.0)
    model.particle("P", mass=1, position=[x, 0])
    model.generalized_force({x: exp((model.t - 5) / w) / (1 + exp((model.t - 5) / w)) + 1 / cosh((model.t - 2) / w)})
    system = model.compile()
    for width in (0.1, 1e-3, 1e-5):
        motion = system.simulate(system.initial({x: 0.0, "x_dot": 0.0}, parameters={w: width}), END)
        assert motion.certificate.ok, motion.certificate
        assert motion["x_dot"][-1] == pytest.approx(END - 5.0 + np.pi * width, abs=20 * RTOL * (END - 5.0))


def test_a_drive_through_zero_beside_a_force_that_is_still_tiny():
    """A wheel driven with x = t at rest on its spring: the size of x is what it comes to."""
    model = da.Model("wheel")
    x, z = model.coordinates("x z")
    model.particle("wheel", mass=1, position=[x, z])
    model.constrain(x - model.t, name="drive")
    model.generalized_force({z: -100 * z + exp(-(((model.t - 7) / Float(0.5)) ** 2))})
    system = model.compile()
    motion = system.simulate(system.initial({z: 0.0, "z_dot": 0.0}), 11.43)
    assert motion.certificate.ok, motion.certificate
    rates = lambda t, y: [y[1], -100 * y[0] + np.exp(-(((t - 7) / 0.5) ** 2))]  # noqa: E731
    end = solve_ivp(rates, (0, 11.43), [0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-14, max_step=0.05).y[:, -1]
    assert [motion["z"][-1], motion["z_dot"][-1]] == pytest.approx(end, abs=1e-9)


def test_the_work_of_a_short_push_is_as_accurate_as_its_motion():
    """One step passes over the push: exact for the speed, but not for the work, of degree 9."""
    model = da.Model("rotor")
    (a,) = model.coordinates("a")
    s = (model.t - 15.5) / Float(1e-3)
    model.energy(kinetic=a.diff(model.t) ** 2 / 2)
    model.generalized_force({a: 100 * Max(0, 1 - s**2) ** 2})
    system = model.compile()
    motion = system.simulate(system.initial({a: 0.0, "a_dot": 0.1}), 22.6)
    assert motion.certificate.ok, motion.certificate
    speed = 0.1 + 100 * 1e-3 * 16 / 15
    assert motion["a_dot"][-1] == pytest.approx(speed, rel=1e-10)
    assert motion.work[-1] == pytest.approx((speed**2 - 0.01) / 2, rel=20 * 1e2 * RTOL)
