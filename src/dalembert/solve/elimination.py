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
    """Q (m, m), R (n, n) and the quality of G (m, n) = Q [R; 0], by reflections in the order of the columns."""
    m, n = G.shape
    work, Q = ca.densify(ca.SX(G)), ca.SX.eye(m)
    quality = ca.SX(1)
    for k in range(n):
        x = work[k:, k]
        length = ca.sqrt(ca.sumsqr(x))
        quality = ca.fmin(quality, length / ca.sqrt(ca.sumsqr(G[:, k])))
        v = x + ca.vertcat(ca.if_else(x[0] >= 0, length, -length), ca.SX.zeros(m - k - 1))
        beta = 2 / ca.sumsqr(v)
        work[k:, k:] = work[k:, k:] - beta * ca.mtimes(v, ca.mtimes(v.T, work[k:, k:]))
        Q[:, k:] = Q[:, k:] - beta * ca.mtimes(ca.mtimes(Q[:, k:], v), v.T)
    return Q, work[:n, :n], quality
