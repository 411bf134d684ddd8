"""Symmetric positive definite systems: Cholesky's factorisation M = L L^T, in place, nothing allocated.

Matrices lie in `mem` row by row. L takes the place of the lower triangle of M; what lies above the diagonal is neither
read nor written. Every inner loop runs along rows, so that it is vectorised.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8
from dalembert.solve.rows import add_row, row_product, scale_row


@jit(f8(Floats, i8, i8))
def factor_cholesky(mem, M, n):
    """Factorise mem[M : M + n n] in place. Returns the smallest pivot relative to the diagonal before elimination.

    1 is a diagonal matrix, 0 one that is not positive definite; then the factorisation is not complete.
    """
    quality = 1.0
    for i in range(n):
        row = M + i * n
        for j in range(i):
            mem[row + j] = (mem[row + j] - row_product(mem, row, M + j * n, j)) / mem[M + j * n + j]
        before = mem[row + i]
        pivot = before - row_product(mem, row, row, i)
        if not pivot > 0.0:  # NaN included
            return 0.0
        quality = min(quality, pivot / before)
        mem[row + i] = math.sqrt(pivot)
    return quality


@jit(i8(Floats, i8, i8, f8, f8))
def factor_semidefinite(mem, M, n, least, instead):
    """Factorise mem[M : M + n n] in place, with `instead` in the place of pivots that are not above `least`."""
    for i in range(n):
        row = M + i * n
        for j in range(i):
            mem[row + j] = (mem[row + j] - row_product(mem, row, M + j * n, j)) / mem[M + j * n + j]
        pivot = mem[row + i] - row_product(mem, row, row, i)
        mem[row + i] = math.sqrt(pivot if pivot > least else instead)
    return 0


@jit(i8(Floats, i8, i8))
def invert_factored(mem, L, n):
    """M^-1 in the place of L, of which the lower triangle is read; without further room."""
    for i in range(n):  # L^-1 in its place, each row from those above it
        row = L + i * n
        for k in range(i):
            factor = mem[row + k]
            mem[row + k] = 0.0
            add_row(mem, row, L + k * n, factor, k + 1)
        mem[row + i] = 1.0 / mem[row + i]
        scale_row(mem, row, -mem[row + i], i)
    for k in range(n):  # L^-T L^-1: row k of L^-1 adds to the rows above it, then to its own
        row = L + k * n
        for i in range(k):
            add_row(mem, L + i * n, row, mem[row + i], i + 1)
        scale_row(mem, row, mem[row + k], k + 1)
    for i in range(n):
        for j in range(i):
            mem[L + j * n + i] = mem[L + i * n + j]
    return 0


@jit(i8(Floats, i8, i8, i8))
def solve_lower(mem, L, n, x):
    """x <- L^-1 x for mem[x : x + n]."""
    for i in range(n):
        mem[x + i] = (mem[x + i] - row_product(mem, L + i * n, x, i)) / mem[L + i * n + i]
    return 0


@jit(i8(Floats, i8, i8, i8))
def solve_upper(mem, L, n, x):
    """x <- L^-T x for mem[x : x + n]."""
    for i in range(n - 1, -1, -1):
        mem[x + i] /= mem[L + i * n + i]
        add_row(mem, x, L + i * n, -mem[x + i], i)
    return 0


@jit(i8(Floats, i8, i8, i8, i8))
def solve_lower_columns(mem, L, n, X, m):
    """X <- L^-1 X for X (n, m) at mem[X:]."""
    for i in range(n):
        for k in range(i):
            add_row(mem, X + i * m, X + k * m, -mem[L + i * n + k], m)
        scale_row(mem, X + i * m, 1.0 / mem[L + i * n + i], m)
    return 0
