"""No tool at all: equations by hand (`by_hand`) in NumPy or Numba, the saddle matrix solved, SciPy's DOP853."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.peers.cases import Case, kkt_rates
from benchmarks.peers.route import PYTHON, Route, Solver, tolerances
from scipy.integrate import solve_ivp

Rates = Callable[[float, np.ndarray], np.ndarray]


def dop853(case: Case, rates: Rates) -> Solver:
    """The route's equations under SciPy's integrator; atol = rtol, as on our side."""
    z0, nq = case.z0, case.equations.nq

    def solve(rtol: float) -> np.ndarray:
        result = solve_ivp(rates, (0.0, case.t_end), z0, "DOP853", case.times, rtol=rtol, atol=rtol)
        if not result.success:
            raise RuntimeError(result.message)
        return result.y[:nq].T

    rates(0.0, z0)
    return Solver(solve, tolerances(1e-5, 10**-12.5))


def _numpy(case: Case) -> Solver:
    return dop853(case, kkt_rates(case.equations))


def _numba(case: Case) -> Solver:
    import numba

    n, size = case.equations.nq, case.equations.nq + case.equations.nc
    fill = numba.njit(case.equations.fill)

    @numba.njit("f8[::1](f8, f8[::1])")
    def rates(_t: float, z: np.ndarray) -> np.ndarray:
        K, r = np.zeros((size, size)), np.zeros(size)
        fill(z, K, r)
        out = np.empty(2 * n)
        out[:n] = z[n:]
        out[n:] = np.linalg.solve(K, r)[:n]
        return out

    return dop853(case, rates)


ROUTES = (
    Route("NumPy by hand, SciPy DOP853", PYTHON, ("numpy", "scipy"), _numpy),
    Route("Numba by hand, SciPy DOP853", PYTHON, ("numba", "scipy"), _numba),
)
