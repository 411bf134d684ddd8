"""Nonminimal Kane equations of Bajodah, Hodges and Chen: T u' = V, without multipliers and with all speeds kept.

Eq. (44)-(50): T = [A1; A2 Q], V = [B; A2 P] with A1 = [-A I], A2 = [I A^T], Q the mass matrix and P the active and
remaining inertia forces. Constraints may be of any nonlinearity in the speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, ints_at, move
from dalembert.run.evaluate import finish_rates, load_equations
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import Choice
from dalembert.run.formulations.fall_back import accelerate_rechosen, settle
from dalembert.run.formulations.partition import Partition, check_names, choose_partition
from dalembert.run.formulations.partition_loops import form_partition, leave_partition, places, room
from dalembert.run.right_hand_side import Equations
from dalembert.solve.dense import SINGULAR
from dalembert.solve.elimination import solve_in_order
from dalembert.solve.lu import factor_lu, solve_lu
from dalembert.solve.rows import add_row, clear_row
from dalembert.solve.unrolled import LIMIT


@dataclass(frozen=True)
class NonminimalKane:
    """T u' = V; `u_ind` names the independent speeds, None chooses them and chooses again when J2 degrades."""

    u_ind: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "u_ind", check_names(self.u_ind))

    def choose(self, system: System, M: Any, A: Any) -> Choice:
        """The partition at a state."""
        return choose_partition(system, M, A, check_names(self.u_ind))

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and quality as a graph."""
        e, nu = equations, equations.M.shape[0]
        if 2 * nu**3 > LIMIT:
            return None
        p = Partition.of(e, choice)
        dep, ind = list(choice.dependent), list(choice.independent(nu))
        A2 = p.Z.T  # in the order of the speeds
        A2Q = ca.mtimes(A2, e.M)
        # Unknowns ordered (u_D', u_I'): the first rows, A1 u' = B, have the identity as their pivots, and what is left
        # is A2 Q A2^T, positive definite.
        T = ca.vertcat(ca.horzcat(ca.SX.eye(len(dep)), -p.A), ca.horzcat(A2Q[:, dep], A2Q[:, ind]))
        V = ca.vertcat(p.B, ca.mtimes(A2, e.f))
        solution, _ = solve_in_order(T, V)
        udot = ca.SX(nu, 1)
        for k, i in enumerate([*dep, *ind]):
            udot[i] = solution[k]
        return udot, p.multipliers(e, udot), p.quality

    def workspace(self, nu: int, _nc: int) -> tuple[int, int]:
        """Floats and integers the native function works in."""
        return room(nu) + nu * nu, 2 * nu

    def accelerators(self) -> Accelerators:
        """The native functions that find the accelerations."""
        return Accelerators(accelerate_rechosen, accelerate)


@jit(i8(Plan, Floats))
def _arrange(plan, mem):
    """T = [A1; A2 Q] (nu, nu) and V = [B; A2 P] (nu,), with the unknowns in the order (u_D', u_I')."""
    nu, r = plan.nu, plan.chosen
    _J2, X, M, f, V, _column, T = places(plan)
    p = nu - r
    for d in range(r):
        clear_row(mem, T + d * nu, r)
        mem[T + d * nu + d] = 1.0
        for j in range(p):
            mem[T + d * nu + r + j] = -mem[X + d * (p + 1) + j]
        mem[V + d] = mem[X + d * (p + 1) + p]
    move(mem, T + r * nu, mem, M + r * nu, p * nu)
    move(mem, V + r, mem, f + r, p)
    for j in range(p):
        for d in range(r):
            factor = mem[X + d * (p + 1) + j]
            if factor != 0.0:
                add_row(mem, T + (r + j) * nu, M + d * nu, factor, nu)
                mem[V + r + j] += factor * mem[f + d]
    return 0


@jit(f8(Plan, Floats))
def _solve(plan, mem):
    """u' and la by T u' = V for the choice in plan; returns the quality."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, order = plan.nu, plan.work_ints + plan.nu
    quality = form_partition(plan, mem)
    if not quality > 0.0:
        return 0.0
    _J2, _X, _M, _f, V, _column, T = places(plan)
    _arrange(plan, mem)
    if not factor_lu(ints, mem, T, nu, order) > SINGULAR:
        return 0.0
    solve_lu(ints, mem, T, nu, order, V)
    leave_partition(plan, mem)
    return quality


@jit(i8(Plan, Floats))
def accelerate(plan, mem):
    """q', u', power, la and quality in loops, for systems of any size."""
    load_equations(plan, mem)
    mem[plan.quality] = _solve(plan, mem)
    finish_rates(plan, mem)
    return settle(plan, mem)
