"""Static choices: which constraints are independent, and which speeds are solved for from them.

They are made beforehand, at a state, and again when they have become bad ones. Unrolled code, which cannot pivot,
eliminates in their order; native loops read them from the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.jit import jit
from dalembert.native.types import Floats, Ints, i8
from dalembert.native.workspace import Workspace
from dalembert.solve.tolerances import UNIT_ROW_RANK

WEIGHTLESS = 1e-24  # part of the largest inertia that is none; kilograms and kg nm^2 differ by 1e18
RECHOOSE = 1e-2  # quality below which a partition is made anew


@dataclass(frozen=True)
class Choice:
    """Independent rows of A and the dependent speeds, both in pivot order."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]

    def independent(self, nu: int) -> tuple[int, ...]:
        """The speeds that stay, in their own order."""
        return tuple(k for k in range(nu) if k not in self.dependent)

    def write(self, work: Workspace, nu: int) -> None:
        """Put the choice where native code reads it: the rows, and the speeds with the dependent ones first."""
        plan, rank = work.plan, len(self.rows)
        plan.chosen = rank
        work.ints[plan.chosen_rows :][:rank] = self.rows
        work.ints[plan.chosen_speeds :][:nu] = (*self.dependent, *self.independent(nu))


def scaled(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """A with its columns in the mass metric and rows of unit length, (..., nc, nu): free of units."""
    mass = np.abs(M.diagonal(axis1=-2, axis2=-1))
    most = mass.max(axis=-1, keepdims=True, initial=0.0)
    weights = np.where(mass > WEIGHTLESS * most, mass, np.maximum(most, 1e-300))
    B = A / np.sqrt(weights)[..., None, :]
    length = np.sqrt((B * B).sum(axis=-1, keepdims=True))
    return B / np.where(length > 0.0, length, 1.0)


@jit(i8(Floats, i8, i8, Ints))
def _eliminate(B, n, leading, pivots):
    """Eliminate B (m, n) by complete pivoting, in place. Returns the rank; `pivots` gets row, column of each pivot."""
    m, rank = B.size // n, 0
    among = leading if leading > 0 else m
    while rank < min(m, n):
        best, row, column = 0.0, 0, 0
        for i in range(among):
            for k in range(n):
                if abs(B[i * n + k]) > best:
                    best, row, column = abs(B[i * n + k]), i, k
        if not best > UNIT_ROW_RANK:
            if among == m:
                return rank
            among = m
            continue
        pivot = B[row * n + column]
        for i in range(m):
            factor = B[i * n + column] / pivot
            for k in range(n if i != row else 0):
                B[i * n + k] -= factor * B[row * n + k]
            B[i * n + column] = 0.0
        for k in range(n):
            B[row * n + k] = 0.0
        pivots[2 * rank], pivots[2 * rank + 1] = row, column
        rank += 1
    return rank


def choose(M: np.ndarray, A: np.ndarray, allowed: Sequence[int] | None = None, leading: int = 0) -> Choice:
    """Rows and dependent speeds by elimination with complete pivoting over the `allowed` columns (all if None).

    As many of the `leading` rows as are independent come first, with speeds that follow from them alone.
    """
    columns = range(A.shape[1]) if allowed is None else allowed
    B = scaled(M, A)[:, columns] if allowed is not None else scaled(M, A)
    if not B.size:
        return Choice((), ())
    pivots = np.zeros(2 * len(B), dtype=np.int64)
    found = pivots[: 2 * _eliminate(B.ravel(), B.shape[1], leading, pivots)].tolist()
    return Choice(tuple(found[::2]), tuple(columns[k] for k in found[1::2]))
