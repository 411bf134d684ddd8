"""Saddle-point systems of many bodies: L D L^T of [M A^T; A -E] over its nonzeros, in an order fixed beforehand.

With M positive definite and E > 0 the matrix is quasi-definite: every symmetric order has pivots (Vanderbei 1995), so
none are searched. E is SHIFT times the squared length of each row in the mass metric, as in `dense`, and refinement
wins back what it costs: directions in which constraints are independent converge to the exact solution, the others keep
the least multipliers. Where M is singular its diagonal is raised by PROXIMAL too, which refinement undoes as well.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import places_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move, u8
from dalembert.native.types import Places
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.rows import FUSED, REORDERED, multiply_row, row_product
from dalembert.solve.schur import (
    add_columns,
    assemble_schur,
    invert_masses,
    lengths_of_schur,
    solve_closed,
    subtract_rows,
    weigh,
)
from dalembert.solve.short_columns import decompose_short
from dalembert.solve.solver import SaddleSolver
from dalembert.solve.sparse_layout import SHIFT, factors_at, find_factors, matrices_at
from dalembert.solve.sparse_ldl import decompose, substitute
from dalembert.solve.sparse_products import SPARSE_PRODUCTS

INVERSE_ITERATIONS = 3


@jit(i8(Floats, Places, u8, u8, u8))
def _measure_masses(mem, places, nu, diagonal, light):
    """Reciprocal masses, that of the largest where there is none: with the lengths of rows, makes pivots unitless."""
    largest = 0.0
    for i in range(nu):
        largest = max(largest, abs(mem[places[diagonal + i]]))
    if largest == 0.0:
        largest = 1.0
    for i in range(nu):
        d = abs(mem[places[diagonal + i]])
        mem[light + i] = 1.0 / (d if d > 1e-24 * largest else largest)
    return 0


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def _measure_rows(mem, places, rows, ends, columns, jacobian, light, lengths, zero):
    """Squared lengths of the rows of A in the metric of the masses; row k ends at `ends`."""
    start = zero
    for k in range(rows):
        total, stop = 0.0, places[ends + k]
        for p in range(start, stop):
            a = mem[jacobian + p]
            total += a * a * mem[light + places[columns + p]]
        mem[lengths + k] = total if total > 0.0 else 1.0
        start = stop
    return 0


@jit(f8(Plan, Floats, i8))
def assemble_sparse(plan, mem, rows):
    """Measure masses and the first `rows` constraints, and eliminate speeds in closed form. Returns the least mass."""
    at, nu, A = matrices_at(plan.pattern), plan.nu, plan.jacobian
    factors, diagonal, light, lengths = factors_at(find_factors(at.first, rows)), at.diagonal, at.light, at.lengths
    places = places_at(at.tables, at.n_tables)
    _measure_masses(mem, places, nu, diagonal, light)
    least_mass = invert_masses(mem, places, factors, diagonal, light)
    assemble_schur(mem, places, factors, A, 0)
    if factors.n_free == nu and least_mass > 0.0:
        lengths_of_schur(mem, rows, factors.schur, lengths)
    else:
        _measure_rows(mem, places, rows, at.starts + 1, at.columns, A, light, lengths, 0)
    return least_mass


@jit(i8(Plan, Floats, i8, f8, f8))
def decompose_shifted(plan, mem, rows, shift, least_mass):
    """Factorise the assembled matrix. E is `shift` relative to the squared length of each row."""
    at, nu = matrices_at(plan.pattern), plan.nu
    places, diagonal, light, lengths = places_at(at.tables, at.n_tables), at.diagonal, at.light, at.lengths
    factors, soft = factors_at(find_factors(at.first, rows)), PROXIMAL if at.soft else 0.0
    if factors.n_targets:
        least = decompose_short(mem, places, factors, factors.n, nu, diagonal, light, lengths, soft, shift, 0)
    else:
        least = decompose(mem, places, factors, factors.n, nu, diagonal, light, lengths, soft, shift, 0)
    at.least_pivot, mem[factors.massive] = min(least, least_mass), least_mass
    plan.rank = nu + rows
    return plan.rank


@jit(i8(Plan, Floats, i8, f8))
def factor_shifted(plan, mem, rows, shift):
    """Factorise with the first `rows` constraints, E being `shift` relative to the squared length of each row."""
    return decompose_shifted(plan, mem, rows, shift, assemble_sparse(plan, mem, rows))


@jit(i8(Plan, Floats, i8))
def factor_sparse(plan, mem, rows):
    """Factorise with the first `rows` constraints; returns the rank, which regularisation always makes full."""
    return factor_shifted(plan, mem, rows, matrices_at(plan.pattern).shift)


@jit(i8(Plan, Floats, i8, i8))
def solve_sparse(plan, mem, rows, where):
    """Replace (f, b) at mem[where : where + nu + rows] by (u', la), with the factors left by `factor_sparse`."""
    at, nu = matrices_at(plan.pattern), plan.nu
    places = places_at(at.tables, at.n_tables)
    factors = factors_at(find_factors(at.first, rows))
    t = factors.closed
    if factors.n_free:
        weigh(mem, nu, factors.inverse, where, t)
        subtract_rows(mem, places, rows, at.starts + 1, at.columns, plan.jacobian, t, where + nu, 0)
    substitute(mem, places, factors, factors.n, factors.n - 1, where)
    for k in range(where + nu, where + nu + rows):
        mem[k] = -mem[k]  # the symmetric matrix is that of (u', -la)
    if factors.n_free:
        move(mem, t, mem, where, nu)
        add_columns(mem, places, rows, at.starts + 1, at.columns, plan.jacobian, where + nu, t, 0)
        solve_closed(mem, places, factors, nu, t, where)
    return 0


@jit(i8(Floats, u8, u8, u8, u8, u8))
def _find_units(mem, nu, rows, light, lengths, units):
    """The square roots of masses and of squared lengths of rows, (nu + rows,)."""
    for i in range(nu):
        mem[units + i] = math.sqrt(1.0 / mem[light + i])
    for k in range(rows):
        mem[units + nu + k] = math.sqrt(mem[lengths + k])
    return 0


@jit(f8(Floats, u8, u8, u8, f8), fastmath=REORDERED)
def _stretch_twice(mem, n, x, by, sign):
    """x_i becomes sign by_i^2 x_i for i < n; the sum of the squares of by_i x_i."""
    total = 0.0
    for i in range(n):
        once = mem[x + i] * mem[by + i]
        total += once * once
        mem[x + i] = sign * once * mem[by + i]
    return total


@jit(i8(Plan, Floats, i8))
def judge_sparse(plan, mem, rows):
    """Estimate the reciprocal condition by inverse iteration.

    Pivots leave it open, as one that is small may come from a constraint that has turned away from its speed. The
    estimate is the smallest eigenvalue of the matrix with unit rows and masses, in which the largest is about 1. With
    S^2 the reciprocal units, y = S^-1 K^-1 S^-1 y is iterated as x = S^-1 y; y grows by 1 / SHIFT at the most.
    """
    nu, x, at, n = plan.nu, plan.remainder, matrices_at(plan.pattern), plan.nu + rows
    units, before, smallest = at.stretch, row_product(mem, at.probe, at.probe, n), 1.0
    _find_units(mem, nu, rows, at.light, at.lengths, units)
    move(mem, x, mem, at.probe, n)
    multiply_row(mem, x, units, n)
    for _ in range(INVERSE_ITERATIONS):
        solve_sparse(plan, mem, rows, x)  # K is that of (u', -la)
        after = _stretch_twice(mem, nu, x, units, 1.0) + _stretch_twice(mem, rows, x + nu, units + nu, -1.0)
        smallest = math.sqrt(before / after) if after > 0.0 else 0.0
        before = after
    mem[plan.quality] = min(smallest, 1.0)
    return 0


SPARSE = SaddleSolver(
    "sparse and symmetric, in a fixed order",
    factor_sparse,
    solve_sparse,
    judge_sparse,
    SPARSE_PRODUCTS,
    over_nonzeros=True,
    weakest=10.0 * SHIFT,  # less is lost beside the shift
)
