"""Speeds that only their own inertia acts on, eliminated in closed form: which ones, and what that leaves where.

Where row i of M has nothing but its diagonal, u'_i = (f_i + (A^T la)_i) / M_ii, and what is left of the saddle matrix
has S = A M^-1 A^T, over these speeds, in the place of 0. Rigid bodies with principal axes and particles have such
speeds only: the factors are then those of S, a matrix of the constraints alone.
"""

from __future__ import annotations

import numpy as np

from dalembert.dataclass import dataclass

WIDEST = 32  # constraints on a speed in closed form: it couples each with each


@dataclass(frozen=True, eq=False)
class SchurPattern:
    """`free` (nu,) says which speeds are eliminated in closed form, in groups of those with the same constraints.

    Group k has `speed_counts[k]` speeds and `row_counts[k]` constraints. `speeds`, `entries` and `targets` have those
    of all groups one after the other: the speeds; where the nonzeros of A are, constraint by constraint; and the
    entries of S they add to, its lower triangle row by row. Entry k of S is at constraints (`rows[k]`, `columns[k]`),
    rows not before columns; the diagonal comes first, all of it.
    """

    free: np.ndarray
    speed_counts: np.ndarray
    row_counts: np.ndarray
    speeds: np.ndarray
    entries: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    @property
    def work(self) -> int:
        """Multiplications of S."""
        return int((self.speed_counts * (self.row_counts * (self.row_counts + 3) // 2)).sum())


def uncoupled(nu: int, mass_rows: np.ndarray, mass_columns: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Which speeds no other is coupled with by M, and not too many by constraints, (nu,).

    Nonzeros of M are at (`mass_rows`, `mass_columns`), those of A in `columns`.
    """
    off = mass_rows != mass_columns
    alone = np.ones(nu, dtype=bool)
    alone[mass_rows[off]] = alone[mass_columns[off]] = False
    free: np.ndarray = alone & (np.bincount(columns, minlength=nu) <= WIDEST)
    return free


def schur_pattern(free: np.ndarray, nc: int, rows: np.ndarray, columns: np.ndarray) -> SchurPattern:
    """What the elimination of the speeds `free` (nu,) leaves; nonzeros of A are at (`rows`, `columns`), row by row."""
    by_speed = np.argsort(columns, kind="stable")  # constraints ascending for each speed
    places, acting_rows = by_speed.tolist(), rows[by_speed].tolist()
    ends = np.cumsum(np.bincount(columns, minlength=len(free))).tolist()
    starts = [0, *ends[:-1]]
    groups: dict[tuple[int, ...], list[int]] = {}
    for speed in np.flatnonzero(free).tolist():
        groups.setdefault(tuple(acting_rows[starts[speed] : ends[speed]]), []).append(speed)
    numbers = {(k, k): k for k in range(nc)}
    speeds, entries, targets = list[int](), list[int](), list[int]()
    for acting, group in groups.items():
        speeds += group
        for a, row in enumerate(acting):
            entries += [places[starts[speed] + a] for speed in group]
            targets += [numbers.setdefault((row, column), len(numbers)) for column in acting[: a + 1]]
    pairs = np.array(list(numbers), dtype=np.int64).reshape(-1, 2)
    return SchurPattern(
        free=free,
        speed_counts=np.array([len(group) for group in groups.values()], dtype=np.int64),
        row_counts=np.array([len(acting) for acting in groups], dtype=np.int64),
        speeds=np.array(speeds, dtype=np.int64),
        entries=np.array(entries, dtype=np.int64),
        targets=np.array(targets, dtype=np.int64),
        rows=pairs[:, 0],
        columns=pairs[:, 1],
    )
