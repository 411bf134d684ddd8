"""Rank, null spaces and solutions of small dense matrices on numbers: the one module that calls LAPACK, by NumPy.

A singular value is zero if it is below `tolerance` times something: the largest one, or what is given as `beside`. Rows
of unit length (`unit_rows`) are judged beside 1, as their singular values are then sines of angles between them,
whatever the units. Independent columns are found by `solve.pivoting`; matrices of runs are factorised in native code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.native.precision import EPSILON

UNIT = 1.0  # reference for singular values of unit rows


class SingularValues(NamedTuple):
    """A (m, n) = left @ diag(values) @ right with all of both bases, left (m, m) and right (n, n), largest value first.

    `rank` is how many of the values are not zero.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    rank: int

    @property
    def null(self) -> np.ndarray:
        """Orthonormal x with A x = 0, (n, n - rank)."""
        return self.right[self.rank :].T

    @property
    def lost(self) -> np.ndarray:
        """Orthonormal basis of the left null space of A, y^T A = 0, (m, m - rank)."""
        return self.left[:, self.rank :]

    def solve(self, sides: np.ndarray) -> np.ndarray:
        """The least x (n, k) of those with which A x comes nearest to `sides` (m, k)."""
        kept = slice(self.rank)
        return self.right[kept].T @ ((self.left[:, kept].T @ sides) / self.values[kept, None])


def decompose(A: np.ndarray, tolerance: float, beside: float | None = None) -> SingularValues:
    """The singular value decomposition of A (m, n), and its rank."""
    left, values, right = np.linalg.svd(A)
    return SingularValues(left, values, right, _count(values, tolerance, beside))


def singular_values(A: np.ndarray) -> np.ndarray:
    """Singular values of A (..., m, n), the largest first, (..., min(m, n))."""
    return np.linalg.svd(A, compute_uv=False)


def rank_of(A: np.ndarray, tolerance: float | None = None, beside: float | None = None) -> int:
    """Number of independent rows of A (m, n); without a tolerance, up to round-off."""
    if not A.size:
        return 0
    least = EPSILON * max(A.shape) if tolerance is None else tolerance  # None: nothing else is known of A
    return _count(singular_values(A), least, beside)


def null_space(A: np.ndarray, tolerance: float, beside: float | None = None) -> np.ndarray:
    """Orthonormal x with A x = 0, (n, n - rank); all of them if A has no rows."""
    return decompose(A, tolerance, beside).null if len(A) else np.eye(A.shape[1])


def row_space(A: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span those of A (m, n), (min(m, n), n), without a rank decision."""
    return np.linalg.svd(A, full_matrices=False)[2]


def least_squares(A: np.ndarray, sides: np.ndarray, tolerance: float | None = None) -> np.ndarray:
    """The least x (n, ...) of those with which A x comes nearest to `sides` (m, ...); tolerance as in `rank_of`."""
    return np.linalg.lstsq(A, sides, rcond=tolerance)[0]


def pseudo_inverse(A: np.ndarray, tolerance: float = 1e-15) -> np.ndarray:
    """The Moore-Penrose inverse of A (..., m, n), (..., n, m)."""
    return np.linalg.pinv(A, tolerance)


def solve(A: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """x with A x = `sides` for a regular A (..., n, n); raises `numpy.linalg.LinAlgError` if it is exactly singular."""
    return np.linalg.solve(A, sides)


def inverse(A: np.ndarray) -> np.ndarray:
    """The inverse of a regular A (n, n); raises `numpy.linalg.LinAlgError` if it is exactly singular."""
    return np.linalg.inv(A)


def cholesky(M: np.ndarray) -> np.ndarray:
    """Lower triangular L with M = L L^T, (..., n, n); raises `numpy.linalg.LinAlgError` if M is not definite."""
    return np.linalg.cholesky(M)


def are_singular(M: np.ndarray, tolerance: float) -> np.ndarray:
    """Mask of symmetric matrices M (..., n, n) that are not definite by `tolerance`, after scaling to unit diagonal."""
    size = np.sqrt(np.abs(np.diagonal(M, axis1=-2, axis2=-1)))
    size = np.where(size > 0.0, size, 1.0)
    unit = np.nan_to_num(M / size[..., None] / size[..., None, :])
    try:
        return (np.diagonal(cholesky(unit), axis1=-2, axis2=-1) ** 2).min(axis=-1, initial=1.0) < tolerance
    except np.linalg.LinAlgError:
        return np.linalg.eigvalsh(unit).min(axis=-1, initial=1.0) < tolerance


def orthogonal_triangular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (m, k) with orthonormal columns and R (k, n), upper triangular, with A = Q R and k = min(m, n)."""
    return np.linalg.qr(A)


def determinant_sign(A: np.ndarray) -> np.ndarray:
    """The sign of the determinant of A (..., n, n); 0 if it is exactly singular."""
    return np.linalg.slogdet(A)[0]


def determinant(A: np.ndarray) -> np.ndarray:
    """The determinant of A (..., n, n)."""
    return np.linalg.det(A)


def condition(A: np.ndarray) -> float:
    """The largest singular value of A over the smallest; infinite if that is zero."""
    return float(np.linalg.cond(A))


def unit_rows(A: np.ndarray) -> np.ndarray:
    """A (..., m, n) with rows of length 1; those of zeros stay as they are."""
    lengths = np.linalg.norm(A, axis=-1, keepdims=True)
    return A / np.where(lengths > 0.0, lengths, 1.0)


def _count(values: np.ndarray, tolerance: float, beside: float | None) -> int:
    """Number of nonzero values, of values that are sorted, largest first."""
    scale = values.max(initial=0.0) if beside is None else beside
    return int((values > tolerance * scale).sum())
