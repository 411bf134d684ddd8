"""The reduced Newton matrix of a state-space method, and the singular value decompositions behind it.

See `state_space` for what it solves. z'_z follows from the index-1 equations F(q, u, u', la) = 0 by the implicit
function theorem, with exact derivatives.
"""

from __future__ import annotations

from dalembert.native.intrinsics import record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.native.types import ints
from dalembert.run.evaluate import rates
from dalembert.run.integrators.divided import Divided
from dalembert.solve.lu import factor_lu
from dalembert.solve.rows import add_row, row_product
from dalembert.solve.separation import separate
from dalembert.solve.solver import call_factor, call_solve


class StateSpaceWork(Divided):
    """Kernels and blocks of a state-space method."""

    _fields_ = (
        # Length of x; whether one decomposition serves positions and velocities; ranks of both.
        *ints("levels_kernel gradients_kernel sensitivity_kernel length shared rank_q rank_u"),
        # Blocks: the argument (x, a, la); phi, h, psi; their gradients; dF/d(q, u); z'_z; orthonormal bases at the
        # start of the step (V) and where the matrix was last made (N), dependent columns first; pseudo-inverses; T; the
        # matrix and its right-hand side; d; a vector; the known part z*; workspace of the decompositions and of a row
        # of products; row order of the reduced matrix (integers).
        *ints("argument levels gradients sensitivity rate_jacobian v_q v_u n_q n_u inverse_q inverse_u tangent"),
        *ints("reduced unknown normal vector known decomposition product order"),
    )


state_space_work = record_at(StateSpaceWork)


@jit(i8(Plan, Floats))
def _rate_jacobian(plan, mem):
    """z'_z (nq + nu, nq + nu) at the state in mem, whose u' and la have just been found."""
    I = state_space_work(plan.step_work)
    nq, nu, nc = plan.nq, plan.nu, plan.nc
    n, y, S, J, x = nq + nu, I.argument, I.sensitivity, I.rate_jacobian, plan.rhs
    move(mem, y, mem, plan.x, I.length)
    move(mem, y + I.length, mem, plan.udot, nu)
    move(mem, y + I.length + nu, mem, plan.multiplier, nc)
    call_kernel(I.sensitivity_kernel, mem, y, S)
    if plan.ideal:
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
    if plan.ideal or plan.iteration:  # otherwise the factors of the last solve are at hand
        call_factor(plan.factor_changes, (plan, mem, nc))
    for j in range(n):
        for i in range(nu + nc):
            mem[x + i] = -mem[S + i * n + j]
        call_solve(plan.solve_changes, (plan, mem, nc, x))
        for i in range(nu):
            mem[J + (nq + i) * n + j] = mem[x + i]
    G = I.gradients
    for i in range(nq):
        for j in range(nq):
            mem[J + i * n + j] = mem[G + i * nq + j]
        for j in range(nu):
            mem[J + i * n + nq + j] = mem[G + nq * nq + i * nu + j]
    return 0


@jit(i8(Plan, Floats, i8))
def _separate(plan, mem, start):
    """Bases N and pseudo-inverses at the state in mem; at the `start` of a step the ranks are found and V becomes N."""
    I = state_space_work(plan.step_work)
    nq, nu, m_q, m_u = plan.nq, plan.nu, plan.np + plan.ni, plan.np + plan.nv
    P = I.gradients + nq * nq + nq * nu
    A = P + m_q * nq + m_u * nq
    work, N_q, N_u = I.decomposition, I.n_q, I.n_u
    wanted = -start if start else I.rank_q
    I.rank_q = separate(mem, P, m_q, nq, N_q, I.inverse_q, work, wanted)
    if I.shared:  # only position constraints and u = q': the decomposition of phi_q is that of psi_u
        I.rank_u = I.rank_q
        move(mem, N_u, mem, N_q, nu * nu)
        move(mem, I.inverse_u, mem, I.inverse_q, nu * m_u)
    else:
        wanted = -start if start else I.rank_u
        I.rank_u = separate(mem, A, m_u, nu, N_u, I.inverse_u, work, wanted)
    if start:
        move(mem, I.v_q, mem, N_q, nq * nq)
        move(mem, I.v_u, mem, N_u, nu * nu)
    return 0


