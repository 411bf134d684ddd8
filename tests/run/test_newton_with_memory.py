"""Constraints nonlinear in u' and laws: where several accelerations satisfy them, the motion stays on its branch."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

METHODS = {
    "Lagrange": {"formulation": da.LagrangeMultipliers()},
    "MinimalState": {"formulation": da.MinimalState()},
    "NullSpace": {"formulation": da.NullSpace()},
    "StateSpaceSVD": {"integrator": da.StateSpaceSVD(rtol=1e-8, atol=1e-10)},
    "Radau": {"integrator": da.Radau()},
    "GeneralizedAlpha": {"integrator": da.GeneralizedAlpha(rtol=1e-8, atol=1e-10)},
    "IDA": {"integrator": da.IDA()},
    "IDA, pseudo speeds": {"integrator": da.IDA(form=da.PseudoSpeeds())},
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def constrained(condition):
    """A particle on a line whose acceleration a satisfies condition(a, t) = 0."""
    model = da.Model("acceleration")
    (x,) = model.coordinates("x")
    (v,) = model.speeds("v")
    model.particle("P", mass=1.0, position=[x, 0])
    model.constrain(condition(v.diff(model.t), model.t), name="condition")
    return model.compile()


@pytest.mark.parametrize(
    ("condition", "root"),
    [
        (lambda a, _t: sp.atan(a - 10), 10.0),
        (lambda a, _t: sp.tanh(a - 5) - 0.3, 5.0 + np.arctanh(0.3)),
        (lambda a, _t: sp.log(a**2 + 1) - 5, np.sqrt(np.exp(5.0) - 1.0)),
        (lambda a, _t: a**3 - 3 * a - 2.5, np.roots([1, 0, -3, -2.5]).real.max()),
    ],
)
def test_accelerations_are_found_wherever_newton_s_method_would_diverge_undamped(condition, root):
    system = constrained(condition)
    state = system.initial({"x": 0, "v": 0})
    assert abs(state["v'"]) == pytest.approx(abs(root), rel=1e-12)
    motion = system.simulate(state, 0.5)
    assert motion.certificate.ok, motion.certificate
    assert motion["v"][-1] == pytest.approx(0.5 * state["v'"], rel=1e-12)


def speed_along(a, a0):
    """The change of v on a branch of a^3 - 3 a = t: dv = a dt = 3 a (a^2 - 1) da."""
    return 0.75 * (a**4 - a0**4) - 1.5 * (a**2 - a0**2)


@every_method
@pytest.mark.parametrize("start", [-np.sqrt(3.0), 0.0, np.sqrt(3.0)])
def test_the_motion_stays_on_the_branch_on_which_it_starts(start, method):
    system = constrained(lambda a, t: a**3 - 3 * a - t)
    state = system.initial({"x": 0, "v": 0, "v'": start})
    times = [0.0, 0.8, 1.6]  # too far apart to tell branches by
    motion = system.simulate(state, 1.6, t_eval=times, **method)
    roots = [np.sort(np.roots([1, 0, -3, -t]).real)[round(1 + np.sign(start))] for t in times]
    np.testing.assert_allclose(motion.udot[:, 0], roots, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(motion["v"], [speed_along(a, start) for a in roots], rtol=1e-5, atol=1e-7)
    assert "jumped" not in str(motion.certificate)


@every_method
def test_a_branch_that_ends_is_left_and_that_is_told(method):
    system = constrained(lambda a, t: a**3 - 3 * a - sp.Piecewise((0, t < 1), (2.5, True)))
    state = system.initial({"x": 0, "v": 0, "v'": -np.sqrt(3.0)})
    motion = system.simulate(state, 2.0, t_eval=[0.0, 0.3, 1.7, 2.0], **method)
    root = np.roots([1, 0, -3, -2.5]).real.max()
    np.testing.assert_allclose(motion.udot[:, 0], [-np.sqrt(3.0)] * 2 + [root] * 2, rtol=1e-9)
    assert motion["v"][-1] == pytest.approx(root - np.sqrt(3.0), rel=1e-7)
    assert (
        "u' jumped to another solution of the constraints nonlinear in u' or of the laws 1 times, first at t = 1"
        in (str(motion.certificate))
    )


def test_a_run_does_not_pass_a_fold_of_its_branch():
    """At t = 2 the branch that starts at -sqrt(3) ends, with infinite rates; no other continues it silently."""
    system = constrained(lambda a, t: a**3 - 3 * a - t)
    certificate = system.simulate(system.initial({"x": 0, "v": 0, "v'": -np.sqrt(3.0)}), 4.0).certificate
    assert not certificate.ok
    assert certificate.span[1] == pytest.approx(2.0, abs=1e-2)


# -- a block that sticks and slips -------------------------------------------------------------------------------------


def block(*, friction=0.3, push=4.0, quick=1e-3):
    """A block of mass 1 pushed by a force push sin t on a rough floor, by a law that sticks."""
    model = da.Model("stick and slip")
    x, y = model.coordinates("x y")
    (vx, _) = model.speeds("vx vy")
    P = model.particle("P", mass=1.0, position=[x, y])
    model.gravity([push * sp.sin(model.t), -9.81])
    N = model.constrain(y, name="plane").multiplier
    (T,) = model.unknowns("T")
    model.force([T, 0], at=P)
    stop = T - (vx.diff(model.t) + vx / quick)
    model.law(T - sp.Max(-friction * N, sp.Min(friction * N, stop)), determines=T)
    return model.compile()


def slide(t_end, *, friction=0.3, push=4.0, quick=1e-3):
    """x and v at t_end by hand: v' = -v / quick while the force for that is at hand, else push sin t -+ mu g."""
    from scipy.integrate import solve_ivp

    def rates(t, z):
        needed = -z[1] / quick - push * np.sin(t)
        return [z[1], push * np.sin(t) + np.clip(needed, -friction * 9.81, friction * 9.81)]

    return solve_ivp(rates, (0, t_end), [0, 0], method="Radau", rtol=1e-9, atol=1e-12, max_step=0.01).y[:, -1]


@pytest.mark.parametrize("form", [da.HillerAnantharaman(), da.GearGuptaLeimkuhler(), da.PseudoSpeeds()])
def test_ida_does_not_step_over_a_slip(form):
    system = block()
    motion = system.simulate(system.initial({"x": 0, "vx": 0}), 6.0, integrator=da.IDA(form=form))
    assert motion.certificate.ok, motion.certificate
    np.testing.assert_allclose([motion["x"][-1], motion["vx"][-1]], slide(6.0), atol=1e-6)


def test_generalized_alpha_does_not_step_over_a_slip():
    system = block()
    motion = system.simulate(system.initial({"x": 0, "vx": 0}), 6.0, integrator=da.GeneralizedAlpha())
    np.testing.assert_allclose([motion["x"][-1], motion["vx"][-1]], slide(6.0), atol=1e-3)
