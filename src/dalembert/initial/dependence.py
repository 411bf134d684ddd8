"""Rank, dependent rows and null spaces of constraints, in a metric in which units do not matter.

Speeds are measured by the kinetic energy they carry, rows of A and W have length 1: singular values are then sines of
angles between constraints, whatever the units. Where M is singular, M + A^T A takes its place: motions without inertia
are measured by the constraints they meet.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import InitialStateError
from dalembert.solve.decompositions import UNIT, SingularValues, decompose, least_squares, null_space, rank_of, solve
from dalembert.solve.pivoting import pivot_columns
from dalembert.solve.tolerances import UNIT_ROW_RANK

MASSLESS = 1e-9  # an eigenvalue of M, scaled to unit diagonal, below this is zero
ROUND_OFF_COEFFICIENT = 1e-8  # coefficients below this, for unit rows, are round-off
INVOLVED = 1e-6  # component of a unit null vector above which a variable or an equation takes part in it
BESIDE = (
    1e-3  # how far from a state to look at rows again, relative to the sizes of variables, and to 1 where they are less
)
CLEAR = 1e-5  # a unit row that sticks out this far from those before it is independent of them


@dataclass(frozen=True)
class Scaled:
    """M (nu, nu), A and W (nc, nu) for measured speeds w and unit rows, and the way back: u = back @ w.

    `rows` (nc,) are the factors between the two: A = rows * stated A @ back.
    """

    M: np.ndarray
    A: np.ndarray
    W: np.ndarray
    back: np.ndarray
    rows: np.ndarray
    regular_mass: bool

    @cached_property
    def decomposition(self) -> SingularValues:
        """Singular value decomposition of A."""
        return decompose(self.A, UNIT_ROW_RANK, UNIT)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """Singular values of A, largest first."""
        return self.decomposition.values

    @cached_property
    def rank(self) -> int:
        """Number of independent constraints."""
        return self.decomposition.rank

    @cached_property
    def free(self) -> np.ndarray:
        """An orthonormal basis of the motions that A leaves free, (nu, nu - rank)."""
        return self.decomposition.null

    def rank_of(self, rows: slice) -> int:
        """Number of independent constraints among some."""
        return rank_of(self.A[rows], UNIT_ROW_RANK, UNIT)

    @cached_property
    def massless(self) -> np.ndarray:
        """Motions that A leaves free and that carry no kinetic energy, a row each, (n, nu), in stated speeds."""
        values, vectors = np.linalg.eigh(self.free.T @ self.M @ self.free)
        return (self.back @ self.free @ vectors[:, values < MASSLESS]).T

    @cached_property
    def open_multipliers(self) -> np.ndarray:
        """Orthonormal changes of the multipliers (of unit rows) that no equation forbids, (nc, n).

        They are the solutions of M u' = W^T la with A u' = 0; for ideal constraints simply W^T la = 0.
        """
        return self._open[self.free.shape[1] :]

    @cached_property
    def determined(self) -> bool:
        """Whether the accelerations are unique."""
        return not np.linalg.norm(self._open[: self.free.shape[1]]) > INVOLVED

    @cached_property
    def deciding(self) -> np.ndarray:
        """Rows whose share in a load decides the accelerations, (nc,): others may bear it, and the motion differs.

        Reactions that are not ideal make it so: friction counts each share by its own coefficient and direction.
        """
        moving, sharing = np.split(self._open, [self.free.shape[1]])
        if not moving.size:
            return np.zeros(len(self.A), dtype=bool)
        found = decompose(moving, INVOLVED, UNIT)
        free = sharing @ found.right[: found.rank].T
        return np.abs(free).max(axis=1, initial=0.0) > INVOLVED

    @cached_property
    def _open(self) -> np.ndarray:
        both = np.hstack([self.M @ self.free, -self.W.T])
        return null_space(both, UNIT_ROW_RANK, UNIT)


def scale(M: np.ndarray, A: np.ndarray, W: np.ndarray) -> Scaled:
    """The equations with measured speeds and unit rows; M (nu, nu), A and W (nc, nu) as stated."""
    if not all(np.isfinite(matrix).all() for matrix in (M, A, W)):
        raise InitialStateError("the mass matrix or a constraint's gradient is not finite: the state is a singular one")
    size = _speed_sizes(M, A)
    inertia = M * size[:, None] * size
    unit = A * size
    unit = unit * _unit_factors(unit)[:, None]
    lowest = np.linalg.eigvalsh(inertia).min(initial=1.0)
    regular = bool(lowest > MASSLESS)
    values, vectors = np.linalg.eigh(inertia if regular else inertia + unit.T @ unit)
    values = np.abs(values)
    values[values < MASSLESS * values.max(initial=1.0)] = 1.0  # neither inertia nor a constraint: any measure will do
    back = size[:, None] * (vectors / np.sqrt(values)) @ vectors.T
    rows = _unit_factors(A @ back)
    measured = W @ back
    return Scaled(
        back.T @ M @ back,
        A @ back * rows[:, None],
        measured * _unit_factors(measured)[:, None],
        back,
        rows,
        regular,
    )


def combinations(scaled: Scaled) -> dict[int, dict[int, float]]:
    """Each dependent row by the independent ones, `{row: {other row: coefficient}}`, for the rows as stated.

    The rows that come first count as independent wherever that can be trusted. A row that vanishes has no terms.
    """
    kept = _independent_rows(scaled.A, scaled.rank)
    left = [k for k in range(len(scaled.A)) if k not in set(kept)]
    if not left:
        return {}
    factors = least_squares(scaled.A[kept].T, scaled.A[left].T).T
    return {
        row: {
            other: float(c * scaled.rows[other] / scaled.rows[row])
            for other, c in zip(kept, terms, strict=True)
            if abs(c) > ROUND_OFF_COEFFICIENT
        }
        for row, terms in zip(left, factors, strict=True)
    }


def sparse_basis(vectors: np.ndarray) -> np.ndarray:
    """A readable basis of the span of some rows (n, nu): a 1 in each row where all others have 0."""
    if not len(vectors):
        return vectors
    sizes = np.abs(vectors).max(axis=0)
    pivots = pivot_columns(vectors / np.where(sizes > 0.0, sizes, 1.0))[0]
    return solve(vectors[:, pivots], vectors)


def _speed_sizes(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Sizes of the speeds: of unit energy; of a speed without inertia, the size that satisfies its constraints."""
    diagonal = np.abs(np.diag(M))
    heavy = diagonal > 1e-24 * diagonal.max(initial=0.0)
    size = np.ones(len(M))
    size[heavy] = 1.0 / np.sqrt(diagonal[heavy])
    if heavy.all() or not len(A):
        return size
    shares = np.abs(A) * _unit_factors(A * np.where(heavy, size, 0.0))[:, None]
    largest = shares.max(axis=0)
    light = ~heavy & (largest > 0.0)
    size[light] = 1.0 / largest[light]
    return size


def _unit_factors(rows: np.ndarray) -> np.ndarray:
    """Factors that give rows the length 1; 1 for rows that vanish."""
    norms = np.linalg.norm(rows, axis=1)
    return 1.0 / np.where(norms > 0.0, norms, 1.0)


def _independent_rows(A: np.ndarray, rank: int) -> list[int]:
    """Independent rows of A: the first ones if they are clearly so, else those a pivoted QR chooses."""
    kept: list[int] = []
    basis = np.zeros((0, A.shape[1]))
    for k, row in enumerate(A):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        length = np.linalg.norm(rest)
        if length > CLEAR:
            kept.append(k)
            basis = np.vstack([basis, rest / length])
    if len(kept) == rank:
        return kept
    return sorted(pivot_columns(A.T)[0][:rank])
