"""`SaddleSolver`: the linear equations of constrained motion, [M -W^T; A 0] (u', la) = (f, b), solved in native code.

M is at plan.mass, A at plan.jacobian, W at plan.direction (the rows of A for ideal reactions), as the solver stores
them. A solver is a value: the engine puts the addresses of its functions into the plan, and whoever needs u', la, the
least move onto the constraints or the derivative of any of them calls `call_factor` once and `call_solve` for each
right-hand side. All other uses of the matrices go through the solver too, as it alone knows how they are stored.
"""

from __future__ import annotations

import math

from dalembert.dataclass import dataclass
from dalembert.native.intrinsics import caller
from dalembert.native.jit import Native
from dalembert.native.plan import Plan
from dalembert.native.types import Floats, f8, i8

factor_type = i8(Plan, Floats, i8)  # number of rows; returns the rank
solve_type = i8(Plan, Floats, i8, i8)  # number of rows, where the right-hand side is in mem

judge_type = i8(Plan, Floats, i8)  # number of rows
power_type = f8(Plan, Floats)
balance_type = f8(Plan, Floats)
row_residual_type = f8(Plan, Floats, i8, f8)  # which row, size of accelerations
follow_type = i8(Plan, Floats)

call_factor = caller(factor_type)
call_solve = caller(solve_type)
call_judge = caller(judge_type)
call_power = caller(power_type)
call_balance = caller(balance_type)
call_row_residual = caller(row_residual_type)
call_follow = caller(follow_type)


@dataclass(frozen=True)
class Products:
    """Products with M, A and W at a solution (u', la) in mem, and with gradients: four native functions.

    1. `power(plan, mem)`: u . W^T la, the power of the reactions.
    2. `balance(plan, mem)`: the largest entry of M u' - f - W^T la relative to the largest sum of |terms|, both times
       the sizes of the speeds; NaN if a term is not a number.
    3. `row_residual(plan, mem, k, size)`: (A u' - b)_k relative to the sum of |terms| if every acceleration is `size`
       times the size of its speed.
    4. `follow(plan, mem)`: move q along the gradient of each invariant of the kinematics, at plan.invariants, to where
       that vanishes to first order.
    """

    power: Native
    balance: Native
    row_residual: Native
    follow: Native


@dataclass(frozen=True)
class SaddleSolver:
    """Three native functions and products. To add a solver, write them in a file next to this one.

    1. `factor(plan, mem, rows)` factorises the matrix with the first `rows` constraints, whatever the units are. It
       leaves the rank in plan.rank.
    2. `solve(plan, mem, rows, where)` replaces (f, b) at mem[where : where + nu + rows] by (u', la), by the factors at
       hand, as often as it is asked. Where constraints depend on each other u' is that of all of them.
    3. `judge(plan, mem, rows)` leaves an estimate of the reciprocal condition in mem[plan.quality], by the factors at
       hand. Of redundant constraints only plan.chosen, if it is not 0, take part: it is 0 where the rank is lower than
       at regular states. Where the pivots tell it, `factor` has left it already.

    `over_nonzeros` says that M and A are stored by their nonzeros and eliminated in an order that is fixed beforehand:
    all constraints take part, and no choice among them is made. `weakest` is the quality below which constraints are
    dependent for all it can tell: above it they may be as weak throughout as those of long chains. It is infinite where
    such systems do not occur.
    """

    name: str
    factor: Native
    solve: Native
    judge: Native
    products: Products
    over_nonzeros: bool = False
    weakest: float = math.inf

    def __repr__(self) -> str:
        return f"<saddle solver: {self.name}>"
