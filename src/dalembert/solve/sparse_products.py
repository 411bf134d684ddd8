"""Products with sparse M and A: residuals of the equations of motion, and the power of reactions."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import places_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move, u8
from dalembert.native.types import Places
from dalembert.solve.rows import FUSED, REORDERED
from dalembert.solve.solver import Products
from dalembert.solve.sparse_layout import matrices_at


@jit(f8(Plan, Floats, i8))
def leave_remainder(plan, mem, rows):
    """f - M u' + A^T la and b - A u' for (u', la) in plan.rhs, left in plan.remainder; the square of their length."""
    at = matrices_at(plan.pattern)
    places = places_at(at.tables, at.n_tables)
    nu, r, x = plan.nu, plan.remainder, plan.rhs
    move(mem, r, mem, plan.force, nu)
    move(mem, r + nu, mem, plan.bias, rows)
    subtract_mass(mem, places, at.n_mass, plan.mass, at.mass_rows, at.mass_columns, x, r)
    total = _subtract_constraints(
        mem, places, rows, at.starts + 1, at.columns, plan.jacobian, x, x + nu, r, r + nu, at.lengths, 0
    )  # fmt: skip
    return total + _weighted_squares(mem, nu, at.light, r)


@jit(f8(Floats, Places, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def _subtract_constraints(mem, places, rows, ends, columns, A, x, la, r, left, lengths, zero):
    """r (nu,) += A^T la and left (rows,) -= A x in one pass over A; the sum of squares of `left`, for unit rows."""
    start, squares = zero, 0.0
    for k in range(rows):
        stop, lak, total = places[ends + k], mem[la + k], mem[left + k]
        for p in range(start, stop):
            a, j = mem[A + p], places[columns + p]
            total -= a * mem[x + j]
            mem[r + j] += a * lak
        mem[left + k] = total
        squares += total * total / mem[lengths + k]
        start = stop
    return squares


@jit(f8(Floats, u8, u8, u8), fastmath=REORDERED)
def _weighted_squares(mem, n, weights, x):
    """The sum of weights_i x_i^2 for i < n."""
    total = 0.0
    for i in range(n):
        total += mem[x + i] * mem[x + i] * mem[weights + i]
    return total


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def subtract_mass(mem, places, n_mass, M, rows, columns, x, r):
    """r -= M x; nonzeros of M on and below the diagonal at M."""
    for p in range(n_mass):
        i, j, value = places[rows + p], places[columns + p], mem[M + p]
        mem[r + i] -= value * mem[x + j]
        if i != j:
            mem[r + j] -= value * mem[x + i]
    return 0


@jit(f8(Plan, Floats))
def sparse_power(plan, mem):
    """u . A^T la at the speeds in x and the multipliers found."""
    at = matrices_at(plan.pattern)
    places = places_at(at.tables, at.n_tables)
    return _weighted_rates(
        mem, places, plan.nc, at.starts + 1, at.columns, plan.jacobian, plan.xu, plan.multiplier, 0
    )  # fmt: skip


@jit(f8(Floats, Places, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def _weighted_rates(mem, places, rows, ends, columns, A, u, la, zero):
    """The sum of la_k (A u)_k."""
    power, start = 0.0, zero
    for k in range(rows):
        rate, stop = 0.0, places[ends + k]
        for p in range(start, stop):
            rate += mem[A + p] * mem[u + places[columns + p]]
        power += mem[la + k] * rate
        start = stop
    return power


@jit(f8(Plan, Floats, i8, f8))
def sparse_row_residual(plan, mem, k, size):
    """(A u' - b)_k relative to the sum of |terms| if every acceleration is `size` times the size of its speed."""
    at, b = matrices_at(plan.pattern), mem[plan.bias + k]
    places = places_at(at.tables, at.n_tables)
    total, scale, sizes = -b, 0.0, plan.sizes + plan.nq
    for p in range(places[at.starts + k], places[at.starts + k + 1]):
        a, j = mem[plan.jacobian + p], places[at.columns + p]
        total += a * mem[plan.udot + j]
        scale += abs(a) * mem[sizes + j]
    return total / max(scale * size + abs(b), 1e-300)


@jit(f8(Plan, Floats))
def sparse_balance(plan, mem):
    """Largest entry of M u' - f - A^T la relative to the largest sum of |terms|, both times the sizes of speeds."""
    nu, nc, x, terms, worst, scale = plan.nu, plan.nc, plan.rhs, plan.column, 0.0, 1e-300
    at = matrices_at(plan.pattern)
    places = places_at(at.tables, at.n_tables)
    move(mem, x, mem, plan.udot, nu)
    move(mem, x + nu, mem, plan.multiplier, nc)
    leave_remainder(plan, mem, nc)
    for i in range(nu):
        mem[terms + i] = abs(mem[plan.force + i])
    for p in range(at.n_mass):
        i, j, m = places[at.mass_rows + p], places[at.mass_columns + p], abs(mem[plan.mass + p])
        mem[terms + i] += m * abs(mem[x + j])
        if i != j:
            mem[terms + j] += m * abs(mem[x + i])
    for k in range(nc):
        for p in range(places[at.starts + k], places[at.starts + k + 1]):
            mem[terms + places[at.columns + p]] += abs(mem[plan.jacobian + p] * mem[x + nu + k])
    for i in range(nu):
        size = mem[plan.sizes + plan.nq + i]
        left = abs(mem[plan.remainder + i]) * size
        if left > worst or math.isnan(left):
            worst = left
        scale = max(scale, mem[terms + i] * size)
    return worst / scale


@jit(i8(Plan, Floats))
def sparse_follow(plan, mem):
    """Move q along the gradient of each invariant, given by its nonzeros."""
    at = matrices_at(plan.pattern)
    places = places_at(at.tables, at.n_tables)
    h = plan.invariants
    for k in range(plan.ni):
        norm, first, last = 0.0, places[at.invariant_starts + k], places[at.invariant_starts + k + 1]
        for p in range(first, last):
            norm += mem[h + plan.ni + p] ** 2
        for p in range(first, last if norm > 0.0 else first):
            mem[plan.xq + places[at.invariant_columns + p]] -= mem[h + k] / norm * mem[h + plan.ni + p]
    return 0


SPARSE_PRODUCTS = Products(sparse_power, sparse_balance, sparse_row_residual, sparse_follow)
