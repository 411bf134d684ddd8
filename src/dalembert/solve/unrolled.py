"""Saddle-point systems as a graph: L D L^T in a fixed order, on the sparsity pattern of one system.

For small systems a factorisation with loops and pivot searches costs ten times more than its arithmetic. Unrolled along
the static pattern it becomes part of the model kernel. The order (speeds first, then constraints, in each of the two
those with the fewest neighbours first) needs no pivoting while M is positive definite and A has full rank; the graph
reports how far that holds, and the caller falls back to `symmetric` when it does not. If M is singular by structure,
M + A^T G A takes its place, which changes nothing because A u' = b (augmented Lagrangian), and is positive definite
whenever the saddle matrix is regular.
"""

from __future__ import annotations

import heapq
from functools import lru_cache, partial
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass

TRUSTED = 1e-4  # quality above which the result of an unrolled solve is used
MOST_UNKNOWNS = 500  # unknowns above which nothing is unrolled: the order would take long to find
LIMIT = 20_000  # multiplications; beyond, loops are as good

Row = dict[int, Any]  # graph scalars of a lower triangle: its structural nonzeros, by column

# By operators Python takes seven times as long: it tries whether numbers or arrays are meant.
_times, _minus, _plus, _over, _larger = (
    partial(ca.SX.binary, op) for op in (ca.OP_MUL, ca.OP_SUB, ca.OP_ADD, ca.OP_DIV, ca.OP_FMAX)
)
_negative, _size = partial(ca.SX.unary, ca.OP_NEG), partial(ca.SX.unary, ca.OP_FABS)


@dataclass(frozen=True, eq=False)
class UnrolledFactors:
    """The factors of [M A^T; A 0] as graphs, for as many right-hand sides as one likes.

    Quality is the smallest pivot relative to what it was before elimination: 1 is perfect, 0 is singular.
    """

    A: ca.SX
    rows: list[Row]
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
    if M.size1() + A.size1() > MOST_UNKNOWNS:
        return LIMIT + 1
    return _order(ca.Sparsity.kkt(M, A, False, False), M.size1())[1]


def _order(pattern: ca.Sparsity, nu: int) -> tuple[list[int], int]:
    """The order of elimination and its cost: multiplications of L D L^T with fill-in, from the pattern alone."""
    order, cost = _find_order(nu, tuple(pattern.colind()), tuple(pattern.row()))
    return list(order), cost


@lru_cache(maxsize=8)  # the equations of motion and both projections ask for it, mostly for the same
def _find_order(nu: int, starts: tuple[int, ...], rows: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Minimum degree ordering: the variable with the fewest neighbours comes next, speeds before constraints.

    The search ends as soon as the cost exceeds `LIMIT`.
    """
    n = len(starts) - 1
    linked: list[set[int]] = [set() for _ in range(n)]
    for j in range(n):
        for i in rows[starts[j] : starts[j + 1]]:
            if i != j:
                linked[i].add(j)
                linked[j].add(i)
    order: list[int] = []
    cost, gone = 0, [False] * n
    for first, end in ((0, nu), (nu, n)):
        waiting = [(len(linked[k]), k) for k in range(first, end)]
        heapq.heapify(waiting)
        while waiting and cost <= LIMIT:
            degree, k = heapq.heappop(waiting)
            if gone[k] or degree != len(linked[k]):  # entered again since, with the neighbours it has now
                continue
            gone[k] = True
            order.append(k)
            near = linked[k]
            cost += degree * (degree + 3) // 2
            for j in near:
                linked[j] |= near
                linked[j] -= {j, k}
                if first <= j < end:
                    heapq.heappush(waiting, (len(linked[j]), j))
    return tuple(order), cost


def _entries(column: ca.SX) -> list[Any]:
    return list(ca.densify(column).nonzeros())


def _rows(K: ca.SX) -> list[Row]:
    """The lower triangle."""
    rows: list[Row] = [{} for _ in range(K.shape[0])]
    for i, j, entry in zip(K.sparsity().row(), K.sparsity().get_col(), K.nonzeros(), strict=True):
        if j <= i:
            rows[i][j] = entry
    return rows


def _factor(rows: list[Row], nu: int) -> ca.SX:
    """Rows of L (unit diagonal left out) with 1 / D on the diagonal, in place; returns the quality."""
    one, worst = ca.SX(1), ca.SX(1)
    below: list[list[int]] = [[] for _ in rows]  # rows so far that have an entry in a column
    for i, row in enumerate(rows):
        filled = _eliminate(i, rows, below)
        before = row.get(i) if i < nu else None
        for j in filled:
            w = row[j]
            row[j] = _times(w, rows[j][j])
            product = _times(row[j], w)
            row[i] = _minus(row[i], product) if i in row else _negative(product)
            if i >= nu and j < nu:  # the pivot of a constraint before other constraints take part
                before = product if before is None else _plus(before, product)
            below[j].append(i)
        if i not in row or before is None:
            row[i], worst = ca.SX.inf(), ca.SX.inf()
            continue
        row[i] = _over(one, row[i])
        worst = _larger(worst, _size(_times(before, row[i])))
    return _over(one, worst)


def _eliminate(i: int, rows: list[Row], below: list[list[int]]) -> list[int]:
    """Eliminate the entries of row i by the rows above it. Returns its columns left of the diagonal, in order."""
    row, filled = rows[i], list[int]()
    waiting = [k for k in row if k < i]
    heapq.heapify(waiting)
    while waiting:
        k = heapq.heappop(waiting)
        filled.append(k)
        for j in below[k]:
            product = _times(row[k], rows[j][k])
            if j in row:
                row[j] = _minus(row[j], product)
            else:
                row[j] = _negative(product)
                heapq.heappush(waiting, j)
    return filled


def _solve(rows: list[Row], x: list[ca.SX]) -> list[ca.SX]:
    """Solution of L D L^T x = rhs."""
    left = [sorted(j for j in row if j < i) for i, row in enumerate(rows)]
    for i, row in enumerate(rows):
        for j in left[i]:
            x[i] = _minus(x[i], _times(row[j], x[j]))
    x = [_times(entry, rows[i][i]) for i, entry in enumerate(x)]
    below: list[list[int]] = [[] for _ in rows]
    for i, columns in enumerate(left):
        for j in columns:
            below[j].append(i)
    for i in range(len(rows) - 1, -1, -1):
        for j in below[i]:
            x[i] = _minus(x[i], _times(rows[j][i], x[j]))
    return x
