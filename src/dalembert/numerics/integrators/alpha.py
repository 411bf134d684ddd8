"""The nonlinear equations of one generalized-alpha step with constraints, and Newton's method for them.

With acceleration-like a and the averages of Chung and Hulbert,

    s  = u0 + h (1/2 - beta) a0 + h beta a1 + Y eta        q1 = q0 + h q'(t + h/2, (q0 + q1)/2, s)
    u1 = u0 + h (1 - gamma) a0 + h gamma a1
    (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) u1' + alpha_f u0'
    M u1' = f + W^T la                                     phi(q1) = 0, psi(q1, u1) = 0, A u1' = b for acceleration rows

which is the stabilised index-2 form of Arnold, Bruels and Cardona (2015): eta, with Y = diag(1/M_ii) A^T, keeps
positions while la keeps velocities. For q' = u the second equation is q1 = q0 + h s; in general the midpoint takes the
place of their exponential map, and keeps the length of quaternions.

Unknowns are scaled by powers of h to increments of position size, p = beta h^2 da (Bottasso, Dopico, Trainelli 2008),
and by the masses, so that the matrix does not depend on h as h becomes small. Constraints may be redundant: a small
multiple of 1, as in `linear.symmetric`, stands for their zero block; Newton's iteration takes its effect away wherever
constraints are independent.
"""

from __future__ import annotations

import math

from dalembert.numerics.integrators.blocks import FIRST
from dalembert.numerics.layout import (
    NC,
    NFEV,
    NP,
    NQ,
    NU,
    NV,
    STEP_INTS,
    STEP_KERNELS,
    Floats,
    Ints,
    call_kernel,
    f8,
    i8,
    move,
)
from dalembert.numerics.linear.lu import factor_lu, solve_lu
from dalembert.numerics.linear.rows import row_product
from dalembert.numerics.linear.symmetric import PROXIMAL
from dalembert.numerics.native_cache import jit

KINEMATICS_KERNEL, BALANCE_KERNEL, JACOBIAN_KERNEL = range(STEP_KERNELS, STEP_KERNELS + 3)
# Blocks of floats: the argument (x, u', la) at the end of the step; x at its middle; q', q'_q, C there; residuals and
# their Jacobian; the matrix of q1; dq for increments (p, eta); Y; the Newton matrix, its right-hand side and the scales
# of its rows and columns; residual of q1; s; a, u', la at the start and at the end; the states these belong to;
# u' of the index-1 equations at the start and one step before; times and step lengths; the parameters of the method;
# errors of position and of u.
(
    ARGUMENT, MIDDLE, KINEMATICS, BALANCE, DERIVATIVE, FOLD, SLOPE, NORMALS, MATRIX, RIGHT, ROW_SCALE, COLUMN_SCALE,
    GAP, AVERAGE, A_OLD, V_OLD, LA_OLD, A_START, A_NEW, V_NEW, LA_NEW, Z_OLD, Z_NEW, RATE, RATE_BEFORE, CLOCK, NUMBERS,
    ERRORS, BLOCKS,
) = range(FIRST, FIRST + 29)  # fmt: skip
# In CLOCK: times the stored vectors belong to, the steps they were made with, the step of the matrix at hand (0: none).
T_OLD, T_NEW, H_OLD, H_NEW, H_MATRIX, CLOCK_SIZE = range(6)
# In NUMBERS.
ALPHA_M, ALPHA_F, BETA, GAMMA, ERROR_Q, ERROR_U, NUMBERS_SIZE = range(7)
# Ints behind the places of the blocks: length of x, row orders of the two matrices.
LENGTH, ORDER = BLOCKS, BLOCKS + 1

ITERATIONS = 25
NEAR = 10.0  # size of increments, in units of the tolerances, from which on their contraction can be trusted
SLOW = 0.3  # contraction at which a new matrix is worth its price
PROMPT = 4  # iterations up to which a matrix is good for the next step too
TIGHT = 1e-13  # residual of constraints that is always good enough
FLOOR = 1e-7  # relative size of increments that can be due to round-off
STUCK = 1e-6  # residual of constraints that is never good enough


