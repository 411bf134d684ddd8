"""Linear systems as graphs: elimination in the order given, without pivoting, skipping structural zeros.

The caller orders rows and columns so that the pivots are good where the choice was made; the quality says how good they
still are: the smallest pivot over the largest entry its row had.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

Entry = Any  # a graph scalar, None where structurally zero
Rows = list[list[Entry]]


def rows_of(matrix: ca.SX) -> Rows:
    """The entries of a graph matrix, row by row."""
    pattern, (m, n) = matrix.sparsity(), matrix.shape
    return [[matrix[i, j] if pattern.has_nz(i, j) else None for j in range(n)] for i in range(m)]


def matrix_of(rows: Rows, shape: tuple[int, int]) -> ca.SX:
    """The graph matrix of entries."""
    matrix = ca.SX(*shape)
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if entry is not None:
                matrix[i, j] = entry
    return matrix


def solve_in_order(K: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX]:
    """K^-1 right and the quality, for K (n, n) and right (n, m)."""
    n, m = K.shape[0], right.shape[1]
    rows = [left + other for left, other in zip(rows_of(K), rows_of(right), strict=True)]
    worst = ca.SX(1)
    inverse = []
    for k in range(n):
        inverse.append(ca.SX.inf() if rows[k][k] is None else 1 / rows[k][k])
        for entry in rows[k][k + 1 : n]:
            worst = worst if entry is None else ca.fmax(worst, ca.fabs(entry * inverse[k]))
        for i in range(k + 1, n):
            if rows[i][k] is not None:
                _subtract(rows[i], rows[i][k] * inverse[k], rows[k], k + 1)
    for k in range(n - 1, -1, -1):
        for j in range(n, n + m):
            for i in range(k + 1, n):
                if rows[k][i] is not None and rows[i][j] is not None:
                    product = rows[k][i] * rows[i][j]
                    rows[k][j] = -product if rows[k][j] is None else rows[k][j] - product
            if rows[k][j] is not None:
                rows[k][j] = rows[k][j] * inverse[k]
    return matrix_of([row[n:] for row in rows], (n, m)), 1 / worst


def _subtract(row: list[Entry], factor: ca.SX, other: list[Entry], start: int) -> None:
    for j in range(start, len(row)):
        if other[j] is not None:
            product = factor * other[j]
            row[j] = -product if row[j] is None else row[j] - product


def householder(G: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Q (m, m), R (n, n) and the quality of G (m, n) = Q [R; 0], by reflections in the order of the columns.

    R is triangular in its structure. A reflection turns the rows in which its column is not structurally zero and no
    others, so that it is best to have the sparse columns first.
    """
    m, n = G.shape
    rows, rest, pivots = rows_of(ca.horzcat(G, ca.SX.eye(m))), list(range(m)), []
    quality = ca.SX(1)
    for k in range(n):
        turned = [i for i in rest if rows[i][k] is not None] or rest[:1]
        square = _turn([rows[i] for i in turned], k)
        quality = ca.fmin(quality, square / ca.sumsqr(G[:, k]))
        pivots.append(turned[0])
        rest.remove(turned[0])
    R = matrix_of([rows[i][:n] for i in pivots], (n, n))
    return matrix_of([rows[i][n:] for i in pivots + rest], (m, m)).T, R, ca.sqrt(quality)


def _turn(rows: Rows, k: int) -> ca.SX:
    """Reflect rows, in place, so that entry k of all but the first vanishes. Returns the square of the first's entry.

    With x the entries k, v = x + l e_1 where l = |x| with the sign of x_1, and 2 / v^T v = 1 / (|x|^2 + l x_1).
    Products v^T w are taken as x^T w + l w_1: all but the last of it does not wait for the root.
    """
    x = [ca.SX(0) if row[k] is None else row[k] for row in rows]
    square = ca.sumsqr(ca.vertcat(*x))
    if len(rows) == 1:
        return square
    length = ca.copysign(ca.sqrt(square), x[0])
    v, inverse = [x[0] + length, *x[1:]], 1 / (square + length * x[0])
    for j in range(k + 1, len(rows[0])):
        products = [(e, row[j]) for e, row in zip([*x, length], [*rows, rows[0]], strict=True) if row[j] is not None]
        if products:
            factor = inverse * sum(e * entry for e, entry in products)
            for e, row in zip(v, rows, strict=True):
                row[j] = -factor * e if row[j] is None else row[j] - factor * e
    rows[0][k] = -length
    for row in rows[1:]:
        row[k] = None
    return square
