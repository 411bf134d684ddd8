"""Baumgarte: violations obey the stated linear equation exactly, whatever the formulation; gains are checked."""

import re

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import dalembert as da
from dalembert import problems
from dalembert.run.engine import Engine

FORMULATIONS = [
    da.LagrangeMultipliers(),
    da.UdwadiaKalaba(),
    da.NonminimalKane(),
    da.MinimalKane(),
    da.NullSpace(),
    da.NullSpace(reduced=False),
]
TIGHT = da.DOP853(rtol=1e-12, atol=1e-13)


def rod_and_skate():
    """Two masses, two position constraints, a velocity constraint linear and one nonlinear in the speeds."""
    model = da.Model("rod and skate")
    x1, y1, x2, y2, x3, y3 = model.coordinates("x1 y1 x2 y2 x3 y3")
    model.particle("A", mass=1.0, position=[x1, y1])
    model.particle("B", mass=3.0, position=[x2, y2])
    model.particle("C", mass=0.7, position=[x3, y3])
    model.gravity([0, -9.81])
    model.constrain((x2 - x1) ** 2 + (y2 - y1) ** 2 - 4, name="rod")
    model.constrain(y3 - sp.sin(x3), name="track")
    model.constrain(x1.diff() * (y2 - y1) - y1.diff() * (x2 - x1), name="skate")
    model.constrain(x2.diff() ** 2 + y2.diff() ** 2 - 1 - x1.diff() ** 2, name="pace")
    return model.compile()


@pytest.fixture(scope="module")
def system():
    return rod_and_skate()


@pytest.fixture(scope="module")
def state(system):
    guess = {"x2": 1.5, "y2": 1.2, "x2_dot": 0.8, "y2_dot": 0.6, "x1_dot": 0.3}
    return system.initial({"x1": 0.0, "y1": 0.0, "x3": 0.3, "x3_dot": 0.5}, guess=guess)


def residuals(system, state, drift, formulation, times, seed=3):
    """phi (nt, 2) and psi (nt, 4) of a run that starts off the constraints."""
    rng = np.random.default_rng(seed)
    engine = Engine(system, state.parameters, formulation, drift)
    z = np.append(state.z + 1e-2 * rng.standard_normal(len(state.z)), np.zeros(int(system.works)))
    samples = TIGHT.run(engine, z, (0.0, times[-1]), times)
    assert samples.status == 0
    out = system.evaluate("residual", samples.t, samples.z[:, : system.nq], samples.z[:, system.nq : engine.size])
    return np.split(out, [system.count("position")], axis=1)


def decay(phi0, rate0, gamma1, gamma2, times):
    """Exact phi and phi' (nt, n) of phi'' + Gamma1 phi' + Gamma2 phi = 0."""
    n = len(phi0)
    K = np.block([[np.zeros((n, n)), np.eye(n)], [-gamma2, -gamma1]])
    return np.split(np.array([expm(K * t) @ np.concatenate([phi0, rate0]) for t in times]), 2, axis=1)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=repr)
@pytest.mark.parametrize("kind", ["numbers", "sequences", "names", "matrices"])
def test_violations_obey_the_stated_equation(system, state, formulation, kind):
    times = np.linspace(0.0, 0.6, 13)
    drift, G1, G2, G = {
        "numbers": (da.Baumgarte(6, 9, gamma=4), 6 * np.eye(2), 9 * np.eye(2), 4 * np.eye(2)),
        "sequences": (da.Baumgarte([6, 2], (9, 8), gamma=[4, 1]), np.diag([6, 2]), np.diag([9, 8]), np.diag([4, 1])),
        "names": (
            da.Baumgarte({"rod": 6, "track": 2}, {"track": 8, "rod": 9}, gamma={"skate": 4, "pace": 1}),
            np.diag([6, 2]), np.diag([9, 8]), np.diag([4, 1]),
        ),
        "matrices": (
            da.Baumgarte([[6, 1], [-2, 5]], np.array([[9.0, -1], [3, 8]]), gamma=[[4, 2], [-3, 5]]),
            np.array([[6, 1], [-2, 5]]), np.array([[9, -1], [3, 8]]), np.array([[4, 2], [-3, 5]]),
        ),
    }[kind]  # fmt: skip
    phi, psi = residuals(system, state, drift, formulation, times)
    assert np.abs(phi[0]).max() > 1e-3
    assert np.abs(psi[0, 2:]).min() > 1e-3
    exact, rate = decay(phi[0], psi[0, :2], G1, G2, times)
    np.testing.assert_allclose(phi, exact, atol=1e-9)
    np.testing.assert_allclose(psi[:, :2], rate, atol=1e-9)
    np.testing.assert_allclose(psi[:, 2:], [expm(-G * t) @ psi[0, 2:] for t in times], atol=1e-9)


