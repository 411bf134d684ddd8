"""The smallest singular values of sparse rows of constraints, and the combinations of them that vanish.

Singular values s of rows with unit length are the roots of the eigenvalues of S = A M^-1 A^T. The smallest ones are
found by Lanczos's method (Golub and Van Loan, 10.1) with (S + E)^-1, by the factors of the saddle matrix: those that
vanish stand out by orders of magnitude, so a few iterations do. An eigenvalue that several directions share is found
once; that of redundant constraints, zero everywhere, does not hide the next one.
"""

from __future__ import annotations

import functools

import numpy as np

from dalembert.solve.sparse_layout import SHIFT
from dalembert.solve.sparse_system import SparseSaddle

ITERATIONS = 5
COLUMNS, FILTERS = 4, 8  # vectors that are filtered, and how often: a singular value of 1e-4 passes by 1e-8


def smallest_values(saddle: SparseSaddle) -> tuple[np.ndarray, np.ndarray]:
    """Singular values (n,), largest first, and their left vectors (m, n), n = min(ITERATIONS, m).

    The saddle matrix is factorised with its usual shift.
    """
    lengths = saddle.lengths
    count, m = min(ITERATIONS, len(lengths)), len(lengths)
    basis, T = np.zeros((count + 1, m)), np.zeros((count, count))
    start = _directions(m, 1)[:, 0]
    basis[0] = start / np.linalg.norm(start) if m else start
    for k in range(count):
        image = lengths * saddle.solve_rows(lengths * basis[k])[0]
        T[: k + 1, k] = basis[: k + 1] @ image
        for _ in range(2):  # twice is enough
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        rest = np.linalg.norm(image)
        basis[k + 1] = image / rest if rest > 0.0 else 0.0
    values, vectors = np.linalg.eigh(T, UPLO="U")
    squares = 1.0 / np.maximum(values, 1e-300) - SHIFT
    return np.sqrt(np.clip(squares, 0.0, 4.0)), basis[:count].T @ vectors


def vanishing_parts(saddle: SparseSaddle) -> np.ndarray:
    """How much each row takes part in combinations that vanish, (m,): random vectors, with all else filtered out."""
    lengths = saddle.lengths
    parts = np.zeros(len(lengths))
    for column in _directions(len(lengths), COLUMNS).T:
        left = column
        for _ in range(FILTERS):
            left = SHIFT * lengths * saddle.solve_rows(lengths * left)[0]
        parts = np.maximum(parts, np.abs(left))
    return parts


@functools.lru_cache(8)
def _directions(m: int, count: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((m, count))
