"""Orthogonal factorisation by Householder's reflections: A = [L 0] Q^T for A (m, n) with m <= n, in place.

The rows of A are the columns of A^T, so this is the QR factorisation of A^T with R = L^T; rows are contiguous. Q is the
product of m reflections I - beta_k v_k v_k^T. Its first m columns span the rows of A, the others their complement,
A D = 0. Row k keeps L left of the diagonal and v_k from there on; `diagonal` (m,) keeps the diagonal of L, `beta` (m,)
the factors.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8
from dalembert.solve.rows import add_row, row_product


@jit(f8(Floats, i8, i8, i8, i8, i8))
def factor_householder(mem, A, m, n, diagonal, beta):
    """Factorise mem[A : A + m n] in place; returns the smallest part of a row that is new, over the row's length.

    1 means orthogonal rows, 0 dependent ones; then the factorisation is not complete.
    """
    quality = 1.0
    for k in range(m):
        row, v, count = A + k * n, A + k * n + k, n - k
        new = row_product(mem, v, v, count)
        whole = new + row_product(mem, row, row, k)  # reflections keep the length of a row
        if not new > 0.0:  # NaN included
            return 0.0
        quality = min(quality, math.sqrt(new / whole))
        length = math.copysign(math.sqrt(new), mem[v])
        mem[diagonal + k] = -length
        mem[beta + k] = 1.0 / (new + length * mem[v])
        mem[v] += length
        for i in range(k + 1, m):
            other = A + i * n + k
            add_row(mem, other, v, -mem[beta + k] * row_product(mem, v, other, count), count)
    return quality


@jit(i8(Floats, i8, i8, i8, i8, i8))
def turn(mem, A, m, n, beta, x):
    """x <- Q^T x for mem[x : x + n]."""
    for k in range(m):
        v, count = A + k * n + k, n - k
        add_row(mem, x + k, v, -mem[beta + k] * row_product(mem, v, x + k, count), count)
    return 0


@jit(i8(Floats, i8, i8, i8, i8, i8))
def turn_back(mem, A, m, n, beta, x):
    """x <- Q x for mem[x : x + n]."""
    for k in range(m - 1, -1, -1):
        v, count = A + k * n + k, n - k
        add_row(mem, x + k, v, -mem[beta + k] * row_product(mem, v, x + k, count), count)
    return 0


@jit(i8(Floats, i8, i8, i8, i8, i8))
def solve_rows(mem, A, m, n, diagonal, x):
    """x <- L^-1 x for mem[x : x + m]."""
    for i in range(m):
        mem[x + i] = (mem[x + i] - row_product(mem, A + i * n, x, i)) / mem[diagonal + i]
    return 0


@jit(i8(Floats, i8, i8, i8, i8, i8))
def solve_rows_transposed(mem, A, m, n, diagonal, x):
    """x <- L^-T x for mem[x : x + m]."""
    for i in range(m - 1, -1, -1):
        mem[x + i] /= mem[diagonal + i]
        add_row(mem, x, A + i * n, -mem[x + i], i)
    return 0
