"""Linearisations along motions and Floquet multipliers: Mathieu's equation, a vibrated pivot, and what is refused."""

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.special import mathieu_a, mathieu_b
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da

TIME = dynamicsymbols._t
FINE = da.DOP853(rtol=1e-13, atol=1e-14)


def mathieu():
    """x'' + (a - 2 q cos 2t) x = 0."""
    model = da.Model("mathieu")
    (x,) = model.coordinates("x")
    a, q = model.parameters(a=1.2, q=0.4)
    model.energy(kinetic=x.diff() ** 2 / 2)
    model.generalized_force({x: -(a - 2 * q * sp.cos(2 * TIME)) * x})
    return model.compile()


def at_rest(system, a, q):
    state = system.initial({"x": 0.0, "x'": 0.0}, parameters={"a": a, "q": q})
    return system.linearize(system.simulate(state, np.pi, integrator=FINE), states=["x", "x_dot"])


def test_mathieu_against_a_series_of_high_order():
    """At rest the motion has no error to choose steps by; the columns have."""
    lin = at_rest(mathieu(), 1.2, 0.4)
    mpmath.mp.dps = 25
    for column, start in enumerate(([1, 0], [0, 1])):
        f = mpmath.odefun(
            lambda t, y: [y[1], -(mpmath.mpf("1.2") - mpmath.mpf("0.8") * mpmath.cos(2 * t)) * y[0]], 0, start
        )
        want = [float(v) for v in f(mpmath.pi)]
        np.testing.assert_allclose(lin.monodromy[:, column], want, atol=1e-11)
    np.testing.assert_allclose(np.prod(lin.multipliers), 1.0, atol=1e-11)  # Liouville: the trace of A is zero
    np.testing.assert_allclose(lin.A[:, 1, 0], -(1.2 - 0.8 * np.cos(2 * lin.t)), atol=1e-13)
    np.testing.assert_allclose(np.exp(lin.exponents * np.pi), lin.multipliers, atol=1e-12)


@pytest.mark.parametrize(("order", "sign"), [(0, 1), (1, -1), (2, 1)])
def test_multipliers_are_one_on_the_curves_that_bound_stability(order, sign):
    system = mathieu()
    for curve in (mathieu_a, mathieu_b):
        if order or curve is mathieu_a:
            lin = at_rest(system, float(curve(order, 0.7)), 0.7)
            assert np.trace(lin.monodromy) == pytest.approx(2 * sign, abs=1e-10)


def vibrated(angle):
    """An inverted pendulum whose pivot moves by h cos(W t), with its angle as coordinate or as a constraint."""
    model = da.Model("vibrated pivot")
    h, W, g = model.parameters(h=0.1, W=60.0, g=9.81)
    pivot = h * sp.cos(W * TIME)
    if angle:
        (a,) = model.coordinates("a")
        position = [sp.sin(a), pivot + sp.cos(a)]
    else:
        x, y = model.coordinates("x y")
        position = [x, y]
        model.constrain(x**2 + (y - pivot) ** 2 - 1, name="rod")
    model.particle("bob", mass=2.0, position=position)
    model.gravity([0, -g])
    return model.compile()


@pytest.mark.parametrize("angle", [True, False], ids=["coordinate", "constraint"])
def test_stability_limit_of_a_vibrated_inverted_pendulum(angle):
    """With tau = W t / 2 it is Mathieu's equation, a = -4 g / W^2 and q = -2 h: the limit is a = a_0(q)."""
    system, (h, g) = vibrated(angle), (0.1, 9.81)
    limit = np.sqrt(-4 * g / float(mathieu_a(0, 2 * h)))
    start = {"a": 0.0} if angle else {"x": 0.0, "x'": 0.0}
    traces = []
    for W in (0.999 * limit, limit, 1.001 * limit):
        state = system.initial(start, guess={} if angle else {"y": 1.1}, parameters={"W": W})
        motion = system.simulate(state, 2 * np.pi / W, integrator=FINE)
        lin = system.linearize(motion, states=None if angle else ["x", "x_dot"])
        traces.append(np.trace(lin.monodromy))
        growth = np.abs(lin.multipliers).max()
        assert (growth > 1 + 1e-3) if limit > W else growth == pytest.approx(1.0, abs=1e-4)
    assert traces[1] == pytest.approx(2.0, abs=1e-10)
    assert traces[0] > 2.0 > traces[2]


