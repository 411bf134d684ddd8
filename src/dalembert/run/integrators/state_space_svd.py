"""State-space method by singular value decomposition: constraints solved inside the implicit integration.

J. Wu, D. Zhang, X. Guo, L. Li, "A state space method for solving differential algebraic equations with nonholonomic
constraints". Their flow chart leaves the implicit formula open; here it is the L-stable ESDIRK method of `esdirk`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.run.integrators import implicit_equations as equations
from dalembert.run.integrators.divided import divided_method
from dalembert.run.integrators.esdirk import ERROR, ESDIRK_STAGES, GAMMA, GUESS, A, C
from dalembert.run.integrators.state_space import error_norm, solve_stage
from dalembert.run.integrators.state_space_matrix import StateSpaceWork, linearise, state_space_work
from dalembert.run.integrators.stepping import Stepping
from dalembert.run.integrators.work import work_error
from dalembert.run.status import NOT_CONVERGED, OK
from dalembert.run.time_loop.march import Samples, march
from dalembert.run.time_loop.method import Method
from dalembert.solve.separation import room

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.storage import SampleTable

NEWTON_SHARE = 1e-2  # share of the tolerated error that may be left by Newton's iteration
# rtol, atol: with 100 times as much, energies of half of the catalogue are off by more than 1e-6.
SVD_TOLERANCES = 1e-8, 1e-10
SVD_FIXED_TOLERANCE = 1e-10  # replaces the tolerances when the step is fixed


@dataclass(frozen=True, kw_only=True)
class StateSpaceSVD(Stepping):
    """Order 4, L-stable, for every kind of constraint; with `step` fixed steps, otherwise error below atol + rtol |z|.

    By default rtol = 1e-8 and atol = 1e-10. Positions and velocities satisfy their constraints to round-off at every
    step, without drift control.
    """

    def __post_init__(self) -> None:
        self.settle(*SVD_TOLERANCES, least=1e-13)

    @property
    def explicit(self) -> bool:
        """False: it keeps the constraints itself."""
        return False

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
        table: SampleTable | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        system = engine.system
        work, _ = engine.work.part("step_work", StateSpaceWork, _blocks(system), {"order": system.nq + system.nu})
        work.inner, work.width, work.fixed = svd_step.address, ESDIRK_STAGES, self.step is not None
        work.levels_kernel, work.gradients_kernel, work.sensitivity_kernel = (k.address for k in _kernels(system))
        work.length = 1 + engine.size + len(engine.parameters)
        holonomic = system.count("velocity") == 0 and not system.invariants
        work.shared = holonomic and system.trivial_kinematics
        return march(engine, self.method(), z0, span, t_eval, progress, table=table)

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return divided_method(
            self, svd_step, ESDIRK_STAGES, tolerance=SVD_FIXED_TOLERANCE, usual=SVD_TOLERANCES, order=4, restarts=True
        )


def _kernels(system: System) -> Sequence[Kernel]:
    return [
        equations.kernel(system, "levels", equations.levels),
        equations.kernel(system, "gradients", equations.gradients),
        equations.kernel(system, "sensitivity", equations.sensitivity),
    ]


def _blocks(system: System) -> dict[str, int]:
    nq, nu, nc = system.nq, system.nu, system.nc
    n, position = nq + nu, system.count("position")
    m_q, m_u = position + len(system.invariants), position + system.count("velocity")
    return {
        "argument": 1 + n + len(system.parameters) + nu + nc,
        "levels": m_q + m_u,
        "gradients": nq * n + m_q * nq + m_u * n,
        "sensitivity": (nu + nc) * n,
        "rate_jacobian": n * n,
        "v_q": nq * nq,
        "v_u": nu * nu,
        "n_q": nq * nq,
        "n_u": nu * nu,
        "inverse_q": nq * m_q,
        "inverse_u": nu * m_u,
        "tangent": n * n,
        "reduced": n * n,
        "unknown": n,
        "normal": n,
        "vector": n + m_u,
        "known": n + 1,
        "product": n,
        "decomposition": max(room(m_q, nq), room(m_u, nu)),
    }


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8, i8))
def _stages(plan, mem, t, h, z, stages, znew, rtol, atol, start):
    """All stages of a step, with the matrix of its `start`; returns whether they could be solved."""
    n, size, known, hg = z.size, plan.nq + plan.nu, state_space_work(plan.step_work).known, h * GAMMA
    if not linearise(plan, mem, t, hg, z, znew, start):
        return 0
    for s in range(1, ESDIRK_STAGES):
        for i in range(n):
            total = guess = 0.0
            for j in range(s):
                total += A[s, j] * stages[j * n + i]
                guess += GUESS[s, j] * stages[j * n + i]
            mem[known + i] = z[i] + h * total
            znew[i] = mem[known + i] + hg * guess
        zdot = stages[s * n : (s + 1) * n]
        if not solve_stage(
            plan, mem, t + C[s] * h, hg, znew, zdot, NEWTON_SHARE * rtol, NEWTON_SHARE * atol, s == ESDIRK_STAGES - 1
        ):
            return 0
        if n > size:
            znew[size] = mem[known + size] + hg * zdot[size]
    return 1


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def svd_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm, or NaN if a stage could not be solved."""
    I = state_space_work(plan.step_work)
    n, size, e = z.size, plan.nq + plan.nu, I.normal
    plan.unsolved = OK
    if not _stages(plan, mem, t, h, z, stages, znew, rtol, atol, 1):
        # Next to a singular position the constraints hardly hold some direction: it is integrated like a free one.
        ranks, failed = I.rank_q + I.rank_u, plan.unsolved
        plan.unsolved = OK
        linearise(plan, mem, t, h * GAMMA, z, znew, 2)
        weak = I.rank_q + I.rank_u < ranks
        if not (weak and _stages(plan, mem, t, h, z, stages, znew, rtol, atol, 2)):
            plan.unsolved = NOT_CONVERGED if failed == OK else failed
            return math.nan
    wrong = 0.0
    for i in range(n):
        total = 0.0
        for j in range(ESDIRK_STAGES):
            total += h * ERROR[j] * stages[j * n + i]
        if i < size:
            mem[e + i] = total
        else:
            wrong = total
    return math.hypot(error_norm(plan, mem, z, znew, rtol, atol), work_error(plan, mem, t, z, znew, wrong, rtol, atol))
