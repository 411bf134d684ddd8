"""CasADi derives by automatic differentiation; SciPy's DOP853, IDAS or CVODES integrate."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.hand_written import dop853
from benchmarks.peers.route import ENGINE, PYTHON, Route, Solver, tolerances

LINEAR = "qr"  # CasADi's sparse solver


def saddle(case: Case) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """q, u, [[M, A^T], [A, 0]] and (f, b)."""
    n = case.equations.nq
    q, u = ca.SX.sym("q", n), ca.SX.sym("u", n)
    stated = case.statement(ca, ca.vertsplit(q), ca.vertsplit(u))
    M, f = ca.SX(n, n), ca.vertcat(*stated.force) - ca.gradient(stated.potential, q)
    for weight, at in [*stated.points, *((inertia, [angle]) for inertia, angle in stated.turning)]:
        x = ca.vertcat(*at)
        J = ca.jacobian(x, q)
        M += weight * J.T @ J
        f -= weight * J.T @ ca.jtimes(J @ u, q, u)
    P, V = ca.vertcat(*stated.position), ca.vertcat(*stated.velocity)
    A, slide = ca.jacobian(P, q), ca.jtimes(P, q, u)
    b = -ca.jtimes(slide, q, u)
    if stated.velocity:
        A, b = ca.vertcat(A, ca.jacobian(V, u)), ca.vertcat(b, -ca.jtimes(V, q, u))
    nc = b.shape[0]
    return q, u, ca.blockcat([[M, A.T], [A, ca.SX(nc, nc)]]), ca.vertcat(f, b)


def _rates(case: Case) -> ca.Function:
    """z -> z', the saddle system solved by a factorisation with pivoting: unrolled, Andrews' loses six digits."""
    q, u, K, r = saddle(case)
    n = case.equations.nq
    parts = ca.Function("saddle", [ca.vertcat(q, u)], [K, r])
    z = ca.MX.sym("z", 2 * n)
    matrix, right = parts(z)
    return ca.Function("rates", [z], [ca.densify(ca.vertcat(z[n:], ca.solve(matrix, right, LINEAR)[:n]))])


def _dop853(case: Case) -> Solver:
    n = case.equations.nq
    function = _rates(case)
    buffer, run = function.buffer()
    inside, out = np.empty(2 * n), np.empty(2 * n)
    buffer.set_arg(0, memoryview(inside))
    buffer.set_res(0, memoryview(out))

    def rates(_t: float, state: np.ndarray) -> np.ndarray:
        inside[:] = state
        run()  # reads and writes through `buffer`, which must outlive it
        return out.copy()

    rates.buffer = buffer
    return dop853(case, rates)


def _sampled(case: Case, make: Callable[[float], ca.Function], y0: np.ndarray | None) -> Solver:
    """A CasADi integrator with the case's times as its grid; built before the clock runs."""
    n, z0 = case.equations.nq, case.z0
    ready: dict[float, ca.Function] = {}
    ladder = tolerances(1e-5, 1e-13)
    for rtol in ladder:
        ready[rtol] = make(rtol)

    def solve(rtol: float) -> np.ndarray:
        result = ready[rtol](x0=z0) if y0 is None else ready[rtol](x0=z0, z0=y0)
        return np.array(result["xf"])[:n].T

    return Solver(solve, ladder)


def _options(rtol: float) -> dict:
    return {"reltol": rtol, "abstol": rtol, "max_num_steps": 1_000_000}


def _idas(case: Case) -> Solver:
    """Index 1: z' = (u, a) with (a, x) from the saddle equations as algebraic variables."""
    q, u, K, r = saddle(case)
    size = r.shape[0]
    y = ca.SX.sym("y", size)
    dae = {"x": ca.vertcat(q, u), "z": y, "ode": ca.vertcat(u, y[: case.equations.nq]), "alg": K @ y - r}
    start = np.array(ca.Function("s", [dae["x"]], [ca.solve(K, r)])(case.z0)).ravel()
    return _sampled(case, lambda rtol: ca.integrator("i", "idas", dae, 0.0, case.times.tolist(), _options(rtol)), start)


def _cvodes(case: Case) -> Solver:
    """The same equations solved for u', with CVODES' Adams methods: the motion is not stiff."""
    z = ca.MX.sym("z", 2 * case.equations.nq)
    ode = {"x": z, "ode": _rates(case)(z)}
    adams = {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}
    return _sampled(
        case,
        lambda rtol: ca.integrator("i", "cvodes", ode, 0.0, case.times.tolist(), {**_options(rtol), **adams}),
        None,
    )


ROUTES = (
    Route("CasADi, SciPy DOP853", PYTHON, ("casadi", "scipy"), _dop853),
    Route("CasADi IDAS", ENGINE, ("casadi",), _idas),
    Route("CasADi CVODES", ENGINE, ("casadi",), _cvodes),
)
