"""Saddle-point systems [M -W^T; A 0] whose reactions act in other directions W than the constraints A.

Servo constraints make them unsymmetric, as an unknown force enforces a constraint it is not normal to, and so does
friction. LU with complete pivoting, which reveals the rank: a servo constraint that its unknown cannot influence shows
as a missing pivot.

Constraints may be redundant. The multipliers of rows that act along their own gradients are then of minimum norm, as in
`dense`: -PROXIMAL on their diagonal, removed by refinement, leaves la no part along n with A^T n = 0. Such a part may
change the motion if there is friction; `initial.dependence` decides that.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, ints_at
from dalembert.solve.dense import PROXIMAL, SINGULAR, count_regular, scale_saddle
from dalembert.solve.dense_products import DENSE_PRODUCTS, leave_judged
from dalembert.solve.refinement import REFINEMENTS
from dalembert.solve.rows import add_row, row_product, swap_rows
from dalembert.solve.solver import SaddleSolver


@jit(i8(Plan, Floats, i8, i8, i8, i8))
def _swap(plan, mem, n, k, r, c):
    """Bring entry (r, c) to (k, k)."""
    ints = ints_at(plan.ints, plan.n_ints)
    K, rows, columns = plan.matrix, plan.permutation, plan.pivots
    if r != k:
        swap_rows(mem, K + k * n, K + r * n, n)
    for i in range(n):
        mem[K + i * n + k], mem[K + i * n + c] = mem[K + i * n + c], mem[K + i * n + k]
    ints[rows + k], ints[rows + r] = ints[rows + r], ints[rows + k]
    ints[columns + k], ints[columns + c] = ints[columns + c], ints[columns + k]
    return 0


@jit(i8(Plan, Floats, i8))
def _factor(plan, mem, n):
    ints = ints_at(plan.ints, plan.n_ints)
    K, rows, columns = plan.matrix, plan.permutation, plan.pivots
    for i in range(n):
        ints[rows + i] = i
        ints[columns + i] = i
    k = 0
    while k < n:
        r, c, top = k, k, 0.0
        for i in range(k, n):
            for j in range(k, n):
                if abs(mem[K + i * n + j]) > top:
                    r, c, top = i, j, abs(mem[K + i * n + j])
        if not top > SINGULAR:
            break
        _swap(plan, mem, n, k, r, c)
        d = 1.0 / mem[K + k * n + k]
        for i in range(k + 1, n):
            l = mem[K + i * n + k] * d
            mem[K + i * n + k] = l
            add_row(mem, K + i * n + k + 1, K + k * n + k + 1, -l, n - k - 1)
        k += 1
    plan.rank = k
    return k


@jit(f8(Plan, Floats, i8, i8))
def _fall(plan, mem, n, count):
    """Size of the last of the first `count` pivots relative to the first one; 0 if there are fewer."""
    return abs(mem[plan.matrix + (count - 1) * (n + 1)] / mem[plan.matrix]) if count <= plan.rank else 0.0


@jit(i8(Floats, i8, i8))
def is_empty(mem, start, count):
    """Whether mem[start : start + count] is zero."""
    for i in range(start, start + count):
        if mem[i] != 0.0:
            return 0
    return 1


@jit(i8(Plan, Floats, i8))
def is_normal(plan, mem, k):
    """True if the multiplier of row k acts along the gradient of the row, with or without friction."""
    nu, A, W0 = plan.nu, plan.jacobian, plan.stated
    for i in range(nu):
        if mem[A + k * nu + i] != mem[W0 + k * nu + i]:
            return 0
    return 1


@jit(i8(Plan, Floats, i8, f8))
def _fill(plan, mem, nc, shift):
    """The scaled matrix with the first nc constraints; `shift` on the diagonal of rows whose multipliers are normal.

    Returns the number of constraints that are left out.
    """
    nu, left_out = plan.nu, 0
    M, A, W, s, K, c = plan.mass, plan.jacobian, plan.direction, plan.scale, plan.matrix, plan.column
    n = nu + nc
    for i in range(nu):
        mem[c + n + i] = mem[s + i]
        for j in range(nu):
            mem[K + i * n + j] = mem[s + i] * mem[M + i * nu + j] * mem[s + j]
        for k in range(nc):
            mem[K + i * n + nu + k] = -mem[s + i] * mem[W + k * nu + i] * mem[c + n + nu + k]
    for k in range(nc):
        for j in range(nu):
            mem[K + (nu + k) * n + j] = mem[s + nu + k] * mem[A + k * nu + j] * mem[s + j]
        for j in range(nu, n):
            mem[K + (nu + k) * n + j] = 0.0
        if is_empty(mem, A + k * nu, nu) and is_empty(mem, W + k * nu, nu):  # a row left out has no multiplier
            mem[K + (nu + k) * n + nu + k] = 1.0
            left_out += 1
        elif shift > 0.0 and is_normal(plan, mem, k):  # least in the units of unit rows, not of unit directions
            mem[K + (nu + k) * n + nu + k] = shift * mem[c + n + nu + k] / mem[s + nu + k]
    return left_out


@jit(i8(Plan, Floats, i8))
def factor_general(plan, mem, nc):
    """Factorise the scaled matrix with the first nc constraints; returns the rank.

    Columns of W are scaled to unit length; their scales are kept at plan.column. Where constraints depend on each other
    the matrix is shifted (`plan.shifted`), and its solutions are to be refined. The quality is that of the matrix
    without shift, redundant constraints left out.
    """
    nu, W, s, c = plan.nu, plan.direction, plan.scale, plan.column
    n = nu + nc
    scale_saddle(plan, mem, nc)
    for k in range(nc):
        norm = 0.0
        for i in range(nu):
            norm += (mem[W + k * nu + i] * mem[s + i]) ** 2
        mem[c + n + nu + k] = 1.0 / math.sqrt(norm) if norm > 0.0 else 1.0
    left_out = _fill(plan, mem, nc, 0.0)
    rank = _factor(plan, mem, n)
    mem[plan.quality] = _fall(plan, mem, n, min(count_regular(plan, nc) + left_out, n))
    plan.shifted = 0 if _fall(plan, mem, n, n) > PROXIMAL else 1
    if plan.shifted:
        _fill(plan, mem, nc, PROXIMAL)
        _factor(plan, mem, n)
    return rank


@jit(i8(Plan, Floats, i8, i8))
def solve_general(plan, mem, nc, where):
    """Solve in place for mem[where : where + nu + nc] = (f, b), giving (u', la). Entries beyond the rank are zero."""
    ints = ints_at(plan.ints, plan.n_ints)
    n, K, s, x = plan.nu + nc, plan.matrix, plan.scale, plan.column
    rows, columns, rank = plan.permutation, plan.pivots, plan.rank
    for i in range(n):
        j = ints[rows + i]
        mem[x + i] = mem[where + j] * mem[s + j]
    for i in range(rank):
        mem[x + i] -= row_product(mem, K + i * n, x, i)
    for i in range(rank - 1, -1, -1):
        right = row_product(mem, K + i * n + i + 1, x + i + 1, rank - i - 1)
        mem[x + i] = (mem[x + i] - right) / mem[K + i * n + i]
    for i in range(n):
        j = ints[columns + i]
        mem[where + j] = mem[x + i] * mem[x + n + j] if i < rank else 0.0
    return 0


@jit(i8(Plan, Floats, i8))
def _improve(plan, mem, nc):
    """One round of refinement, without the drift of la along n with A^T n = 0 for contradictory right-hand sides.

    With K the shifted matrix, z = K^-1 r and S the shift, the round adds z - K^-1 S z: along n that is zero.
    """
    nu, M, A, W = plan.nu, plan.mass, plan.jacobian, plan.direction
    x, r, n = plan.rhs, plan.remainder, plan.nu + nc
    for i in range(nu):
        total = mem[plan.force + i] - row_product(mem, M + i * nu, x, nu)
        for k in range(nc):
            total += mem[W + k * nu + i] * mem[x + nu + k]
        mem[r + i] = total
    for k in range(nc):
        mem[r + nu + k] = mem[plan.bias + k] - row_product(mem, A + k * nu, x, nu)
    solve_general(plan, mem, nc, r)
    for i in range(n):
        mem[x + i] += mem[r + i]
    for i in range(nu):
        mem[r + i] = 0.0
    for k in range(nc):
        shift = PROXIMAL / mem[plan.scale + nu + k] ** 2 if is_normal(plan, mem, k) else 0.0
        mem[r + nu + k] *= shift
    solve_general(plan, mem, nc, r)
    for i in range(n):
        mem[x + i] -= mem[r + i]
    return 0


@jit(i8(Plan, Floats, i8))
def refine_shifted(plan, mem, nc):
    """Solve for (f, b) with the factors of a shifted matrix; (u', la) left in plan.rhs, la with no part along n."""
    for i in range(plan.nu + nc):
        mem[plan.rhs + i] = 0.0
    for _ in range(1 + REFINEMENTS):
        _improve(plan, mem, nc)
    return 0


UNSYMMETRIC = SaddleSolver(
    "dense and unsymmetric, pivoted", factor_general, solve_general, leave_judged, DENSE_PRODUCTS
)
