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
multiple of 1, as in `solve.dense`, replaces their zero block. Newton's iteration removes its effect wherever
constraints are independent. Where they share a load in proportions that may matter, as with friction, these are those
of the least multipliers where the step is guessed to end.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.run.evaluate import rates
from dalembert.run.integrators.alpha_nonzeros import (
    damp_over_nonzeros,
    improve_over_nonzeros,
    make_matrix_over_nonzeros,
)
from dalembert.run.integrators.alpha_workspace import alpha_work
from dalembert.run.integrators.convergence import STUCK, TRUSTED_INCREMENT
from dalembert.run.rounded_rows import HELD_PRECISION
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.lu import factor_lu, solve_lu
from dalembert.solve.rows import row_product

ALPHA_ITERATIONS = 25
ALPHA_CONTRACTION = 0.3  # contraction at which a new matrix is worth its price
ITERATIONS_TO_REUSE = 4  # iterations up to which a matrix is good for the next step too
ROUND_OFF_INCREMENT = 1e-7  # relative size of increments that can be due to round-off


@jit(i8(Plan, Floats, f8, f8, Floats, Floats))
def evaluate(plan, mem, t, h, z, znew):
    """Kinematics at the middle of the step, residual of q1 = q0 + h q', and the residuals at the end of the step."""
    I = alpha_work(plan.step_work)
    nq, nu = plan.nq, plan.nu
    x, y, k = I.middle, I.argument, I.kinematics
    mem[x] = t + 0.5 * h
    for i in range(nq):
        mem[x + 1 + i] = 0.5 * (z[i] + znew[i])
    move(mem, x + 1 + nq, mem, I.average, nu)
    call_kernel(I.kinematics_kernel, mem, x, k)
    for i in range(nq):
        mem[I.gap + i] = znew[i] - z[i] - h * mem[k + i]
    mem[y] = t + h
    move(mem, y + 1, znew, 0, nq + nu)
    move(mem, y + I.length, mem, I.v_new, nu)
    move(mem, y + I.length + nu, mem, I.la_new, plan.nc)
    call_kernel(I.balance_kernel, mem, y, I.balance)
    plan.nfev += 1
    return 0


@jit(i8(Plan, Floats))
def _scale(plan, mem):
    """Scales of rows and columns from the masses and the lengths of A and W; Y from A."""
    I = alpha_work(plan.step_work)
    nq, nu, nc, n = plan.nq, plan.nu, plan.nc, plan.np
    width, J, rows, columns = nq + 2 * nu + nc, I.derivative, I.row_scale, I.column_scale
    largest = 0.0
    for i in range(nu):
        largest = max(largest, abs(mem[J + i * width + nq + nu + i]))
    largest = largest if largest > 0.0 else 1.0
    for i in range(nu):
        mass = abs(mem[J + i * width + nq + nu + i])
        mem[rows + i] = 1.0 / math.sqrt(mass if mass > 1e-24 * largest else largest)
        mem[columns + i] = mem[rows + i]
    for k in range(nc):
        start = J + (nu + n + k) * width + nq + (0 if k < n + plan.nv else nu)
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
                mem[I.normals + i * n + k] = Y
    return 0


@jit(i8(Plan, Floats, f8))
def _slope(plan, mem, h):
    """dq = SLOPE (p, eta), (nq, nu + np): C (1, Y), with the change of the middle counted."""
    ints = ints_at(plan.ints, plan.n_ints)
    I = alpha_work(plan.step_work)
    nq, nu, n = plan.nq, plan.nu, plan.np
    k, B, S, Y, g = I.kinematics + nq, I.fold, I.slope, I.normals, I.right
    order = I.fold_order
    for i in range(nq):
        for j in range(nq):
            mem[B + i * nq + j] = (1.0 if i == j else 0.0) - 0.5 * h * mem[k + i * nq + j]
    if not factor_lu(ints, mem, B, nq, order) > 0.0:
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
        solve_lu(ints, mem, B, nq, order, g)
        for i in range(nq):
            mem[S + i * (nu + n) + j] = mem[g + i]
    return 1


@jit(i8(Plan, Floats, f8, i8, i8, f8, f8, i8))
def _fill_row(plan, mem, h, row, source, weight, weight_u, level):
    """One row of the Newton matrix from row `source` of the Jacobian: weights of q and u; `level` 2 with u' and la."""
    I = alpha_work(plan.step_work)
    nq, nu, nc, n = plan.nq, plan.nu, plan.nc, plan.np
    width, size = nq + 2 * nu + nc, nu + nc + n
    J, K, S = I.derivative + source * width, I.matrix + row * size, I.slope
    rows, columns = I.row_scale, I.column_scale
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


