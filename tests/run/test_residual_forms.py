"""F(t, y, y') = 0 holds for the motion that the explicit equations give, and its matrix says that its index is one."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.run.engine import Engine

FORMS = [da.HillerAnantharaman(), da.GearGuptaLeimkuhler(), da.PseudoSpeeds()]
EVERY = pytest.mark.parametrize("problem", problems.all(), ids=lambda p: p.name)


def engine_of(system, state):
    return Engine(system, state.parameters, da.LagrangeMultipliers(), da.NoCorrection())


def evaluated(engine, form, t, z, cj, move=0.0):
    """F, dF/dy + cj dF/dy' by the chain rule and at once, the state, the quality, at the start of a settled form."""
    settled = form.settled(engine, t, z)
    y, ydot = settled.start(engine, t, z)
    r = settled.residual(engine.system)
    at_once = ca.jacobian(r.F, r.y) + cj * ca.jacobian(r.F, r.ydot)
    quality = ca.SX(1) if r.quality is None else r.quality
    outputs = [r.F, r.jacobian(cj), at_once, r.state, quality]
    function = ca.Function("form", [ca.vertcat(r.t, r.y, r.ydot, r.p)], outputs)
    values = function(np.concatenate([[t], y + move, ydot + move, settled.parameters(engine)]))
    return settled, r, [value.full() for value in values]


@EVERY
def test_residual_vanishes_along_the_explicit_motion_and_its_index_is_one(problem):
    system = problem.system()
    start = problem.state(system)
    times = np.random.default_rng(3).uniform(0.1, 0.9, 2) * min(problem.t_end, 1.0)
    motion = system.simulate(start, float(times.max()) + 1e-3, t_eval=np.sort(times))
    engine = engine_of(system, start)
    for t, q, u in zip(motion.t, motion.q, motion.u, strict=True):
        z = np.concatenate([q, u, np.zeros(int(system.works))])
        for form in FORMS:
            _, r, (F, J, _, state, quality) = evaluated(engine, form, float(t), z, 1e3)
            assert F.shape == (r.size, 1) == (len(r.tested), 1) == (len(r.differential), 1)
            rows = np.abs(J).max(axis=1)
            assert (np.abs(F[:, 0]) < 1e-8 * (rows + 1.0)).all(), form
            np.testing.assert_allclose(state[:, 0], z, atol=1e-10, err_msg=str(form))
            assert np.linalg.matrix_rank(J / rows[:, None]) == r.size, form
            assert 1e-2 < quality <= 1.0


@EVERY
def test_jacobian_by_the_chain_rule_is_that_of_the_residual(problem):
    system = problem.system()
    state = problem.state(system)
    engine = engine_of(system, state)
    z = np.append(state.z, np.zeros(int(system.works)))
    for form in FORMS:
        _, _, (_, J, at_once, _, _) = evaluated(engine, form, 0.0, z, 37.0, move=0.03)
        np.testing.assert_allclose(J, at_once, atol=1e-10 * np.abs(at_once).max(), err_msg=str(form))


def test_the_lecture_has_2n_plus_m_equations():
    problem = problems.get("four_bar")
    system = problem.system()
    state = problem.state(system)
    settled, r, _ = evaluated(engine_of(system, state), da.PseudoSpeeds(u_ind=["u1"]), 0.0, state.z, 1.0)
    n, M = 1, 2
    assert r.size == 2 * n + M
    assert (~r.differential).sum() == M  # the holonomic constraints, found for q_r
    assert r.tested.all()
    assert settled.partition.independent(3) == (0,)


def test_multipliers_are_kept_out_of_the_error_test():
    system = problems.get("andrews").system()
    for form in FORMS[:2]:
        r = form.residual(system)
        assert r.tested.sum() == system.nq + system.nu
        assert not r.tested[system.nq + system.nu :].any()


def test_another_partition_needs_no_other_machine_code():
    problem = problems.get("closed_chain_5")
    system = problem.system()
    state = problem.state(system)
    engine = engine_of(system, state)
    first = da.PseudoSpeeds(u_ind=["w0", "w1", "w2"]).settled(engine, 0.0, state.z)
    second = da.PseudoSpeeds(u_ind=["w2", "w3", "w4"]).settled(engine, 0.0, state.z)
    assert first.key == second.key
    assert first.choices != second.choices
    assert first.coordinates.independent(5) == (0, 1, 2)  # q goes with u


def test_an_elimination_too_long_to_unroll_is_refused(monkeypatch):
    monkeypatch.setattr("dalembert.run.residuals.pseudo_speeds.MOST_ELIMINATED", 1)
    with pytest.raises(da.PairingError, match=r"eliminate 2 speeds .* use HillerAnantharaman"):
        problems.get("four_bar").simulate(t_end=0.1, integrator=da.IDA(form=da.PseudoSpeeds()))


def test_partitions_that_cannot_work_are_explained():
    with pytest.raises(da.OptionError, match="has 1 degrees of freedom; give 1"):
        problems.get("four_bar").simulate(integrator=da.IDA(form=da.PseudoSpeeds(u_ind=["u1", "u2"])))
    with pytest.raises(da.UnknownNameError, match="u9"):
        problems.get("four_bar").simulate(integrator=da.IDA(form=da.PseudoSpeeds(u_ind=["u9"])))
