"""Saddle-point systems of many bodies: L D L^T of [M A^T; A -E] over its nonzeros, in an order fixed beforehand.

With M positive definite and E > 0 the matrix is quasi-definite: every symmetric order has pivots (Vanderbei 1995), so
none are searched. E is SHIFT times the squared length of each row in the mass metric, as in `dense`, and refinement
wins back what it costs: directions in which constraints are independent converge to the exact solution, the others keep
the least multipliers. Where M is singular its diagonal is raised by PROXIMAL too, which refinement undoes as well.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.intrinsics import places_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, u8
from dalembert.native.types import Places
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.refinement import REFINEMENTS
from dalembert.solve.rows import FUSED
from dalembert.solve.solver import SaddleSolver
from dalembert.solve.sparse_layout import SparseFactors, factors_at, matrices_at
from dalembert.solve.sparse_products import SPARSE_PRODUCTS, leave_remainder

SETTLED = 1e-15  # a remainder of the equations below this, relative to their right-hand side, is round-off
LEAST = 1e-13  # a pivot below this, for unit masses and rows, is not one
INVERSE_ITERATIONS = 3

index = np.uint64  # see `Places`


@jit(i8(i8, i8))
def _find(first, rows):
    """The address of the factors for a number of constraints."""
    address = first
    while factors_at(address).rows != rows:
        address = factors_at(address).next
    return address


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def _measure(mem, places, nu, nc, diagonal, after, columns, jacobian, light, lengths, zero):
    """Reciprocal masses, and squared lengths of the rows of A in their metric: makes pivots free of units.

    `after` is where row k of A ends.
    """
    largest = 0.0
    for i in range(nu):
        largest = max(largest, abs(mem[places[diagonal + i]]))
    if largest == 0.0:
        largest = 1.0
    for i in range(nu):
        d = abs(mem[places[diagonal + i]])
        mem[light + i] = 1.0 / (d if d > 1e-24 * largest else largest)
    start = zero
    for k in range(nc):
        total, stop = 0.0, places[after + k]
        for p in range(start, stop):
            a = mem[jacobian + p]
            total += a * a * mem[light + places[columns + p]]
        mem[lengths + k] = total if total > 0.0 else 1.0
        start = stop
    return 0


@jit(f8(Floats, Places, SparseFactors, u8, u8, u8, u8, u8, f8, f8, u8), fastmath=FUSED)
def _decompose(mem, places, at, n, nu, diagonal, light, lengths, soft, shift, zero):
    """L and the reciprocals of D; the smallest pivot over the largest, 0 if one had the wrong sign and was replaced."""
    order, ends, rows, sources = (
        index(at.order),
        index(at.upper_starts + 1),
        index(at.upper_rows),
        index(at.upper_sources),
    )
    row_ends, row_columns, row_places = index(at.row_starts + 1), index(at.row_columns), index(at.row_places)
    starts, entries, L, D, y = (
        index(at.column_starts),
        index(at.entry_rows),
        index(at.lower),
        index(at.pivots),
        index(at.scatter),
    )
    smallest, largest, start, row_start = math.inf, 0.0, zero, zero
    for k in range(n):
        stop, row_stop, unknown = places[ends + k], places[row_ends + k], places[order + k]
        for p in range(start, stop):
            mem[y + places[rows + p]] += mem[places[sources + p]]
        if unknown < nu:
            unit = mem[light + unknown]
            d = mem[places[diagonal + unknown]] + soft / unit
        else:
            unit = -1.0 / mem[lengths + unknown - nu]
            d = shift / unit
        for t in range(row_start, row_stop):
            i, place = places[row_columns + t], places[row_places + t]
            yi = mem[y + i]
            mem[y + i] = 0.0
            for p in range(places[starts + i], place):
                mem[y + places[entries + p]] -= mem[L + p] * yi
            l = yi * mem[D + i]
            d -= l * yi
            mem[L + place] = l
        size = d * unit
        if not size > LEAST:
            d, size = PROXIMAL / unit, 0.0
        smallest, largest = min(smallest, size), max(largest, size)
        mem[D + k] = 1.0 / d
        start, row_start = stop, row_stop
    return smallest / largest if largest > 0.0 else 1.0


@jit(i8(Floats, Places, SparseFactors, u8, u8, u8), fastmath=FUSED)
def _substitute(mem, places, at, n, last, where):
    """mem[where : where + n] = K^-1 of it, with the factors at hand; K is symmetric."""
    order, starts, ends, entries = (
        index(at.order),
        index(at.column_starts),
        index(at.column_starts + 1),
        index(at.entry_rows),
    )
    L, D, x = index(at.lower), index(at.pivots), index(at.side)
    for k in range(n):
        mem[x + k] = mem[where + places[order + k]]
    for k in range(n):
        xk = mem[x + k]
        for p in range(places[starts + k], places[ends + k]):
            mem[x + places[entries + p]] -= mem[L + p] * xk
    for left in range(n):
        k = last - left
        total = mem[x + k] * mem[D + k]
        for p in range(places[starts + k], places[ends + k]):
            total -= mem[L + p] * mem[x + places[entries + p]]
        mem[x + k] = total
        mem[where + places[order + k]] = total
    return 0


@jit(i8(Plan, Floats, i8, f8))
def factor_shifted(plan, mem, rows, shift):
    """Factorise with the first `rows` constraints, E being `shift` relative to the squared length of each row."""
    at = matrices_at(plan.pattern)
    factors = factors_at(_find(at.first, rows))
    places = places_at(plan.ints, plan.n_ints)
    _measure(mem, places, plan.nu, rows, at.diagonal, at.starts + 1, at.columns, plan.jacobian, at.light, at.lengths, 0)
    soft, light, lengths = PROXIMAL if at.soft else 0.0, at.light, at.lengths
    at.least_pivot = _decompose(mem, places, factors, factors.n, plan.nu, at.diagonal, light, lengths, soft, shift, 0)
    plan.rank = factors.n
    return factors.n


@jit(i8(Plan, Floats, i8))
def factor_sparse(plan, mem, rows):
    """Factorise with the first `rows` constraints; returns the rank, which regularisation always makes full."""
    return factor_shifted(plan, mem, rows, matrices_at(plan.pattern).shift)


@jit(i8(Plan, Floats, i8, i8))
def solve_sparse(plan, mem, rows, where):
    """Replace (f, b) at mem[where : where + nu + rows] by (u', la), with the factors left by `factor_sparse`."""
    factors = factors_at(_find(matrices_at(plan.pattern).first, rows))
    _substitute(mem, places_at(plan.ints, plan.n_ints), factors, factors.n, factors.n - 1, where)
    for k in range(where + plan.nu, where + plan.nu + rows):
        mem[k] = -mem[k]  # the symmetric matrix is that of (u', -la)
    return 0


@jit(i8(Plan, Floats, i8))
def refine_sparse(plan, mem, rows):
    """Solve for (f, b) with the factors at hand, refined against the true equations; (u', la) left in plan.rhs."""
    nu, x, r = plan.nu, plan.rhs, plan.remainder
    n = nu + rows
    for i in range(n):
        mem[x + i] = 0.0
    first = leave_remainder(plan, mem, rows)
    for _ in range(1 + REFINEMENTS):
        solve_sparse(plan, mem, rows, r)
        for i in range(n):
            mem[x + i] += mem[r + i]
        if not leave_remainder(plan, mem, rows) > SETTLED * SETTLED * first:
            break
    return 0


@jit(i8(Plan, Floats, i8))
def judge_sparse(plan, mem, rows):
    """Estimate the reciprocal condition by inverse iteration.

    Pivots leave it open, as one that is small may come from a constraint that has turned away from its speed. The
    estimate is the smallest eigenvalue of the matrix with unit rows and masses, in which the largest is about 1.
    """
    nu, x, at = plan.nu, plan.remainder, matrices_at(plan.pattern)
    factors, places, n = factors_at(_find(at.first, rows)), places_at(plan.ints, plan.n_ints), nu + rows
    for i in range(n):
        mem[x + i] = 0.5 + abs(math.sin(1.0 + 7.0 * i))
    smallest = 1.0
    for _ in range(INVERSE_ITERATIONS):
        before = after = 0.0
        for i in range(n):  # x = S^-1 K^-1 S^-1 x with S^2 the reciprocal units
            before += mem[x + i] * mem[x + i]
            mem[x + i] /= math.sqrt(mem[at.light + i] if i < nu else 1.0 / mem[at.lengths + i - nu])
        _substitute(mem, places, factors, n, n - 1, x)
        for i in range(n):
            mem[x + i] /= math.sqrt(mem[at.light + i] if i < nu else 1.0 / mem[at.lengths + i - nu])
            after += mem[x + i] * mem[x + i]
        smallest = math.sqrt(before / after) if after > 0.0 else 0.0
        for i in range(n):
            mem[x + i] /= math.sqrt(after) if after > 0.0 else 1.0
    mem[plan.quality] = min(smallest, 1.0)
    return 0


SPARSE = SaddleSolver(
    "sparse and symmetric, in a fixed order", factor_sparse, solve_sparse, judge_sparse, SPARSE_PRODUCTS
)
