"""Saddle-point systems as a graph: L D L^T in a fixed order, on the sparsity pattern of one system.

For small systems a factorisation with loops and pivot searches costs ten times more than its arithmetic. Unrolled along
the static pattern it becomes part of the model kernel. The order (speeds first, then constraints, in each of the two
those with the fewest neighbours first) needs no pivoting while M is positive definite and A has full rank; the graph
reports how far that holds, and the caller falls back to `symmetric` when it does not. If M is singular by structure,
M + A^T G A takes its place, which changes nothing because A u' = b (augmented Lagrangian), and is positive definite
whenever the saddle matrix is regular.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass

TRUSTED = 1e-4  # quality above which the result of an unrolled solve is used
MANY = 500  # unknowns above which nothing is unrolled: the order would take long to find
LIMIT = 20_000  # multiplications; beyond, loops are as good

Column = list[Any]  # graph scalars, None where structurally zero


@dataclass(frozen=True, eq=False)
class UnrolledFactors:
    """The factors of [M A^T; A 0] as graphs, for as many right-hand sides as one likes.

    Quality is the smallest pivot relative to what it was before elimination: 1 is perfect, 0 is singular.
    """

    A: ca.SX
    rows: list[Column]
    order: list[int]
    quality: ca.SX
    weight: ca.SX | None  # (nc, 1), of the rows in A^T A in the place of M, if that was augmented

    def solve(self, f: ca.SX, b: ca.SX) -> tuple[ca.SX, ca.SX]:
        """u' (nu, 1) and la (nc, 1) with M u' - A^T la = f and A u' = b."""
        nu, n = self.A.shape[1], len(self.order)
        if self.weight is not None:
            f = f + ca.mtimes(self.A.T, self.weight * b)
        side = [*_entries(f), *_entries(b)]
        found = dict(zip(self.order, _solve(self.rows, [side[k] for k in self.order]), strict=True))
        solution = [found[k] for k in range(n)]
        return ca.vertcat(ca.SX(0, 1), *solution[:nu]), -ca.vertcat(ca.SX(0, 1), *solution[nu:])


def unroll_factors(M: ca.SX, A: ca.SX, *, augment: bool) -> UnrolledFactors | None:
    """The factors; None if they would be too long."""
    nu, nc = M.shape[0], A.shape[0]
    weight = None
    if augment and nc:
        # Each row is scaled so that its term has the size of M.
        weight = (ca.trace(M) + 1e-300) / (ca.densify(ca.sum2(A**2)) + 1e-300)
        M = M + ca.mtimes(A.T, ca.mtimes(ca.diag(weight), A))
    if count_work(M.sparsity(), A.sparsity()) > LIMIT:
        return None
    K = ca.vertcat(ca.horzcat(M, A.T), ca.horzcat(A, ca.SX(nc, nc)))
    order, _ = _order(K.sparsity(), nu)
    rows = _rows(K[order, order])
    return UnrolledFactors(A, rows, order, _factor(rows, nu), weight)


def unroll_saddle(M: ca.SX, f: ca.SX, A: ca.SX, b: ca.SX, *, augment: bool) -> tuple[ca.SX, ca.SX, ca.SX] | None:
    """u' (nu, 1), la (nc, 1) and the quality of the solve, see `UnrolledFactors`; None if it would be too long."""
    factors = unroll_factors(M, A, augment=augment)
    return None if factors is None else (*factors.solve(f, b), factors.quality)


def count_work(M: ca.Sparsity, A: ca.Sparsity) -> int:
    """Multiplications of the unrolled solve; some number above `LIMIT` if there are more."""
    if M.size1() + A.size1() > MANY:
        return LIMIT + 1
    return _order(ca.Sparsity.kkt(M, A, False, False), M.size1())[1]


def _order(pattern: ca.Sparsity, nu: int) -> tuple[list[int], int]:
    """The order of elimination and its cost: multiplications of L D L^T with fill-in, from the pattern alone.

    Minimum degree: next comes what has the fewest neighbours left, speeds before constraints. It ends where the cost
    exceeds `LIMIT`.
    """
    n = pattern.size1()
    linked: list[set[int]] = [set() for _ in range(n)]
    for i, j in zip(pattern.row(), pattern.get_col(), strict=True):
        if i != j:
            linked[i].add(j)
            linked[j].add(i)
    order: list[int] = []
    cost = 0
    for block in (range(nu), range(nu, n)):
        left = set(block)
        while left and cost <= LIMIT:
            k = min(left, key=lambda k: (len(linked[k]), k))
            left.remove(k)
            order.append(k)
            near = linked[k]
            cost += len(near) * (len(near) + 3) // 2
            for j in near:
                linked[j] |= near
                linked[j] -= {j, k}
    return order, cost


def _entries(column: ca.SX) -> list[ca.SX]:
    dense = ca.densify(column)
    return [dense[k] for k in range(dense.shape[0])]


def _rows(K: ca.SX) -> list[Column]:
    """The lower triangle."""
    rows: list[Column] = [[None] * (i + 1) for i in range(K.shape[0])]
    for i, j, entry in zip(K.sparsity().row(), K.sparsity().get_col(), K.nonzeros(), strict=True):
        if j <= i:
            rows[i][j] = entry
    return rows


def _factor(rows: list[Column], nu: int) -> ca.SX:
    """Rows of L (unit diagonal left out) with 1 / D on the diagonal, in place; returns the quality."""
    worst = ca.SX(1)
    for i, row in enumerate(rows):
        filled: list[int] = []  # places left of the diagonal that are not structurally zero
        for j in range(i):
            row[j] = _less_products(row[j], row, rows[j], filled)
            if row[j] is not None:
                filled.append(j)
        before = row[i] if i < nu else None
        for j in filled:
            w = row[j]
            row[j] = w * rows[j][j]
            product = row[j] * w
            row[i] = -product if row[i] is None else row[i] - product
            if i >= nu and j < nu:  # what the pivot of a constraint is before other constraints take part
                before = product if before is None else before + product
        if row[i] is None or before is None:
            row[i], worst = ca.SX.inf(), ca.SX.inf()
            continue
        row[i] = 1 / row[i]
        worst = ca.fmax(worst, ca.fabs(before * row[i]))
    return 1 / worst


def _less_products(entry: Any, left: Column, right: Column, places: list[int]) -> Any:
    """entry - sum over `places` k of left[k] right[k], skipping structural zeros."""
    for k in places:
        if right[k] is not None:
            product = left[k] * right[k]
            entry = -product if entry is None else entry - product
    return entry


def _solve(rows: list[Column], x: list[ca.SX]) -> list[ca.SX]:
    """Solution of L D L^T x = rhs."""
    n = len(rows)
    for i in range(n):
        for j in range(i):
            if rows[i][j] is not None:
                x[i] = x[i] - rows[i][j] * x[j]
    x = [x[i] * rows[i][i] for i in range(n)]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if rows[j][i] is not None:
                x[i] = x[i] - rows[j][i] * x[j]
    return x
