"""Kalaba and Udwadia's general solution (30) with any g-inverse and any least-squares g-inverse, on plain arrays.

u' = D^- g + (I - D^- D) H^-_ls z with H = M^1/2 (I - D^- D), z = M^-1/2 f - M^1/2 D^- g; D and g are our A and b. Any
square root of M serves; a triangular one is used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.solve.decompositions import cholesky, pseudo_inverse, solve
from dalembert.solve.tolerances import RANK_TOLERANCE

Inverse = Callable[[np.ndarray], np.ndarray]


def moore_penrose(matrix: np.ndarray) -> np.ndarray:
    """The Moore-Penrose inverse; singular values below 1e-10 of the largest are zero."""
    return np.linalg.pinv(matrix, RANK_TOLERANCE)


def general_solution(
    M: np.ndarray, f: np.ndarray, D: np.ndarray, b: np.ndarray, g_inverse: Inverse, least_squares: Inverse
) -> tuple[np.ndarray, np.ndarray]:
    """u' (nu,) and la (nc,) at one state."""
    root, inverse = np.linalg.cholesky(M).T, np.asarray(g_inverse(D.copy()))
    free = np.eye(len(M)) - inverse @ D
    z = np.linalg.solve(root.T, f) - root @ (inverse @ b)
    udot = inverse @ b + free @ (np.asarray(least_squares(root @ free)) @ z)
    return udot, np.linalg.pinv(D.T, RANK_TOLERANCE) @ (M @ udot - f)


def reduced_root(M: np.ndarray, D: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """H = M^1/2 (I - D^- D), whose least-squares g-inverse is asked for, (nu, nu)."""
    return np.ascontiguousarray(cholesky(M).T @ (np.eye(len(M)) - inverse @ D))


def split_force(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The constraint force (32) with Moore-Penrose inverses, as its feedback and its feed-forward part, each (..., nu).

    Q' = (I - M X M^-1)(-f) + M (I - X) D^- g with X = (I - D^- D) H^- M^1/2, at states along any leading axes; f - Q of
    the paper is our -f.
    """
    root, inverse = np.swapaxes(cholesky(M), -1, -2), pseudo_inverse(A, RANK_TOLERANCE)
    free = np.eye(M.shape[-1]) - inverse @ A
    X_ = free @ pseudo_inverse(root @ free, RANK_TOLERANCE) @ root
    f, wanted = f[..., None], inverse @ b[..., None]
    return (M @ X_ @ solve(M, f) - f)[..., 0], (M @ (wanted - X_ @ wanted))[..., 0]
