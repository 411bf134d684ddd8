"""The diagnosis of large systems: dense matrices only of the few rows and speeds that take part in something.

Combinations of rows that vanish are confined to the rows in which they show (`vanishing_parts`), and motions without
inertia to bodies whose mass matrix is singular. Such parts are small, and judged as in `diagnosis`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from dalembert.dataclass import dataclass
from dalembert.equations.labels import groups_of
from dalembert.equations.system import System
from dalembert.errors import InitialStateError
from dalembert.initial import diagnosis
from dalembert.initial.degeneracy import degenerate_rows
from dalembert.initial.dependence import (
    INVOLVED,
    MASSLESS,
    Scaled,
    combinations,
    scale,
    sparse_basis,
)
from dalembert.initial.diagnosis import LEVELS, Diagnosis, Nearness, Part, Redundancy
from dalembert.initial.hidden_position import SHARE
from dalembert.motion.state import State
from dalembert.solve.decompositions import UNIT, rank_of
from dalembert.solve.sparse_spectrum import smallest_values, vanishing_parts
from dalembert.solve.sparse_system import SparseSaddle
from dalembert.solve.tolerances import INDEPENDENT, UNIT_ROW_RANK

TAKES_PART = 1e-5  # rows with a smaller part in vanishing combinations have none
NOT_FINITE = "the mass matrix or a constraint's gradient is not finite: the state is a singular one"
LARGEST_DENSE_PART = 1500  # rows or speeds of a part that dense matrices can deal with


@dataclass(frozen=True, eq=False)
class Dependent:
    """A part of the rows among which combinations vanish: their numbers, their speeds, and the dense equations."""

    rows: np.ndarray
    speeds: np.ndarray
    A: np.ndarray
    scaled: Scaled


class SparseEquations:
    """M, f, A and b of a large system in one state; reactions are ideal."""

    def __init__(self, system: System, state: State) -> None:
        self.system, self.state, pattern = system, state, system.mechanics.saddle_pattern
        x = np.concatenate([[state.t], state.q, state.u, state.parameters])
        widths = [system.nq, len(pattern.mass_rows), system.nu, len(pattern.columns), system.nc]
        _, M, self.f, A, self.b = np.split(system.kernel("sparse_dynamics")(x), np.cumsum(widths))[:5]
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            raise InitialStateError(NOT_FINITE)
        self._regular = SparseSaddle(pattern.first(0)).factor(M, np.zeros(0)) > MASSLESS
        self.saddle = SparseSaddle(pattern)
        self.saddle.factor(M, A)
        low = csr_matrix((M, (pattern.mass_rows, pattern.mass_columns)), shape=(system.nu, system.nu))
        off = low.copy()
        off.setdiag(0.0)
        self.M = csr_matrix(low + off.T)
        self.A = csr_matrix((A, pattern.columns, pattern.starts), shape=(system.nc, system.nu))
        for matrix in (self.M, self.A):
            matrix.eliminate_zeros()

    def diagnosed(self) -> Diagnosis:
        """The whole diagnosis. Rows outside the dependent parts are independent, and their reactions unique."""
        s, state = self.system, self.state
        names, found = s.constraint_names, [(part, combinations(part.scaled)) for part in self.dependent]
        values, _ = self._smallest
        return Diagnosis(
            title=s.name,
            t=float(state.t),
            speeds=s.nu,
            counts={level: s.count(level) for level in LEVELS},
            ranks=self._ranks(),
            singular_values=values,
            redundant=tuple(
                Redundancy(names[part.rows[k]], self._named(part, terms))
                for part, rows in found
                for k, terms in rows.items()
            ),
            conflicting=tuple(conflict for part, rows in found for conflict in self._conflicts(part, rows)),
            unique=self._unique(),
            nearest=self._nearest(),
            singular_mass=bool(len(self._light)),
            massless=self._massless,
            determined=not self._massless,
            degenerate=degenerate_rows(s, state.t, state.q, state.u, state.parameters),
            parts=self._parts(),
        )

    @cached_property
    def dependent(self) -> tuple[Dependent, ...]:
        """The parts among whose rows combinations vanish, or nearly do."""
        rows = np.flatnonzero(vanishing_parts(self.saddle) > TAKES_PART)
        made = []
        for part in _connected(self.A[rows]):
            numbers = rows[part]
            speeds = np.unique(self.A[numbers].indices)
            self._check_size(len(numbers), "constraints depend on each other")
            A = self.A[numbers][:, speeds].toarray()
            made.append(Dependent(numbers, speeds, A, scale(self.M[speeds][:, speeds].toarray(), A, A)))
        return tuple(made)

    def _check_size(self, count: int, what: str) -> None:
        if count > LARGEST_DENSE_PART:
            raise InitialStateError(
                f"`{self.system.name}`: {count:,} {what} in this state, more than the {LARGEST_DENSE_PART:,} that can "
                "be told apart; diagnose another state of the motion, or a smaller system of the same kind"
            )

    def _ranks(self) -> dict[str, int]:
        """Independent rows of each level, of those before it."""
        ends = np.cumsum([self.system.count(level) for level in LEVELS])
        ranks = []
        for end in ends:
            less = 0
            for part in self.dependent:
                among = part.rows < end
                less += int(among.sum()) - rank_of(part.scaled.A[among], UNIT_ROW_RANK, UNIT)
            ranks.append(int(end) - less)
        return dict(zip(LEVELS, np.diff(ranks, prepend=0).tolist(), strict=True))

    def _named(self, part: Dependent, terms: dict[int, float]) -> dict[str, float]:
        names = self.system.constraint_names
        return diagnosis.named_terms([names[k] for k in part.rows], terms)

    def _conflicts(self, part: Dependent, rows: dict[int, dict[int, float]]) -> list[diagnosis.Conflict]:
        sides = diagnosis.sides_of(self.state, {"acceleration": self.b[part.rows]}, part.rows)
        names = [self.system.constraint_names[k] for k in part.rows]
        return diagnosis.conflicts(sides, part.scaled, (names, part.A, self.f[part.speeds]), rows)

    def _unique(self) -> dict[str, bool]:
        """Whether the reaction of each constraint and of each group is unique."""
        names = self.system.constraint_names
        groups = groups_of(names)
        unique = dict.fromkeys([*names, *groups], True)
        group_of = {row: name for name, rows in groups.items() for row in rows}
        for part in self.dependent:
            change = part.scaled.open_multipliers
            for local, row in enumerate(part.rows):
                unique[names[row]] = bool(np.linalg.norm(change[local]) < INVOLVED)
            for group in {group_of[row] for row in part.rows if row in group_of}:
                among = [local for local, row in enumerate(part.rows) if group_of.get(row) == group]
                same = np.linalg.norm(part.scaled.W[among].T @ change[among]) < INVOLVED
                unique[group] = unique[group] and bool(same)
        return unique

    @cached_property
    def _smallest(self) -> tuple[np.ndarray, np.ndarray]:
        return smallest_values(self.saddle)

    def _nearest(self) -> Nearness | None:
        values, vectors = self._smallest
        rank = int((values > INDEPENDENT).sum())
        if not rank:
            return None
        left = vectors[:, rank - 1]
        shares = left * np.sign(left[np.argmax(np.abs(left))])
        names = self.system.constraint_names
        motion = self.saddle.solve_rows(self.saddle.lengths * left)[1]
        return Nearness(
            float(values[rank - 1]),
            {names[k]: float(shares[k]) for k in np.flatnonzero(np.abs(shares) > SHARE)},
            diagnosis.named_motion(self.system, motion, least=SHARE),
        )

    @cached_property
    def _light(self) -> np.ndarray:
        """Speeds of bodies with a singular mass matrix. Bodies of one size are examined together."""
        if self._regular:
            return np.zeros(0, dtype=int)
        diagonal = np.abs(self.M.diagonal())
        units = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        entries, parts = self.M.tocoo(), _connected(self.M)
        sizes, label, place = (np.zeros(self.system.nu, dtype=int) for _ in range(3))
        for k, part in enumerate(parts):
            sizes[part], label[part], place[part] = len(part), k, np.arange(len(part))
        light = [np.zeros(0, dtype=int)]
        for size in np.unique(sizes):
            self._check_size(int(size), "speeds are connected by an inertia that is singular")
            chosen = np.unique(label[sizes == size])
            number = np.searchsorted(chosen, label)
            i, j, values = (array[sizes[entries.row] == size] for array in (entries.row, entries.col, entries.data))
            blocks = np.zeros((len(chosen), size, size))
            blocks[number[i], place[i], place[j]] = values * units[i] * units[j]
            lowest = np.linalg.eigvalsh(blocks).min(axis=1)
            light += [parts[k] for k in chosen[~(lowest > MASSLESS)]]
        return np.concatenate(light)

    @cached_property
    def _massless(self) -> tuple[dict[str, float], ...]:
        """Motions without inertia that no constraint prevents: they move light speeds alone."""
        found = list[dict[str, float]]()
        light, s = self._light, self.system
        if not len(light):
            return ()
        rows = self.A[:, light]
        both = csr_matrix(abs(rows.T) @ abs(rows) + abs(self.M[light][:, light]))
        for part in _connected(both):
            speeds = light[part]
            self._check_size(len(speeds), "speeds without inertia are connected")
            touching = self.A[:, speeds]
            A = touching[np.flatnonzero(np.diff(touching.indptr))].toarray()
            for row in sparse_basis(scale(self.M[speeds][:, speeds].toarray(), A, A).massless):
                whole = np.zeros(s.nu)
                whole[speeds] = row
                found.append(diagnosis.named_motion(s, whole))
        return tuple(found)

    def _parts(self) -> tuple[Part, ...]:
        """Parts that neither inertia nor constraints connect to each other, the largest first."""
        s = self.system
        count, label = connected_components(csr_matrix(abs(self.A.T) @ abs(self.A) + abs(self.M)), directed=False)
        if count == 1:
            return ()
        full = np.flatnonzero(np.diff(self.A.indptr))
        of_row = label[self.A.indices[self.A.indptr[full]]]
        speeds: list[list[str]] = [[] for _ in range(count)]
        rows: list[list[str]] = [[] for _ in range(count)]
        for k, part in enumerate(label.tolist()):
            speeds[part].append(s.speeds[k])
        for k, part in zip(full.tolist(), of_row.tolist(), strict=True):
            rows[part].append(s.constraint_names[k])
        made = [Part(tuple(a), tuple(b)) for a, b in zip(speeds, rows, strict=True)]
        return tuple(sorted(made, key=lambda part: -len(part.speeds)))


def _connected(rows: csr_matrix) -> list[np.ndarray]:
    """Numbers of the rows of a matrix that columns connect, part by part."""
    n, m = rows.shape
    coo = rows.tocoo()
    links = csr_matrix((np.ones(coo.nnz), (coo.row, n + coo.col)), shape=(n + m, n + m))
    count, label = connected_components(links, directed=False)
    order = np.argsort(label[:n], kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(label[:n], minlength=count))[:-1])
    return [part for part in parts if len(part)]
