"""Systems of many parts, solved over nonzeros: exact motions, what the small ones do, and refusals by name."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.blueprint import blueprint_of
from dalembert.solve.dense import DENSE
from dalembert.solve.sparse import SPARSE


@pytest.fixture(scope="module")
def ladder():
    """160 four-bars in a row: 643 speeds and constraints."""
    problem = n_four_bar(160)
    system = problem.system()
    return problem, system, problem.state(system)


def test_many_four_bars_move_as_their_exact_solution(ladder):
    problem, system, state = ladder
    motion = system.simulate(state, 1.0, t_eval=np.linspace(0, 1, 11), integrator=da.DOP853(rtol=1e-9, atol=1e-9))
    assert motion.success
    assert [passage.passed for passage in motion.passages] == [True]
    exact = problem.exact(motion.t)
    assert max(np.abs(motion[name] - values).max() for name, values in exact.items()) < problem.tolerance
    certificate = motion.certificate
    assert certificate.ok, certificate
    held = [f.worst for f in certificate.findings if f.level in ("position", "velocity")]
    assert max(held) < 1e-10
    # Ideal reactions do no work, whatever their number: r . u is round-off of its terms.
    power = np.einsum("ti,ti->t", motion.reactions, motion.u)
    assert np.abs(power).max() < 1e-9 * np.abs(motion.reactions * motion.u).sum(axis=1).max()
    assert system.kernels.native["sparse_dynamics"].backend == "instances"


def test_a_consistent_state_is_the_nearest_one(ladder):
    """All cranks at one angle: of the ladders with a crank given, the nearest to one beside it keeps the shape."""
    _, system, state = ladder
    angle = 0.3
    given = {"x0": np.sin(angle)}
    guess = dict(zip(system.coordinates, state.q, strict=True))
    found = system.initial(given, guess=guess)
    cranks = [(found[f"x{k}"] - k, found[f"y{k}"]) for k in range(161)]
    np.testing.assert_allclose(cranks, [(np.sin(angle), np.cos(angle))] * 161, rtol=0, atol=1e-10)
    assert found.report.steps["position"] > 0


def test_a_conflict_among_many_is_named(ladder):
    _, system, _ = ladder
    with pytest.raises(da.InitialStateError, match="crank77") as failure:
        system.initial(
            {"x77": 80.0}, guess={f"x{k}": float(k) for k in range(161)} | {f"y{k}": 1.0 for k in range(161)}
        )
    assert "left over" in str(failure.value)


def test_what_needs_dense_matrices_is_refused_by_name(ladder):
    _, system, state = ladder
    with pytest.raises(da.OptionError, match="bounds"):
        system.initial({"x0": 0.0}, guess=state, bounds={"x0": (-1.0, 1.0)})
    with pytest.raises(da.OptionError, match="acceleration"):
        system.initial({"x0''": 0.0}, guess=state)
    for options in ({"drift": da.Blajer()}, {"drift": da.Yoon()}):
        with pytest.raises(da.PairingError, match=type(options["drift"]).__name__):
            system.simulate(state, 0.1, formulation=da.LagrangeMultipliers(solver=SPARSE), **options)


def test_a_formulation_keeps_its_solver_in_a_pickle():
    for solver in (SPARSE, DENSE):
        formulation = da.LagrangeMultipliers(solver=solver)
        assert pickle.loads(pickle.dumps(formulation)) == formulation


def test_a_solver_of_ones_own_is_the_one_that_solves():
    """A dense one beside those of the library is a value; nothing else has to know it."""
    own = replace(DENSE, name="own")
    system = n_four_bar(2).system()
    assert blueprint_of(system, da.LagrangeMultipliers(solver=own), da.Projection()).metric is own
    assert blueprint_of(system, da.LagrangeMultipliers(solver=SPARSE), da.Projection()).metric is SPARSE
    assert blueprint_of(system, da.LagrangeMultipliers(), da.Projection()).metric is DENSE


def rope(n):
    """n rods in space, joined by spherical joints, from a fixed point."""
    model = da.Model(f"rope of {n}")
    m, g = model.parameters(m=0.1, g=9.81)
    model.gravity([0, 0, -g])
    end = model.marker(model.ground, [0, 0, 0])
    for k in range(n):
        rod = model.body(f"B{k}", mass=m, inertia=[[1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-4]])
        model.joints.spherical(f"J{k}", end, model.marker(rod, [0, 0, 0.05]))
        end = model.marker(rod, [0, 0, -0.05])
    return model


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte()])
def test_sparse_and_dense_give_one_motion_in_space(drift):
    n = 4
    system = rope(n).compile()
    half = np.sqrt(0.5)
    guess = {}
    for k in range(n):
        guess |= {f"B{k}_x": 0.1 * k + 0.05, f"B{k}_e0": half, f"B{k}_e2": -half, f"B{k}_wx": 0.3, f"B{k}_wz": -2.0}
    state = system.initial(guess=guess)
    runs = [
        system.simulate(
            state, 0.3, t_eval=np.linspace(0, 0.3, 4), drift=drift, integrator=da.DOP853(rtol=1e-9, atol=1e-9),
            formulation=da.LagrangeMultipliers(solver=solver),
        )
        for solver in (SPARSE, DENSE)
    ]  # fmt: skip
    for name in ("q", "u", "udot", "multipliers", "energy"):
        one, other = (getattr(motion, name) for motion in runs)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * max(1.0, np.abs(other).max()))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10_000])
def test_thousands_of_loops_keep_loops_and_energy(n):
    """The errors of single steps add up in the energy, which moves at most by steps * rtol of what is turned over.

    Rows of a mechanism of 10 km have sizes of 2e4 m^2: of these the usual tolerance of 1e-13 leaves 2e-9 alone.
    """
    problem, rtol = n_four_bar(n), 1e-6
    system = problem.system()
    motion = system.simulate(
        problem.state(system), 0.3, t_eval=[0.0, 0.15, 0.3], drift=da.Projection(every_step=True),
        integrator=da.DOP853(rtol=rtol, atol=rtol),
    )  # fmt: skip
    assert motion.certificate.ok, motion.certificate
    held = [f.worst for f in motion.certificate.findings if f.level in ("position", "velocity")]
    assert max(held) < 1e-10
    assert np.ptp(motion.energy) < motion.stats["steps"] * rtol * np.ptp(motion.evaluation.kinetic)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "planar"), [(1000, False), (10_000, True)])
def test_thousands_of_bodies_on_joints_keep_joints_and_energy(n, planar):
    """A chain falls from rest; its energy moves at most by steps * rtol of what is turned over."""
    model, rtol = da.Model("chain"), 1e-6
    rest = [0.0] if planar else [0.0, 0.0]
    model.gravity([*rest, -9.81])
    before = model.marker(model.ground, [0.0, *rest])
    join = model.joints.revolute if planar else model.joints.spherical
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0, inertia=1 / 12 if planar else [0.01, 1 / 12, 1 / 12])
        join(f"J{k}", before, model.marker(body, [-0.5, *rest]))
        before = model.marker(body, [0.5, *rest])
    system = model.compile()
    state = system.initial(guess={f"B{k}_x": k + 0.5 for k in range(n)})
    motion = system.simulate(state, 0.1, t_eval=[0.0, 0.1], integrator=da.DOP853(rtol=rtol, atol=rtol))
    assert motion.certificate.ok, motion.certificate
    held = [f.worst for f in motion.certificate.findings if f.level in ("position", "velocity")]
    assert max(held) < 1e-10
    assert np.ptp(motion.energy) < motion.stats["steps"] * rtol * np.ptp(motion.evaluation.kinetic)
