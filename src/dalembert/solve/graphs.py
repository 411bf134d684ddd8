"""Solutions of small systems of linear equations whose entries are graphs: in closed form, by no pivot that can vanish.

The matrices of motion are factorised by `unrolled`; here is what stating a model takes.
"""

from __future__ import annotations

import casadi as ca


def solve_square(K: ca.SX, right: ca.SX) -> ca.SX:
    """x of K x = right, for a regular matrix K (n, n)."""
    return ca.solve(K, right)


def symmetric_pseudo_inverse(G: ca.SX, rank: int) -> ca.SX:
    """Moore-Penrose inverse of a symmetric matrix of size up to 3 and known rank, in closed form (Decell, 1965)."""
    size = G.shape[0]
    if G.sparsity() == ca.Sparsity.diag(size):
        return ca.diag(1 / ca.diag(G))
    trace = ca.trace(G)
    if rank == size:
        return ca.inv_minor(G)
    if rank == 1:
        return G / trace**2
    minors = (trace**2 - ca.trace(ca.mtimes(G, G))) / 2
    return ((trace**2 - minors) * G - trace * ca.mtimes(G, G)) / minors**2


def normal_to_columns(P: ca.SX) -> ca.SX:
    """n (k + 1,) with n^T P = 0, for P (k + 1, k): the cofactors of a column beside P, found without a division."""
    size = P.shape[0]
    column = ca.SX.sym("column", size)
    return ca.gradient(ca.det(ca.horzcat(P, column)), column) if size > 1 else ca.SX(1)
