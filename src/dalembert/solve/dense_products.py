"""Products with dense M, A and W: residuals of the equations of motion, and the power of reactions."""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8
from dalembert.solve.solver import Products


@jit(f8(Plan, Floats))
def dense_power(plan, mem):
    """u . W^T la at the speeds in x and the multipliers found."""
    nu, la, W, power = plan.nu, plan.multiplier, plan.direction, 0.0
    for i in range(nu):
        reaction = 0.0
        for k in range(plan.nc):
            reaction += mem[la + k] * mem[W + k * nu + i]
        power += reaction * mem[plan.xu + i]
    return power


@jit(i8(Plan))
def exerted(plan):
    """Offset of E (nu), as the solve with laws leaves it."""
    n, nu, nc, na = plan.unknowns, plan.nu, plan.nc, plan.nc - plan.np - plan.nv
    return plan.iteration_out + n * (n + 1) + nu + nc + na * (2 * nu + 1)


@jit(f8(Plan, Floats))
def dense_balance(plan, mem):
    """Largest entry of M u' - f - W^T la relative to the largest sum of |terms|: how well the solve was done.

    Entries are multiplied by the sizes of their speeds, so that forces and torques can be compared. NaN if a term is
    not a number.
    """
    nu, nc = plan.nu, plan.nc
    M, f, W, ud, la = plan.mass, plan.force, plan.direction, plan.udot, plan.multiplier
    worst, scale = 0.0, 1e-300
    for i in range(nu if plan.iteration else 0):  # f has E in it, and the two may cancel
        scale = max(scale, abs(mem[exerted(plan) + i]) * mem[plan.sizes + plan.nq + i])
    for i in range(nu):
        size = mem[plan.sizes + plan.nq + i]
        total, terms = -mem[f + i], abs(mem[f + i])
        for j in range(nu):
            term = mem[M + i * nu + j] * mem[ud + j]
            total += term
            terms += abs(term)
        for k in range(nc):
            term = mem[W + k * nu + i] * mem[la + k]
            total -= term
            terms += abs(term)
        scale = max(scale, terms * size)
        if abs(total) * size > worst or math.isnan(total):
            worst = abs(total) * size
    return worst / scale


@jit(f8(Plan, Floats, i8, f8))
def dense_row_residual(plan, mem, k, size):
    """(A u' - b)_k relative to the sum of |terms| if every acceleration is `size` times the size of its speed.

    Laws may hold terms without accelerations, which cancel in b: theirs is relative to 1 at least.
    """
    least = 1.0 if plan.iteration and k >= plan.np + plan.nv else 1e-300
    nu, A, ud, b = plan.nu, plan.jacobian, plan.udot, mem[plan.bias + k]
    total, scale = -b, 0.0
    for i in range(nu):
        a = mem[A + k * nu + i]
        total += a * mem[ud + i]
        scale += abs(a) * mem[plan.sizes + plan.nq + i]
    return total / max(scale * size + abs(b), least)


@jit(i8(Plan, Floats, i8))
def leave_judged(_plan, _mem, _rows):
    """Keep the condition as it is: the pivots, chosen by size, have given it."""
    return 0


@jit(i8(Plan, Floats))
def dense_follow(plan, mem):
    """Move q along the gradient of each invariant."""
    nq, h = plan.nq, plan.invariants
    for k in range(plan.ni):
        row, norm = h + plan.ni + k * nq, 0.0
        for j in range(nq):
            norm += mem[row + j] ** 2
        for j in range(nq if norm > 0.0 else 0):
            mem[plan.xq + j] -= mem[h + k] / norm * mem[row + j]
    return 0


DENSE_PRODUCTS = Products(dense_power, dense_balance, dense_row_residual, dense_follow)
