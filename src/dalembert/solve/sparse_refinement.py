"""Iterative refinement of the sparse solve against the true equations, until the residual is round-off.

Each sweep solves for the residual. In a direction of the constraints with singular value sigma, it reduces the error
due to the regularisation E by the factor E/(E + sigma^2). A residual is round-off once it is as small as the rounding
of the terms it is made of.
"""

from __future__ import annotations

from dalembert.native.intrinsics import places_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move, u8
from dalembert.native.types import Places, several
from dalembert.solve.refinement import REFINEMENTS
from dalembert.solve.rows import REORDERED
from dalembert.solve.schur import add_columns, index, solve_closed, subtract_rows
from dalembert.solve.sparse import solve_sparse
from dalembert.solve.sparse_layout import SparseFactors, factors_at, find_factors, matrices_at
from dalembert.solve.sparse_ldl import substitute
from dalembert.solve.sparse_products import leave_remainder, subtract_mass

REMAINDER_ROUNDING = 4e-16  # of a remainder, relative to its terms: a few units in the last place


@jit(f8(Floats, u8, u8, u8, u8, u8, u8), fastmath=REORDERED)
def _terms(mem, nu, rows, light, lengths, force, la):
    """The sum of squares of f and of A^T la, term by term, for unit masses and rows."""
    total = 0.0
    for i in range(nu):
        total += mem[force + i] * mem[force + i] * mem[light + i]
    for k in range(rows):
        total += mem[la + k] * mem[la + k] * mem[lengths + k]
    return total


@jit(f8(Floats, Places, SparseFactors, u8, u8, u8, u8, u8), fastmath=REORDERED)
def _squares(mem, places, factors, n, nu, light, lengths, r):
    """The square of the length of the remainder at r over the unknowns of the factors, for unit masses and rows."""
    order, total = index(factors.order), 0.0
    for k in range(n):
        unknown = places[order + k]
        if unknown < nu:
            total += mem[r + unknown] * mem[r + unknown] * mem[light + unknown]
        else:
            total += mem[r + unknown] * mem[r + unknown] / mem[lengths + unknown - nu]
    return total


@jit(f8(Floats, u8, u8, u8), fastmath=REORDERED)
def _row_squares(mem, rows, lengths, r):
    """Like `_squares`, over the constraints only."""
    total = 0.0
    for k in range(rows):
        total += mem[r + k] * mem[r + k] / mem[lengths + k]
    return total


@jit(i8(Plan, Floats, SparseFactors))
def _expand(plan, mem, factors):
    """The speeds in closed form that go with the multipliers in plan.rhs; f + A^T la left in plan.remainder."""
    at, nu, r = matrices_at(plan.pattern), plan.nu, plan.remainder
    places = places_at(at.tables, at.n_tables)
    move(mem, r, mem, plan.force, nu)
    add_columns(mem, places, factors.rows, at.starts + 1, at.columns, plan.jacobian, plan.rhs + nu, r, 0)
    return solve_closed(mem, places, factors, nu, r, plan.rhs)


@jit(f8(Plan, Floats, SparseFactors))
def _leave_reduced_remainder(plan, mem, factors):
    """Write the residual of the equations not solved in closed form, after `_expand`. Returns its squared norm."""
    at = matrices_at(plan.pattern)
    places = places_at(at.tables, at.n_tables)
    nu, x, r = plan.nu, plan.rhs, plan.remainder
    if factors.n_free < nu:
        subtract_mass(mem, places, at.n_mass, plan.mass, at.mass_rows, at.mass_columns, x, r)
    move(mem, r + nu, mem, plan.bias, factors.rows)
    subtract_rows(mem, places, factors.rows, at.starts + 1, at.columns, plan.jacobian, x, r + nu, 0)
    if factors.n_free == nu:
        return _row_squares(mem, factors.rows, at.lengths, r + nu)
    return _squares(mem, places, factors, factors.n, nu, at.light, at.lengths, r)


@jit(i8(Plan, Floats, SparseFactors))
def _correct_reduced(plan, mem, factors):
    """Solve for the residual and add the correction, then the speeds in closed form."""
    at, nu, x, r = matrices_at(plan.pattern), plan.nu, plan.rhs, plan.remainder
    places = places_at(at.tables, at.n_tables)
    substitute(mem, places, factors, factors.n, factors.n - 1, r)
    if factors.n_free < nu:
        for i in range(nu):
            if mem[factors.inverse + i] == 0.0:
                mem[x + i] += mem[r + i]
    for k in range(nu, nu + factors.rows):
        mem[x + k] -= mem[r + k]
    return _expand(plan, mem, factors)


@jit(i8(Plan, Floats, i8, SparseFactors, i8))
def _solve_at_first(plan, mem, rows, factors, closed):
    """Solve for (f, b) with the factors at hand; (u', la) left in plan.rhs."""
    nu, x = plan.nu, plan.rhs
    if closed:
        for i in range(x, x + nu + rows):
            mem[i] = 0.0
        _expand(plan, mem, factors)
        _leave_reduced_remainder(plan, mem, factors)
        return _correct_reduced(plan, mem, factors)
    move(mem, x, mem, plan.force, nu)
    move(mem, x + nu, mem, plan.bias, rows)
    return solve_sparse(plan, mem, rows, x)


@jit(several(f8, 2)(Plan, Floats, f8))
def _aims(plan, mem, shift):
    """Squared residual to be reached, relative to the terms, and the largest reduction factor of one sweep.

    The quality q of the solve was last judged at the end of a step. It is about sigma^2 + E for the weakest direction:
    accelerations are wrong by no more than the remainder over sqrt(q), and a sweep leaves E / q of it.
    """
    quality = mem[plan.quality]
    if plan.accuracy > 0.0 and quality > shift:
        return max(REMAINDER_ROUNDING * REMAINDER_ROUNDING, plan.accuracy * plan.accuracy * quality), (
            shift / quality
        ) ** 2
    return REMAINDER_ROUNDING * REMAINDER_ROUNDING, 1.0


@jit(i8(Plan, Floats, i8))
def refine_sparse(plan, mem, rows):
    """Solve for (f, b) with the factors at hand, refined against the true equations; (u', la) left in plan.rhs."""
    at, nu, x, r = matrices_at(plan.pattern), plan.nu, plan.rhs, plan.remainder
    factors = factors_at(find_factors(at.first, rows))
    # A mass that had to be replaced is not solved with exactly.
    closed = factors.n_free > 0 and mem[factors.massive] > 0.0
    _solve_at_first(plan, mem, rows, factors, closed)
    enough, falls = _aims(plan, mem, at.shift)
    enough *= _terms(mem, nu, rows, at.light, at.lengths, plan.force, x + nu)
    before = 0.0
    for sweep in range(REFINEMENTS):
        left = _leave_reduced_remainder(plan, mem, factors) if closed else leave_remainder(plan, mem, rows)
        if left <= enough:
            break
        if closed:
            _correct_reduced(plan, mem, factors)
        else:
            solve_sparse(plan, mem, rows, r)
            for i in range(nu + rows):
                mem[x + i] += mem[r + i]
        if sweep:
            falls = min(falls, left / before)
        if falls < 1.0 and left * falls <= enough:  # expected residual after the next sweep
            break
        before = left
    return 0
