"""The SVD state-space method: order, constraints inside the iteration, stiffness, singular positions, reactions."""

import numpy as np
import pytest
import sympy as sp
from implicit_runs import errors_by_step, errors_by_tolerance, worst
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert import problems
from dalembert.problems.closed_chain import closed_chain
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.engine import Engine
from dalembert.run.integrators import esdirk


def test_the_tableau_satisfies_its_order_conditions():
    A, B, C, E = esdirk.A, esdirk.B, esdirk.C, esdirk.EMBEDDED
    np.testing.assert_allclose(A.sum(axis=1), C, atol=1e-15)
    np.testing.assert_allclose(A @ C, C**2 / 2, atol=1e-15)  # stage order 2
    for b in (B, E):
        assert b.sum() == pytest.approx(1, abs=1e-14)
        for weights, value in ((C, 1 / 2), (C**2, 1 / 3), (A @ C, 1 / 6)):
            assert b @ weights == pytest.approx(value, abs=1e-14)
    for weights, value in ((C**3, 1 / 4), (C * (A @ C), 1 / 8), (A @ C**2, 1 / 12), (A @ A @ C, 1 / 24)):
        assert B @ weights == pytest.approx(value, abs=1e-14)
        assert abs(E @ weights - value) > 1e-4  # the embedded one must not be of order 4 too
    assert np.abs(B[-1] - A[-1, -1]) < 1e-15  # the last stage is the new state


@pytest.mark.parametrize(
    ("name", "end", "steps"),
    [
        ("pendulum", 2.0, (0.02, 0.01, 0.005)),
        ("knife_edge", 3.0, (0.1, 0.05, 0.025)),
        ("four_bar", 2.0, (0.02, 0.01, 0.005)),
        ("asymmetric_top", 2.0, (0.04, 0.02, 0.01)),
        ("appell_hamel", 2.0, (0.2, 0.1, 0.05)),
    ],
)
def test_order_four_with_constraints_at_round_off(name, end, steps):
    errors = errors_by_step(name, end, [da.StateSpaceSVD(step=h) for h in steps])
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders[-1, 0] == pytest.approx(4.0, abs=0.3), errors
    assert orders[-1, 1] > 3.7, errors


def test_error_follows_the_tolerance_and_samples_between_steps_keep_the_constraints():
    tolerances = np.array([1e-4, 1e-6, 1e-8])
    errors = errors_by_tolerance(da.StateSpaceSVD, tolerances)
    assert (errors < 100 * tolerances).all()
    assert errors[0] > 100 * errors[2]


def test_only_position_constraints_on_plain_rates_share_one_decomposition():
    for name, shared in (("four_bar", 1), ("knife_edge", 0), ("asymmetric_top", 0)):
        problem = problems.get(name)
        system = problem.system()
        state = problem.state(system)
        engine = Engine(system, state.parameters, da.LagrangeMultipliers(), da.NoCorrection())
        da.StateSpaceSVD(step=0.01).run(engine, state.z, (0.0, 0.01))
        work = engine.work.parts["step_work"]
        assert work.shared == shared
        assert (work.rank_q, work.rank_u) == {"four_bar": (2, 2), "knife_edge": (0, 1), "asymmetric_top": (1, 0)}[name]


@pytest.mark.parametrize("integrator", [da.StateSpaceSVD(rtol=1e-9, atol=1e-11), da.StateSpaceSVD(step=1e-3)])
def test_through_singular_positions(integrator):
    problem = n_four_bar(2)
    motion = problem.simulate(t_end=2.0, integrator=integrator)
    assert motion.success, motion.message
    assert worst(motion) < 1e-10
    exact = problem.exact(motion.t)
    assert max(np.abs(motion[name] - values).max() for name, values in exact.items()) < 2e-5


def test_andrews_mechanism():
    problem = problems.get("andrews")
    motion = problem.simulate(t_eval=[0.03], integrator=da.StateSpaceSVD(rtol=1e-9, atol=1e-11))
    for name in ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"):
        assert motion[name][-1] == pytest.approx(problem.reference[0.03][name], abs=2e-7)


def stiff_pendulum():
    """A small mass on a spring that hardly stretches: 1600 Hz beside 0.5 Hz."""
    model = da.Model("spring pendulum")
    x, y = model.coordinates("x y")
    k, l, m, g = model.parameters(k=1e6, l=1.0, m=0.01, g=9.81)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.energy(potential=k * (sp.sqrt(x**2 + y**2) - l) ** 2 / 2)
    system = model.compile()
    angle = 0.9
    length = 1.0 + 0.01 * 9.81 * np.cos(angle) / 1e6
    at = {"x": length * np.sin(angle), "y": -length * np.cos(angle), "x'": 0.0, "y'": 0.0}
    return system, system.initial(at)


