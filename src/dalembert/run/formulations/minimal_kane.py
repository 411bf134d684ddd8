"""Kane's minimal equations: the independent accelerations alone, the dependent ones from the constraints.

Bajodah, Hodges, Chen, eq. (16)-(22) and (39): u = (u_I, u_D), A = -J2^-1 J1, u_D' = A u_I' + B.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move
from dalembert.run.evaluate import finish_rates, load_equations
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import Choice
from dalembert.run.formulations.fall_back import accelerate_rechosen, settle
from dalembert.run.formulations.partition import Partition, check_names, choose_partition
from dalembert.run.formulations.partition_loops import form_partition, leave_partition, places, room
from dalembert.run.right_hand_side import Equations
from dalembert.solve.cholesky import factor_cholesky, solve_lower, solve_upper
from dalembert.solve.rows import add_row, row_product
from dalembert.solve.unrolled import LIMIT, unroll_saddle


@dataclass(frozen=True)
class MinimalKane:
    """A2 Q A2^T u_I' = A2 (P - Q c), with c the accelerations that the constraints alone prescribe.

    `u_ind` names the independent speeds; None chooses them by a pivoted factorisation, and again when they degrade.
    """

    u_ind: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "u_ind", check_names(self.u_ind))

    def choose(self, system: System, M: Any, A: Any) -> Choice:
        """The partition at a state."""
        return choose_partition(system, M, A, check_names(self.u_ind))

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and quality as a graph."""
        e, nu = equations, equations.M.shape[0]
        if nu**3 > LIMIT:
            return None
        p = Partition.of(e, choice)
        none = ca.SX(0, e.M.shape[0] - len(choice.rows)), ca.SX(0, 1)
        reduced = unroll_saddle(
            ca.mtimes([p.Z.T, e.M, p.Z]), ca.mtimes(p.Z.T, e.f - ca.mtimes(e.M, p.c)), *none, augment=False
        )
        if reduced is None:
            return None
        udot = ca.mtimes(p.Z, reduced[0]) + p.c
        return udot, p.multipliers(e, udot), ca.fmin(p.quality, reduced[2])

    def workspace(self, nu: int, _nc: int) -> tuple[int, int]:
        """Floats and integers the native function works in."""
        return room(nu) + 2 * nu * nu + nu, nu

    def accelerators(self) -> Accelerators:
        """The native functions that find the accelerations."""
        return Accelerators(accelerate_rechosen, accelerate)


@jit(i8(Plan, Floats, i8, i8))
def _reduce(plan, mem, K, x):
    """K = A2 Q A2^T (p, p), its lower triangle, and x = A2 (P - Q c) (p,), with c = (B, 0)."""
    nu, r = plan.nu, plan.chosen
    _J2, X, M, f, g, _column, N = places(plan)
    p = nu - r
    for i in range(nu):  # N = Q A2^T (nu, p), g = P - Q c
        move(mem, N + i * p, mem, M + i * nu + r, p)
        mem[g + i] = mem[f + i]
        for d in range(r):
            if mem[M + i * nu + d] != 0.0:
                add_row(mem, N + i * p, X + d * (p + 1), mem[M + i * nu + d], p)
                mem[g + i] -= mem[M + i * nu + d] * mem[X + d * (p + 1) + p]
    for j in range(p):
        move(mem, K + j * p, mem, N + (r + j) * p, j + 1)
        mem[x + j] = mem[g + r + j]
        for d in range(r):
            if mem[X + d * (p + 1) + j] != 0.0:
                add_row(mem, K + j * p, N + d * p, mem[X + d * (p + 1) + j], j + 1)
                mem[x + j] += mem[X + d * (p + 1) + j] * mem[g + d]
    return 0


@jit(f8(Plan, Floats))
def _solve(plan, mem):
    """u' and la by (39) for the choice in plan; returns the quality."""
    nu, r = plan.nu, plan.chosen
    quality = form_partition(plan, mem)
    if not quality > 0.0:
        return 0.0
    p = nu - r
    _J2, X, _M, _f, w, _column, N = places(plan)
    K = N + nu * p
    x = K + p * p
    _reduce(plan, mem, K, x)
    quality = min(quality, factor_cholesky(mem, K, p))
    if not quality > 0.0:
        return 0.0
    solve_lower(mem, K, p, x)
    solve_upper(mem, K, p, x)
    move(mem, w + r, mem, x, p)
    for d in range(r):
        mem[w + d] = row_product(mem, X + d * (p + 1), x, p) + mem[X + d * (p + 1) + p]
    leave_partition(plan, mem)
    return quality


@jit(i8(Plan, Floats))
def accelerate(plan, mem):
    """q', u', power, la and quality in loops, for systems of any size."""
    load_equations(plan, mem)
    mem[plan.quality] = _solve(plan, mem)
    finish_rates(plan, mem)
    return settle(plan, mem)
