"""The order of elimination of a Newton matrix F_y + s F_y', found once from its pattern.

Pivots that are safe whatever the values - constant entries of F_y', which grow with s as the step shrinks - are
eliminated first, in an order that makes little fill (Markowitz). The remaining matrix is small and treated as dense.
For the equations of a mechanism this takes the coordinates and the work out, and leaves speeds and multipliers.
"""

from __future__ import annotations

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.intrinsics import LANES
from dalembert.native.types import Record, ints
from dalembert.native.workspace import Workspace


class NewtonMatrix(Record):
    """F_y + s F_y' and its factors, for a real and for a complex s; complex numbers are two entries `shift` apart."""

    _fields_ = (
        # Sizes: equations, static pivots, distance of rows, distance of imaginary from real parts, nonzeros of F_y and
        # of F_y', variables without rates (the last ones).
        *ints("n first stride shift of_states of_rates of_multipliers"),
        # Blocks of floats: the nonzeros, the real and the complex matrix, their row and column scales, four vectors.
        *ints("nonzeros real complex real_scales complex_scales vector"),
        # Blocks of integers: where nonzeros go; where rows and columns go; entries below and right of the static
        # pivots, by pointers; pivot rows and the order of columns, behind them the rank.
        *ints("places row_at column_at below right real_pivots complex_pivots"),
        # Functions of `SparseNewton` that take the place of all this (0: none), and the answer of the first.
        *ints("factor_outside solve_outside solve_complex_outside answer"),
    )


@dataclass(frozen=True)
class StaticElimination:
    """Positions of rows and columns (ny,), and per static pivot the rows below and columns right of it that it meets.

    `places` (nnz,) are positions of the nonzeros of F_y, then of F_y', in a matrix with rows `stride` apart.
    `multipliers` counts the variables without rates, which must be the last ones.
    """

    row_at: np.ndarray
    column_at: np.ndarray
    below: tuple[np.ndarray, ...]
    right: tuple[np.ndarray, ...]
    places: np.ndarray
    counts: tuple[int, int]
    multipliers: int
    stride: int

    @classmethod
    def of(cls, n: int, state_places: np.ndarray, rate_places: np.ndarray, eliminable: np.ndarray) -> StaticElimination:
        """The order for the pattern of F_y + s F_y', (n, n), given by the rows and columns (nnz, 2) of its nonzeros.

        `eliminable` (k, 2) are the entries that may be static pivots.
        """
        entries = np.concatenate([state_places, rate_places])
        pattern = np.zeros((n, n), dtype=bool)
        pattern[entries[:, 0], entries[:, 1]] = True
        pivots = _choose(pattern, eliminable)
        row_at, column_at = (_positions(n, pivots[:, axis]) for axis in (0, 1))
        stride = (n + 2 * LANES - 2) // LANES * LANES
        position = row_at[:, None] * stride + column_at[None, :]
        below, right = _fill(pattern[np.argsort(row_at)][:, np.argsort(column_at)], len(pivots))
        counts = len(state_places), len(rate_places)
        places = position[entries[:, 0], entries[:, 1]]
        multipliers = n - 1 - int(rate_places[:, 1].max(initial=-1))
        return cls(row_at, column_at, below, right, places, counts, multipliers, stride)

    def place(self, work: Workspace, matrix: NewtonMatrix) -> None:
        """Make room for the factorisations of `matrix`, and write down the lists they follow."""
        n, stride, entries = len(self.row_at), self.stride, len(self.row_at) * self.stride + LANES
        matrix.n, matrix.first, matrix.stride, matrix.shift = n, len(self.below), stride, entries
        (matrix.of_states, matrix.of_rates), matrix.of_multipliers = self.counts, self.multipliers
        sizes = (len(self.places), entries, 2 * entries, 2 * stride, 2 * stride, 4 * stride)
        floats = ("nonzeros", "real", "complex", "real_scales", "complex_scales", "vector")
        lists = {"places": self.places, "row_at": self.row_at, "column_at": self.column_at}
        pointed = {"below": self.below, "right": self.right}
        lengths = {name: len(values) for name, values in lists.items()}
        lengths |= {name: len(rows) + 1 + sum(map(len, rows)) for name, rows in pointed.items()}
        lengths |= dict.fromkeys(("real_pivots", "complex_pivots"), 2 * n + 1)
        work.reserve(matrix, dict(zip(floats, sizes, strict=True)), lengths)
        for name, rows in pointed.items():
            starts = getattr(matrix, name) + len(rows) + 1 + np.cumsum([0, *(len(x) for x in rows)])
            lists[name] = np.concatenate([starts, *rows])
        for name, values in lists.items():
            first = getattr(matrix, name)
            work.ints[first : first + len(values)] = values


def _choose(pattern: np.ndarray, eliminable: np.ndarray) -> np.ndarray:
    """Static pivots (k, 2) in an order of least fill."""
    active = pattern.copy()
    candidates = {(int(i), int(j)) for i, j in eliminable}
    chosen: list[tuple[int, int]] = []
    while candidates:
        i, j = min(candidates, key=lambda p: ((active[:, p[1]].sum() - 1) * (active[p[0]].sum() - 1), p))
        chosen.append((i, j))
        candidates = {(r, c) for r, c in candidates if r != i and c != j}
        active |= np.outer(active[:, j], active[i])
        active[i, :] = active[:, j] = False
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


def _positions(n: int, first: np.ndarray) -> np.ndarray:
    """New positions of n items, (n,): those in `first` come first, in their order, then the others in theirs."""
    order = np.concatenate([first, np.setdiff1d(np.arange(n), first)])
    return np.argsort(order).astype(np.int64)


def _fill(pattern: np.ndarray, count: int) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Rows below and columns right of the first `count` pivots, with the fill that elimination makes."""
    filled = pattern.copy()
    below, right = [], []
    for k in range(count):
        rows, columns = (k + 1 + np.flatnonzero(x[k + 1 :]) for x in (filled[:, k], filled[k]))
        below.append(rows.astype(np.int64))
        right.append(columns.astype(np.int64))
        filled[np.ix_(rows, columns)] = True
    return tuple(below), tuple(right)
