"""Static choices: which constraints are independent, and which speeds are solved for from them.

They are made beforehand, at a state, and again when they have become bad ones. Unrolled code, which cannot pivot,
eliminates in their order; native loops read them from `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.numerics.layout import CHOSEN, CHOSEN_ROWS, CHOSEN_SPEEDS

RANK_TOLERANCE = 1e-9  # pivots below this, in the mass metric with unit rows, mean dependent constraints
RECHOOSE = 1e-2  # quality below which a partition is made anew


@dataclass(frozen=True)
class Choice:
    """Independent rows of A and the dependent speeds, both in pivot order."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]

    def independent(self, nu: int) -> tuple[int, ...]:
        """The speeds that stay, in their own order."""
        return tuple(k for k in range(nu) if k not in self.dependent)

    def write(self, plan: np.ndarray, nu: int) -> None:
        """Put the choice where native code reads it: the rows, and the speeds with the dependent ones first."""
        rank, speeds = len(self.rows), (*self.dependent, *self.independent(nu))
        plan[CHOSEN] = rank
        plan[plan[CHOSEN_ROWS] :][:rank] = self.rows
        plan[plan[CHOSEN_SPEEDS] :][:nu] = speeds


def scaled(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """A with its columns in the mass metric and rows of unit length, (nc, nu): free of units."""
    mass = np.abs(np.diag(M))
    B = A / np.sqrt(np.where(mass > 1e-14 * mass.max(initial=0.0), mass, max(mass.max(initial=0.0), 1e-300)))
    length = np.linalg.norm(B, axis=1, keepdims=True)
    return B / np.where(length > 0.0, length, 1.0)


def choose(M: np.ndarray, A: np.ndarray, allowed: Sequence[int] | None = None) -> Choice:
    """Rows and dependent speeds by elimination with complete pivoting over the `allowed` columns (all if None)."""
    B = scaled(M, A)
    columns = np.arange(A.shape[1]) if allowed is None else np.array(allowed, dtype=int)
    B = B[:, columns]
    rows, dependent = [], []
    free_rows, free_columns = list(range(B.shape[0])), list(range(B.shape[1]))
    while free_rows and free_columns:
        rest = np.abs(B[np.ix_(free_rows, free_columns)])
        i, j = np.unravel_index(int(rest.argmax()), rest.shape)
        if not rest[i, j] > RANK_TOLERANCE:
            break
        r, c = free_rows.pop(int(i)), free_columns.pop(int(j))
        for k in free_rows:
            B[k] -= B[k, c] / B[r, c] * B[r]
        rows.append(r)
        dependent.append(int(columns[c]))
    return Choice(tuple(rows), tuple(dependent))
