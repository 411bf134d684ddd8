"""The partition u = (u_I, u_D) of Bajodah, Hodges and Chen, eq. (16)-(22), in native loops for systems of any size.

Everything is free of units: speeds in the metric of the masses, u' = S w with S_ii = M_ii^-1/2, and unit rows of A.
Speeds are in the order of the choice, the dependent ones first. Notation as in `partition`: r dependent and p
independent speeds, A = -J2^-1 J1, B = J2^-1 b.
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, ints_at
from dalembert.native.types import several
from dalembert.solve.dense import scale_saddle
from dalembert.solve.lu import dominance, factor_lu, solve_lu_columns, solve_lu_transposed
from dalembert.solve.rows import largest_in_row, row_product


def room(nu: int) -> int:
    """Floats of workspace of a partition of any rank. The pivot order of J2 takes nu integers."""
    return nu * (nu + 1) + nu * nu + 3 * nu


@jit(several(i8, 7)(Plan))
def places(plan):
    """Offsets of J2 (r, r), [A B] (r, p + 1), M (nu, nu), f (nu), w (nu), a column (nu), and free workspace in mem."""
    nu, r = plan.nu, plan.chosen
    J2 = plan.work
    X = J2 + r * r
    M = X + r * (nu - r + 1)
    f = M + nu * nu
    return J2, X, M, f, f + nu, f + 2 * nu, f + 3 * nu


@jit(i8(Plan, Floats))
def _gather(plan, mem):
    """Scale and order the equations: J2, [-J1 b], M and f."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, r, speeds, s = plan.nu, plan.chosen, plan.chosen_speeds, plan.scale
    J2, X, M, f, _w, _column, _free = places(plan)
    p = nu - r
    for k in range(r):
        row = ints[plan.chosen_rows + k]
        scale, at = mem[s + nu + row], plan.jacobian + row * nu
        for j in range(r):
            i = ints[speeds + j]
            mem[J2 + k * r + j] = scale * mem[at + i] * mem[s + i]
        for j in range(p):
            i = ints[speeds + r + j]
            mem[X + k * (p + 1) + j] = -scale * mem[at + i] * mem[s + i]
        mem[X + k * (p + 1) + p] = scale * mem[plan.bias + row]
    for i in range(nu):
        one = ints[speeds + i]
        scale, at = mem[s + one], plan.mass + one * nu
        mem[f + i] = scale * mem[plan.force + one]
        for j in range(nu):
            other = ints[speeds + j]
            mem[M + i * nu + j] = scale * mem[at + other] * mem[s + other]
    return 0


@jit(f8(Plan, Floats))
def form_partition(plan, mem):
    """A and B for the choice in plan; returns the quality of J2.

    The quality is low if a pivot of J2 is small in its row, or if a dependent speed changes far more than an
    independent one.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    p, r = plan.nu - plan.chosen, plan.chosen
    J2, X, _M, _f, _w, _column, _free = places(plan)
    scale_saddle(plan, mem, plan.nc)
    _gather(plan, mem)
    if not factor_lu(ints, mem, J2, r, plan.work_ints) > 0.0:
        return 0.0
    solve_lu_columns(ints, mem, J2, r, plan.work_ints, X, p + 1)
    fastest = 1.0
    for k in range(r):
        fastest = max(fastest, largest_in_row(mem, X + k * (p + 1), p))
    return min(dominance(mem, J2, r), 1.0 / fastest)


@jit(i8(Plan, Floats))
def leave_partition(plan, mem):
    """u' from w, and la from J2^T la = (M u' - f)_D; zero for constraints that repeat others."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, r, la, s = plan.nu, plan.chosen, plan.multiplier, plan.scale
    J2, _X, M, f, w, column, _free = places(plan)
    for i in range(nu):
        one = ints[plan.chosen_speeds + i]
        mem[plan.udot + one] = mem[s + one] * mem[w + i]
    for k in range(r):
        mem[column + k] = row_product(mem, M + k * nu, w, nu) - mem[f + k]
    solve_lu_transposed(ints, mem, J2, r, plan.work_ints, column)
    for k in range(plan.nc):
        mem[la + k] = 0.0
    for k in range(r):
        row = ints[plan.chosen_rows + k]
        mem[la + row] = mem[s + nu + row] * mem[column + k]
    return 0