@jit(i8(Plan, Floats, f8))
def make_matrix(plan, mem, h):
    """The Newton matrix at the state last evaluated, factorised; returns whether it is regular."""
    ints = ints_at(plan.ints, plan.n_ints)
    I = alpha_work(plan.step_work)
    if I.newton_matrix:
        return make_matrix_over_nonzeros(plan, mem, h)
    nu, nc, n = plan.nu, plan.nc, plan.np
    size, K = nu + nc + n, I.matrix
    beta, gamma, ratio = I.beta, I.gamma, (1.0 - I.alpha_m) / (1.0 - I.alpha_f)
    call_kernel(I.jacobian_kernel, mem, I.argument, I.derivative)
    _scale(plan, mem)
    if not _slope(plan, mem, h):
        return 0
    for i in range(nu):
        _fill_row(plan, mem, h, i, i, beta * h * h / ratio, gamma * h / ratio, 2)
    for k in range(nc):
        if k < n + plan.nv:
            _fill_row(plan, mem, h, nu + k, nu + n + k, beta * h / gamma, 1.0, 1)
        else:
            _fill_row(plan, mem, h, nu + k, nu + n + k, beta * h * h / ratio, gamma * h / ratio, 2)
        mem[K + (nu + k) * size + nu + k] += PROXIMAL
    for k in range(n):
        _fill_row(plan, mem, h, nu + nc + k, nu + k, 1.0, 0.0, 0)
        mem[K + (nu + nc + k) * size + nu + nc + k] += PROXIMAL
    return factor_lu(ints, mem, K, size, I.order) > 0.0


@jit(i8(Plan))
def _share_load(plan):
    """Whether redundant constraints share a load in proportions that may matter to the motion."""
    return not plan.ideal and plan.chosen < plan.nc - plan.curved - plan.implied


@jit(i8(Plan, Floats, f8, Floats, Floats))
def predict_multipliers(plan, mem, t, z, spare):
    """First guess of la at (t, z), the guess of the end: those of the start, or the least ones if shares matter."""
    I = alpha_work(plan.step_work)
    move(mem, I.la_new, mem, I.la_old, plan.nc)
    if _share_load(plan):
        rates(plan, mem, t, z, spare)
        move(mem, I.la_new, mem, plan.multiplier, plan.nc)
    return 0


@jit(i8(Plan, Floats))
def _keep_shares(plan, mem):
    """Take out of RIGHT what changes the shares of a load only: residuals of dependent rows, over PROXIMAL.

    With K the shifted matrix, x = K^-1 r and S the shift, that is K^-1 S x (see `solve.unsymmetric`).
    """
    ints = ints_at(plan.ints, plan.n_ints)
    I, y, size = alpha_work(plan.step_work), plan.column, plan.nu + plan.nc + plan.np
    for i in range(size):
        mem[y + i] = PROXIMAL * mem[I.right + i] if i >= plan.nu else 0.0
    solve_lu(ints, mem, I.matrix, size, I.order, y)
    for i in range(size):
        mem[I.right + i] -= mem[y + i]
    return 0


@jit(i8(Plan, Floats, f8))
def _solve(plan, mem, h):
    """(p, la, eta) into RIGHT, scaled back, and B^-1 times the residual of q1 into GAP."""
    ints = ints_at(plan.ints, plan.n_ints)
    I = alpha_work(plan.step_work)
    nq, nu, nc, n = plan.nq, plan.nu, plan.nc, plan.np
    size, width = nu + nc + n, nq + 2 * nu + nc
    J, r, x, g = I.derivative, I.balance, I.right, I.gap
    ratio = (1.0 - I.alpha_m) / (1.0 - I.alpha_f)
    solve_lu(ints, mem, I.fold, nq, I.fold_order, g)
    for row in range(size):
        source = row if row < nu else (row + n if row < nu + nc else row - nc)
        weight = I.beta * h * h / ratio
        if nu + n <= source < nu + n + n + plan.nv:
            weight = I.beta * h / I.gamma
        elif nu <= source < nu + n:
            weight = 1.0
        rest = mem[r + source] - row_product(mem, J + source * width, g, nq)
        mem[x + row] = -weight * rest * mem[I.row_scale + row]
    solve_lu(ints, mem, I.matrix, size, I.order, x)
    if _share_load(plan):
        _keep_shares(plan, mem)
    for j in range(size):
        mem[x + j] *= mem[I.column_scale + j]
    return 0


