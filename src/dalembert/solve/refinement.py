"""Iterative refinement, which recovers the accuracy lost by a shifted or badly conditioned factorisation.

Each round solves for what is left of the true equations. Of the proximal shift of `dense` it leaves a factor
PROXIMAL / sigma^2, with sigma the singular value of the constraints in a direction.
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Plan
from dalembert.native.types import Floats, i8
from dalembert.solve.rows import row_product
from dalembert.solve.solver import call_solve

REFINEMENTS = 3


@jit(i8(Plan, Floats, i8))
def refine_saddle(plan, mem, rows):
    """Solve for (f, b) with the factors at hand and refine against the true equations; (u', la) left in plan.rhs.

    Reactions are ideal: they act along A.
    """
    nu, M, A, x, r = plan.nu, plan.mass, plan.jacobian, plan.rhs, plan.remainder
    n = nu + rows
    for i in range(n):
        mem[x + i] = 0.0
    for _ in range(1 + REFINEMENTS):
        for i in range(nu):
            total = mem[plan.force + i] - row_product(mem, M + i * nu, x, nu)
            for k in range(rows):
                total += mem[A + k * nu + i] * mem[x + nu + k]
            mem[r + i] = total
        for k in range(rows):
            mem[r + nu + k] = mem[plan.bias + k] - row_product(mem, A + k * nu, x, nu)
        call_solve(plan.solve, (plan, mem, rows, r))
        for i in range(n):
            mem[x + i] += mem[r + i]
    return 0
