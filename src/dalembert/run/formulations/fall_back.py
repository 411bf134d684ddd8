"""Fallback of formulations with a static choice: a bad choice is renewed; a useless one is replaced by pivoting.

A formulation rates its choice at a state, 1 at best. Below RECHOOSE another choice is requested. Below TRUSTED the
pivoted saddle solve does the evaluation. Such evaluations are counted for the certificate.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, i8
from dalembert.run.formulations.choice import RECHOOSE
from dalembert.run.formulations.lagrange_multipliers import accelerate_pivoted
from dalembert.solve.unrolled import TRUSTED


@jit(i8(Plan, Floats))
def settle(plan, mem):
    """Judge the evaluation just done by its QUALITY: keep it, ask for another choice, or do it again by pivoting.

    A pivot that vanishes exactly may leave NaN that the quality does not show; the power of the reactions does.
    """
    quality = mem[plan.quality]
    if not math.isfinite(mem[plan.total_power]):
        quality = 0.0
    if not quality > RECHOOSE and plan.stale == 0:
        plan.stale = 1
    if quality > TRUSTED:
        return 0
    t = mem[plan.x]
    plan.first_fallback = t if plan.fallbacks == 0 else min(t, plan.first_fallback)
    plan.last_fallback = t if plan.fallbacks == 0 else max(t, plan.last_fallback)
    plan.fallbacks += 1
    return accelerate_pivoted(plan, mem)


@jit(i8(Plan, Floats))
def accelerate_rechosen(plan, mem):
    """u' and la by the motion kernel."""
    call_kernel(plan.motion, mem, plan.x, plan.rates)
    if mem[plan.quality] > RECHOOSE and math.isfinite(mem[plan.total_power]):
        return 0
    return settle(plan, mem)
