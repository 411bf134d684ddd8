"""The reduced Newton matrix of a state-space method, and the singular value decompositions behind it.

See `state_space` for what it solves. z'_z follows from the index-1 equations F(q, u, u', la) = 0 by the implicit
function theorem, with exact derivatives.
"""

from __future__ import annotations

from dalembert.numerics.evaluate import rates
from dalembert.numerics.integrators.blocks import FIRST
from dalembert.numerics.layout import (
    DIRECTION,
    DYNAMICS,
    JACOBIAN,
    MULTIPLIER,
    NC,
    NI,
    NP,
    NQ,
    NU,
    NV,
    OUT,
    RHS,
    STEP_INTS,
    STEP_KERNELS,
    UDOT,
    Floats,
    Ints,
    X,
    call_kernel,
    f8,
    i8,
    move,
)
from dalembert.numerics.linear.general import solve_general
from dalembert.numerics.linear.lu import factor_lu
from dalembert.numerics.linear.rows import add_row, row_product
from dalembert.numerics.linear.separation import separate
from dalembert.numerics.linear.symmetric import factor_saddle, solve_saddle
from dalembert.numerics.native_cache import jit

LEVELS_KERNEL, GRADIENTS_KERNEL, SENSITIVITY_KERNEL = range(STEP_KERNELS, STEP_KERNELS + 3)
# Blocks of floats: the argument (x, a, la); phi, h, psi; their gradients; dF/d(q, u); z'_z; orthonormal bases at the
# start of the step (V) and where the matrix was last made (N), dependent columns first; pseudo-inverses; T; the matrix
# and its right-hand side; d; a vector; the known part z*; workspace of the decompositions and of
# a row of products.
(
    ARGUMENT, LEVELS, GRADIENTS, SENSITIVITY, RATE_JACOBIAN, V_Q, V_U, N_Q, N_U, INVERSE_Q, INVERSE_U, TANGENT, REDUCED,
    UNKNOWN, NORMAL, VECTOR, KNOWN, DECOMPOSITION, PRODUCT, BLOCKS,
) = range(FIRST, FIRST + 20)  # fmt: skip
# Ints behind the places of the blocks: length of x; whether one decomposition serves positions and velocities; ranks of
# both; row order of the reduced matrix.
LENGTH, SHARED, RANK_Q, RANK_U, ORDER = range(BLOCKS, BLOCKS + 5)


@jit(i8(Ints, Floats))
def _rate_jacobian(plan, mem):
    """z'_z (nq + nu, nq + nu) at the state in mem, whose u' and la have just been found."""
    I = plan[STEP_INTS]
    nq, nu, nc = plan[NQ], plan[NU], plan[NC]
    n, y, S, J, x = nq + nu, plan[I + ARGUMENT], plan[I + SENSITIVITY], plan[I + RATE_JACOBIAN], plan[RHS]
    move(mem, y, mem, plan[X], plan[I + LENGTH])
    move(mem, y + plan[I + LENGTH], mem, plan[UDOT], nu)
    move(mem, y + plan[I + LENGTH] + nu, mem, plan[MULTIPLIER], nc)
    ideal = plan[DIRECTION] == plan[JACOBIAN]
    call_kernel(plan[SENSITIVITY_KERNEL], mem, y, S)
    if ideal:  # otherwise the factors of the last solve are at hand
        call_kernel(plan[DYNAMICS], mem, plan[X], plan[OUT])
        factor_saddle(plan, mem, nc)
    for j in range(n):
        for i in range(nu + nc):
            mem[x + i] = -mem[S + i * n + j]
        if ideal:
            solve_saddle(plan, mem, nc, x)
        else:
            solve_general(plan, mem, x)
        for i in range(nu):
            mem[J + (nq + i) * n + j] = mem[x + i]
    G = plan[I + GRADIENTS]
    for i in range(nq):
        for j in range(nq):
            mem[J + i * n + j] = mem[G + i * nq + j]
        for j in range(nu):
            mem[J + i * n + nq + j] = mem[G + nq * nq + i * nu + j]
    return 0


