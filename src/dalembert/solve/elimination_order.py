"""Symbolic L D L^T of a sparse saddle matrix [M A^T; A -E]: the order of elimination and where L has entries, once.

Speeds that M does not couple come first, in closed form (`schur_pattern`), if that takes less work. The others follow
with their constraints, see `elimination_nodes`.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cached_property

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.solve.elimination_nodes import order_nodes
from dalembert.solve.schur_pattern import SchurPattern, schur_pattern, uncoupled

# Constraints on a speed, those of two joints, up to which closed form has taken the least work of all systems.
FEW_CONSTRAINTS = 12
TWISTED = 1.1  # entries of L, relative to those of an elimination from one end, that one from both ends may have


@dataclass(frozen=True, eq=False)
class SaddlePattern:
    """Nonzeros of M (lower triangle) and A, in the order in which a kernel writes them.

    M: `mass_rows`, `mass_columns` (n,), rows not before columns. A by rows: columns of row k are
    `columns[starts[k] : starts[k + 1]]`.
    """

    nu: int
    mass_rows: np.ndarray
    mass_columns: np.ndarray
    starts: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, M: ca.Sparsity, A: ca.Sparsity) -> SaddlePattern:
        """The pattern of the lower triangle of M (nu, nu), by columns, and of A (nc, nu), by rows."""
        low, across = lower_triangle(M), A.T
        return cls(
            M.size1(),
            np.array(low.row(), dtype=np.int64),
            np.array(low.get_col(), dtype=np.int64),
            np.array(across.colind(), dtype=np.int64),
            np.array(across.row(), dtype=np.int64),
        )

    @property
    def nc(self) -> int:
        """Number of constraints."""
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each nonzero of A."""
        return np.repeat(np.arange(self.nc), np.diff(self.starts))

    @cached_property
    def factors(self) -> SymbolicFactors:
        """The symbolic factors that take the least work, found when first asked for."""
        free = uncoupled(self.nu, self.mass_rows, self.mass_columns, self.columns)
        if not (free.any() and self.nc):
            return self.whole_factors
        if free.all() and np.bincount(self.columns, minlength=self.nu).max() <= FEW_CONSTRAINTS:
            return analyse(self, free)
        return min(analyse(self, free), self.whole_factors, key=lambda factors: factors.work + factors.solve_work)

    @cached_property
    def whole_factors(self) -> SymbolicFactors:
        """The symbolic factors with no speed eliminated in closed form, as a mass matrix that is singular needs it."""
        return analyse(self, np.zeros(self.nu, dtype=bool))

    def first(self, count: int) -> SaddlePattern:
        """The same M with the first `count` constraints."""
        if count == self.nc:
            return self
        starts = self.starts[: count + 1]
        return SaddlePattern(self.nu, self.mass_rows, self.mass_columns, starts, self.columns[: starts[-1]])


def lower_triangle(M: ca.Sparsity) -> ca.Sparsity:
    """The lower triangle of a square pattern, with all of the diagonal."""
    return ca.tril(M + ca.Sparsity.diag(M.size1()))


