"""SymPy derives the saddle matrix and its right-hand side; `lambdify` or PyDy's Cython generator evaluates them."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import sympy as sp
from benchmarks.peers.cases import Case
from benchmarks.peers.hand_written import dop853
from benchmarks.peers.route import PYTHON, Route, Solver


def saddle(case: Case) -> tuple[list[sp.Symbol], sp.Matrix, sp.Matrix]:
    """Symbols of z = (q, u), [[M, A^T], [A, 0]] and (f, b)."""
    n = case.equations.nq
    q, u = sp.symbols(f"q:{n}", real=True), sp.symbols(f"u:{n}", real=True)
    Q, U = sp.Matrix(q), sp.Matrix(u)
    stated = case.statement(sp, q, u)
    M, f = sp.zeros(n, n), sp.Matrix(stated.force) - sp.Matrix([stated.potential]).jacobian(Q).T
    for weight, at in [*stated.points, *((inertia, [angle]) for inertia, angle in stated.turning)]:
        J = sp.Matrix(at).jacobian(Q)
        M += weight * J.T * J
        f -= weight * J.T * (J * U).jacobian(Q) * U
    P, V = sp.Matrix(len(stated.position), 1, stated.position), sp.Matrix(len(stated.velocity), 1, stated.velocity)
    slide = P.jacobian(Q) * U
    A = sp.Matrix.vstack(P.jacobian(Q), V.jacobian(U) if stated.velocity else sp.zeros(0, n))
    b = -sp.Matrix.vstack(slide.jacobian(Q) * U, V.jacobian(Q) * U if stated.velocity else sp.zeros(0, 1))
    K = sp.Matrix.vstack(sp.Matrix.hstack(M, A.T), sp.Matrix.hstack(A, sp.zeros(len(b), len(b))))
    return [*q, *u], K, sp.Matrix.vstack(f, b)


def _lambdified(case: Case) -> Solver:
    z, K, r = saddle(case)
    n, size = case.equations.nq, case.equations.nq + case.equations.nc
    evaluate = sp.lambdify([z], [*K, *r], modules="math", cse=True)  # a flat list of numbers is the quickest to fill

    def rates(_t: float, state: np.ndarray) -> np.ndarray:
        values = np.array(evaluate(state.tolist()))
        return np.concatenate([state[n:], np.linalg.solve(values[:-size].reshape(size, size), values[-size:])[:n]])

    return dop853(case, rates)


def _pydy(case: Case) -> Solver:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pydy.codegen.cython_code import CythonMatrixGenerator

    z, K, r = saddle(case)
    n, size = case.equations.nq, case.equations.nq + case.equations.nc
    folder = Path(tempfile.mkdtemp(prefix="peers"))
    evaluate = CythonMatrixGenerator([z], [K, r], prefix=f"peer_{case.key}", cse=True).compile(tmp_dir=str(folder))
    flat, right = np.empty(size * size), np.empty(size)

    def rates(_t: float, state: np.ndarray) -> np.ndarray:
        evaluate(np.ascontiguousarray(state), flat, right)
        return np.concatenate([state[n:], np.linalg.solve(flat.reshape(size, size), right)[:n]])

    return dop853(case, rates)


ROUTES = (
    Route("SymPy lambdify, SciPy DOP853", PYTHON, ("sympy", "scipy"), _lambdified),
    Route("PyDy Cython, SciPy DOP853", PYTHON, ("pydy", "cython", "scipy"), _pydy),
)
