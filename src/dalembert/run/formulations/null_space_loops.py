"""The principle of compatibility in native loops, for systems of any size.

Everything is free of units: speeds in the metric of the masses, u' = S w with S_ii = M_ii^-1/2, and unit rows of A. The
independent rows are factorised, A = [L 0] Q^T by Householder's reflections; D, the last columns of Q, spans what the
constraints admit.
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, ints_at, move
from dalembert.native.types import several
from dalembert.run.evaluate import finish_rates, load_equations
from dalembert.run.formulations.fall_back import settle
from dalembert.solve.cholesky import factor_cholesky, solve_lower, solve_upper
from dalembert.solve.dense import SINGULAR, scale_saddle
from dalembert.solve.householder import (
    factor_householder,
    solve_rows,
    solve_rows_transposed,
    turn,
    turn_back,
)
from dalembert.solve.lu import factor_lu, solve_lu
from dalembert.solve.rows import add_row, clear_row, row_product


def room(nu: int, *, reduced: bool) -> tuple[int, int]:
    """Floats and integers of workspace for the loops, for any rank."""
    factors = nu * nu + 2 * nu + nu * nu + 3 * nu
    return (factors + 3 * nu * nu + nu, 0) if reduced else (factors + 4 * nu * nu + 2 * nu, 2 * nu)


@jit(several(i8, 8)(Plan))
def _places(plan):
    """Offsets of A (r, nu), diagonal of L (r), beta (r), M (nu, nu), f, w, r (nu each), and free workspace."""
    nu, r = plan.nu, plan.chosen
    A = plan.work
    diagonal = A + r * nu
    M = diagonal + 2 * r
    f = M + nu * nu
    return A, diagonal, diagonal + r, M, f, f + nu, f + 2 * nu, f + 3 * nu


@jit(f8(Plan, Floats))
def _separate(plan, mem):
    """Scale the equations, factorise the rows chosen and put y with L y = b into w; returns the quality."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, r, s = plan.nu, plan.chosen, plan.scale
    A, diagonal, beta, M, f, w, _r, _free = _places(plan)
    scale_saddle(plan, mem, plan.nc)
    for k in range(r):
        row = ints[plan.chosen_rows + k]
        scale, at = mem[s + nu + row], plan.jacobian + row * nu
        for i in range(nu):
            mem[A + k * nu + i] = scale * mem[at + i] * mem[s + i]
        mem[w + k] = scale * mem[plan.bias + row]
    for i in range(nu):
        scale, at = mem[s + i], plan.mass + i * nu
        mem[f + i] = scale * mem[plan.force + i]
        for j in range(nu):
            mem[M + i * nu + j] = scale * mem[at + j] * mem[s + j]
    quality = factor_householder(mem, A, r, nu, diagonal, beta)
    if quality > 0.0:
        solve_rows(mem, A, r, nu, diagonal, w)
    return quality


@jit(i8(Plan, Floats))
def _leave(plan, mem):
    """u' from w, and la from [L 0]^T la = Q^T r, r = M u' - f; zero for constraints that repeat others."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, count, la, s = plan.nu, plan.chosen, plan.multiplier, plan.scale
    A, diagonal, beta, M, _f, w, r, _free = _places(plan)
    for i in range(nu):
        mem[plan.udot + i] = mem[s + i] * mem[w + i]
        mem[r + i] = row_product(mem, M + i * nu, w, nu) - mem[s + i] * mem[plan.force + i]
    turn(mem, A, count, nu, beta, r)
    solve_rows_transposed(mem, A, count, nu, diagonal, r)
    for k in range(plan.nc):
        mem[la + k] = 0.0
    for k in range(count):
        row = ints[plan.chosen_rows + k]
        mem[la + row] = mem[s + nu + row] * mem[r + k]
    return 0


@jit(i8(Plan, Floats, i8, i8))
def _write_basis(plan, mem, D, stride):
    """Write D^T (p, nu), rows `stride` apart: the last columns of Q. The target must be zero before."""
    nu, m = plan.nu, plan.chosen
    A, _diagonal, beta, _M, _f, _w, _r, _free = _places(plan)
    for k in range(m, nu):
        row = D + (k - m) * stride
        mem[row + k] = 1.0
        turn_back(mem, A, m, nu, beta, row)
    return 0


@jit(i8(Plan, Floats))
def _keep_tangential(plan, mem):
    """Y y into w, and in place of f what is left of f - M Y y along the constraints.

    Most of it may be normal to them, and D is free of that to round-off only.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    nu, m, s = plan.nu, plan.chosen, plan.scale
    A, diagonal, beta, M, f, w, r, _free = _places(plan)
    clear_row(mem, w + m, nu - m)
    turn_back(mem, A, m, nu, beta, w)
    for i in range(nu):
        mem[f + i] -= row_product(mem, M + i * nu, w, nu)
        mem[r + i] = mem[f + i]
    turn(mem, A, m, nu, beta, r)
    solve_rows_transposed(mem, A, m, nu, diagonal, r)
    for k in range(m):
        row = ints[plan.chosen_rows + k]
        factor, at = mem[r + k] * mem[s + nu + row], plan.jacobian + row * nu
        for i in range(nu):
            mem[f + i] -= factor * mem[at + i] * mem[s + i]
    return 0


