"""Accelerations when reactions are not simply A^T la: servo constraints, friction, laws, constraints not linear in u'.

M u' = f + W^T la with A u' = b. Servo constraints let W differ from A. Coulomb friction adds -F^T |la|: W = W0 - s F
with s = sign(la), and the signs are found by solving, comparing and flipping. Where A or W depends on u' or la all
equations are solved together by Newton's method, see `law_loops`.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_feedback, call_kernel, i8, ints_at, move
from dalembert.run.evaluate import finish_rates
from dalembert.run.formulations.law_loops import solve_laws
from dalembert.run.status import JAMMED, OK
from dalembert.solve.solver import call_factor, call_solve
from dalembert.solve.tolerances import SUM_ROUND_OFF
from dalembert.solve.unsymmetric import refine_shifted

# Rounds in which every wrong sign is flipped; then one at a time (Murty's rule), which cannot cycle.
BLOCK_PIVOTING_ROUNDS = 4
PIVOTING_ROUNDS = 64


@jit(i8(Plan, Floats))
def _compose(plan, mem):
    """W = W0 - s F, with the signs at hand."""
    nu, nc, W, W0, F, s = plan.nu, plan.nc, plan.direction, plan.stated, plan.friction, plan.sign
    move(mem, W, mem, W0, nc * nu)
    if plan.rubs:
        for k in range(nc):
            sign = -1.0 if mem[s + k] < 0.0 else 1.0
            for i in range(nu):
                mem[W + k * nu + i] -= sign * mem[F + k * nu + i]
    return 0


@jit(i8(Plan, Floats))
def _solve(plan, mem):
    """(u', la) into RHS; where constraints depend on each other, with the least multipliers."""
    call_factor(plan.factor, (plan, mem, plan.nc))
    if plan.shifted:
        return refine_shifted(plan, mem, plan.nc)
    move(mem, plan.rhs, mem, plan.force, plan.nu)
    move(mem, plan.rhs + plan.nu, mem, plan.bias, plan.nc)
    return call_solve(plan.solve, (plan, mem, plan.nc, plan.rhs))


@jit(i8(Plan, Floats, i8))
def _flip(plan, mem, every):
    """Flip signs that contradict the multipliers in RHS, or only the last of them; returns how many there are."""
    nu, nc, W0, F, s, la = plan.nu, plan.nc, plan.stated, plan.friction, plan.sign, plan.rhs + plan.nu
    scale = 0.0
    for i in range(nu):
        scale = max(scale, abs(mem[plan.force + i]))
    for k in range(nc):
        for i in range(nu):
            scale = max(scale, abs(mem[la + k] * mem[W0 + k * nu + i]))
    wrong = 0
    for k in range(nc - 1, -1, -1):
        size, rubs = 0.0, 0.0
        for i in range(nu):
            size = max(size, abs(mem[W0 + k * nu + i]))
            rubs = max(rubs, abs(mem[F + k * nu + i]))
        sign = -1.0 if mem[s + k] < 0.0 else 1.0
        if rubs > 0.0 and sign * mem[la + k] * size < -SUM_ROUND_OFF * scale:
            if every or wrong == 0:
                mem[s + k] = -sign
            wrong += 1
    return wrong


@jit(i8(Plan, Floats))
def _solve_signs(plan, mem):
    """(u', la) into RHS with signs that agree with la; JAMMED if none were found."""
    for attempt in range(PIVOTING_ROUNDS):
        _compose(plan, mem)
        _solve(plan, mem)
        if not plan.rubs or _flip(plan, mem, attempt < BLOCK_PIVOTING_ROUNDS) == 0:
            return OK
    return JAMMED


@jit(i8(Plan, Floats))
def _leave_out(plan, mem):
    """Empty the rows of A and b that the others imply."""
    ints, nu = ints_at(plan.ints, plan.n_ints), plan.nu
    for j in range(plan.implied):
        k = ints[plan.implied_rows + j]
        mem[plan.bias + k] = 0.0
        for i in range(nu):
            mem[plan.jacobian + k * nu + i] = 0.0
    return 0


@jit(i8(Plan, Floats))
def accelerate_nonideal(plan, mem):
    """u' and la for reactions of every kind; u' is NaN, and the reason in UNSOLVED, if there is no solution."""
    nu, ud, z = plan.nu, plan.udot, plan.xq
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_feedback(plan.feedback, (plan, mem))
    _leave_out(plan, mem)
    if plan.iteration:
        status = solve_laws(plan, mem)
        _compose(plan, mem)
    else:
        status = _solve_signs(plan, mem)
    move(mem, ud, mem, plan.rhs, nu)
    move(mem, plan.multiplier, mem, plan.rhs + nu, plan.nc)
    for i in range(nu if status != OK else 0):
        mem[ud + i] = math.nan
    check = 0.0
    for i in range(plan.nq + nu):
        check += mem[z + i] * 0.0
    if check == 0.0:  # a result of a state that is not finite already is not a new finding
        plan.unsolved = status
    return finish_rates(plan, mem)
