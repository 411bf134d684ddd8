"""The gradient of a cost by one sweep back through the steps of a motion: the discrete adjoint of a Runge-Kutta method.

A step is z+ = P(z + h sum b_i k_i), k_i = f(t_i, Y_i), Y_i = z + h sum a_ij k_j, with P the projection onto the
constraints, and a cost is J = l(z_end) + sum over steps of h sum b_i g(Y_i). Backwards, with lam = dJ/dz+ and P' on the
tangent space,

    lam <- P'^T lam,    w_i = h (b_i lam + sum_j a_ji v_j),    v_i = f_z^T w_i + h b_i g_z,    lam <- lam + sum v_i,

and every f_p^T w_i + h b_i g_p adds to dJ/dp (J. M. Sanz-Serna, SIAM Review 58 (2016) 3-33).
The states after steps are kept, the stages computed again. u' and la follow from R(q, u, u', la, p, t) = 0, so

    f_z^T w = (q')_z^T w_q - R_z^T mu,    K^T mu = (w_u, 0) + (g_u', g_la) h b_i,    K = dR/d(u', la),

with the factors of K that gave u'. The work does not depend on the number of parameters.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.native.types import Record, floats, ints
from dalembert.run.evaluate import load_state, rates
from dalembert.run.formulations.choice import RECHOOSE
from dalembert.run.right_hand_side import Feedback
from dalembert.run.status import OK, UNSOUND
from dalembert.run.variations import onto_tangent
from dalembert.solve.rows import add_row
from dalembert.solve.unrolled import TRUSTED, unroll_factors


class Sweep(Record):
    """Memory of an adjoint sweep: x followed by w and sigma, kernel outputs, stages, and accumulated gradients."""

    _fields_ = (
        # A copy of the kernels' input and its size; w after it; kernels write (z, p, value, quality) to out.
        *ints("x n_x w out"),
        # States, rates and adjoints of the stages; lam; dJ/dp and its size; number of stages.
        *ints("states slopes pulls lam grad n_params n_stages"),
        # Kernels: of a stage with the integrand of the cost; of the final cost; of the projection (0 if there is none).
        *ints("stage final tangent"),
        *floats("value"),
    )


def pull_function(system: System, g: ca.SX, feedback: Feedback | None, options: int) -> ca.Function | None:
    """(f_z^T w + sigma g_z, f_p^T w + sigma g_p, g, quality) as a function of (x, tail, w, sigma); None: too long.

    g is a graph of (x, u', la).
    """
    m, nq = system.mechanics, system.nq
    tail, w, sigma = ca.SX.sym("tail", 1 + options), ca.SX.sym("w", nq + system.nu), ca.SX.sym("sigma")
    b = m.b if feedback is None else m.b + feedback.change(m, tail[0], tail[1 : 1 + feedback.size])
    factors = unroll_factors(m.M, m.A, augment=system.singular_mass)
    if factors is None:
        return None
    udot, la = (ca.densify(part) for part in factors.solve(m.f + m.c, b))
    seeds = ca.densify(ca.jacobian(g, ca.vertcat(m.udot, m.la)).T) * sigma
    mu = ca.SX.sym("mu", system.nu + system.nc)
    first, second = factors.solve(w[nq:, :] + seeds[: system.nu, :], -seeds[system.nu :, :])
    R = ca.vertcat(m.balance, ca.mtimes(m.A, m.udot) - b)
    total = ca.dot(w[:nq], m.qdot) + sigma * g - ca.dot(mu, R)
    pulled = ca.gradient(total, ca.vertcat(m.q, m.u, m.p))
    solution = ca.substitute(ca.vertcat(first, -second), ca.vertcat(m.udot, m.la), ca.vertcat(udot, la))
    out = ca.substitute(ca.vertcat(ca.densify(pulled), g), mu, ca.densify(solution))
    out = ca.substitute(out, ca.vertcat(m.udot, m.la), ca.vertcat(udot, la))
    inputs = ca.vertcat(m.x, tail, w, sigma)
    return ca.Function("pull", [inputs], [ca.cse(ca.densify(ca.vertcat(out, factors.quality)))])


def tangent_pull_function(system: System, options: int) -> ca.Function | None:
    """(P_z^T w, P_p^T w, 0, quality) as a function of (x, tail, w, sigma); None if there is no projection."""
    m, n, n_p = system.mechanics, system.nq + system.nu, len(system.parameters)
    S, dp, w = ca.SX.sym("S", n), ca.SX.sym("dp", n_p), ca.SX.sym("w", n)
    found = onto_tangent(system, [(S, dp)])
    if found is None:
        return None
    pulled = ca.gradient(ca.dot(w, found[0][0]), ca.vertcat(S, dp))
    inputs = ca.vertcat(m.x, ca.SX.sym("tail", 1 + options), w, ca.SX.sym("sigma"))
    return ca.Function("tangent_pull", [inputs], [ca.cse(ca.densify(ca.vertcat(pulled, 0, found[1])))])


@jit(i8(Plan, Floats, Sweep, f8, Floats))
def _stand(plan, mem, s, t, z):
    """Put a state where the kernels of a sweep read it."""
    load_state(plan, mem, t, z)
    move(mem, s.x, mem, plan.x, s.n_x)
    return 0


@jit(f8(Plan, Floats, Sweep, i8, f8))
def _pull(plan, mem, s, kernel, sigma):
    """Call a kernel with the present w. Adds its gradients in parameters and its cost; returns its quality."""
    n = plan.nq + plan.nu
    mem[s.w + n] = sigma
    call_kernel(kernel, mem, s.x, s.out)
    for j in range(s.n_params):
        mem[s.grad + j] += mem[s.out + n + j]
    s.value += sigma * mem[s.out + n + s.n_params]
    return mem[s.out + n + s.n_params + 1]


@jit(i8(Plan, Floats, Sweep, f8, f8, Floats, Floats, Floats))
def _replay(plan, mem, s, t, h, z, A, c):
    """States and rates of the stages of a step."""
    nz, stages = plan.nz, s.n_stages
    mem[plan.step_length] = h
    for i in range(stages):
        at = s.states + i * nz
        move(mem, at, z, 0, nz)
        for j in range(i):
            weight = A[i * stages + j]
            if weight != 0.0:
                add_row(mem, at, s.slopes + j * nz, h * weight, nz)
        slope = s.slopes + i * nz
        rates(plan, mem, t + c[i] * h, mem[at : at + nz], mem[slope : slope + nz])
    return 0


@jit(i8(Plan, Floats, Sweep, f8, f8, Floats, Floats, Floats))
def _pull_step(plan, mem, s, t, h, A, b, c):
    """lam at the end of a step, before its projection, to lam at its start."""
    n, nz, stages = plan.nq + plan.nu, plan.nz, s.n_stages
    for i in range(stages - 1, -1, -1):
        at = s.states + i * nz
        _stand(plan, mem, s, t + c[i] * h, mem[at : at + nz])
        for r in range(n):
            mem[s.w + r] = h * b[i] * mem[s.lam + r]
        for j in range(i + 1, stages):
            weight = A[j * stages + i]
            if weight != 0.0:
                add_row(mem, s.w, s.pulls + j * n, h * weight, n)
        if not _pull(plan, mem, s, s.stage, h * b[i]) > RECHOOSE:
            return UNSOUND
        move(mem, s.pulls + i * n, mem, s.out, n)
    for i in range(stages):
        add_row(mem, s.lam, s.pulls + i * n, 1.0, n)
    return OK


@jit(i8(Plan, Floats, Sweep, Floats, Floats, Floats, Floats, Floats))
def sweep_back(plan, mem, s, ts, zs, A, b, c):
    """lam and dJ/dp from the end of a motion to its start; UNSOUND if constraints come near to being dependent."""
    n, nz, last = plan.nq + plan.nu, plan.nz, ts.size - 1
    for r in range(n):
        mem[s.w + r] = 0.0
    _stand(plan, mem, s, ts[last], zs[last * nz : (last + 1) * nz])
    if not _pull(plan, mem, s, s.final, 1.0) > RECHOOSE:
        return UNSOUND
    move(mem, s.lam, mem, s.out, n)
    for k in range(last - 1, -1, -1):
        if s.tangent:
            _stand(plan, mem, s, ts[k + 1], zs[(k + 1) * nz : (k + 2) * nz])
            move(mem, s.w, mem, s.lam, n)
            if not _pull(plan, mem, s, s.tangent, 0.0) > TRUSTED:
                return UNSOUND
            move(mem, s.lam, mem, s.out, n)
        t, h = ts[k], ts[k + 1] - ts[k]
        _replay(plan, mem, s, t, h, zs[k * nz : (k + 1) * nz], A, c)
        if _pull_step(plan, mem, s, t, h, A, b, c) != OK:
            return UNSOUND
    return OK


def adjoint(
    engine: Any, tableau: Any, t: np.ndarray, z: np.ndarray, kernels: tuple[int, int, int]
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Value of a cost, dJ/dz at the start (nq + nu,) and dJ/dp (np,); None if constraints come near to being dependent.

    t (nt,) and z (nt, nz) are all states after steps; `kernels` are the addresses of those in `Sweep`.
    """
    plan, work, stages = engine.plan, engine.work, tableau.stages
    n, n_p = engine.size, len(engine.parameters)
    s = Sweep(n_params=n_p, n_stages=stages)
    s.stage, s.final, s.tangent = kernels
    s.n_x = plan.options + len(engine.drift.options(engine.system, None)) - plan.x
    sizes = {"states": stages * engine.nz, "slopes": stages * engine.nz, "pulls": stages * n, "lam": n, "grad": n_p}
    work.reserve(s, {"x": s.n_x + n + 1, "out": n + n_p + 2, **sizes})
    s.w = s.x + s.n_x
    tables = [np.ascontiguousarray(table, dtype=float).ravel() for table in (tableau.A, tableau.b, tableau.c)]
    status = sweep_back(plan, work.mem, s, np.ascontiguousarray(t), np.ascontiguousarray(z).ravel(), *tables)
    if status != OK:
        return None
    return float(s.value), work.mem[s.lam : s.lam + n].copy(), work.mem[s.grad : s.grad + n_p].copy()
