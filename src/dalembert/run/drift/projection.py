"""Mass-weighted projection onto the constraints: first positions, then velocities, after a step.

Positions move by the least displacement s in the kinetic metric, min s^T M s with phi(q + C s) = 0; speeds by the least
du^T M du with psi(q, u + du) = 0. Both are Gauss-Newton iterations on the saddle-point matrix, factorised once and
used again while they contract. Unit quaternions and other invariants of the kinematics are restored first.

A projection moves the state by no more than the error of the step, as the exact solution lies on the constraints, so
the order stays (E. Hairer, C. Lubich, G. Wanner, "Geometric Numerical Integration", IV.4). The error test is made over
all of the state, although the part normal to the constraints is then removed: on the safe side, by a factor of 1
(closed chain) to 4 (four-bar) and 9 (Andrews), measured with DOP853; with its 8th root, that is steps 1 to 40 %
shorter. A last stage that the estimate shares with the next step (Tsit5) is evaluated after the projection.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.jit import jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Floats, Plan, call_kernel, count_sizes, f8, i8, move, move_few
from dalembert.run.drift.start import Start
from dalembert.run.evaluate import largest, largest_residual, load_state
from dalembert.run.right_hand_side import Feedback
from dalembert.run.rounded_rows import enlarge_rounded_rows
from dalembert.run.status import DRIFT_STUCK
from dalembert.solve.solver import call_factor, call_follow, call_solve
from dalembert.solve.unrolled import TRUSTED, unroll_saddle

PROJECTION_ITERATIONS = 20
# A residual that cannot be brought below this part of its size ends the run; the certificate judges smaller ones.
LARGEST_DRIFT = 1e-6


@dataclass(frozen=True)
class Projection:
    """Moves the state back onto the constraints when a residual exceeds `tolerance` times the size of its row.

    With `every_step` it does so after every step, also within the tolerance.
    """

    tolerance: float = 1e-13
    every_step: bool = False

    def __post_init__(self) -> None:
        if not (self.tolerance > 0.0 and math.isfinite(self.tolerance)):
            raise OptionError(f"Projection: tolerance is {self.tolerance}; it must be positive and finite")

    def options(self, _system: System, _start: Start | None) -> np.ndarray:
        """Numbers for native code, (2,): residual above which the state is corrected, and residual to be reached."""
        return self._numbers

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.array([0.0 if self.every_step else self.tolerance, 0.1 * self.tolerance])

    def kernels(self, system: System) -> dict[str, Kernel | None]:
        """The least moves onto the constraints, unrolled, by their place in plan."""
        return least_moves(system)

    def workspace(self, _system: System) -> int:
        """Floats of workspace: none."""
        return 0

    def feedback(self, _system: System) -> Feedback | None:
        """Feedback into b: none, the equations stay as they are."""
        return None

    def corrector(self) -> Any:
        """Native correction of a state."""
        return project

    def remark(self, _system: System, _start: Start | None) -> str:
        """Remark for the description of a run, beside the options: none."""
        return ""


def least_moves(system: System) -> dict[str, Kernel | None]:
    """Kernels of the least moves of q and of u onto the constraints, unrolled, by their place in plan."""
    if not system.count("velocity"):
        return {"least_move": system.optional_kernel("least move", lambda: least_move(system))}
    return {
        "onto_positions": system.optional_kernel("onto positions", lambda: onto_positions(system)),
        "onto_velocities": system.optional_kernel("onto velocities", lambda: onto_velocities(system)),
    }


def least_move(system: System) -> ca.Function | None:
    """(C s, s, quality) as a function of (r, sizes, x), as they lie in memory: s^T M s least with r + A s = 0.

    With r = phi it is the move of q, with r = psi that of u, if there are no velocity constraints: one factorisation.
    """
    m, n, still = system.mechanics, system.count("position"), ca.SX(system.nu, 1)
    r, sizes = ca.SX.sym("r", n), ca.SX.sym("sizes", count_sizes(system.nq, system.nu, n, 0))
    solved = unroll_saddle(m.M, still, m.A[:n, :], -r, augment=system.singular_mass) if n else None
    if solved is None:
        return None
    found = ca.densify(ca.vertcat(ca.mtimes(m.C, solved[0]), solved[0], solved[2]))
    return ca.Function("least_move", [ca.vertcat(r, sizes, m.x)], [found])


def onto_positions(system: System) -> ca.Function | None:
    """(C s, quality) as a function of x: s^T M s least with phi + A s = 0."""
    m, n, still = system.mechanics, system.count("position"), ca.SX(system.nu, 1)
    solved = unroll_saddle(m.M, still, m.A[:n, :], -m.phi, augment=system.singular_mass) if n else None
    if solved is None:
        return None
    return ca.Function("onto_positions", [m.x], [ca.densify(ca.vertcat(ca.mtimes(m.C, solved[0]), solved[2]))])


def onto_velocities(system: System) -> ca.Function | None:
    """(du, quality) as a function of x: du^T M du least with psi + A du = 0."""
    m, n, still = system.mechanics, system.count("position") + system.count("velocity"), ca.SX(system.nu, 1)
    solved = unroll_saddle(m.M, still, m.A[:n, :], -m.psi, augment=system.singular_mass) if n else None
    if solved is None:
        return None
    return ca.Function("onto_velocities", [m.x], [ca.densify(ca.vertcat(solved[0], solved[2]))])


@jit(f8(Plan, Floats))
def restore_invariants(plan, mem):
    """Move q along the gradients of the invariants until they vanish. Returns the residual before the last sweep."""
    ni, h, worst = plan.ni, plan.invariants, 0.0
    for _ in range(PROJECTION_ITERATIONS if ni else 0):
        call_kernel(plan.invariant, mem, plan.x, h)
        worst = largest(mem, h, ni)
        if worst <= 4e-16:
            break
        call_follow(plan.follow, (plan, mem))
    return worst


@jit(i8(Plan, Floats, i8, i8))
def _solve_for(plan, mem, first, rows):
    """Least move in the mass metric that cancels `rows` residuals from `first` on, to first order; left in RHS."""
    nu, x, r = plan.nu, plan.rhs, plan.residuals + first
    for i in range(nu):
        mem[x + i] = 0.0
    for k in range(rows):
        mem[x + nu + k] = -mem[r + k]
    return call_solve(plan.solve_metric, (plan, mem, rows, x))


@jit(i8(Plan, Floats, i8))
def _factor_here(plan, mem, rows):
    """Factors of the saddle matrix with the first `rows` constraints at the state in mem."""
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    return call_factor(plan.factor_metric, (plan, mem, rows))


@jit(i8(Plan, Floats, i8))
def _move_least(plan, mem, first):
    """C s and s of the least move for the residuals from `first` on, in `shift`; returns whether it can be trusted."""
    if plan.least_move == 0:
        return 0
    move_few(mem, plan.side, mem, plan.residuals + first, plan.np)
    call_kernel(plan.least_move, mem, plan.side, plan.shift)
    return 1 if mem[plan.shift + plan.nq + plan.nu] > TRUSTED else 0


@jit(i8(Plan, Floats, i8))
def move_positions(plan, mem, fresh):
    """One Gauss-Newton step of q, unrolled where that can be trusted; returns whether factors are at hand."""
    nq, nu, n = plan.nq, plan.nu, plan.np
    trusted = _move_least(plan, mem, 0)
    if plan.onto_positions:
        call_kernel(plan.onto_positions, mem, plan.x, plan.shift)
        trusted = 1 if mem[plan.shift + nq] > TRUSTED else 0
    if not trusted:
        if not fresh:
            _factor_here(plan, mem, n)
        fresh = 1
        _solve_for(plan, mem, 0, n)
        for i in range(nu):  # C s: the displacement kernel reads s where u stands
            mem[plan.rhs + i], mem[plan.xu + i] = mem[plan.xu + i], mem[plan.rhs + i]
        call_kernel(plan.displacement, mem, plan.x, plan.shift)
        move(mem, plan.xu, mem, plan.rhs, nu)
    for i in range(nq):
        mem[plan.xq + i] += mem[plan.shift + i]
    restore_invariants(plan, mem)
    return fresh


@jit(i8(Plan, Floats, i8))
def move_velocities(plan, mem, fresh):
    """One Gauss-Newton step of u, unrolled where that can be trusted; returns whether factors are at hand."""
    nu, n, step = plan.nu, plan.np + plan.nv, plan.shift + plan.nq
    trusted = _move_least(plan, mem, plan.np)
    if not trusted:
        step = plan.rhs
        if plan.onto_velocities:
            call_kernel(plan.onto_velocities, mem, plan.x, step)
            trusted = 1 if mem[step + nu] > TRUSTED else 0
    if not trusted:
        if not fresh:
            _factor_here(plan, mem, n)
        fresh = 1
        _solve_for(plan, mem, plan.np, n)
    for i in range(nu):
        mem[plan.xu + i] += mem[step + i]
    return fresh


@jit(i8(Plan, Floats, f8, i8, i8, i8, i8))
def _iterate(plan, mem, enough, velocities, first, count, borrowed):
    """Gauss-Newton steps, at least one, until the residuals from `first` on are small enough; returns a status.

    `borrowed` says that factors of these rows are at hand, from close by: they serve while they contract.
    """
    before, fresh = largest_residual(plan, mem, first, count), borrowed
    for _ in range(PROJECTION_ITERATIONS):
        fresh = move_velocities(plan, mem, fresh) if velocities else move_positions(plan, mem, fresh)
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        after = largest_residual(plan, mem, first, count)
        if after <= enough:
            return 0
        # Round-off, or a direction in which the constraints are dependent here; borrowed factors may be too old.
        if after > 0.97 * before and not borrowed:
            break
        if after > 0.1 * before:
            fresh = borrowed = 0
        before = after
    enlarge_rounded_rows(plan, mem, first, count)
    return 0 if largest_residual(plan, mem, first, count) <= LARGEST_DRIFT else DRIFT_STUCK


@jit(i8(Plan, Floats, f8, Floats))
def project(plan, mem, t, z):
    """Bring z = (q, u, ...) onto the constraints at time t, in place; returns a status."""
    load_state(plan, mem, t, z)
    n, first, tolerance, enough = plan.np + plan.nv, plan.np, mem[plan.options], mem[plan.options + 1]
    restore_invariants(plan, mem)
    status = left = 0
    moved = plan.ni
    if n > 0:
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        if first > 0 and largest_residual(plan, mem, 0, first) > tolerance:
            status, moved = _iterate(plan, mem, enough, 0, 0, first, 0), 1
            left = plan.least_move == 0 and plan.onto_positions == 0 and plan.nv == 0  # the factors of the same rows
        if status == 0 and largest_residual(plan, mem, first, n) > tolerance:
            status, moved = _iterate(plan, mem, enough, 1, first, n, left), 1
    if moved:
        move_few(z, 0, mem, plan.xq, plan.nq + plan.nu)
    return status