@jit(i8(Ints, Floats, f8, f8, Floats, Floats))
def evaluate(plan, mem, t, h, z, znew):
    """Kinematics at the middle, what is left of q1 = q0 + h q', and the residuals at the end of the step."""
    I = plan[STEP_INTS]
    nq, nu = plan[NQ], plan[NU]
    x, y, k = plan[I + MIDDLE], plan[I + ARGUMENT], plan[I + KINEMATICS]
    mem[x] = t + 0.5 * h
    for i in range(nq):
        mem[x + 1 + i] = 0.5 * (z[i] + znew[i])
    move(mem, x + 1 + nq, mem, plan[I + AVERAGE], nu)
    call_kernel(plan[KINEMATICS_KERNEL], mem, x, k)
    for i in range(nq):
        mem[plan[I + GAP] + i] = znew[i] - z[i] - h * mem[k + i]
    mem[y] = t + h
    move(mem, y + 1, znew, 0, nq + nu)
    move(mem, y + plan[I + LENGTH], mem, plan[I + V_NEW], nu)
    move(mem, y + plan[I + LENGTH] + nu, mem, plan[I + LA_NEW], plan[NC])
    call_kernel(plan[BALANCE_KERNEL], mem, y, plan[I + BALANCE])
    plan[NFEV] += 1
    return 0


@jit(i8(Ints, Floats))
def _scale(plan, mem):
    """Scales of rows and columns from the masses and the lengths of A and W; Y from A."""
    I = plan[STEP_INTS]
    nq, nu, nc, n = plan[NQ], plan[NU], plan[NC], plan[NP]
    width, J, rows, columns = nq + 2 * nu + nc, plan[I + DERIVATIVE], plan[I + ROW_SCALE], plan[I + COLUMN_SCALE]
    largest = 0.0
    for i in range(nu):
        largest = max(largest, abs(mem[J + i * width + nq + nu + i]))
    largest = largest if largest > 0.0 else 1.0
    for i in range(nu):
        mass = abs(mem[J + i * width + nq + nu + i])
        mem[rows + i] = 1.0 / math.sqrt(mass if mass > 1e-24 * largest else largest)
        mem[columns + i] = mem[rows + i]
    for k in range(nc):
        start = J + (nu + n + k) * width + nq + (0 if k < n + plan[NV] else nu)
        along = across = 0.0
        for i in range(nu):
            along += (mem[start + i] * mem[rows + i]) ** 2
            across += (mem[J + i * width + nq + 2 * nu + k] * mem[rows + i]) ** 2
        mem[rows + nu + k] = 1.0 / math.sqrt(along) if along > 0.0 else 1.0
        mem[columns + nu + k] = 1.0 / math.sqrt(across) if across > 0.0 else 1.0
        if k < n:
            mem[rows + nu + nc + k] = mem[rows + nu + k]
            mem[columns + nu + nc + k] = 1.0
            for i in range(nu):
                Y = mem[start + i] * mem[rows + i] ** 2 * mem[rows + nu + k]
                mem[plan[I + NORMALS] + i * n + k] = Y
    return 0


@jit(i8(Ints, Floats, f8))
def _slope(plan, mem, h):
    """dq = SLOPE (p, eta), (nq, nu + np): C (1, Y), with the change of the middle counted."""
    I = plan[STEP_INTS]
    nq, nu, n = plan[NQ], plan[NU], plan[NP]
    k, B, S, Y, g = plan[I + KINEMATICS] + nq, plan[I + FOLD], plan[I + SLOPE], plan[I + NORMALS], plan[I + RIGHT]
    order = I + ORDER + nu + plan[NC] + n
    for i in range(nq):
        for j in range(nq):
            mem[B + i * nq + j] = (1.0 if i == j else 0.0) - 0.5 * h * mem[k + i * nq + j]
    if not factor_lu(plan, mem, B, nq, order) > 0.0:
        return 0
    for j in range(nu + n):
        for i in range(nq):
            row = k + nq * nq + i * nu
            if j < nu:
                mem[g + i] = mem[row + j]
            else:
                total = 0.0
                for l in range(nu):
                    total += mem[row + l] * mem[Y + l * n + j - nu]
                mem[g + i] = total
        solve_lu(plan, mem, B, nq, order, g)
        for i in range(nq):
            mem[S + i * (nu + n) + j] = mem[g + i]
    return 1


