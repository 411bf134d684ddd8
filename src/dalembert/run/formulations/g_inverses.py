"""Kalaba and Udwadia's general solution (30) with any g-inverse and any least-squares g-inverse, and their force (32).

u' = D^- g + (I - D^- D) H^-_ls z with H = M^1/2 (I - D^- D), z = M^-1/2 f - M^1/2 D^- g; D and g are our A and b, and
f - Q of the paper is our -f. Any square root of M serves; a triangular one is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import OptionError
from dalembert.native.plan import accelerate_type, call_accelerate, call_feedback, call_kernel
from dalembert.run.evaluate import finish_rates

Inverse = Callable[[np.ndarray], np.ndarray]
TOLERANCE = 1e-8


def check_inverses(M: np.ndarray, A: np.ndarray, g_inverse: Inverse, least_squares: Inverse) -> None:
    """Raise `OptionError` saying which defining relation fails, and by how much."""
    D = np.ascontiguousarray(A)
    inverse = np.asarray(g_inverse(D))
    if inverse.shape != D.T.shape:
        raise OptionError(f"g_inverse gave shape {inverse.shape} for a matrix of shape {D.shape}; need {D.T.shape}")
    _check("g_inverse", "D D^- D = D (20)", D @ inverse @ D - D, D)
    H = np.ascontiguousarray(np.linalg.cholesky(M).T @ (np.eye(len(M)) - inverse @ D))
    ls = np.asarray(least_squares(H))
    if ls.shape != H.T.shape:
        raise OptionError(f"least_squares_inverse gave shape {ls.shape} for a matrix of shape {H.shape}")
    _check("least_squares_inverse", "H H^- H = H (25)", H @ ls @ H - H, H)
    _check("least_squares_inverse", "(H H^-)^T = H H^- (26)", (H @ ls).T - H @ ls, H @ ls)


def _check(what: str, relation: str, left: np.ndarray, scale: np.ndarray) -> None:
    miss = float(np.abs(left).max(initial=0.0)) / max(float(np.abs(scale).max(initial=0.0)), 1e-300)
    if not miss <= TOLERANCE:
        raise OptionError(f"{what} fails its defining relation {relation} by {miss:.1e}")


@functools.cache
def accelerate_with(g_inverse: Inverse, least_squares: Inverse) -> Any:
    """The native function for these inverses; compiled for them, so once per process."""
    import numba as nb

    from dalembert.native.compiler import allocating

    g_native, ls_native = (f if hasattr(f, "py_func") else nb.njit(f) for f in (g_inverse, least_squares))
    finish = finish_rates.address

    @allocating(accelerate_type)
    def accelerate(plan, mem):
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
        call_feedback(plan.feedback, (plan, mem))
        nu, nc = plan.nu, plan.nc
        M = mem[plan.mass : plan.mass + nu * nu].copy().reshape(nu, nu)
        D = mem[plan.jacobian : plan.jacobian + nc * nu].copy().reshape(nc, nu)
        f, b = mem[plan.force : plan.force + nu].copy(), mem[plan.bias : plan.bias + nc].copy()
        root = np.ascontiguousarray(np.linalg.cholesky(M).T)
        inverse = np.ascontiguousarray(g_native(D))
        free = np.eye(nu) - inverse @ D
        z = np.linalg.solve(np.ascontiguousarray(root.T), f) - root @ (inverse @ b)
        udot = inverse @ b + free @ (np.ascontiguousarray(ls_native(root @ free)) @ z)
        la = np.linalg.pinv(np.ascontiguousarray(D.T), 1e-10) @ (M @ udot - f)
        for i in range(nu):
            mem[plan.udot + i] = udot[i]
        for k in range(nc):
            mem[plan.multiplier + k] = la[k]
        mem[plan.quality] = 1.0
        return call_accelerate(finish, (plan, mem))

    return accelerate


def moore_penrose(matrix: np.ndarray) -> np.ndarray:
    """The Moore-Penrose inverse; singular values below 1e-10 of the largest are zero."""
    return np.linalg.pinv(matrix, 1e-10)


def split_force(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The constraint force (32) with Moore-Penrose inverses, as its feedback and its feed-forward part, each (..., nu).

    Q' = (I - M X M^-1)(-f) + M (I - X) D^- g with X = (I - D^- D) H^- M^1/2, at states along any leading axes.
    """
    root, inverse = np.swapaxes(np.linalg.cholesky(M), -1, -2), np.linalg.pinv(A, 1e-10)
    free = np.eye(M.shape[-1]) - inverse @ A
    X_ = free @ np.linalg.pinv(root @ free, 1e-10) @ root
    f, wanted = f[..., None], inverse @ b[..., None]
    return (M @ X_ @ np.linalg.solve(M, f) - f)[..., 0], (M @ (wanted - X_ @ wanted))[..., 0]
