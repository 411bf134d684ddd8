"""Static choices: which constraints are independent, and which speeds are solved for from them.

They are made beforehand, at a state, and again when they have become bad ones. Unrolled code, which cannot pivot,
eliminates in their order; native loops read them from the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.dataclass import dataclass
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


def choose(M: np.ndarray, A: np.ndarray, allowed: Sequence[int] | None = None, leading: int = 0) -> Choice:
    """Rows and dependent speeds by elimination with complete pivoting over the `allowed` columns (all if None).

    As many of the `leading` rows as are independent come first, with speeds that follow from them alone.
    """
    B = scaled(M, A)
    columns = np.arange(A.shape[1]) if allowed is None else np.array(allowed, dtype=int)
    B = B[:, columns]
    rows, dependent = [], []
    among = leading or len(B)
    for _ in range(min(B.shape)):
        r, c = _largest(B[:among])
        if not abs(B[r, c]) > UNIT_ROW_RANK and among < len(B):
            among = len(B)
            r, c = _largest(B)
        if not abs(B[r, c]) > UNIT_ROW_RANK:
            break
        B -= (B[:, c] / B[r, c])[:, None] * B[r]
        B[r], B[:, c] = 0.0, 0.0  # done with
        rows.append(r)
        dependent.append(int(columns[c]))
    return Choice(tuple(rows), tuple(dependent))


def _largest(B: np.ndarray) -> tuple[int, int]:
    """Row and column of the largest entry of a matrix."""
    return divmod(int(np.abs(B).argmax()), B.shape[1])
