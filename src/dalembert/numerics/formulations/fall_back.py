"""Unrolled right-hand sides with a static choice: used while the choice is good, flagged when it is not."""

from __future__ import annotations

from dalembert.errors import PairingError
from dalembert.native.jit import jit
from dalembert.numerics.formulations.choice import RECHOOSE
from dalembert.numerics.formulations.lagrange_multipliers import accelerate_pivoted
from dalembert.numerics.layout import Floats, Plan, call_kernel, i8
from dalembert.numerics.linear.unrolled import TRUSTED


@jit(i8(Plan, Floats))
def accelerate_rechosen(plan, mem):
    """u' and la by the motion kernel; asks for another choice when its quality is low, pivots when it is lost."""
    call_kernel(plan.motion, mem, plan.x, plan.rates)
    if not mem[plan.quality] > RECHOOSE and plan.stale == 0:
        plan.stale = 1
    if mem[plan.quality] > TRUSTED:
        return 0
    return accelerate_pivoted(plan, mem)


def native_accelerator(formulation: object, *, ideal: bool, unrolled: bool) -> object:
    """The native function of a formulation that eliminates the reactions, which must therefore be ideal."""
    if not ideal:
        raise PairingError(
            f"{type(formulation).__name__} eliminates reactions that are normal to their constraints, but this system "
            "has servo or friction reactions, or constraints nonlinear in the accelerations; use LagrangeMultipliers()"
        )
    return accelerate_rechosen if unrolled else accelerate_pivoted
