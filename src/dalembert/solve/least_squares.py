"""Saddle-point systems on plain arrays, once: least multipliers by singular values, for impacts."""

from __future__ import annotations

import numpy as np

from dalembert.solve.decompositions import least_squares

LEAST_SQUARES_RANK = 1e-11  # singular values below this, relative to the largest, are zero


def solve_least(M: np.ndarray, A: np.ndarray, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v (nu,) and the least Lambda (n,) with M v = W^T Lambda, A v = b, scaled so that units do not matter."""
    nu, n = len(M), len(A)
    size = np.sqrt(np.abs(np.diag(M)))
    d = 1.0 / np.where(size > 1e-12 * size.max(initial=0.0), size, max(size.max(initial=0.0), 1e-300))
    rows = np.linalg.norm(A * d, axis=1)
    rows = 1.0 / np.where(rows > 0.0, rows, 1.0)
    K = np.zeros((nu + n, nu + n))
    K[:nu, :nu] = M * d[:, None] * d
    K[:nu, nu:] = -(W * d * rows[:, None]).T
    K[nu:, :nu] = A * d * rows[:, None]
    x = least_squares(K, np.concatenate([np.zeros(nu), b * rows]), LEAST_SQUARES_RANK)
    return x[:nu] * d, x[nu:] * rows
