"""One stage of a state-space method: integration formula and constraints in one Newton iteration.

Within a step the independent coordinates y = V_q^T q and w = V_u^T u are fixed by the singular value decompositions of
the position constraints and of all velocity constraints at its start (Wu, Zhang, Guo and Li). The rates are those of
the index-1 equations. An implicit Runge-Kutta stage with known part z* reads

    V^T (z - z* - h gamma z'(z)) = 0,   phi(q, t) = 0, h(q) = 0,   psi(q, u, t) = 0.

Newton's increments are d + T (dy, dw): d cancels the constraints by their pseudo-inverses, dependent positions first, then
dependent velocities; T spans what the constraints leave free. No equation is rearranged. The matrix
V^T (1 - h gamma z'_z) T is as small as the number of independent coordinates and speeds; z'_z comes from the implicit
function theorem on the index-1 equations, with exact derivatives.
"""

from __future__ import annotations

import math

from dalembert.numerics.evaluate import load_state, rates
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
from dalembert.numerics.linear.lu import factor_lu, solve_lu
from dalembert.numerics.linear.separation import separate, times
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

ITERATIONS = 12  # per matrix
REFRESHES = 2  # of the matrix within a stage
SLOW = 0.4  # contraction at which a new matrix is worth its price
TIGHT = 1e-13  # residual of constraints that is always good enough
LOOSE = 1e-11  # residual of constraints for which a new matrix is worth its price
STUCK = 1e-6  # residual of constraints that is never good enough; between, near singular positions, it is taken


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
    wanted = -1 if start else plan[I + RANK_Q]
    plan[I + RANK_Q] = separate(mem, P, m_q, nq, N_q, plan[I + INVERSE_Q], work, wanted)
    if plan[I + SHARED]:  # only position constraints and u = q': the decomposition of phi_q is that of psi_u
        plan[I + RANK_U] = plan[I + RANK_Q]
        move(mem, N_u, mem, N_q, nu * nu)
        move(mem, plan[I + INVERSE_U], mem, plan[I + INVERSE_Q], nu * m_u)
    else:
        wanted = -1 if start else plan[I + RANK_U]
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
            mem[T + (nq + i) * m + j] = times(mem, plan[I + INVERSE_U], m_u, i, v)
    for j in range(nu - r_u):
        column = nq - r_q + j
        for i in range(nq):
            mem[T + i * m + column] = 0.0
        for i in range(nu):
            mem[T + (nq + i) * m + column] = mem[N_u + i * nu + r_u + j]
    return m


@jit(i8(Ints, Floats, i8, i8))
def _onto_independent(plan, mem, vector, result):
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
    """V^T (1 - hg z'_z) T, (m, m), into REDUCED; loops run along rows."""
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
                for j in range(m):
                    mem[S + j] -= factor * mem[T + k * m + j]
        first, count = (0, free) if i < nq else (free, m - free)
        row = plan[I + V_Q] + i * nq + plan[I + RANK_Q] if i < nq else plan[I + V_U] + (i - nq) * nu + plan[I + RANK_U]
        for c in range(count):
            factor = mem[row + c]
            for j in range(m):
                mem[E + (first + c) * m + j] += factor * mem[S + j]
    return 0


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, i8))
def linearise(plan, mem, t, hg, z, zdot, start):
    """Make the reduced matrix V^T (1 - hg z'_z) T at (t, z) and factorise it; returns whether it is regular.

    `zdot` is overwritten by the rates. At the `start` of a step the independent coordinates are chosen anew.
    """
    I = plan[STEP_INTS]
    rates(plan, mem, t, z, zdot)
    call_kernel(plan[GRADIENTS_KERNEL], mem, plan[X], plan[I + GRADIENTS])
    _rate_jacobian(plan, mem)
    _separate(plan, mem, start)
    m = _span(plan, mem)
    _reduce(plan, mem, hg, m)
    return m == 0 or factor_lu(plan, mem, plan[I + REDUCED], m, I + ORDER) > 0.0


@jit(f8(Ints, Floats))
def _normal(plan, mem):
    """d that cancels the constraints to first order: positions, then velocities; returns their largest residual."""
    I = plan[STEP_INTS]
    nq, nu, n, m_q = plan[NQ], plan[NU], plan[NP], plan[NP] + plan[NI]
    m_u, g, d, v = n + plan[NV], plan[I + LEVELS], plan[I + NORMAL], plan[I + VECTOR]
    psi_q = plan[I + GRADIENTS] + nq * nq + nq * nu + m_q * nq
    call_kernel(plan[LEVELS_KERNEL], mem, plan[X], g)
    worst = 0.0
    for k in range(m_q + m_u):
        if not math.isfinite(mem[g + k]):
            return math.inf
        worst = max(worst, abs(mem[g + k]))
    for i in range(nq):
        mem[d + i] = -times(mem, plan[I + INVERSE_Q], m_q, i, g)
    for k in range(m_u):
        mem[v + k] = -mem[g + m_q + k] - times(mem, psi_q, nq, k, d)
    for i in range(nu):
        mem[d + nq + i] = times(mem, plan[I + INVERSE_U], m_u, i, v)
    return worst


@jit(i8(Ints, Floats, i8, i8))
def _tangent(plan, mem, vector, result):
    """result = T (V^T (1 - hg z'_z) T)^-1 V^T vector, with the factors at hand."""
    I = plan[STEP_INTS]
    n, c = plan[NQ] + plan[NU], plan[I + UNKNOWN]
    m = n - plan[I + RANK_Q] - plan[I + RANK_U]
    _onto_independent(plan, mem, vector, c)
    solve_lu(plan, mem, plan[I + REDUCED], m, I + ORDER, c)
    for i in range(n):
        mem[result + i] = times(mem, plan[I + TANGENT], m, i, c)
    return 0