@jit(f8(Plan, Floats, f8, Floats, f8, f8))
def improve(plan, mem, h, znew, rtol, atol):
    """One Newton step with the matrix at hand; returns its size in units of the tolerances."""
    I = alpha_work(plan.step_work)
    if I.newton_matrix:
        return improve_over_nonzeros(plan, mem, h, znew, rtol, atol)
    nq, nu, nc, n = plan.nq, plan.nu, plan.nc, plan.np
    beta, gamma, ratio = I.beta, I.gamma, (1.0 - I.alpha_m) / (1.0 - I.alpha_f)
    p, g, S, Y, to_a = I.right, I.gap, I.slope, I.normals, 1.0 / (beta * h * h)
    _solve(plan, mem, h)
    eta = p + nu + nc
    size, units = 0.0, floats_at(plan.units, nq + nu)
    for i in range(nq):
        row = S + i * (nu + n)
        change = row_product(mem, row, p, nu) + row_product(mem, row + nu, eta, n) - mem[g + i]
        znew[i] += change
        size += (change / (atol * units[i] + rtol * abs(znew[i]))) ** 2
    for i in range(nu):
        change = gamma * h * to_a * mem[p + i]
        znew[nq + i] += change
        size += (change / (atol * units[nq + i] + rtol * abs(znew[nq + i]))) ** 2
        mem[I.a_new + i] += to_a * mem[p + i]
        mem[I.v_new + i] += ratio * to_a * mem[p + i]
        mem[I.average + i] += (mem[p + i] + row_product(mem, Y + i * n, eta, n)) / h
    for k in range(nc):
        mem[I.la_new + k] += ratio * to_a * mem[p + nu + k]
    return math.sqrt(size / (nq + nu))


@jit(i8(Plan, Floats, i8))
def damp(plan, mem, e):
    """Put an error e (nu) of position or velocity through the Newton matrix: (M + .. h^2 K)^-1 M e, constraints kept.

    Leaves the error of slow motions as it is; in stiff directions, where the method does not follow the motion but
    damps it, takes away what is not there.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    I = alpha_work(plan.step_work)
    if I.newton_matrix:
        return damp_over_nonzeros(plan, mem, e)
    nq, nu = plan.nq, plan.nu
    size, width, J, x = nu + plan.nc + plan.np, nq + 2 * nu + plan.nc, I.derivative, I.right
    for i in range(size):
        mem[x + i] = 0.0
    for i in range(nu):
        mem[x + i] = mem[I.row_scale + i] * row_product(mem, J + i * width + nq + nu, e, nu)
    solve_lu(ints, mem, I.matrix, size, I.order, x)
    for i in range(nu):
        mem[e + i] = mem[x + i] * mem[I.column_scale + i]
    return 0


@jit(f8(Plan, Floats))
def _constraint_residual(plan, mem):
    """Largest of phi and psi, relative to the sizes of their rows."""
    start, count = alpha_work(plan.step_work).balance + plan.nu, 2 * plan.np + plan.nv
    worst = 0.0
    for k in range(count):
        worst = max(worst, abs(mem[start + k]) / mem[plan.row_sizes + k])
    return worst


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, f8, f8))
def solve_step(plan, mem, t, h, z, znew, rtol, atol):
    """Newton's method from the prediction at hand, with the old matrix while it serves; whether it converged."""
    I = alpha_work(plan.step_work)
    made = abs(I.h_matrix - h) <= 1e-6 * h
    I.h_matrix = 0.0  # no matrix to go on with, should this fail
    size, worst, age, small = math.inf, math.inf, 1, 0
    for k in range(ALPHA_ITERATIONS):
        evaluate(plan, mem, t, h, z, znew)
        last, worst = worst, _constraint_residual(plan, mem)
        if small:
            if worst <= HELD_PRECISION or (worst <= STUCK and worst > 0.5 * last and age == 0):
                I.h_matrix = h if k <= ITERATIONS_TO_REUSE else 0.0
                return 1
            made = made and worst <= ALPHA_CONTRACTION * last
        if not made:
            if not make_matrix(plan, mem, h):
                return 0
            made, age = True, -1
        age += 1
        before, size = size, improve(plan, mem, h, znew, rtol, atol)
        if not math.isfinite(size) or (size > 2.0 * before and age == 0 and k > 3):
            return 0
        # What is left is size^2 / (before - size) by the rate of contraction, which far away means nothing.
        small = size <= 1e-3 or (k > 0 and size < min(before, TRUSTED_INCREMENT) and size * size <= before - size)
        # Next to singular positions round-off is amplified, and a fresh matrix cannot do better than that.
        small = small or (
            age == 0 and k > 2 and size > ALPHA_CONTRACTION * before and size * rtol <= ROUND_OFF_INCREMENT
        )
        made = small or k == 0 or size <= ALPHA_CONTRACTION * before
    return 0
