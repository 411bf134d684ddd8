"""Round-off error of a RadauIIA step. Below it, corrections and error estimates carry no information.

A state is known to a few units of round-off. Stiff forces turn these into large residuals, K eps q. The Newton matrix,
M/h + h K for speeds, turns the residuals back into errors of the speeds: eps q/h for everything that vibrates faster
than the step. This error grows as the step shrinks. An error test below it would be met only by steps short enough to
resolve the fastest vibration.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at
from dalembert.native.precision import EPSILON
from dalembert.run.integrators.radau_workspace import newton_matrix, radau_work
from dalembert.solve.newton_matrix import solve_newton

SEVERAL = 10.0  # a residual is a sum of terms, each rounded


@jit(f8(Plan, Floats, f8, f8))
def rounding_norm(plan, mem, rtol, atol):
    """Error norm of round-off in the state: F at the kernel's input is compared with F at a state moved by round-off.

    Overwrites the right-hand sides of the stages in the workspace.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    at, tested = radau_work(plan.step_work), plan.nq + plan.nu
    n, x, F, R, y = at.ny, at.input, at.output, at.sides, at.start
    units = floats_at(plan.units, tested)
    call_kernel(at.residual_kernel, mem, x, R)
    for i in range(tested):
        mem[R + n + i] = mem[x + 1 + i]
        way = EPSILON if (i * 2654435761 >> 16) & 1 else -EPSILON  # signs without a pattern along a chain
        mem[x + 1 + i] += way * (abs(mem[x + 1 + i]) + mem[plan.sizes + i])
    call_kernel(at.residual_kernel, mem, x, F)
    plan.nfev += 2
    for i in range(tested):
        mem[x + 1 + i] = mem[R + n + i]
    for i in range(n):
        mem[F + i] -= mem[R + i]
    solve_newton(ints, mem, newton_matrix(at.newton_matrix), F)
    total = 0.0
    for i in range(tested):
        total += (mem[F + i] / (atol * units[i] + rtol * abs(mem[y + i]))) ** 2
    return SEVERAL * math.sqrt(total / tested)


@jit(i8(Plan, Floats, f8, f8, f8))
def is_rounding(plan, mem, norm, rtol, atol):
    """True if corrections of this norm are within the round-off error of the state, which is then remembered."""
    at = radau_work(plan.step_work)
    found = rounding_norm(plan, mem, rtol, atol)
    if norm > found:
        return 0
    at.rounding = found
    return 1