@jit(i8(Ints, Floats, f8, i8, i8, f8, f8, i8))
def _fill_row(plan, mem, h, row, source, weight, weight_u, level):
    """One row of the Newton matrix from row `source` of the Jacobian: weights of q and u; `level` 2 with u' and la."""
    I = plan[STEP_INTS]
    nq, nu, nc, n = plan[NQ], plan[NU], plan[NC], plan[NP]
    width, size = nq + 2 * nu + nc, nu + nc + n
    J, K, S = plan[I + DERIVATIVE] + source * width, plan[I + MATRIX] + row * size, plan[I + SLOPE]
    rows, columns = plan[I + ROW_SCALE], plan[I + COLUMN_SCALE]
    for j in range(size):
        total = 0.0
        if j < nu or j >= nu + nc:
            slope = S + (j if j < nu else j - nc)
            for l in range(nq):
                total += mem[J + l] * mem[slope + l * (nu + n)]
            total *= weight
        if j < nu:
            total += weight_u * mem[J + nq + j]
            if level == 2:
                total += mem[J + nq + nu + j]
        elif j < nu + nc and level == 2:
            total += mem[J + nq + nu + j]
        mem[K + j] = total * mem[rows + row] * mem[columns + j]
    return 0


@jit(i8(Ints, Floats, f8))
def make_matrix(plan, mem, h):
    """The Newton matrix at the state last evaluated, factorised; returns whether it is regular."""
    I = plan[STEP_INTS]
    nu, nc, n = plan[NU], plan[NC], plan[NP]
    size, K, c = nu + nc + n, plan[I + MATRIX], plan[I + NUMBERS]
    beta, gamma, ratio = mem[c + BETA], mem[c + GAMMA], (1.0 - mem[c + ALPHA_M]) / (1.0 - mem[c + ALPHA_F])
    call_kernel(plan[JACOBIAN_KERNEL], mem, plan[I + ARGUMENT], plan[I + DERIVATIVE])
    _scale(plan, mem)
    if not _slope(plan, mem, h):
        return 0
    for i in range(nu):
        _fill_row(plan, mem, h, i, i, beta * h * h / ratio, gamma * h / ratio, 2)
    for k in range(nc):
        if k < n + plan[NV]:
            _fill_row(plan, mem, h, nu + k, nu + n + k, beta * h / gamma, 1.0, 1)
        else:
            _fill_row(plan, mem, h, nu + k, nu + n + k, beta * h * h / ratio, gamma * h / ratio, 2)
        mem[K + (nu + k) * size + nu + k] += PROXIMAL
    for k in range(n):
        _fill_row(plan, mem, h, nu + nc + k, nu + k, 1.0, 0.0, 0)
        mem[K + (nu + nc + k) * size + nu + nc + k] += PROXIMAL
    return factor_lu(plan, mem, K, size, I + ORDER) > 0.0


@jit(i8(Ints, Floats, f8))
def _solve(plan, mem, h):
    """(p, la, eta) into RIGHT, scaled back, and B^-1 times the residual of q1 into GAP."""
    I = plan[STEP_INTS]
    nq, nu, nc, n = plan[NQ], plan[NU], plan[NC], plan[NP]
    size, width, c = nu + nc + n, nq + 2 * nu + nc, plan[I + NUMBERS]
    J, r, x, g = plan[I + DERIVATIVE], plan[I + BALANCE], plan[I + RIGHT], plan[I + GAP]
    ratio = (1.0 - mem[c + ALPHA_M]) / (1.0 - mem[c + ALPHA_F])
    solve_lu(plan, mem, plan[I + FOLD], nq, I + ORDER + size, g)
    for row in range(size):
        source = row if row < nu else (row + n if row < nu + nc else row - nc)
        weight = mem[c + BETA] * h * h / ratio
        if nu + n <= source < nu + n + n + plan[NV]:
            weight = mem[c + BETA] * h / mem[c + GAMMA]
        elif nu <= source < nu + n:
            weight = 1.0
        rest = mem[r + source] - row_product(mem, J + source * width, g, nq)
        mem[x + row] = -weight * rest * mem[plan[I + ROW_SCALE] + row]
    solve_lu(plan, mem, plan[I + MATRIX], size, I + ORDER, x)
    for j in range(size):
        mem[x + j] *= mem[plan[I + COLUMN_SCALE] + j]
    return 0


