"""Sizes of drives over a run: the change of the rows with time alone, at constant coordinates."""

from __future__ import annotations

from dalembert.native.cells import period_start
from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8
from dalembert.run.run_maps import mapped
from dalembert.run.sizing import sizing_at

EVEN_LOOKS = 64  # equal parts of the span of a run at whose ends rows are looked at, besides edges of cells


@jit(i8(Plan, Floats, f8))
def _look(plan, mem, t):
    """Take up |phi| and |psi| at the time t."""
    s = sizing_at(plan.sizing)
    mem[plan.x] = t
    call_kernel(plan.residual, mem, plan.x, plan.residuals)
    for k in range(2 * plan.np + plan.nv):
        value = abs(mem[plan.residuals + k])
        if value * 0.0 == 0.0:
            mem[s.drives + k] = max(mem[s.drives + k], value)
    return 0


@jit(i8(Plan, Floats, f8, f8))
def _look_at_edges(plan, mem, t, end):
    """Look at the edges of the cells of functions of time from t to `end`; of periodic ones, over two periods."""
    w, ints = mapped(plan.maps), ints_at(plan.ints, plan.n_ints)
    for k in range(w.timed):
        period, edges = floats_at(w.periods, w.n)[k], floats_at(ints[w.edges + k], ints[w.counts + k])
        base = period_start(edges, period, t)
        for i in range(edges.size):
            _look(plan, mem, min(max(base + edges[i], t), end))
            if period > 0.0:
                _look(plan, mem, min(max(base + period + edges[i], t), end))
    return 0


@jit(i8(Plan, Floats, f8, f8))
def measure_drives(plan, mem, t, span):
    """The largest |phi| and |psi| during a run of length `span` at the state in x, and the speeds that psi ask for."""
    s, ints, n = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), 2 * plan.np + plan.nv
    for k in range(n):
        mem[s.drives + k] = 0.0
    for j in range(plan.nu):
        mem[s.driven_speeds + j] = 0.0
    if s.driven == 0 or span == 0.0:
        return 0
    for look in range(EVEN_LOOKS + 1):
        _look(plan, mem, t + span * look / EVEN_LOOKS)
    if plan.maps != 0:
        _look_at_edges(plan, mem, t, t + span)
    mem[plan.x] = t
    for k in range(plan.np, plan.np + plan.nv):
        along, at = 0.0, 0
        for p in range(ints[s.a_starts + k], ints[s.a_starts + k + 1]):
            a = abs(mem[ints[s.a_places + p]])
            if a > along:
                along, at = a, s.driven_speeds + ints[s.a_columns + p]
        if along > 0.0:
            mem[at] = max(mem[at], mem[s.drives + plan.np + k] / along)
    return 0
