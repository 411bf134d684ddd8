"""Saddle-point systems [M A^T; A 0]: symmetric, indefinite and possibly singular.

LDL^T with symmetric pivoting after Bunch and Parlett (1971), made cheap: the largest remaining diagonal is taken as a
1x1 pivot while it dominates its own column; only otherwise is the whole remainder searched, for a 2x2 pivot if need be.
The mass matrix may be singular as long as the saddle matrix is not.

Constraints may be redundant, and mechanisms pass through positions where they become so. The lower right block is
therefore -PROXIMAL instead of 0 (in units where rows of A have length 1), and the solution is refined against the true
system. Directions in which constraints are independent converge to the exact solution; those in which they are not keep
the least multipliers, and near a singular position errors are damped instead of amplified without bound.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, i8, ints_at
from dalembert.solve.dense_products import DENSE_PRODUCTS, leave_judged
from dalembert.solve.rows import add_row, row_product, swap_rows
from dalembert.solve.solver import SaddleSolver

ALPHA = (1.0 + math.sqrt(17.0)) / 8.0  # bounds the growth of 1x1 and 2x2 pivots alike
SINGULAR = 1e-14  # a pivot below this, after scaling to unit diagonal, is zero
PROXIMAL = 1e-8  # constraints are independent in directions with singular values above its root


@jit(i8(Plan, Floats, i8))
def scale_saddle(plan, mem, rows):
    """Scales s with s_i^2 M_ii = 1 and unit rows of A. They make pivots comparable in any units."""
    nu, M, A, s = plan.nu, plan.mass, plan.jacobian, plan.scale
    largest = 0.0
    for i in range(nu):
        largest = max(largest, abs(mem[M + i * nu + i]))
    if largest == 0.0:
        largest = 1.0
    for i in range(nu):
        d = abs(mem[M + i * nu + i])
        mem[s + i] = 1.0 / math.sqrt(d if d > 1e-24 * largest else largest)
    for k in range(rows):
        norm = 0.0
        for i in range(nu):
            a = mem[A + k * nu + i] * mem[s + i]
            norm += a * a
        mem[s + nu + k] = 1.0 / math.sqrt(norm) if norm > 0.0 else 1.0
    return 0


@jit(i8(Plan, i8))
def count_regular(plan, rows):
    """Number of pivots at a regular state, with so many constraints: one per speed and per independent constraint.

    All constraints count until the static choice is made.
    """
    return plan.nu + (min(plan.chosen, rows) if plan.chosen > 0 else rows)


@jit(i8(Plan, Floats, i8, i8, i8))
def _swap(plan, mem, n, a, b):
    """Exchange rows and columns a < b of the lower triangle, the finished columns of L included."""
    ints = ints_at(plan.ints, plan.n_ints)
    K, order = plan.matrix, plan.permutation
    ints[order + a], ints[order + b] = ints[order + b], ints[order + a]
    swap_rows(mem, K + a * n, K + b * n, a)
    for j in range(a + 1, b):
        mem[K + j * n + a], mem[K + b * n + j] = mem[K + b * n + j], mem[K + j * n + a]
    for i in range(b + 1, n):
        mem[K + i * n + a], mem[K + i * n + b] = mem[K + i * n + b], mem[K + i * n + a]
    mem[K + a * n + a], mem[K + b * n + b] = mem[K + b * n + b], mem[K + a * n + a]
    return 0


@jit(i8(Plan, Floats, i8, i8))
def _eliminate_one(plan, mem, n, k):
    """1x1 pivot at k: column of L and update of the remainder."""
    K, c = plan.matrix, plan.column
    d = 1.0 / mem[K + k * n + k]
    for i in range(k + 1, n):
        mem[c + i] = mem[K + i * n + k]
    for i in range(k + 1, n):
        l = mem[c + i] * d
        if l != 0.0:
            add_row(mem, K + i * n + k + 1, c + k + 1, -l, i - k)
        mem[K + i * n + k] = l
    return 0


@jit(i8(Plan, Floats, i8, i8))
def _eliminate_two(plan, mem, n, k):
    """2x2 pivot at k, k + 1: two columns of L and update of the remainder."""
    K, c = plan.matrix, plan.column
    a, b, d = mem[K + k * n + k], mem[K + (k + 1) * n + k], mem[K + (k + 1) * n + k + 1]
    det = a * d - b * b
    for i in range(k + 2, n):
        mem[c + i] = mem[K + i * n + k]
        mem[c + n + i] = mem[K + i * n + k + 1]
    for i in range(k + 2, n):
        x, y = mem[c + i], mem[c + n + i]
        l, m = (d * x - b * y) / det, (a * y - b * x) / det
        add_row(mem, K + i * n + k + 2, c + k + 2, -l, i - k - 1)
        add_row(mem, K + i * n + k + 2, c + n + k + 2, -m, i - k - 1)
        mem[K + i * n + k] = l
        mem[K + i * n + k + 1] = m
    return 0


@jit(i8(Plan, Floats, i8, i8))
def _factor(plan, mem, n, regular):
    """Eliminate; the quality is that of the first `regular` pivots, as the others are zero at every state."""
    ints = ints_at(plan.ints, plan.n_ints)
    K, order, sizes = plan.matrix, plan.permutation, plan.pivots
    for i in range(n):
        ints[order + i] = i
    smallest, largest = math.inf, 0.0
    k = 0
    while k < n:
        p, top = k, abs(mem[K + k * n + k])
        for i in range(k + 1, n):
            d = abs(mem[K + i * n + i])
            if d > top:
                p, top = i, d
        reach = 0.0
        for j in range(k, p):
            reach = max(reach, abs(mem[K + p * n + j]))
        for i in range(p + 1, n):
            reach = max(reach, abs(mem[K + i * n + p]))
        single = top > SINGULAR and top >= ALPHA * reach
        r, c = p, p
        if not single:
            best = 0.0
            for i in range(k + 1, n):
                for j in range(k, i):
                    value = abs(mem[K + i * n + j])
                    if value > best:
                        best, r, c = value, i, j
            if max(best, top) <= SINGULAR:
                break
            single = top >= ALPHA * best
        if single:
            if p > k:
                _swap(plan, mem, n, k, p)
            ints[sizes + k] = 1
            size = abs(mem[K + k * n + k])
            _eliminate_one(plan, mem, n, k)
            k += 1
        else:
            if c > k:
                _swap(plan, mem, n, k, c)
            if r > k + 1:
                _swap(plan, mem, n, k + 1, r)
            ints[sizes + k], ints[sizes + k + 1] = 2, 0
            a, b, d = mem[K + k * n + k], mem[K + (k + 1) * n + k], mem[K + (k + 1) * n + k + 1]
            size = math.sqrt(abs(a * d - b * b))
            _eliminate_two(plan, mem, n, k)
            k += 2
        if k <= regular:
            smallest, largest = min(smallest, size), max(largest, size)
    plan.rank = k
    mem[plan.quality] = smallest / largest if k == n and n > 0 else 0.0
    return k


@jit(i8(Plan, Floats, i8))
def factor_saddle(plan, mem, rows):
    """Factorise the scaled [M A^T; A 0] with the first `rows` rows of A; returns the rank.

    Leaves L and D in mem[MATRIX], the pivot order and sizes in plan, and an estimate of the reciprocal condition
    (smallest over largest pivot, redundant constraints left out) in mem[QUALITY].
    """
    nu, M, A, s, K = plan.nu, plan.mass, plan.jacobian, plan.scale, plan.matrix
    n = nu + rows
    scale_saddle(plan, mem, rows)
    for i in range(nu):
        si = mem[s + i]
        for j in range(i + 1):
            mem[K + i * n + j] = si * mem[M + i * nu + j] * mem[s + j]
    for k in range(rows):
        sk, i = mem[s + nu + k], nu + k
        for j in range(nu):
            mem[K + i * n + j] = sk * mem[A + k * nu + j] * mem[s + j]
        for j in range(nu, i):
            mem[K + i * n + j] = 0.0
        mem[K + i * n + i] = -PROXIMAL
    return _factor(plan, mem, n, count_regular(plan, rows))


@jit(i8(Plan, Floats, i8, i8))
def solve_saddle(plan, mem, rows, where):
    """Solve in place for the right-hand side mem[where : where + nu + rows], with the factors left by `factor_saddle`.

    Leaves (u', la) there; components beyond the rank are zero.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    K, s, x = plan.matrix, plan.scale, plan.column
    order, sizes, rank, n = plan.permutation, plan.pivots, plan.rank, plan.nu + rows
    for i in range(n):
        j = ints[order + i]
        mem[x + i] = mem[where + j] * mem[s + j]
    for i in range(rank):  # L: in the second row of a 2x2 block, the entry left of the diagonal belongs to D
        mem[x + i] -= row_product(mem, K + i * n, x, i - (ints[sizes + i] == 0))
    k = 0
    while k < rank:
        if ints[sizes + k] == 1:
            mem[x + k] /= mem[K + k * n + k]
            k += 1
        else:
            a, b, d = mem[K + k * n + k], mem[K + (k + 1) * n + k], mem[K + (k + 1) * n + k + 1]
            det = a * d - b * b
            y, z = mem[x + k], mem[x + k + 1]
            mem[x + k], mem[x + k + 1] = (d * y - b * z) / det, (a * z - b * y) / det
            k += 2
    for i in range(rank - 1, -1, -1):  # L^T
        add_row(mem, x, K + i * n, -mem[x + i], i - (ints[sizes + i] == 0))
    for i in range(n):
        j = ints[order + i]
        value = mem[x + i] * mem[s + j] if i < rank else 0.0
        mem[where + j] = value if j < plan.nu else -value  # the symmetric matrix is that of (u', -la)
    return 0


DENSE = SaddleSolver("dense and symmetric, pivoted", factor_saddle, solve_saddle, leave_judged, DENSE_PRODUCTS)