def test_reactions_that_are_not_ideal_are_damped_alike():
    """A servo constraint kept by a motor, on a block that rubs on its floor, and a constraint on accelerations."""
    model = da.Model("winch")
    x, y, z = model.coordinates("x y z")
    (motor,) = model.unknowns("motor")
    block = model.particle("P", mass=2.0, position=[x, y, z])
    model.gravity([0, 0, -9.81])
    model.constrain(z - 0.1 * sp.sin(x), name="floor")
    model.nonideal("floor", friction=0.2, at=block, regularisation=1e-2)
    model.force([motor, 0, 0], at=block)
    model.constrain(x.diff() - 1, servo=motor, name="pull")
    model.constrain(y.diff(model.t, 2) ** 3 + y.diff(model.t, 2) + y, name="spring")
    system = model.compile()
    state = system.initial({"x": 0.0, "y": 0.2, "y_dot": 0.0})
    engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.Baumgarte(8, 16, gamma=3))
    off = np.append(state.z + np.array([0, 0, 0.01, 0.02, 0, -0.03]), np.zeros(int(system.works)))
    times = np.linspace(0.0, 0.5, 6)
    samples = TIGHT.run(engine, off, (0.0, 0.5), times)
    assert samples.status == 0
    out = system.evaluate("residual", samples.t, samples.z[:, :3], samples.z[:, 3:6])
    exact, rate = decay(out[0, :1], out[0, 1:2], np.array([[8.0]]), np.array([[16.0]]), times)
    np.testing.assert_allclose(out[:, :1], exact, atol=1e-9)
    np.testing.assert_allclose(out[:, 1:2], rate, atol=1e-9)
    np.testing.assert_allclose(out[:, 2], out[0, 2] * np.exp(-3 * times), atol=1e-9)


@pytest.mark.parametrize("formulation", [f for f in FORMULATIONS if not isinstance(f, da.UdwadiaKalaba)], ids=repr)
def test_feedback_is_part_of_the_unrolled_right_hand_side(system, state, formulation):
    """The motion kernel and the pivoted solve with its feedback kernel give the same rates off the constraints."""
    rng = np.random.default_rng(0)
    engine = Engine(system, state.parameters, formulation, da.Baumgarte(6, 9, gamma=4))
    assert not engine.plan.motion
    z = np.append(state.z + 1e-2 * rng.standard_normal(len(state.z)), np.zeros(int(system.works)))
    unrolled = engine.rates(0.0, z)
    assert engine.plan.motion
    pivoted = Engine(system, state.parameters, da.UdwadiaKalaba(), da.Baumgarte(6, 9, gamma=4)).rates(0.0, z)
    np.testing.assert_allclose(unrolled, pivoted, rtol=1e-10, atol=1e-10)
    free = Engine(system, state.parameters, formulation, da.NoCorrection()).rates(0.0, z)
    assert np.abs(unrolled - free).max() > 1e-2


# -- gains -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.Baumgarte(-20, -100), r"eigenvalues 24\.14, -4\.142"),
        (lambda: da.Baumgarte(0, 100), r"do not decay: eigenvalues 0[+-]10i"),
        (lambda: da.Baumgarte(20, 0), "eigenvalues .*0, -20"),
        (lambda: da.Baumgarte(gamma=-1.0), "eigenvalues 1"),
        (lambda: da.Baumgarte(20), "gamma2 is not; give both"),
        (lambda: da.Baumgarte(gamma2=20), "gamma1 is not; give both"),
        (lambda: da.Baumgarte("fast", 1), "give a number"),
        (lambda: da.Baumgarte(np.nan, 1), "finite"),
        (lambda: da.Baumgarte([], []), "finite numbers"),
    ],
)
def test_gains_that_cannot_work_are_refused_at_once(make, words):
    with pytest.raises(da.OptionError, match=words):
        make()


@pytest.mark.parametrize(
    ("drift", "error", "words"),
    [
        (da.Baumgarte([6, -2], [9, 8]), da.OptionError, "eigenvalues 1.*2.646i"),
        (da.Baumgarte([[0, 9], [-9, 0]], [[1, 0], [0, 1]]), da.OptionError, "violations do not decay"),
        (da.Baumgarte([6, 2, 1], [9, 8, 1]), da.OptionError, r"shape \(3,\), but `rod and skate` has 2 position"),
        (da.Baumgarte({"rod": 6}, {"rod": 9}), da.OptionError, "gamma1 is not given for `track`"),
        (da.Baumgarte({"rod": 6, "skate": 1}, {"rod": 9, "track": 1}), da.OptionError, "`skate`, which is a velocity"),
        (da.Baumgarte({"road": 6}, {"rod": 9}), da.UnknownNameError, "did you mean `rod`"),
        (da.Baumgarte(gamma=[[0, 1], [1, 0]]), da.OptionError, "gamma violations do not decay: eigenvalues 1, -1"),
    ],
)
def test_gains_that_do_not_fit_the_system_are_refused(system, state, drift, error, words):
    with pytest.raises(error, match=words):
        system.simulate(state, 0.1, drift=drift)


