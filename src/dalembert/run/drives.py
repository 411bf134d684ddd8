"""How large drives become over a run: what time alone makes of the rows, the coordinates staying where they are."""

from __future__ import annotations

from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8
from dalembert.run.sizing import sizing_at

LOOKS = 64  # times over the span of a run at which rows are looked at


@jit(i8(Plan, Floats, f8, f8))
def measure_drives(plan, mem, t, span):
    """The largest |phi| and |psi| over the span at the state in x, and the speeds that its velocity rows ask for."""
    s, ints, n = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), 2 * plan.np + plan.nv
    if not s.driven:
        return 0
    for k in range(n):
        mem[s.drives + k] = 0.0
    for look in range(LOOKS + 1 if span > 0.0 else 1):
        mem[plan.x] = t + span * look / LOOKS
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        for k in range(n):
            value = abs(mem[plan.residuals + k])
            if value * 0.0 == 0.0:
                mem[s.drives + k] = max(mem[s.drives + k], value)
    mem[plan.x] = t
    for j in range(plan.nu):
        mem[s.driven_speeds + j] = 0.0
    for k in range(plan.np, plan.np + plan.nv):
        along, at = 0.0, 0
        for p in range(ints[s.a_starts + k], ints[s.a_starts + k + 1]):
            a = abs(mem[ints[s.a_places + p]])
            if a > along:
                along, at = a, s.driven_speeds + ints[s.a_columns + p]
        if along > 0.0:
            mem[at] = max(mem[at], mem[s.drives + plan.np + k] / along)
    return 0
