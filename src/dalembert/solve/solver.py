"""`SaddleSolver`: the linear equations of constrained motion, [M -W^T; A 0] (u', la) = (f, b), solved in native code.

M is at plan.mass, A at plan.jacobian, W at plan.direction (the rows of A for ideal reactions). A solver is a value: the
engine puts the addresses of its functions into the plan, and whoever needs u', la, the least move onto the constraints
or the derivative of any of them calls `call_factor` once and `call_solve` for each right-hand side.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.native.intrinsics import caller
from dalembert.native.jit import Native
from dalembert.native.plan import Plan
from dalembert.native.types import Floats, i8

factor_type = i8(Plan, Floats, i8)  # number of rows; returns the rank
solve_type = i8(Plan, Floats, i8, i8)  # number of rows, where the right-hand side is in mem

call_factor = caller(factor_type)
call_solve = caller(solve_type)


@dataclass(frozen=True)
class SaddleSolver:
    """Two native functions. To add a solver, write them in a file next to this one.

    1. `factor(plan, mem, rows)` factorises the matrix with the first `rows` constraints, whatever the units are. It
       leaves the rank in plan.rank and an estimate of the reciprocal condition in mem[plan.quality], 0 where the rank
       is not full.
    2. `solve(plan, mem, rows, where)` replaces (f, b) at mem[where : where + nu + rows] by (u', la), by the factors at
       hand, as often as it is asked. Where constraints depend on each other u' is that of all of them.
    """

    name: str
    factor: Native
    solve: Native

    def __repr__(self) -> str:
        return f"<saddle solver: {self.name}>"