@dataclass(frozen=True, eq=False)
class SymbolicFactors:
    """Patterns of the factors. Position k of the elimination is unknown `order[k]`, speeds before constraints.

    Unknowns that are not in `order` are the speeds of `schur`. Above the diagonal, column k of the permuted matrix has
    rows `upper_rows[upper_starts[k] : upper_starts[k + 1]]`, which come from nonzeros `upper_sources`: those of M, then
    those of A, then those of S. Row k of L has columns `row_columns` in ascending order, each with the place of the
    entry in L; L itself is stored by columns, rows ascending.
    """

    schur: SchurPattern
    order: np.ndarray
    upper_starts: np.ndarray
    upper_rows: np.ndarray
    upper_sources: np.ndarray
    row_starts: np.ndarray
    row_columns: np.ndarray
    row_places: np.ndarray
    column_starts: np.ndarray
    entry_rows: np.ndarray

    @property
    def work(self) -> int:
        """Multiplications of the factorisation."""
        counts = np.diff(self.column_starts)
        return int((counts * (counts + 3) // 2).sum()) + self.schur.work

    @property
    def height(self) -> int:
        """Of the elimination tree: how many unknowns have to wait for each other."""
        levels = [0] * len(self.order)
        starts, rows = self.column_starts.tolist(), self.entry_rows.tolist()
        for k, start in enumerate(starts[:-1]):
            if start < starts[k + 1]:
                parent = rows[start]
                levels[parent] = max(levels[parent], levels[k] + 1)
        return max(levels, default=0) + 1

    @property
    def solve_work(self) -> int:
        """Multiplications of the solves that usually go with a factorisation: three, there and back."""
        return 6 * len(self.entry_rows)


def analyse(pattern: SaddlePattern, free: np.ndarray) -> SymbolicFactors:
    """The factors of a saddle matrix of this pattern, the speeds `free` (nu,) eliminated in closed form.

    A chain can be eliminated from either end; minimum degree sees no difference, but it may fill in differently. From
    both ends at once half as many unknowns wait for each other, and a processor works on two of them at a time.
    """
    schur = schur_pattern(free, pattern.nc, pattern.rows, pattern.columns)
    nodes = order_nodes(pattern.nu, (pattern.mass_rows, pattern.mass_columns), (pattern.rows, pattern.columns), schur)
    found = _factors(pattern, schur, nodes.unknowns, math.inf)
    if 2 * found.height <= len(found.order):
        return found
    with suppress(_FilledError):
        found = _factors(pattern, schur, nodes.backwards.unknowns, len(found.entry_rows) - 1)
    with suppress(_FilledError):
        return _factors(pattern, schur, nodes.from_both_ends, TWISTED * len(found.entry_rows))
    return found


class _FilledError(Exception):
    """The factors have more entries than allowed."""


def _factors(pattern: SaddlePattern, schur: SchurPattern, order: np.ndarray, most: float) -> SymbolicFactors:
    """The factors if unknowns are eliminated in this order; raises `_FilledError` if L has more than `most` entries."""
    nu, nc, n = pattern.nu, pattern.nc, len(order)
    position = np.full(nu + nc, -1, dtype=np.int64)
    position[order] = np.arange(n)
    off = np.flatnonzero(pattern.mass_rows != pattern.mass_columns)
    across = np.flatnonzero(~schur.free[pattern.columns])
    i = np.concatenate(
        [position[pattern.mass_rows[off]], position[nu + pattern.rows[across]], position[nu + schur.rows[nc:]]]
    )
    j = np.concatenate(
        [position[pattern.mass_columns[off]], position[pattern.columns[across]], position[nu + schur.columns[nc:]]]
    )
    behind = len(pattern.mass_rows) + np.concatenate([across, len(pattern.columns) + np.arange(nc, len(schur.rows))])
    source = np.concatenate([off, behind])
    low, high = np.minimum(i, j), np.maximum(i, j)
    by_column = np.lexsort((low, high))
    upper_starts = np.concatenate([[0], np.cumsum(np.bincount(high, minlength=n))])
    upper_rows = low[by_column]
    row_starts, row_columns = _rows_of_factor(n, upper_starts.tolist(), upper_rows.tolist(), most)
    # By columns, rows ascending: a stable sort of the entries, which come row by row.
    rows = np.repeat(np.arange(n), np.diff(row_starts))
    stored = np.argsort(row_columns, kind="stable")
    places = np.empty(len(stored), dtype=np.int64)
    places[stored] = np.arange(len(stored))
    return SymbolicFactors(
        schur=schur,
        order=order,
        upper_starts=upper_starts,
        upper_rows=upper_rows,
        upper_sources=source[by_column],
        row_starts=row_starts,
        row_columns=row_columns,
        row_places=places,
        column_starts=np.concatenate([[0], np.cumsum(np.bincount(row_columns, minlength=n))]),
        entry_rows=rows[stored],
    )


def _rows_of_factor(n: int, starts: list[int], rows: list[int], most: float) -> tuple[np.ndarray, np.ndarray]:
    """Starts (n + 1,) and columns of the rows of L, ascending, by walks up the elimination tree (Davis 2006, 4.1)."""
    parent, seen = [-1] * n, [-1] * n
    row_starts, columns = [0], list[int]()
    for k in range(n):
        seen[k] = k
        found: list[int] = []
        for p in range(starts[k], starts[k + 1]):
            i = rows[p]
            while seen[i] != k:
                if parent[i] < 0:
                    parent[i] = k
                found.append(i)
                seen[i] = k
                i = parent[i]
        found.sort()
        columns += found
        row_starts.append(len(columns))
        if len(columns) > most:
            raise _FilledError
    return np.array(row_starts, dtype=np.int64), np.array(columns, dtype=np.int64)