@jit(i8(Plan, Floats))
def _span(plan, mem):
    """T = [N_q 0; -A^+ psi_q N_q, N_u], (nq + nu, m); returns m."""
    I = state_space_work(plan.step_work)
    nq, nu, m_u = plan.nq, plan.nu, plan.np + plan.nv
    T, N_q, N_u, v = I.tangent, I.n_q, I.n_u, I.vector
    psi_q = I.gradients + nq * nq + nq * nu + (plan.np + plan.ni) * nq
    r_q, r_u = I.rank_q, I.rank_u
    m = nq - r_q + nu - r_u
    for j in range(nq - r_q):
        for k in range(m_u):
            total = 0.0
            for i in range(nq):
                total -= mem[psi_q + k * nq + i] * mem[N_q + i * nq + r_q + j]
            mem[v + k] = total
        for i in range(nq):
            mem[T + i * m + j] = mem[N_q + i * nq + r_q + j]
        for i in range(nu):
            mem[T + (nq + i) * m + j] = row_product(mem, I.inverse_u + i * m_u, v, m_u)
    for j in range(nu - r_u):
        column = nq - r_q + j
        for i in range(nq):
            mem[T + i * m + column] = 0.0
        for i in range(nu):
            mem[T + (nq + i) * m + column] = mem[N_u + i * nu + r_u + j]
    return m


@jit(i8(Plan, Floats, i8, i8))
def onto_independent(plan, mem, vector, result):
    """V^T times a vector (nq + nu): its independent components (m)."""
    I = state_space_work(plan.step_work)
    nq, nu, V_q, V_u = plan.nq, plan.nu, I.v_q, I.v_u
    r_q, r_u = I.rank_q, I.rank_u
    for j in range(nq - r_q):
        total = 0.0
        for i in range(nq):
            total += mem[V_q + i * nq + r_q + j] * mem[vector + i]
        mem[result + j] = total
    for j in range(nu - r_u):
        total = 0.0
        for i in range(nu):
            total += mem[V_u + i * nu + r_u + j] * mem[vector + nq + i]
        mem[result + nq - r_q + j] = total
    return 0


@jit(i8(Plan, Floats, f8, i8))
def _reduce(plan, mem, hg, m):
    """V^T (1 - hg z'_z) T, (m, m), into REDUCED."""
    I = state_space_work(plan.step_work)
    nq, nu = plan.nq, plan.nu
    n, J, T, E, S = nq + nu, I.rate_jacobian, I.tangent, I.reduced, I.product
    free = nq - I.rank_q
    for i in range(m * m):
        mem[E + i] = 0.0
    for i in range(n):
        for j in range(m):
            mem[S + j] = mem[T + i * m + j]
        for k in range(n):
            factor = hg * mem[J + i * n + k]
            if factor != 0.0:
                add_row(mem, S, T + k * m, -factor, m)
        first, count = (0, free) if i < nq else (free, m - free)
        row = I.v_q + i * nq + I.rank_q if i < nq else I.v_u + (i - nq) * nu + I.rank_u
        for c in range(count):
            add_row(mem, E + (first + c) * m, S, mem[row + c], m)
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, i8))
def linearise(plan, mem, t, hg, z, zdot, start):
    """Make the reduced matrix V^T (1 - hg z'_z) T at (t, z) and factorise it; returns whether it is regular.

    `zdot` is overwritten by the rates. At the `start` of a step (1; 2: near-singular directions count as
    independent) the independent coordinates are chosen anew.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    I = state_space_work(plan.step_work)
    rates(plan, mem, t, z, zdot)
    call_kernel(I.gradients_kernel, mem, plan.x, I.gradients)
    _rate_jacobian(plan, mem)
    _separate(plan, mem, start)
    m = _span(plan, mem)
    _reduce(plan, mem, hg, m)
    return m == 0 or factor_lu(ints, mem, I.reduced, m, I.order) > 0.0
