"""Speeds coupled to no other by M, eliminated in closed form: their selection, and the pattern of the Schur complement.

Where row i of M has only its diagonal entry, u'_i = (f_i + (A^T la)_i) / M_ii. The rest of the saddle matrix then has
S = A M^-1 A^T, over these speeds, in the place of 0. Particles and rigid bodies in principal axes have only such
speeds: the factors are then those of S, a matrix of the constraints alone.
"""

from __future__ import annotations

import numpy as np

from dalembert.dataclass import dataclass

CONSTRAINTS_PER_SPEED = 32  # constraints on a speed in closed form: it couples each with each


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
    """Mask of the speeds that M couples to no other, and constraints to not too many, (nu,).

    Nonzeros of M are at (`mass_rows`, `mass_columns`), those of A in `columns`.
    """
    off = mass_rows != mass_columns
    alone = np.ones(nu, dtype=bool)
    alone[mass_rows[off]] = alone[mass_columns[off]] = False
    free: np.ndarray = alone & (np.bincount(columns, minlength=nu) <= CONSTRAINTS_PER_SPEED)
    return free


def schur_pattern(free: np.ndarray, nc: int, rows: np.ndarray, columns: np.ndarray) -> SchurPattern:
    """Pattern of the Schur complement after the speeds `free` (nu,) are eliminated.

    Nonzeros of A are at (`rows`, `columns`), row by row.
    """
    by_speed = np.argsort(columns, kind="stable")  # constraints ascending for each speed
    acting, counts = rows[by_speed], np.bincount(columns, minlength=len(free))
    starts = np.cumsum(counts) - counts
    groups = _equals(np.flatnonzero(free), acting, starts, counts)
    speeds = np.array([speed for group in groups for speed in group], dtype=np.int64)
    speed_counts = np.array([len(group) for group in groups], dtype=np.int64)
    first = np.cumsum(speed_counts) - speed_counts
    row_counts = counts[speeds[first]]
    of, place = _counted(row_counts * speed_counts)
    row, speed = np.divmod(place, speed_counts[of])
    entries = by_speed[starts[speeds[first[of] + speed]] + row]
    of, place = _counted(row_counts * (row_counts + 1) // 2)
    i, j = (acting[starts[speeds[first[of]]] + across[place]] for across in np.tril_indices(row_counts.max(initial=0)))
    apart, targets = i != j, i.copy()
    pairs, targets[apart] = np.unique(i[apart] * nc + j[apart], return_inverse=True)
    targets[apart] += nc
    diagonal = np.arange(nc)
    return SchurPattern(
        free=free,
        speed_counts=speed_counts,
        row_counts=row_counts,
        speeds=speeds,
        entries=entries,
        targets=targets,
        rows=np.concatenate([diagonal, pairs // max(nc, 1)]),
        columns=np.concatenate([diagonal, pairs % max(nc, 1)]),
    )


def _equals(speeds: np.ndarray, acting: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> list[list[int]]:
    """Speeds on which the same constraints act, together; those on speed k are `counts[k]` from `starts[k]` on."""
    rows, begin, end = acting.tolist(), starts.tolist(), (starts + counts).tolist()
    groups: dict[tuple[int, ...], list[int]] = {}
    for speed in speeds.tolist():
        groups.setdefault(tuple(rows[begin[speed] : end[speed]]), []).append(speed)
    return [*groups.values()]


def _counted(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of `counts[k]` items of every k, one after the other: k, and the number of the item."""
    of = np.repeat(np.arange(len(counts)), counts)
    return of, np.arange(len(of)) - (np.cumsum(counts) - counts)[of]
