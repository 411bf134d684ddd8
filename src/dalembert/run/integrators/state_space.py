"""One stage of a state-space method: integration formula and constraints in one Newton iteration.

Within a step the independent coordinates y = V_q^T q and w = V_u^T u are fixed by the singular value decompositions of
the position constraints and of all velocity constraints at its start (Wu, Zhang, Guo and Li). The rates are those of
the index-1 equations. An implicit Runge-Kutta stage with known part z* reads

    V^T (z - z* - h gamma z'(z)) = 0,   phi(q, t) = 0, h(q) = 0,   psi(q, u, t) = 0.

Newton's increments are d + T (dy, dw): d cancels the constraints by their pseudo-inverses, dependent positions first,
then dependent velocities; T spans what the constraints leave free. No equation is rearranged. The matrix
V^T (1 - h gamma z'_z) T is as small as the number of independent coordinates and speeds; z'_z comes from the implicit
function theorem on the index-1 equations, with exact derivatives.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at
from dalembert.run.evaluate import load_state, rates
from dalembert.run.integrators.convergence import STUCK, TRUSTED_INCREMENT
from dalembert.run.integrators.state_space_matrix import linearise, onto_independent, state_space_work
from dalembert.run.rounded_rows import HELD_PRECISION
from dalembert.solve.lu import solve_lu
from dalembert.solve.rows import row_product

ITERATIONS_PER_MATRIX = 12
REFRESHES = 2  # of the matrix within a stage
STATE_SPACE_CONTRACTION = 0.4  # contraction at which a new matrix is worth its price
RENEWING_RESIDUAL = 1e-11  # residual of constraints for which a new matrix is worth its price


@jit(f8(Plan, Floats))
def _normal(plan, mem):
    """d that cancels the constraints to first order: positions, then velocities; returns the largest relative one."""
    I = state_space_work(plan.step_work)
    nq, nu, n, m_q = plan.nq, plan.nu, plan.np, plan.np + plan.ni
    m_u, g, d, v = n + plan.nv, I.levels, I.normal, I.vector
    psi_q = I.gradients + nq * nq + nq * nu + m_q * nq
    call_kernel(I.levels_kernel, mem, plan.x, g)
    worst = 0.0
    for k in range(m_q + m_u):
        if not math.isfinite(mem[g + k]):
            return math.inf
        row = k if k < n else k - plan.ni
        worst = max(worst, abs(mem[g + k]) / (1.0 if n <= k < m_q else mem[plan.row_sizes + row]))
    for i in range(nq):
        mem[d + i] = -row_product(mem, I.inverse_q + i * m_q, g, m_q)
    for k in range(m_u):
        mem[v + k] = -mem[g + m_q + k] - row_product(mem, psi_q + k * nq, d, nq)
    for i in range(nu):
        mem[d + nq + i] = row_product(mem, I.inverse_u + i * m_u, v, m_u)
    return worst


@jit(i8(Plan, Floats, i8, i8))
def _tangent(plan, mem, vector, result):
    """result = T (V^T (1 - hg z'_z) T)^-1 V^T vector, with the factors at hand."""
    ints = ints_at(plan.ints, plan.n_ints)
    I = state_space_work(plan.step_work)
    n, c = plan.nq + plan.nu, I.unknown
    m = n - I.rank_q - I.rank_u
    onto_independent(plan, mem, vector, c)
    solve_lu(ints, mem, I.reduced, m, I.order, c)
    for i in range(n):
        mem[result + i] = row_product(mem, I.tangent + i * m, c, m)
    return 0


@jit(f8(Plan, Floats, f8, Floats, Floats, f8, f8))
def _improve(plan, mem, hg, z, zdot, rtol, atol):
    """One Newton step of z = (q, u), whose rates are `zdot` and whose d is at hand; returns the size of the step."""
    I = state_space_work(plan.step_work)
    n, J, d = plan.nq + plan.nu, I.rate_jacobian, I.normal
    known, v = I.known, I.vector
    for i in range(n):
        rest = z[i] - mem[known + i] - hg * zdot[i]
        mem[v + i] = hg * row_product(mem, J + i * n, d, n) - mem[d + i] - rest
    _tangent(plan, mem, v, v)
    size, units = 0.0, floats_at(plan.units, n)
    for i in range(n):
        change = mem[v + i] + mem[d + i]
        z[i] += change
        size += (change / (atol * units[i] + rtol * abs(z[i]))) ** 2
    return math.sqrt(size / n)


@jit(i8(Plan, Floats, Floats))
def _at_round_off(plan, mem, z):
    """True if d is below the resolution of the states."""
    nq, n, d = plan.nq, plan.nq + plan.nu, state_space_work(plan.step_work).normal
    far_q = far_u = large_q = large_u = 0.0
    for i in range(n):
        if i < nq:
            far_q, large_q = max(far_q, abs(mem[d + i])), max(large_q, abs(z[i]))
        else:
            far_u, large_u = max(far_u, abs(mem[d + i])), max(large_u, abs(z[i]))
    return far_q <= 1e-15 * large_q and far_u <= 1e-15 * large_u


@jit(f8(Plan, Floats, f8, Floats))
def _settle(plan, mem, t, z):
    """Bring the constraints to round-off with the integration formula solved. Returns the residual, 0 if below.

    The increments d are normal to the independent coordinates, which therefore stay.
    """
    n, d = plan.nq + plan.nu, state_space_work(plan.step_work).normal
    before = math.inf
    for _ in range(ITERATIONS_PER_MATRIX):
        load_state(plan, mem, t, z)
        worst = _normal(plan, mem)
        if worst <= HELD_PRECISION or _at_round_off(plan, mem, z):
            return 0.0
        if worst > 0.5 * before:
            return worst
        for i in range(n):
            z[i] += mem[d + i]
        before = worst
    return before


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, f8, f8))
def _iterate(plan, mem, t, hg, z, zdot, rtol, atol):
    """Newton's iteration with the matrix at hand; returns 1 if it converged, 0 if it is slow, -1 if it broke down."""
    size = math.inf
    for k in range(ITERATIONS_PER_MATRIX):
        rates(plan, mem, t, z, zdot)
        if not math.isfinite(_normal(plan, mem)):
            return -1
        before, size = size, _improve(plan, mem, hg, z, zdot, rtol, atol)
        if not math.isfinite(size):
            return -1
        rate = size / before if k else 1.0
        if size <= 1e-3 or (rate < 1.0 and size < TRUSTED_INCREMENT and size * rate <= 1.0 - rate):
            return 1
        if k and rate > STATE_SPACE_CONTRACTION and (rate > 1.0 or k > 2):
            return 0
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, f8, f8, i8))
def solve_stage(plan, mem, t, hg, z, zdot, rtol, atol, last):
    """Solve a stage for z, from the guess in it; leaves its rates in `zdot`. Returns whether that succeeded.

    The known part is in mem[KNOWN]. In the `last` stage the constraints are kept to round-off.
    """
    I = state_space_work(plan.step_work)
    nq, nu, known, v, c = plan.nq, plan.nu, I.known, I.vector, I.unknown
    solved = 0
    for refresh in range(REFRESHES + 1):
        if refresh and not linearise(plan, mem, t, hg, z, zdot, 0):
            return 0
        found = _iterate(plan, mem, t, hg, z, zdot, rtol, atol)
        if found < 0:
            return 0
        if found:
            left = _settle(plan, mem, t, z) if last else 0.0
            solved = left <= RENEWING_RESIDUAL if refresh < REFRESHES else left <= STUCK
            if solved:
                break
    if not solved:
        return 0
    # Rates of independent coordinates follow from the formula itself: stiffness does not amplify residual errors.
    for i in range(nq + nu):
        mem[v + i] = (z[i] - mem[known + i]) / hg - zdot[i]
    onto_independent(plan, mem, v, c)
    r_q, r_u = I.rank_q, I.rank_u
    for i in range(nq):
        for j in range(nq - r_q):
            zdot[i] += mem[I.v_q + i * nq + r_q + j] * mem[c + j]
    for i in range(nu):
        for j in range(nu - r_u):
            zdot[nq + i] += mem[I.v_u + i * nu + r_u + j] * mem[c + nq - r_q + j]
    return 1


@jit(f8(Plan, Floats, Floats, Floats, f8, f8))
def error_norm(plan, mem, z, znew, rtol, atol):
    """Size of the error in mem[NORMAL] along the constraints, its stiff parts damped as by the matrix of the step."""
    n, e = plan.nq + plan.nu, state_space_work(plan.step_work).normal
    _tangent(plan, mem, e, e)
    total, units = 0.0, floats_at(plan.units, n)
    for i in range(n):
        total += (mem[e + i] / (atol * units[i] + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    return math.sqrt(total / n)