@jit(f8(Plan, Floats))
def _solve_reduced(plan, mem):
    """u' = Y y + D z and la from D^T M D z = D^T (f - M Y y); returns the quality of the solve."""
    nu, m = plan.nu, plan.chosen
    _A, _diagonal, _beta, M, f, w, _r, D = _places(plan)
    p = nu - m
    N, K = D + p * nu, D + 2 * p * nu  # D^T M (p, nu), D^T M D (p, p)
    z = K + p * p
    clear_row(mem, D, 2 * p * nu)
    _write_basis(plan, mem, D, nu)
    _keep_tangential(plan, mem)
    for j in range(p):
        for i in range(nu):
            if mem[D + j * nu + i] != 0.0:
                add_row(mem, N + j * nu, M + i * nu, mem[D + j * nu + i], nu)
        for k in range(j + 1):
            mem[K + j * p + k] = row_product(mem, N + j * nu, D + k * nu, nu)
        mem[z + j] = row_product(mem, D + j * nu, f, nu)
    quality = factor_cholesky(mem, K, p)
    if not quality > 0.0:
        return 0.0
    solve_lower(mem, K, p, z)
    solve_upper(mem, K, p, z)
    for j in range(p):
        add_row(mem, w, D + j * nu, mem[z + j], nu)
    return quality


@jit(f8(Plan, Floats))
def _solve_full(plan, mem):
    """u' and la from the 2 nu equations (2.12), M u' - r = f, A u' = b, D^T r = 0; returns the quality of the solve."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, m, s = plan.nu, plan.chosen, plan.scale
    _A, _diagonal, _beta, M, f, w, _r, K = _places(plan)
    n = 2 * nu
    x = K + n * n
    clear_row(mem, K, n * n + n)
    _keep_tangential(plan, mem)
    for i in range(nu):
        move(mem, K + i * n, mem, M + i * nu, nu)
        mem[K + i * n + nu + i] = -1.0
        mem[x + i] = mem[f + i] + row_product(mem, M + i * nu, w, nu)
    for k in range(m):
        row, at = ints[plan.chosen_rows + k], K + (nu + k) * n
        for i in range(nu):
            mem[at + i] = mem[s + nu + row] * mem[plan.jacobian + row * nu + i] * mem[s + i]
        mem[x + nu + k] = mem[s + nu + row] * mem[plan.bias + row]
    _write_basis(plan, mem, K + (nu + m) * n + nu, n)
    if not factor_lu(ints, mem, K, n, plan.work_ints) > SINGULAR:
        return 0.0
    solve_lu(ints, mem, K, n, plan.work_ints, x)
    move(mem, w, mem, x, nu)
    return 1.0


@jit(i8(Plan, Floats))
def accelerate_reduced(plan, mem):
    """q', u', power, la and quality by the reduced form."""
    load_equations(plan, mem)
    mem[plan.quality] = _separate(plan, mem)
    if mem[plan.quality] > 0.0:
        mem[plan.quality] = min(mem[plan.quality], _solve_reduced(plan, mem))
        _leave(plan, mem)
    finish_rates(plan, mem)
    return settle(plan, mem)


@jit(i8(Plan, Floats))
def accelerate_full(plan, mem):
    """q', u', power, la and quality by the full form."""
    load_equations(plan, mem)
    mem[plan.quality] = _separate(plan, mem)
    if mem[plan.quality] > 0.0:
        mem[plan.quality] = min(mem[plan.quality], _solve_full(plan, mem))
        _leave(plan, mem)
    finish_rates(plan, mem)
    return settle(plan, mem)
