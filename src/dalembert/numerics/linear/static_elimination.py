"""The order of elimination of a Newton matrix F_y + s F_y', found once from its pattern.

Pivots that are safe whatever the values - constant entries of F_y', which grow with s as the step shrinks - are
eliminated first, in an order that makes little fill (Markowitz). What remains is small and treated as dense. For the
equations of a mechanism this takes the coordinates and the work out, and leaves speeds and multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.numerics.layout import LANES
from dalembert.numerics.residuals.linearisation import Linearisation

# Header, relative to where it starts in plan. Sizes: equations, static pivots, distance of rows, distance of imaginary
# from real parts, nonzeros of F_y and of F_y', variables without rates (the last ones).
N, FIRST, STRIDE, SHIFT, OF_STATES, OF_RATES, OF_MULTIPLIERS = range(7)
# Offsets into mem: the nonzeros, the real and the complex matrix, their row and column scales, and four vectors.
NONZEROS, REAL, COMPLEX, REAL_SCALES, COMPLEX_SCALES, VECTOR = range(7, 13)
# Offsets into plan: where nonzeros go; where rows and columns go; entries below and right of the static pivots, by
# pointers; pivot rows and the order of columns, behind them the rank.
PLACES, ROW_AT, COLUMN_AT, BELOW, RIGHT, REAL_PIVOTS, COMPLEX_PIVOTS = range(13, 20)
HEADER = 20


@dataclass(frozen=True)
class StaticElimination:
    """Where rows and columns go (ny,), and per static pivot the rows below and the columns to its right that it meets.

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
    def of(cls, linearisation: Linearisation) -> StaticElimination:
        """The order for the pattern of F_y + s F_y'."""
        n = len(linearisation.algebraic)
        entries = np.concatenate([linearisation.state_places, linearisation.rate_places])
        pattern = np.zeros((n, n), dtype=bool)
        pattern[entries[:, 0], entries[:, 1]] = True
        pivots = _choose(pattern, linearisation.eliminable)
        row_at, column_at = (_positions(n, pivots[:, axis]) for axis in (0, 1))
        stride = (n + 2 * LANES - 2) // LANES * LANES
        position = row_at[:, None] * stride + column_at[None, :]
        below, right = _fill(pattern[np.argsort(row_at)][:, np.argsort(column_at)], len(pivots))
        counts = len(linearisation.state_places), len(linearisation.rate_places)
        places = position[entries[:, 0], entries[:, 1]]
        multipliers = n - 1 - int(linearisation.rate_places[:, 1].max(initial=-1))
        return cls(row_at, column_at, below, right, places, counts, multipliers, stride)

    @property
    def room(self) -> tuple[int, int]:
        """Floats and ints the factorisations work in, the header included."""
        n = len(self.row_at)
        floats = len(self.places) + 3 * self._matrix + 8 * self.stride
        lists = sum(len(x) + 1 for x in (*self.below, *self.right)) + 2
        return floats, HEADER + len(self.places) + 2 * n + lists + 2 * (2 * n + 1)

    @property
    def _matrix(self) -> int:
        return len(self.row_at) * self.stride + LANES

    def write(self, plan: np.ndarray, at: int, start: int) -> None:
        """Put header and lists at plan[at:], for floats that start at mem[start]."""
        n = len(self.row_at)
        plan[at + np.arange(7)] = (
            n, len(self.below), self.stride, self._matrix, *self.counts, self.multipliers,
        )  # fmt: skip
        sizes = [len(self.places), self._matrix, 2 * self._matrix, 2 * self.stride, 2 * self.stride]
        plan[at + NONZEROS : at + VECTOR + 1] = start + np.cumsum([0, *sizes])
        free = at + HEADER

        def put(values: np.ndarray) -> int:
            nonlocal free
            first, free = free, free + len(values)
            plan[first:free] = values
            return first

        def put_lists(lists: tuple[np.ndarray, ...]) -> int:
            starts = free + len(lists) + 1 + np.cumsum([0, *(len(x) for x in lists)])
            return put(np.concatenate([starts, *lists]))

        for key, values in ((PLACES, self.places), (ROW_AT, self.row_at), (COLUMN_AT, self.column_at)):
            plan[at + key] = put(values)
        for key, lists in ((BELOW, self.below), (RIGHT, self.right)):
            plan[at + key] = put_lists(lists)
        for key in (REAL_PIVOTS, COMPLEX_PIVOTS):
            plan[at + key] = put(np.zeros(2 * n + 1, dtype=np.int64))


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
    """Where each of n goes (n,): those in `first` to the front in their order, the others behind in theirs."""
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