@jit(i8(Ints, Floats, i8))
def _separate(plan, mem, start):
    """Bases N and pseudo-inverses at the state in mem; at the `start` of a step the ranks are found and V becomes N."""
    I = plan[STEP_INTS]
    nq, nu, m_q, m_u = plan[NQ], plan[NU], plan[NP] + plan[NI], plan[NP] + plan[NV]
    P = plan[I + GRADIENTS] + nq * nq + nq * nu
    A = P + m_q * nq + m_u * nq
    work, N_q, N_u = plan[I + DECOMPOSITION], plan[I + N_Q], plan[I + N_U]
    wanted = -start if start else plan[I + RANK_Q]
    plan[I + RANK_Q] = separate(mem, P, m_q, nq, N_q, plan[I + INVERSE_Q], work, wanted)
    if plan[I + SHARED]:  # only position constraints and u = q': the decomposition of phi_q is that of psi_u
        plan[I + RANK_U] = plan[I + RANK_Q]
        move(mem, N_u, mem, N_q, nu * nu)
        move(mem, plan[I + INVERSE_U], mem, plan[I + INVERSE_Q], nu * m_u)
    else:
        wanted = -start if start else plan[I + RANK_U]
        plan[I + RANK_U] = separate(mem, A, m_u, nu, N_u, plan[I + INVERSE_U], work, wanted)
    if start:
        move(mem, plan[I + V_Q], mem, N_q, nq * nq)
        move(mem, plan[I + V_U], mem, N_u, nu * nu)
    return 0


@jit(i8(Ints, Floats))
def _span(plan, mem):
    """T = [N_q 0; -A^+ psi_q N_q, N_u], (nq + nu, m); returns m."""
    I = plan[STEP_INTS]
    nq, nu, m_u = plan[NQ], plan[NU], plan[NP] + plan[NV]
    T, N_q, N_u, v = plan[I + TANGENT], plan[I + N_Q], plan[I + N_U], plan[I + VECTOR]
    psi_q = plan[I + GRADIENTS] + nq * nq + nq * nu + (plan[NP] + plan[NI]) * nq
    r_q, r_u = plan[I + RANK_Q], plan[I + RANK_U]
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
            mem[T + (nq + i) * m + j] = row_product(mem, plan[I + INVERSE_U] + i * m_u, v, m_u)
    for j in range(nu - r_u):
        column = nq - r_q + j
        for i in range(nq):
            mem[T + i * m + column] = 0.0
        for i in range(nu):
            mem[T + (nq + i) * m + column] = mem[N_u + i * nu + r_u + j]
    return m


@jit(i8(Ints, Floats, i8, i8))
def onto_independent(plan, mem, vector, result):
    """V^T times a vector (nq + nu): its independent components (m)."""
    I = plan[STEP_INTS]
    nq, nu, V_q, V_u = plan[NQ], plan[NU], plan[I + V_Q], plan[I + V_U]
    r_q, r_u = plan[I + RANK_Q], plan[I + RANK_U]
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


@jit(i8(Ints, Floats, f8, i8))
def _reduce(plan, mem, hg, m):
    """V^T (1 - hg z'_z) T, (m, m), into REDUCED."""
    I = plan[STEP_INTS]
    nq, nu = plan[NQ], plan[NU]
    n, J, T, E, S = nq + nu, plan[I + RATE_JACOBIAN], plan[I + TANGENT], plan[I + REDUCED], plan[I + PRODUCT]
    free = nq - plan[I + RANK_Q]
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
        row = plan[I + V_Q] + i * nq + plan[I + RANK_Q] if i < nq else plan[I + V_U] + (i - nq) * nu + plan[I + RANK_U]
        for c in range(count):
            add_row(mem, E + (first + c) * m, S, mem[row + c], m)
    return 0


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, i8))
def linearise(plan, mem, t, hg, z, zdot, start):
    """Make the reduced matrix V^T (1 - hg z'_z) T at (t, z) and factorise it; returns whether it is regular.

    `zdot` is overwritten by the rates. At the `start` of a step (1; 2: near-singular directions count as
    independent) the independent coordinates are chosen anew.
    """
    I = plan[STEP_INTS]
    rates(plan, mem, t, z, zdot)
    call_kernel(plan[GRADIENTS_KERNEL], mem, plan[X], plan[I + GRADIENTS])
    _rate_jacobian(plan, mem)
    _separate(plan, mem, start)
    m = _span(plan, mem)
    _reduce(plan, mem, hg, m)
    return m == 0 or factor_lu(plan, mem, plan[I + REDUCED], m, I + ORDER) > 0.0
