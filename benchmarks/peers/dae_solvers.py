"""Solvers of F(t, y, y') = 0 on the stabilised equations: scikit-sundae's IDA and scipy_dae's Radau.

The form is the one of Gear, Gupta and Leimkuhler with multipliers as derivatives (index 1; Hiller and Anantharaman):

    q' = u - A_p^T m',   M u' = f - A^T x',   psi(q, u) = 0,   phi(q) = 0,   y = (q, u, x, m),

so that neither the multipliers' size nor their jumps enter the error test of a solver that weighs y. The residual is
the hand-written one, compiled by Numba: the quickest that these packages can be given from Python.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.peers.by_hand import Equations
from benchmarks.peers.cases import Case
from benchmarks.peers.route import PYTHON, Route, Solver, tolerances

IGNORED = 1e10  # absolute tolerance of what must not steer the step


class Stabilised:
    """The equations of a case as native functions: `residual(y, y', out)` and `jacobians(y, y', Jy, Jyp)`."""

    def __init__(self, case: Case) -> None:
        e = case.equations
        n, nc, n_p, size = e.nq, e.nc, e.position, e.nq + e.nc
        K, r = np.zeros((size, size)), np.zeros(size)
        e.fill(case.z0.tolist(), K, r)
        self.y0 = np.concatenate([case.z0, np.zeros(nc + n_p)])
        self.yp0 = np.concatenate([case.z0[n:], np.linalg.solve(K, r), np.zeros(n_p)])
        self.residual = _native_residual(e)
        self.jacobians = _native_jacobians(e, self.residual)

    def atol(self, case: Case, rtol: float) -> np.ndarray:
        """Absolute tolerances: multipliers are kept out of the error test."""
        atol = np.full(len(self.y0), rtol)
        atol[2 * case.equations.nq :] = IGNORED
        return atol


def _native_residual(e: Equations) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    import numba

    n, nc, n_p, size = e.nq, e.nc, e.position, e.nq + e.nc
    fill, violate = numba.njit(e.fill), numba.njit(e.violate)

    @numba.njit
    def evaluate(y: np.ndarray, yp: np.ndarray, out: np.ndarray) -> None:
        K, r, gaps = np.zeros((size, size)), np.zeros(size), np.zeros(n_p + nc)
        fill(y, K, r)
        violate(y, gaps)
        for i in range(n):
            slip = yp[i] - y[n + i]
            for k in range(n_p):
                slip += K[n + k, i] * yp[2 * n + nc + k]
            balance = -r[i]
            for k in range(size):
                balance += K[i, k] * yp[n + k]
            out[i], out[n + i] = slip, balance
        for k in range(nc):
            out[2 * n + k] = gaps[n_p + k]
        for k in range(n_p):
            out[2 * n + nc + k] = gaps[k]

    return evaluate


def _native_jacobians(e: Equations, residual: Callable) -> Callable[..., None]:
    """dF/dy by central differences in q and u, the only part of y that F depends on; dF/dy' exactly."""
    import numba

    n, nc, n_p, size = e.nq, e.nc, e.position, e.nq + e.nc
    fill = numba.njit(e.fill)

    @numba.njit
    def evaluate(y: np.ndarray, yp: np.ndarray, Jy: np.ndarray, Jyp: np.ndarray) -> None:
        moved, ahead, behind = y.copy(), np.zeros(y.size), np.zeros(y.size)
        Jy[:], Jyp[:] = 0.0, 0.0
        for j in range(2 * n):
            h = 6e-6 * max(1.0, abs(y[j]))
            moved[j] = y[j] + h
            residual(moved, yp, ahead)
            moved[j] = y[j] - h
            residual(moved, yp, behind)
            moved[j] = y[j]
            for i in range(y.size):
                Jy[i, j] = (ahead[i] - behind[i]) / (2.0 * h)
        K, r = np.zeros((size, size)), np.zeros(size)
        fill(y, K, r)
        for i in range(n):
            Jyp[i, i] = 1.0
            for k in range(n_p):
                Jyp[i, 2 * n + nc + k] = K[n + k, i]
            for k in range(size):
                Jyp[n + i, n + k] = K[i, k]

    return evaluate


def _ida(case: Case) -> Solver:
    from sksundae.ida import IDA

    stabilised = Stabilised(case)
    n, m = case.equations.nq, len(stabilised.y0)
    times = case.times if case.times[0] == 0.0 else np.concatenate([[0.0], case.times])
    Jy, Jyp = np.zeros((m, m)), np.zeros((m, m))

    def residual(_t: float, y: np.ndarray, yp: np.ndarray, out: np.ndarray) -> None:
        stabilised.residual(y, yp, out)

    def jacobian(_t: float, y: np.ndarray, yp: np.ndarray, _r: np.ndarray, cj: float, out: np.ndarray) -> None:
        stabilised.jacobians(y, yp, Jy, Jyp)
        out[:] = Jy + cj * Jyp

    def solve(rtol: float) -> np.ndarray:
        atol = stabilised.atol(case, rtol)
        ida = IDA(residual, jacfn=jacobian, rtol=rtol, atol=atol, max_num_steps=1_000_000)
        result = ida.solve(times, stabilised.y0, stabilised.yp0)
        if not result.success:
            raise RuntimeError(str(result.message))
        return result.y[-len(case.times) :, :n]

    solve(1e-3)  # Numba compiles for the read-only arrays that IDA hands over
    return Solver(solve, tolerances(1e-4, 1e-13))


def _radau(case: Case) -> Solver:
    from scipy_dae.integrate import solve_dae

    stabilised = Stabilised(case)
    n, m = case.equations.nq, len(stabilised.y0)

    def residual(_t: float, y: np.ndarray, yp: np.ndarray) -> np.ndarray:
        out = np.empty(m)
        stabilised.residual(np.ascontiguousarray(y), np.ascontiguousarray(yp), out)
        return out

    def jacobian(_t: float, y: np.ndarray, yp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Jy, Jyp = np.empty((m, m)), np.empty((m, m))
        stabilised.jacobians(np.ascontiguousarray(y), np.ascontiguousarray(yp), Jy, Jyp)
        return Jy, Jyp

    def solve(rtol: float) -> np.ndarray:
        result = solve_dae(
            residual, (0.0, case.t_end), stabilised.y0, stabilised.yp0, method="Radau", t_eval=case.times, rtol=rtol,
            atol=stabilised.atol(case, rtol), jac=jacobian, stages=5,
        )  # fmt: skip
        if not result.success:
            raise RuntimeError(str(result.message))
        return result.y[:n].T

    jacobian(0.0, stabilised.y0, stabilised.yp0)
    residual(0.0, stabilised.y0, stabilised.yp0)
    return Solver(solve, tolerances(1e-3, 1e-11, per_decade=1))


ROUTES = (
    Route("scikit-sundae IDA, Numba residual", PYTHON, ("scikit-sundae", "numba"), _ida),
    Route("scipy_dae Radau, Numba residual", PYTHON, ("scipy-dae", "numba"), _radau),
)