def test_gains_for_constraints_the_system_lacks_are_refused():
    particle = problems.get("sliding_particle")
    with pytest.raises(da.OptionError, match="has none; use gamma1, gamma2"):
        particle.simulate(t_end=0.1, drift=da.Baumgarte(gamma=1.0))
    with pytest.raises(da.OptionError, match="has none; use gamma="):
        problems.get("knife_edge").simulate(t_end=0.1, drift=da.Baumgarte(20, 100))


@pytest.mark.parametrize("integrator", [da.RK4, da.KuttaMerson, da.Tsit5, da.DOP853])
def test_gains_too_stiff_for_a_fixed_step_are_refused_with_a_step_that_works(integrator):
    particle = problems.get("sliding_particle")
    drift = da.Baumgarte(2000, 1e6)
    with pytest.raises(da.OptionError, match="eigenvalue -1000 makes violations grow") as caught:
        particle.simulate(t_end=0.5, drift=drift, integrator=integrator(step=0.01))
    usable = float(str(caught.value).split("use a step of at most ")[1].split(",")[0])
    phi = particle.simulate(t_end=0.5, drift=drift, integrator=integrator(step=usable)).violation["position"]["track"]
    assert np.abs(phi).max() < 1e-3
    with pytest.raises(da.OptionError, match="too stiff"):
        particle.simulate(t_end=0.5, drift=drift, integrator=integrator(step=1.05 * usable / 0.8))


def test_pairing_with_adapted_steps_needs_no_step(system, state):
    motion = system.simulate(state, 1.0, drift=da.Baumgarte(2000, 1e6, gamma=1000))
    assert motion.success
    assert max(np.abs(v).max() for v in motion.violation["position"].values()) < 1e-9


@pytest.mark.parametrize(
    ("integrator", "h"), [(da.KuttaMerson(step=1e-2), 1e-2), (da.RK4(5e-3), 5e-3), (da.Tsit5(rtol=1e-8), None)]
)
def test_gains_not_given_follow_a_fixed_step_or_the_motion_and_are_shown(system, state, integrator, h):
    motion = system.simulate(state, 10.0, drift=da.Baumgarte(), integrator=integrator)
    free = system.simulate(state, 10.0, drift=da.NoCorrection(), integrator=integrator)
    shown = str(motion.certificate)
    assert "gamma1 = 2 s, gamma2 = s^2, gamma = s" in shown
    s = float(re.search(r": s = (\S+)" if h else r", s = (\S+), half the rate of the motion", shown)[1])
    assert s == pytest.approx(0.05 / h if h else 0.5 * motion.scales.rate, rel=1e-3)
    worst = [max(np.abs(v).max() for v in m.violation["position"].values()) for m in (motion, free)]
    assert worst[0] < 0.5 * worst[1]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("integrator", [da.KuttaMerson, da.Tsit5, da.DOP853])
def test_gains_from_adapted_steps_cost_little_and_hold_to_the_tolerance(integrator, rtol):
    """With gains of a fixed multiple of 1/h the steps would shrink by orders of magnitude."""
    particle = problems.get("sliding_particle")
    settings = {"t_end": 10.0, "integrator": integrator(rtol=rtol, atol=rtol)}
    damped, free = (particle.simulate(drift=drift, **settings) for drift in (da.Baumgarte(), da.NoCorrection()))
    assert damped.stats["nfev"] < 1.1 * free.stats["nfev"]
    assert np.abs(damped.violation["position"]["track"]).max() < 20 * rtol


@pytest.mark.parametrize("name", ["four_bar", "closed_chain_5", "sliding_particle", "car_axis"])
@pytest.mark.parametrize("integrator", [da.KuttaMerson, da.Tsit5, da.DOP853])
def test_gains_not_given_do_not_grow_while_rejected_steps_shrink(integrator, name):
    """At rough tolerances gains that follow the step raise the error estimate while it shrinks: no step is accepted.

    Violations that decay more slowly than the motion changes cannot halve its steps.
    """
    problem = problems.get(name)
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6):
        settings = {"t_end": 0.3 * problem.t_end, "integrator": integrator(rtol=rtol)}
        damped, free = (problem.simulate(drift=drift, **settings) for drift in (da.Baumgarte(), da.NoCorrection()))
        assert damped.success, f"{rtol}: {damped.message}"
        assert damped.stats["nfev"] < 2.0 * free.stats["nfev"], rtol


# -- the sliding particle (K9) -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", [da.NonminimalKane(u_ind=["u1"]), da.LagrangeMultipliers()], ids=repr)
def test_the_paper_s_bound_on_the_sliding_particle(formulation):
    motion = problems.get("sliding_particle").simulate(
        t_end=500.0, formulation=formulation, drift=da.Baumgarte(20, 100), integrator=da.KuttaMerson(step=1e-3)
    )
    assert np.abs(motion.violation["position"]["track"]).max() < 2e-11
    assert "Baumgarte(gamma1=20.0, gamma2=100.0)" in motion.method