@pytest.mark.parametrize(
    "integrator",
    [da.StateSpaceSVD(rtol=1e-4, atol=1e-6), da.GeneralizedAlpha(step=0.005), da.GeneralizedAlpha(rho_inf=0.3)],
)
def test_stiff_springs_cost_an_explicit_method_ten_times_more(integrator):
    system, state = stiff_pendulum()
    explicit = system.simulate(state, 2.0, t_eval=[2.0], integrator=da.DOP853(rtol=1e-5, atol=1e-7))
    motion = system.simulate(state, 2.0, t_eval=[2.0], integrator=integrator)
    assert motion.success, motion.message
    assert np.abs(motion.q[-1] - explicit.q[-1]).max() < 1e-3
    assert explicit.stats["nfev"] > 10 * motion.stats["nfev"]


def particle(name, **parameters):
    model = da.Model(name)
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    m, *rest = model.parameters(m=1.3, **parameters)
    P = model.particle("P", mass=m, position=[x, y])
    model.gravity([0, -9.81])
    return model, P, (x, y, vx, vy), rest


def rubbing():
    model, P, (x, y, _, _), _ = particle("friction")
    track = model.constrain(y - sp.sin(2 * x) / 2, name="track")
    model.nonideal(track, friction=0.1, at=P, regularisation=0.5)
    return model.compile(), {"x": 0.0, "vx": 6.0}, {}


def bent():
    model, _, (x, _, vx, vy), _ = particle("not linear in the accelerations")
    model.constrain(vx.diff() ** 2 + vy.diff() ** 2 - 100 - 20 * sp.sin(x), name="amount")
    return model.compile(), {"x": 0, "y": 0, "vx": 1, "vy": 0}, {}


def accelerated():
    model, _, (x, _, vx, vy), _ = particle("acceleration constraint")
    model.generalized_force({x: -3 * x})
    model.constrain(vy.diff() + x * vx.diff() - 0.5, name="ratio")
    return model.compile(), {"x": 1, "y": 0, "vx": 0, "vy": 0}, {}


def redundant():
    model, _, (x, y, _, _), (L,) = particle("redundant", L=1.0)
    model.constrain(x**2 + y**2 - L**2, name="rod")
    model.constrain(sp.sqrt(x**2 + y**2) - L, name="again")
    return model.compile(), {"x": 0.6, "vx": 0.0}, {"y": -0.8}


def driven():
    model, _, (x, y, _, _), _ = particle("moving pivot")
    model.constrain(x**2 + (y - sp.sin(3 * dynamicsymbols._t) / 5) ** 2 - 1, name="rod")
    return model.compile(), {"x": 0.6, "vx": 0.0}, {"y": -0.8}


def prescribed():
    model, _, (x, y, _, _), _ = particle("no freedom left")
    model.constrain(x - sp.sin(dynamicsymbols._t), name="drive")
    model.constrain(y - x**2, name="track")
    return model.compile(), {}, {}


def free():
    model, _, (x, y, _, _), _ = particle("no constraint")
    model.generalized_force({x: -4 * x - y * x, y: -(y**3) - 0.1 * y + 9})
    return model.compile(), {"x": 1, "y": 0.5, "vx": 0, "vy": 1}, {}


def servo():
    problem = problems.get("car")
    return problem.system(), problem.given, problem.guess


EVERY_KIND = [rubbing, bent, accelerated, redundant, driven, prescribed, free, servo]


@pytest.mark.parametrize("build", EVERY_KIND)
@pytest.mark.parametrize(
    ("integrator", "error"),
    [
        (da.StateSpaceSVD(rtol=1e-8, atol=1e-10), 2e-5),
        (da.StateSpaceSVD(step=0.0025), 2e-5),
        (da.GeneralizedAlpha(step=0.001), 1e-3),
        (da.GeneralizedAlpha(rtol=1e-7, atol=1e-9), 1e-3),
    ],
)
def test_every_kind_of_reaction(build, integrator, error):
    system, given, guess = build()
    state = system.initial(given, guess=guess)
    times = np.linspace(0, 1, 21)
    true = system.simulate(state, 1.0, t_eval=times, integrator=da.DOP853(rtol=1e-11, atol=1e-12))
    motion = system.simulate(state, 1.0, t_eval=times, integrator=integrator)
    assert motion.success, motion.message
    assert worst(motion) < 1e-10
    assert np.abs(motion.q - true.q).max() < error
    assert np.abs(motion.u - true.u).max() < 10 * error
    assert np.abs(motion.work - true.work).max() < 20 * error * (1 + np.abs(true.work).max() / 100)