def test_transition_matrices_are_differences_of_motions():
    """A double pendulum with constraints: perturbed starts against the transition matrix, to the square of the step."""
    model = da.Model("double pendulum")
    x1, y1, x2, y2 = model.coordinates("x1 y1 x2 y2")
    for name, position in (("A", [x1, y1]), ("B", [x2, y2])):
        model.particle(name, mass=1.0, position=position)
    model.gravity([0, -9.81])
    model.constrain(x1**2 + y1**2 - 1, name="first")
    model.constrain((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="second")
    system = model.compile()
    guess = {y1: -0.95, y2: -1.9}
    state = system.initial({x1: 0.3, x2: 0.1, "x1'": 0.0, "x2'": 0.0}, guess=guess)
    motion = system.simulate(state, 1.0, integrator=FINE, t_eval=np.linspace(0, 1, 5))
    lin = system.linearize(motion, states=["x1", "x2", "x1_dot", "x2_dot"])
    np.testing.assert_allclose(lin.transition[0], np.eye(4), atol=1e-15)
    e = 1e-4

    def end(name, shift):
        given = {n: float(state[n]) + (shift if n == name else 0.0) for n in lin.states}
        moved = system.simulate(system.initial(given, guess=state), 1.0, integrator=FINE)
        return np.array([moved[n][-1] for n in lin.states])

    for k, name in enumerate(lin.states):
        slope = (8 * (end(name, e) - end(name, -e)) - (end(name, 2 * e) - end(name, -2 * e))) / (12 * e)
        np.testing.assert_allclose(lin.transition[-1][:, k], slope, atol=1e-8)


def test_inputs_and_outputs_vary_along_the_motion():
    model = da.Model("pendulum")
    (a,) = model.coordinates("a")
    F, L, m, g = model.parameters(F=0.0, L=0.7, m=2.0, g=9.81)
    model.energy(kinetic=m * L**2 * a.diff() ** 2 / 2, potential=-m * g * L * sp.cos(a))
    model.generalized_force({a: F * L * sp.cos(a)})
    system = model.compile()
    motion = system.simulate(system.initial({a: 1.0}), 2.0)
    lin = system.linearize(motion, inputs=[F], outputs=[L * sp.sin(a)])
    angle = motion["a"]
    np.testing.assert_allclose(lin.A[:, 1, 0], -9.81 / 0.7 * np.cos(angle), atol=1e-12)
    np.testing.assert_allclose(lin.B[:, 1, 0], np.cos(angle) / (2.0 * 0.7), atol=1e-12)
    np.testing.assert_allclose(lin.C[:, 0, 0], 0.7 * np.cos(angle), atol=1e-12)
    assert lin.D.shape == (len(motion.t), 1, 1)
    assert "a, a_dot" in repr(lin)
    with pytest.raises(da.LinearizationError, match=r"is not periodic: .* begins at .* system\.periodic"):
        _ = lin.multipliers


def test_what_cannot_be_linearised_says_so():
    system = mathieu()
    with pytest.raises(da.PairingError, match="a State or a Motion"):
        system.linearize(3.0)
    motion = system.simulate(system.initial({"x": 0.0, "x'": 0.0}), 2.0)
    with pytest.raises(da.LinearizationError, match="do not repeat after 2"):
        _ = system.linearize(motion).multipliers
    x = dynamicsymbols("x")
    bounce = da.Event(x - 0.5, then={x.diff(): -x.diff()}, name="stop")
    hit = system.simulate(system.initial({"x": 0.0, "x'": 1.0}), 2.0, events=[bounce])
    with pytest.raises(da.PairingError, match="segments, between which events change it"):
        system.linearize(hit)
    assert len([system.linearize(part) for part in hit.segments]) == len(hit.segments)


def test_states_that_become_dependent_are_named_with_the_time():
    model = da.Model("pendulum")
    x, y = model.coordinates("x y")
    model.particle("bob", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    model.constrain(x**2 + y**2 - 1, name="rod")
    system = model.compile()
    state = system.initial({x: 0.0, "x'": 7.0}, guess={y: -1.0})  # over the top
    times = [0.0, 0.05, 0.1]
    motion = system.simulate(state, 0.1, t_eval=times)
    with pytest.raises(da.LinearizationError, match=r"at t = 0: .*y"):
        system.linearize(motion, states=["y", "y_dot"])