@jit(f8(Ints, Floats, f8, Floats, Floats, f8, f8))
def _improve(plan, mem, hg, z, zdot, rtol, atol):
    """One Newton step of z = (q, u), whose rates are `zdot` and whose d is at hand; returns the size of the step."""
    I = plan[STEP_INTS]
    n, J, d = plan[NQ] + plan[NU], plan[I + RATE_JACOBIAN], plan[I + NORMAL]
    known, v = plan[I + KNOWN], plan[I + VECTOR]
    for i in range(n):
        rest = z[i] - mem[known + i] - hg * zdot[i]
        mem[v + i] = hg * times(mem, J, n, i, d) - mem[d + i] - rest
    _tangent(plan, mem, v, v)
    size = 0.0
    for i in range(n):
        change = mem[v + i] + mem[d + i]
        z[i] += change
        size += (change / (atol + rtol * abs(z[i]))) ** 2
    return math.sqrt(size / n)


@jit(i8(Ints, Floats, Floats))
def _at_round_off(plan, mem, z):
    """Whether d is below what the states can resolve."""
    nq, n, d = plan[NQ], plan[NQ] + plan[NU], plan[plan[STEP_INTS] + NORMAL]
    far_q = far_u = large_q = large_u = 0.0
    for i in range(n):
        if i < nq:
            far_q, large_q = max(far_q, abs(mem[d + i])), max(large_q, abs(z[i]))
        else:
            far_u, large_u = max(far_u, abs(mem[d + i])), max(large_u, abs(z[i]))
    return far_q <= 1e-15 * large_q and far_u <= 1e-15 * large_u


@jit(f8(Ints, Floats, f8, Floats))
def _settle(plan, mem, t, z):
    """Bring the constraints to round-off, the integration formula being solved; returns what is left of them, 0 if less.

    The increments d are normal to the independent coordinates, which therefore stay.
    """
    n, d = plan[NQ] + plan[NU], plan[plan[STEP_INTS] + NORMAL]
    before = math.inf
    for _ in range(ITERATIONS):
        load_state(plan, mem, t, z)
        worst = _normal(plan, mem)
        if worst <= TIGHT or _at_round_off(plan, mem, z):
            return 0.0
        if worst > 0.5 * before:
            return worst
        for i in range(n):
            z[i] += mem[d + i]
        before = worst
    return before


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, f8, f8))
def _iterate(plan, mem, t, hg, z, zdot, rtol, atol):
    """Newton's iteration with the matrix at hand; returns 1 if it converged, 0 if it is slow, -1 if it broke down."""
    size = math.inf
    for k in range(ITERATIONS):
        rates(plan, mem, t, z, zdot)
        if not math.isfinite(_normal(plan, mem)):
            return -1
        before, size = size, _improve(plan, mem, hg, z, zdot, rtol, atol)
        if not math.isfinite(size):
            return -1
        rate = size / before if k else 1.0
        if size <= 1e-3 or (rate < 1.0 and size * rate <= 1.0 - rate):
            return 1
        if k and rate > SLOW and (rate > 1.0 or k > 2):
            return 0
    return 0


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, f8, f8, i8))
def solve_stage(plan, mem, t, hg, z, zdot, rtol, atol, last):
    """Solve a stage for z, from the guess in it; leaves its rates in `zdot`. Returns whether that succeeded.

    The known part is in mem[KNOWN]. In the `last` stage the constraints are kept to round-off.
    """
    I = plan[STEP_INTS]
    nq, nu, known, v, c = plan[NQ], plan[NU], plan[I + KNOWN], plan[I + VECTOR], plan[I + UNKNOWN]
    solved = 0
    for refresh in range(REFRESHES + 1):
        if refresh and not linearise(plan, mem, t, hg, z, zdot, 0):
            return 0
        found = _iterate(plan, mem, t, hg, z, zdot, rtol, atol)
        if found < 0:
            return 0
        if found:
            left = _settle(plan, mem, t, z) if last else 0.0
            solved = left <= LOOSE if refresh < REFRESHES else left <= STUCK
            if solved:
                break
    if not solved:
        return 0
    # Rates of independent coordinates follow from the formula itself: stiffness does not amplify what is left of errors.
    for i in range(nq + nu):
        mem[v + i] = (z[i] - mem[known + i]) / hg - zdot[i]
    _onto_independent(plan, mem, v, c)
    r_q, r_u = plan[I + RANK_Q], plan[I + RANK_U]
    for i in range(nq):
        for j in range(nq - r_q):
            zdot[i] += mem[plan[I + V_Q] + i * nq + r_q + j] * mem[c + j]
    for i in range(nu):
        for j in range(nu - r_u):
            zdot[nq + i] += mem[plan[I + V_U] + i * nu + r_u + j] * mem[c + nq - r_q + j]
    return 1


@jit(f8(Ints, Floats, Floats, Floats, f8, f8))
def error_norm(plan, mem, z, znew, rtol, atol):
    """Size of the error in mem[NORMAL] along the constraints, its stiff parts damped as by the matrix of the step."""
    n, e = plan[NQ] + plan[NU], plan[plan[STEP_INTS] + NORMAL]
    _tangent(plan, mem, e, e)
    total = 0.0
    for i in range(n):
        total += (mem[e + i] / (atol + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    return math.sqrt(total / n)
