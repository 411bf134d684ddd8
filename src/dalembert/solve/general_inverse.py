"""Kalaba and Udwadia's general solution (30) with any g-inverse and any least-squares g-inverse, on plain arrays.

u' = D^- g + (I - D^- D) H^-_ls z with H = M^1/2 (I - D^- D), z = M^-1/2 f - M^1/2 D^- g; D and g are our A and b. Any
square root of M serves; a triangular one is used, where M is singular of M + w D^T D: that changes no motion,
as D u' = g, and is definite wherever masses and constraints together determine u'.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.solve.decompositions import are_singular, cholesky, pseudo_inverse, solve
from dalembert.solve.tolerances import RANK_TOLERANCE

Inverse = Callable[[np.ndarray], np.ndarray]


def moore_penrose(matrix: np.ndarray) -> np.ndarray:
    """The Moore-Penrose inverse; singular values below 1e-10 of the largest are zero."""
    return np.linalg.pinv(matrix, RANK_TOLERANCE)


def general_solution(
    M: np.ndarray, f: np.ndarray, D: np.ndarray, b: np.ndarray, g_inverse: Inverse, least_squares: Inverse
) -> tuple[np.ndarray, np.ndarray]:
    """u' (nu,) and la (nc,) at one state."""
    root, inverse = cholesky(_definite(M, D)).T, np.asarray(g_inverse(D.copy()))
    free = np.eye(len(M)) - inverse @ D
    z = np.linalg.solve(root.T, f) - root @ (inverse @ b)  # without w D^T g, which is normal to all of H
    udot = inverse @ b + free @ (np.asarray(least_squares(root @ free)) @ z)
    return udot, np.linalg.pinv(D.T, RANK_TOLERANCE) @ (M @ udot - f)


def reduced_root(M: np.ndarray, D: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """H = M^1/2 (I - D^- D), whose least-squares g-inverse is asked for, (nu, nu)."""
    return np.ascontiguousarray(cholesky(_definite(M, D)).T @ (np.eye(len(M)) - inverse @ D))


def _definite(M: np.ndarray, D: np.ndarray) -> np.ndarray:
    """M, or where it is singular M + w D^T D, (..., nu, nu), with w such that both parts are of one size."""
    more = np.swapaxes(D, -1, -2) @ D
    own, added = (np.trace(part, axis1=-2, axis2=-1) for part in (M, more))
    weight = np.where(are_singular(M, RANK_TOLERANCE), own / np.where(added > 0.0, added, 1.0), 0.0)
    return M + weight[..., None, None] * more


def split_force(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The constraint force (32) with Moore-Penrose inverses, as its feedback and its feed-forward part, each (..., nu).

    Q' = (I - M X M^-1)(-f) + M (I - X) D^- g with X = (I - D^- D) H^- M^1/2, at states along any leading axes; f - Q of
    the paper is our -f.
    """
    definite = _definite(M, A)
    root, inverse = np.swapaxes(cholesky(definite), -1, -2), pseudo_inverse(A, RANK_TOLERANCE)
    free = np.eye(M.shape[-1]) - inverse @ A
    X_ = free @ pseudo_inverse(root @ free, RANK_TOLERANCE) @ root
    f, wanted = f[..., None], inverse @ b[..., None]
    return (M @ X_ @ solve(definite, f) - f)[..., 0], (M @ (wanted - X_ @ wanted))[..., 0]
