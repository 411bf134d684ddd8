"""Every reference problem by both saddle solvers: one motion, the same accelerations and multipliers."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.problems.beam import beam
from dalembert.problems.ladder import ladder
from dalembert.problems.net import net
from dalembert.problems.rope import rope
from dalembert.problems.vehicle_train import vehicle_train
from dalembert.run.engine import Engine
from dalembert.solve.dense import DENSE
from dalembert.solve.sparse import SPARSE

AGREED = 1e-10
FAMILIES = [rope(5), net(3, 4), ladder(3), beam(3), vehicle_train(4)]
IDEAL = [problem for problem in (*problems.all(), *FAMILIES) if problem.system().ideal]
FORMULATIONS = [da.LagrangeMultipliers(solver=solver) for solver in (SPARSE, DENSE)]


def agree(one, other, what):
    """Columns (nt, n), each relative to its largest value or to 1."""
    sizes = np.maximum(np.abs(other).max(axis=0, initial=1.0), 1.0)
    np.testing.assert_allclose(one / sizes, other / sizes, rtol=0, atol=AGREED, err_msg=what)


@pytest.mark.parametrize("problem", IDEAL, ids=lambda problem: problem.name)
def test_both_solvers_give_one_motion(problem):
    system = problem.system()
    state = problem.state(system)
    t_end = min(problem.t_end, 0.5)
    sparse, dense = (
        system.simulate(
            state, t_end, t_eval=np.linspace(0.0, t_end, 6), integrator=da.DOP853(rtol=1e-12, atol=1e-13),
            formulation=formulation,
        )
        for formulation in FORMULATIONS
    )  # fmt: skip
    assert sparse.certificate.ok, sparse.certificate
    for name in ("q", "u"):
        agree(getattr(sparse, name), getattr(dense, name), name)
    z = np.hstack([sparse.q, sparse.u, sparse.work[:, None]][: 3 if system.works else 2])
    engines = (Engine(system, sparse.parameters, formulation, da.Projection()) for formulation in FORMULATIONS)
    one, other = (engine.evaluate(sparse.t, z) for engine in engines)
    for name in ("udot", "multipliers"):  # at the same states: stiff springs amplify what is between two runs
        agree(getattr(one, name), getattr(other, name), name)
    held = [np.abs(v).max() for level in ("position", "velocity") for v in sparse.violation.get(level, {}).values()]
    assert max(held, default=0.0) < AGREED


def test_what_is_not_ideal_is_refused():
    refused = [problem for problem in problems.all() if not problem.system().ideal]
    assert refused
    for problem in refused:
        system = problem.system()
        with pytest.raises(da.PairingError, match="not all ideal"):
            system.simulate(problem.state(system), 0.1, formulation=da.LagrangeMultipliers(solver=SPARSE))