def test_a_step_too_long_is_divided_and_one_that_cannot_be_taken_says_so():
    problem = closed_chain(5)
    system = problem.system()
    state = problem.state(system)
    coarse = system.simulate(state, 3.0, integrator=da.StateSpaceSVD(step=0.5))
    assert coarse.success, coarse.message
    assert len(coarse.t) == 7
    assert worst(coarse) < 1e-10
    model = da.Model("rope too short")  # the pivot moves away faster than the particle can be reached by any motion
    x, y = model.coordinates("x y")
    model.particle("P", mass=1, position=[x, y])
    model.constrain(x**2 + y**2 - 1 + dynamicsymbols._t, name="shrinking")
    system = model.compile()
    state = system.initial({"x": 0.6, "x'": 0.0}, guess={"y": 0.8})
    for integrator in (da.StateSpaceSVD(step=0.01), da.GeneralizedAlpha(step=0.01), da.StateSpaceSVD()):
        motion = system.simulate(state, 2.0, integrator=integrator)
        assert not motion.success
        assert motion.t[-1] == pytest.approx(1.0, abs=0.02)  # nothing is left of the rope


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.StateSpaceSVD(step=0.0), "step is 0.0"),
        (lambda: da.StateSpaceSVD(rtol=-1.0), "rtol=-1.0"),
        (lambda: da.StateSpaceSVD(atol=0.0), "atol > 0"),
        (lambda: da.StateSpaceSVD(max_step=0.0), "max_step"),
        (lambda: da.GeneralizedAlpha(step=-1.0), "step is -1.0"),
        (lambda: da.GeneralizedAlpha(rho_inf=1.1), "rho_inf is 1.1"),
        (lambda: da.GeneralizedAlpha(rtol=2.0), "rtol=2.0"),
        (lambda: da.GeneralizedAlpha(rtol=1e-13), "at least 1e-12"),
        (lambda: da.GeneralizedAlpha(step=0.1, rtol=1e-6), "rtol=1e-06 adapts them"),
        (lambda: da.StateSpaceSVD(max_steps=0), "max_steps is 0"),
        (lambda: da.GeneralizedAlpha(max_step=-1.0), "max_step"),
    ],
)
def test_options_that_cannot_work_are_refused(make, words):
    with pytest.raises(da.OptionError, match=words):
        make()


@pytest.mark.parametrize("problem", problems.all(), ids=lambda p: p.name)
def test_the_default_tolerance_is_that_of_the_certificate(problem):
    motion = problem.simulate(integrator=da.StateSpaceSVD())
    assert motion.certificate.ok, motion.certificate


@pytest.mark.parametrize("integrator", [da.StateSpaceSVD(), da.GeneralizedAlpha()])
def test_formulations_and_other_drift_controls_are_refused(integrator):
    problem = problems.get("pendulum")
    system = problem.system()
    with pytest.raises(da.PairingError, match="solves the equations of motion"):
        system.simulate(problem.state(system), 1.0, integrator=integrator, formulation=da.UdwadiaKalaba())


def test_samples_between_steps_leave_newtons_matrix_of_laws_alone():
    """Friction as a law on a curve stated twice: samples are projected, with other factors than those of the law."""
    model = da.Model("bead with friction")
    x, y = model.coordinates("x y")
    vx, vy = model.speeds("vx vy")
    bead = model.particle("bead", mass=1.0, position=[x, y])
    model.gravity([0, -9.81])
    steepness = x / 10
    along = sp.sqrt(1 + steepness**2)
    v = (vx + steepness * vy) / along
    for k, factor in enumerate([1, 3]):
        row = model.constrain(factor * (y - x**2 / 20), name=f"curve{k}")
        (T,) = model.unknowns(f"T{k}")
        model.force([T / along, T * steepness / along], at=bead)
        model.law(T + 0.3 * sp.Abs(row.multiplier * factor) * along * v / sp.sqrt(v**2 + 0.01), determines=T)
    system = model.compile()
    state = system.initial({x: 0.3, vx: 2.0})
    whole = system.simulate(state, 1.0, integrator=da.StateSpaceSVD())
    sampled = system.simulate(state, 1.0, integrator=da.StateSpaceSVD(), t_eval=[0.05, 1.0])
    assert whole.certificate.ok, whole.certificate
    assert sampled.certificate.ok, sampled.certificate  # "did not converge" with the factors of the projection
    assert sampled.stats == whole.stats
    np.testing.assert_array_equal(sampled.q[-1], whole.q[-1])
