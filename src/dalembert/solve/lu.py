"""Square systems without structure: LU with row pivoting, in place, nothing allocated."""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Ints, f8, i8
from dalembert.solve.rows import add_row, largest_in_row, row_product, scale_row, swap_rows


@jit(f8(Ints, Floats, i8, i8, i8))
def factor_lu(ints, mem, K, n, order):
    """Factorise mem[K : K + n n] in place; returns the smallest over the largest pivot, 0 if one vanishes.

    ints[order : order + n] keeps with which row each row was exchanged.
    """
    smallest, largest = 1.0, 1.0
    for k in range(n):
        r, top = k, abs(mem[K + k * n + k])
        for i in range(k + 1, n):
            if abs(mem[K + i * n + k]) > top:
                r, top = i, abs(mem[K + i * n + k])
        ints[order + k] = r
        if not top > 0.0:  # NaN included
            return 0.0
        if r != k:
            swap_rows(mem, K + k * n, K + r * n, n)
        smallest, largest = (top, top) if k == 0 else (min(smallest, top), max(largest, top))
        d = 1.0 / mem[K + k * n + k]
        for i in range(k + 1, n):
            l = mem[K + i * n + k] * d
            mem[K + i * n + k] = l
            if l != 0.0:
                add_row(mem, K + i * n + k + 1, K + k * n + k + 1, -l, n - k - 1)
    return smallest / largest


@jit(i8(Ints, Floats, i8, i8, i8, i8))
def solve_lu(ints, mem, K, n, order, x):
    """Solve in place for the right-hand side mem[x : x + n], with the factors left by `factor_lu`."""
    for k in range(n):
        r = ints[order + k]
        if r != k:
            mem[x + k], mem[x + r] = mem[x + r], mem[x + k]
    for i in range(n):
        mem[x + i] -= row_product(mem, K + i * n, x, i)
    for i in range(n - 1, -1, -1):
        right = row_product(mem, K + i * n + i + 1, x + i + 1, n - i - 1)
        mem[x + i] = (mem[x + i] - right) / mem[K + i * n + i]
    return 0


@jit(i8(Ints, Floats, i8, i8, i8, i8, i8))
def solve_lu_columns(ints, mem, K, n, order, X, m):
    """X <- K^-1 X for X (n, m) at mem[X:], with the factors left by `factor_lu`."""
    for k in range(n):
        r = ints[order + k]
        if r != k:
            swap_rows(mem, X + k * m, X + r * m, m)
    for i in range(n):
        for k in range(i):
            if mem[K + i * n + k] != 0.0:
                add_row(mem, X + i * m, X + k * m, -mem[K + i * n + k], m)
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            if mem[K + i * n + k] != 0.0:
                add_row(mem, X + i * m, X + k * m, -mem[K + i * n + k], m)
        scale_row(mem, X + i * m, 1.0 / mem[K + i * n + i], m)
    return 0


@jit(i8(Ints, Floats, i8, i8, i8, i8))
def solve_lu_transposed(ints, mem, K, n, order, x):
    """x <- K^-T x for mem[x : x + n], with the factors left by `factor_lu`."""
    for i in range(n):
        mem[x + i] /= mem[K + i * n + i]
        add_row(mem, x + i + 1, K + i * n + i + 1, -mem[x + i], n - i - 1)
    for i in range(n - 1, -1, -1):
        add_row(mem, x, K + i * n, -mem[x + i], i)
    for k in range(n - 1, -1, -1):
        r = ints[order + k]
        if r != k:
            mem[x + k], mem[x + r] = mem[x + r], mem[x + k]
    return 0


@jit(f8(Floats, i8, i8))
def dominance(mem, K, n):
    """The smallest pivot left by `factor_lu` over the largest entry of its row of U, at most 1."""
    worst = 1.0
    for k in range(n):
        worst = max(worst, largest_in_row(mem, K + k * n + k + 1, n - k - 1) / abs(mem[K + k * n + k]))
    return 1.0 / worst
