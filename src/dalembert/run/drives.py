"""Sizes of drives over a run: the change of the rows with time alone, at constant coordinates."""

from __future__ import annotations

import numpy as np

from dalembert.equations.maps import maps_of
from dalembert.equations.system import System
from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8
from dalembert.run.sizing import sizing_at

EVENLY = np.linspace(0.0, 1.0, 65)  # parts of the span of a run at which rows are looked at, besides edges of cells


def looks_over(system: System, parameters: np.ndarray, begin: float, span: float) -> np.ndarray:
    """The times of a run at which to look at its drives: even ones, and where the maps of functions of time change."""
    if not (system.is_driven and span > 0.0):
        return np.zeros(0)
    end, even = begin + span, begin + span * EVENLY
    if not system.features:
        return even
    times = [even]
    for made in maps_of(system, parameters).of_time:
        edges = made.over(begin, end)
        if made.period:
            edges = edges + made.period * (np.floor(begin / made.period) + np.arange(2.0)[:, np.newaxis])
        times.append(np.clip(edges.ravel(), begin, end))
    return np.concatenate(times)


@jit(i8(Plan, Floats, f8))
def measure_drives(plan, mem, t):
    """The largest |phi| and |psi| during the run at the state in x, and the speeds that its velocity rows ask for."""
    s, ints, n = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), 2 * plan.np + plan.nv
    for k in range(n):
        mem[s.drives + k] = 0.0
    for j in range(plan.nu):
        mem[s.driven_speeds + j] = 0.0
    if plan.n_looks == 0:
        return 0
    looks = floats_at(plan.looks, plan.n_looks)
    for look in range(plan.n_looks):
        mem[plan.x] = looks[look]
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        for k in range(n):
            value = abs(mem[plan.residuals + k])
            if value * 0.0 == 0.0:
                mem[s.drives + k] = max(mem[s.drives + k], value)
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
