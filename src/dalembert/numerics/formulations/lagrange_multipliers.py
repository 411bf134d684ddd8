"""Lagrange multipliers: the saddle-point equations [M A^T; A 0] (u', -la) = (f, b), factorised as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.numerics.evaluate import add_up_power
from dalembert.numerics.layout import (
    BIAS,
    FORCE,
    MULTIPLIER,
    NC,
    NU,
    QUALITY,
    RHS,
    SADDLE,
    UDOT,
    Floats,
    Ints,
    X,
    call_kernel,
    i8,
)
from dalembert.numerics.native_cache import jit
from dalembert.numerics.linear.general import factor_general, solve_general
from dalembert.numerics.linear.symmetric import factor_saddle, solve_saddle

TRUSTED = 1e-9  # pivots relative to what they were before elimination; below, the pivoted factorisation takes over


@dataclass(frozen=True)
class LagrangeMultipliers:
    """M u' - A^T la = f with A u' = b (Dinh Van Phong, eq. 2.40-2.45).

    The mass matrix may be singular as long as the whole matrix is not. Redundant constraints leave u' unique.
    """

    def solver(self, *, ideal: bool) -> Any:
        """The native solve; unsymmetric when unknowns act in other directions than their constraints."""
        return solve_ideal if ideal else solve_servo


@jit(i8(Ints, Floats))
def solve_pivoted(plan, mem):  # type: ignore[no-untyped-def]
    """u' and la by a factorisation that pivots and stops at the rank."""
    nu,nc, f, b, x = plan[NU], plan[NC], plan[FORCE], plan[BIAS], plan[RHS]
    for i in range(nu):
        mem[x + i] = mem[f + i]
    for k in range(nc):
        mem[x + nu + k] = mem[b + k]
    factor_saddle(plan, mem, nc)
    solve_saddle(plan, mem, nc, x)
    u, la = plan[UDOT], plan[MULTIPLIER]
    for i in range(nu):
        mem[u + i] = mem[x + i]
    for k in range(nc):
        mem[la + k] = -mem[x + nu + k]
    return add_up_power(plan, mem)


@jit(i8(Ints, Floats))
def solve_ideal(plan, mem):  # type: ignore[no-untyped-def]
    """u' and la from M, f, A, b in mem; all reactions ideal. Unrolled where there is such a kernel and it holds."""
    if plan[SADDLE]:
        call_kernel(plan[SADDLE], mem, plan[X], plan[UDOT])
        if mem[plan[QUALITY]] > TRUSTED:
            return 0
    return solve_pivoted(plan, mem)


@jit(i8(Ints, Floats))
def solve_servo(plan, mem):  # type: ignore[no-untyped-def]
    """u' and la from M, f, A, b and the directions W in mem."""
    nu, nc, f, b, x = plan[NU], plan[NC], plan[FORCE], plan[BIAS], plan[RHS]
    for i in range(nu):
        mem[x + i] = mem[f + i]
    for k in range(nc):
        mem[x + nu + k] = mem[b + k]
    factor_general(plan, mem)
    solve_general(plan, mem, x)
    u, la = plan[UDOT], plan[MULTIPLIER]
    for i in range(nu):
        mem[u + i] = mem[x + i]
    for k in range(nc):
        mem[la + k] = mem[x + nu + k]
    return add_up_power(plan, mem)