@jit(f8(Ints, Floats, f8, Floats, f8, f8))
def improve(plan, mem, h, znew, rtol, atol):
    """One Newton step with the matrix at hand; returns its size in units of the tolerances."""
    I = plan[STEP_INTS]
    nq, nu, nc, n, c = plan[NQ], plan[NU], plan[NC], plan[NP], plan[I + NUMBERS]
    beta, gamma, ratio = mem[c + BETA], mem[c + GAMMA], (1.0 - mem[c + ALPHA_M]) / (1.0 - mem[c + ALPHA_F])
    p, g, S, Y, to_a = plan[I + RIGHT], plan[I + GAP], plan[I + SLOPE], plan[I + NORMALS], 1.0 / (beta * h * h)
    _solve(plan, mem, h)
    eta = p + nu + nc
    size = 0.0
    for i in range(nq):
        row = S + i * (nu + n)
        change = row_product(mem, row, p, nu) + row_product(mem, row + nu, eta, n) - mem[g + i]
        znew[i] += change
        size += (change / (atol + rtol * abs(znew[i]))) ** 2
    for i in range(nu):
        change = gamma * h * to_a * mem[p + i]
        znew[nq + i] += change
        size += (change / (atol + rtol * abs(znew[nq + i]))) ** 2
        mem[plan[I + A_NEW] + i] += to_a * mem[p + i]
        mem[plan[I + V_NEW] + i] += ratio * to_a * mem[p + i]
        mem[plan[I + AVERAGE] + i] += (mem[p + i] + row_product(mem, Y + i * n, eta, n)) / h
    for k in range(nc):
        mem[plan[I + LA_NEW] + k] += ratio * to_a * mem[p + nu + k]
    return math.sqrt(size / (nq + nu))


@jit(i8(Ints, Floats, i8))
def damp(plan, mem, e):
    """Put an error e (nu) of position or velocity through the Newton matrix: (M + .. h^2 K)^-1 M e, constraints kept.

    Leaves the error of slow motions as it is; in stiff directions, where the method does not follow the motion but
    damps it, takes away what is not there.
    """
    I = plan[STEP_INTS]
    nq, nu = plan[NQ], plan[NU]
    size, width, J, x = nu + plan[NC] + plan[NP], nq + 2 * nu + plan[NC], plan[I + DERIVATIVE], plan[I + RIGHT]
    for i in range(size):
        mem[x + i] = 0.0
    for i in range(nu):
        mem[x + i] = mem[plan[I + ROW_SCALE] + i] * row_product(mem, J + i * width + nq + nu, e, nu)
    solve_lu(plan, mem, plan[I + MATRIX], size, I + ORDER, x)
    for i in range(nu):
        mem[e + i] = mem[x + i] * mem[plan[I + COLUMN_SCALE] + i]
    return 0


@jit(f8(Ints, Floats))
def _constraint_residual(plan, mem):
    """Largest of phi and psi."""
    start, count = plan[plan[STEP_INTS] + BALANCE] + plan[NU], 2 * plan[NP] + plan[NV]
    worst = 0.0
    for k in range(start, start + count):
        worst = max(worst, abs(mem[k]))
    return worst


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, f8, f8))
def solve_step(plan, mem, t, h, z, znew, rtol, atol):
    """Newton's method from the prediction at hand, with the old matrix while it serves; whether it converged."""
    clock = plan[plan[STEP_INTS] + CLOCK]
    made = abs(mem[clock + H_MATRIX] - h) <= 1e-6 * h
    mem[clock + H_MATRIX] = 0.0  # no matrix to go on with, should this fail
    size, worst, age, small = math.inf, math.inf, 1, 0
    for k in range(ITERATIONS):
        evaluate(plan, mem, t, h, z, znew)
        last, worst = worst, _constraint_residual(plan, mem)
        if small:
            if worst <= TIGHT or (worst <= STUCK and worst > 0.5 * last and age == 0):
                mem[clock + H_MATRIX] = h if k <= PROMPT else 0.0
                return 1
            made = made and worst <= SLOW * last
        if not made:
            if not make_matrix(plan, mem, h):
                return 0
            made, age = True, -1
        age += 1
        before, size = size, improve(plan, mem, h, znew, rtol, atol)
        if not math.isfinite(size) or (size > 2.0 * before and age == 0 and k > 3):
            return 0
        # What is left is size^2 / (before - size) by the rate of contraction, which far away means nothing.
        small = size <= 1e-3 or (k > 0 and size < min(before, NEAR) and size * size <= before - size)
        # Next to singular positions round-off is amplified, and a fresh matrix cannot do better than that.
        small = small or (age == 0 and k > 2 and size > SLOW * before and size * rtol <= FLOOR)
        made = small or k == 0 or size <= SLOW * before
    return 0
