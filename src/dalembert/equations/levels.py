"""Equations of a consistent state as functions of one column: residuals first, then their gradients, row by row.

Positions ("assembly") and velocities ("speeds") are compiled with the system; those below are derived when they are
first needed: all levels together, and positions or velocities with the parameters among the variables.
"""

from __future__ import annotations

import casadi as ca

from dalembert.equations.system import System


def second_rates(system: System) -> ca.Function:
    """q'' (nq,) as a function of (x, u')."""
    x, ud = _inputs(system)
    return ca.Function("second_rates", [ca.vertcat(x, ud)], [ca.densify(_second_rates(system, x, ud))])


def all_levels(system: System) -> ca.Function:
    """Every level at once, a function of (x, u', la) with gradients in (q, u, u', la).

    Rows: phi, invariants; psi; M u' - f - W^T la (nu); acceleration rows (nc); q' (nq); q'' (nq); reactions (nu).
    Friction is W^T la = W0^T la - F^T |la|.
    """
    x, ud = _inputs(system)
    nq, nu, nc = system.nq, system.nu, system.nc
    la = ca.SX.sym("la", nc)
    q, u = x[1 : 1 + nq], x[1 + nq : 1 + nq + nu]
    out = system.functions["dynamics"](x)
    part = {name: out[where] for name, (where, _) in system.parts.items()}
    M = _matrix(part["mass_matrix"], nu, nu)
    A = _matrix(part["constraint_jacobian"], nc, nu)
    W = A if system.ideal else _matrix(part["directions"], nc, nu)
    rows = ca.mtimes(A, ud) - part["constraint_bias"]
    reaction = ca.mtimes(W.T, la)
    n = system.curved
    if n:
        linearised = system.functions["newton"](ca.vertcat(x, ud, la[nc - n :]))
        rows = ca.vertcat(rows[: nc - n], linearised[2 * n * nu : 2 * n * nu + n])
        curved = _matrix(linearised[n * nu : 2 * n * nu], n, nu)
        reaction = ca.mtimes(W[: nc - n, :].T, la[: nc - n]) + ca.mtimes(curved.T, la[nc - n :])
    if system.friction:
        reaction -= ca.mtimes(_matrix(part["friction"], nc, nu).T, ca.fabs(la))
    count = system.count("position") + len(system.invariants)
    residuals = ca.vertcat(
        system.functions["assembly"](x)[:count],
        system.functions["residual"](x)[system.count("position") :],
        ca.mtimes(M, ud) - part["forces"] - reaction,
        rows,
        part["coordinate_rates"],
        _second_rates(system, x, ud),
        reaction + part["prescribed"],
    )
    variables = ca.vertcat(q, u, ud, la)
    return _with_gradients("all_levels", ca.vertcat(x, ud, la), residuals, variables)


def with_parameters(system: System, name: str) -> ca.Function:
    """The "assembly" with gradients in (q, p), or the "speeds" with gradients in (u, p), as functions of x."""
    function = system.functions[name]
    x = ca.SX.sym("x", function.size1_in(0))
    nq, nu = system.nq, system.nu
    first, n = (1, nq) if name == "assembly" else (1 + nq, nu)
    residuals = function(x)[: function.size1_out(0) // (1 + n)]
    return _with_gradients(f"{name}_with_parameters", x, residuals, ca.vertcat(x[first : first + n], x[1 + nq + nu :]))


def _inputs(system: System) -> tuple[ca.SX, ca.SX]:
    return ca.SX.sym("x", system.functions["dynamics"].size1_in(0)), ca.SX.sym("ud", system.nu)


def _second_rates(system: System, x: ca.SX, ud: ca.SX) -> ca.SX:
    nq, nu = system.nq, system.nu
    first = system.count("position") + system.count("velocity")
    out = system.functions["speeds"](x)
    qdot, C = out[first : first + nq], out[(1 + nu) * first + nq :]
    rest = ca.jtimes(qdot, x[1 : 1 + nq], qdot) + ca.jtimes(qdot, x[0], ca.SX(1))
    return ca.mtimes(_matrix(C, nq, nu), ud) + rest


def _with_gradients(name: str, x: ca.SX, residuals: ca.SX, variables: ca.SX) -> ca.Function:
    gradients = ca.vec(ca.jacobian(residuals, variables).T)
    return ca.Function(name, [x], [ca.sparsify(ca.vertcat(residuals, gradients))])


def _matrix(flat: ca.SX, rows: int, columns: int) -> ca.SX:
    """A matrix from its row-major column."""
    return ca.reshape(flat, columns, rows).T
