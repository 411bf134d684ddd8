"""Constraint rows that no state satisfies better, as their terms are rounded: they have the size that this gives them.

Sizes are those of a start. A motion may leave it by orders of magnitude, as a bead that begins next to the top of a
hill: the rounding of what stands in a row there is no violation of it.
"""

from __future__ import annotations

from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8
from dalembert.run.sizing import sizing_at

ROUND_OFF = 2.0**-50  # of the terms of a sum
HELD_PRECISION = 1e-13  # relative to the size of a row: a residual that is always good enough, see `Projection`


@jit(f8(Plan, Floats, i8))
def _terms(plan, mem, k):
    """Sum of the absolute terms of residual k in the state last evaluated, estimated from its gradient."""
    s, ints, total = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), 0.0
    if k < plan.np:
        for p in range(ints[s.g_starts + k], ints[s.g_starts + k + 1]):
            total += abs(mem[s.gradients + p] * mem[plan.xq + ints[s.g_columns + p]])
        return total
    for p in range(ints[s.a_starts + k - plan.np], ints[s.a_starts + k - plan.np + 1]):
        total += abs(mem[ints[s.a_places + p]] * mem[plan.xu + ints[s.a_columns + p]])
    return total


@jit(i8(Plan, Floats, i8, i8))
def enlarge_rounded_rows(plan, mem, first, count):
    """Raise the sizes of rows whose residual is only round-off of their terms: `count` rows from `first` on."""
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_kernel(sizing_at(plan.sizing).kernel, mem, plan.x, sizing_at(plan.sizing).out)
    for k in range(first, first + count):
        rounded = ROUND_OFF * _terms(plan, mem, k)
        if abs(mem[plan.residuals + k]) <= rounded:
            mem[plan.row_sizes + k] = max(mem[plan.row_sizes + k], rounded / HELD_PRECISION)
    return 0
