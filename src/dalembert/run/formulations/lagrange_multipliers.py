"""Lagrange multipliers: the saddle-point equations [M A^T; A 0] (u', -la) = (f, b), factorised as a whole."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import rows_of
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, i8, move
from dalembert.run.evaluate import finish_rates, load_equations
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import Choice, choose
from dalembert.run.formulations.law_graphs import Iteration, with_multipliers
from dalembert.run.formulations.nonideal import accelerate_nonideal
from dalembert.run.right_hand_side import Equations
from dalembert.solve.refinement import refine_saddle
from dalembert.solve.solver import SaddleSolver, call_factor
from dalembert.solve.sparse import factor_sparse
from dalembert.solve.sparse_refinement import refine_sparse
from dalembert.solve.unrolled import TRUSTED, unroll_saddle


@dataclass(frozen=True)
class LagrangeMultipliers:
    """M u' - A^T la = f with A u' = b (Dinh Van Phong, eq. 2.40-2.45).

    The mass matrix may be singular as long as the whole matrix is not. Redundant constraints leave u' unique.
    `solver` is DENSE, SPARSE or a `SaddleSolver` of your own; None: unrolled, sparse or dense, whichever takes the
    least work.
    """

    solver: SaddleSolver | None = None

    def choose(self, _system: System, M: Any, A: Any) -> Choice:
        """The independent constraints at a state; all of them where possible."""
        return Choice(tuple(sorted(choose(M, A).rows)), ())

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and the quality of the solve as a graph; None if it would be too long."""
        if self.solver is not None:
            return None
        e, rows = equations, list(choice.rows)
        solved = unroll_saddle(e.M, e.f, rows_of(e.A, rows), rows_of(e.b, rows), augment=e.singular_mass)
        if solved is None:
            return None
        la = ca.SX(e.A.shape[0], 1)
        for k, row in enumerate(rows):
            la[row] = solved[1][k]
        return solved[0], la, solved[2]

    def iteration(self, system: System) -> Iteration | None:
        """The graph of Newton's method; None where reactions can be solved for without."""
        return with_multipliers(system.mechanics) if system.curved else None

    def workspace(self, _nu: int, _nc: int) -> tuple[int, int]:
        """Floats and integers the native function works in: those every plan has."""
        return 0, 0

    def accelerators(self) -> Accelerators:
        """The native functions that find the accelerations."""
        return Accelerators(accelerate_unrolled, accelerate_pivoted, accelerate_nonideal)


@jit(i8(Plan, Floats))
def accelerate_pivoted(plan, mem):
    """u' and la by a factorisation that pivots and stops at the rank; all reactions ideal."""
    nu, nc, x, la = plan.nu, plan.nc, plan.rhs, plan.multiplier
    load_equations(plan, mem)
    call_factor(plan.factor, (plan, mem, nc))
    refine_saddle(plan, mem, nc)
    move(mem, plan.udot, mem, x, nu)
    move(mem, la, mem, x + nu, nc)
    return finish_rates(plan, mem)


@jit(i8(Plan, Floats))
def accelerate_sparse(plan, mem):
    """u' and la by a factorisation over the nonzeros of M and A; all reactions ideal."""
    nu, nc, x = plan.nu, plan.nc, plan.rhs
    load_equations(plan, mem)
    factor_sparse(plan, mem, nc)
    refine_sparse(plan, mem, nc)
    move(mem, plan.udot, mem, x, nu)
    move(mem, plan.multiplier, mem, x + nu, nc)
    if plan.nz - plan.n_variations > plan.nq + nu:
        return finish_rates(plan, mem)
    move(mem, plan.rates, mem, plan.qdot, plan.nq)  # no force does work, so the power is not used
    return 0


@jit(i8(Plan, Floats))
def accelerate_unrolled(plan, mem):
    """u' and la by the motion kernel while its pivots can be trusted.

    A row without a gradient makes 0 / 0, which the quality does not show, but the power of its reaction does.
    """
    call_kernel(plan.motion, mem, plan.x, plan.rates)
    if mem[plan.quality] > TRUSTED and math.isfinite(mem[plan.total_power]):
        return 0
    return accelerate_pivoted(plan, mem)
