"""dalembert as a user calls it: formulation, drift control and integrator are the defaults, the tolerance is given."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.route import OURS, Route, Solver, tolerances

import dalembert as da


def _prepare(case: Case) -> Solver:
    system, state = case.build()

    def solve(rtol: float) -> np.ndarray:
        motion = system.simulate(state, case.t_end, t_eval=case.times, integrator=da.DOP853(rtol=rtol, atol=rtol))
        if not motion.success:
            raise RuntimeError(motion.message)
        return motion.q

    solve(1e-3)  # machine code of the equations is made when first needed
    return Solver(solve, tolerances(1e-4, 1e-13))


ROUTES = (Route("dalembert", OURS, ("dalembert",), _prepare),)
