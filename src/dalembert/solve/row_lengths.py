"""Rows whose gradient vanishes: a constraint can become dependent all by itself.

Factorisations take rows of unit length, whatever units a row has; a row such as sin a + sin b = 0, whose gradient
(cos a, cos b) vanishes where both bars are upright, is as good as any other to them up to the very position. So the
length of each row is compared with what it was in the state a run starts from (`run.scales`).
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, i8


@jit(i8(Plan, Floats, i8))
def judge_lengths(plan, mem, rows):
    """Multiply the quality at the state in mem by the square of the shortest row, relative to its size, at most 1.

    Dense A; rows of accelerations have no size. Without it the quality is that of pivots chosen by size.
    """
    call_kernel(plan.row_gradients, mem, plan.x, plan.jacobian)
    shortest = 1.0
    for k in range(min(rows, plan.np + plan.nv)):
        longest = 0.0
        for i in range(plan.nu):
            longest = max(longest, abs(mem[plan.jacobian + k * plan.nu + i]) * mem[plan.sizes + plan.nq + i])
        shortest = min(shortest, longest / mem[plan.row_sizes + plan.np + k])
    mem[plan.quality] *= shortest * shortest
    return 0
