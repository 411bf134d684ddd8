"""Lengths of rows: a single constraint becomes dependent where its gradient vanishes.

Factorisations take rows of unit length, whatever units a row has; a row such as sin a + sin b = 0, whose gradient
(cos a, cos b) vanishes where both bars are upright, is as good as any other to them up to the very position. So the
length of each row is compared with what it was in the state a run starts from (`run.scales`).
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, i8


@jit(i8(Plan, Floats, i8))
def judge_lengths(plan, mem, _rows):
    """Multiply the quality at the state in mem by the square of the shortest row, relative to its size, at most 1.

    Rows of accelerations have no size. Without it the quality is that of pivots chosen by size.
    """
    call_kernel(plan.row_lengths, mem, plan.sizes, plan.shortest)
    mem[plan.quality] *= mem[plan.shortest]
    return 0
