"""The general solution of Kalaba and Udwadia with inverses of the user: checked, and as native code."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dalembert.errors import OptionError
from dalembert.native.plan import accelerate_type, call_accelerate, call_feedback, call_kernel
from dalembert.run.evaluate import finish_rates
from dalembert.solve.general_inverse import Inverse, general_solution, reduced_root

TOLERANCE = 1e-8


def check_inverses(M: np.ndarray, A: np.ndarray, g_inverse: Inverse, least_squares: Inverse) -> None:
    """Raise `OptionError` saying which defining relation fails, and by how much."""
    D = np.ascontiguousarray(A)
    inverse = np.asarray(g_inverse(D))
    if inverse.shape != D.T.shape:
        raise OptionError(f"g_inverse gave shape {inverse.shape} for a matrix of shape {D.shape}; need {D.T.shape}")
    _check("g_inverse", "D D^- D = D (20)", D @ inverse @ D - D, D)
    H = reduced_root(M, D, inverse)
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
    solution, finish = nb.njit(general_solution), finish_rates.address

    @allocating(accelerate_type)
    def accelerate(plan, mem):
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
        call_feedback(plan.feedback, (plan, mem))
        nu, nc = plan.nu, plan.nc
        M = mem[plan.mass : plan.mass + nu * nu].copy().reshape(nu, nu)
        D = mem[plan.jacobian : plan.jacobian + nc * nu].copy().reshape(nc, nu)
        f, b = mem[plan.force : plan.force + nu].copy(), mem[plan.bias : plan.bias + nc].copy()
        udot, la = solution(M, f, D, b, g_native, ls_native)
        for i in range(nu):
            mem[plan.udot + i] = udot[i]
        for k in range(nc):
            mem[plan.multiplier + k] = la[k]
        mem[plan.quality] = 1.0
        return call_accelerate(finish, (plan, mem))

    return accelerate
