"""Newton's method for accelerations, multipliers and unknowns together, where these depend on each other nonlinearly.

The kernel (`law_graphs`) gives the residuals of all equations and their gradients. The method starts from the solution
of the last step: where several exist, the motion stays on its branch. Without one, or where that branch has ended, it
starts without the laws and without the constraints nonlinear in u', each unknown at its start, so that multipliers have
a sensible size before a law is asked; of several solutions that is one close to the free acceleration, in the spirit of
Gauss's least constraint. If that leads nowhere, places around are tried. A step that leaves the domain of a law, or
that makes the residuals larger, is halved.

Redundant constraints get the least multipliers, by the shift of `solve.unsymmetric`.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.run.evaluate import exert_unknowns
from dalembert.run.status import OK, UNREACHED
from dalembert.solve.dense import PROXIMAL, SINGULAR
from dalembert.solve.lu import factor_lu, solve_lu
from dalembert.solve.solver import call_factor, call_solve, factor_type, solve_type
from dalembert.solve.tolerances import SETTLED_STEP
from dalembert.solve.unsymmetric import is_normal

LAW_ITERATIONS, LAW_HALVINGS = 60, 30
ROUND_OFF_STEP = 1e-14
FRESH_STARTS = 13  # places to begin at afresh, the last ones 16 times the size of u' away
SHORT_STEP = 0.1  # of the unknowns: the longest step where longer ones lead to another branch
HOLDS = 1e-9  # residual of an equation beside the largest term in it


@jit(f8(Plan, Floats))
def _evaluate(plan, mem):
    """Residuals and gradients at the unknowns in iteration_in; the largest residual, each relative to its scale."""
    n, R, s = plan.unknowns, plan.iteration_out, plan.iteration_scale
    call_kernel(plan.iteration, mem, plan.iteration_in, R)
    check, worst = 0.0, 0.0
    for i in range(n * (n + 1)):
        check += mem[R + i] * 0.0
    if check != 0.0:
        return math.inf
    for i in range(n):
        worst = max(worst, abs(mem[R + i]) * mem[s + i])
    return worst


@jit(i8(Plan, Floats))
def _fill(plan, mem):
    """The equilibrated matrix of gradients, its scales, and the residuals of its right-hand side."""
    n, R, K, s, x = plan.unknowns, plan.iteration_out, plan.iteration_matrix, plan.iteration_scale, plan.iteration_step
    J = R + n
    for i in range(n):
        top = 0.0
        for j in range(n):
            top = max(top, abs(mem[J + i * n + j]))
        mem[s + i] = 1.0 / top if top > 0.0 else 1.0
        mem[x + i] = -mem[R + i] * mem[s + i]
    for j in range(n):
        top = 0.0
        for i in range(n):
            top = max(top, abs(mem[J + i * n + j]) * mem[s + i])
        mem[s + n + j] = 1.0 / top if top > 0.0 else 1.0
        for i in range(n):
            mem[K + i * n + j] = mem[J + i * n + j] * mem[s + i] * mem[s + n + j]
    return 0


@jit(i8(Plan, Floats, i8))
def _is_shifted(plan, mem, k):
    """Whether row k may repeat others: linear in u', with a multiplier along its own gradient."""
    return k < plan.nc - plan.curved and is_normal(plan, mem, k)


@jit(f8(Plan, Floats))
def _factor(plan, mem):
    """Factorise the gradients. Returns the smallest pivot over the largest, zero if the equations are dependent.

    Leaves the sign of the determinant, and whether the matrix is a shifted one as constraints depend on each other.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    n, K, order = plan.unknowns, plan.iteration_matrix, plan.iteration_order
    plan.shifted = 0
    _fill(plan, mem)
    quality = factor_lu(ints, mem, K, n, order)
    if plan.oriented and not quality > PROXIMAL:
        _fill(plan, mem)
        for k in range(plan.nc):
            if _is_shifted(plan, mem, k):
                plan.shifted = 1
                mem[K + (plan.nu + k) * (n + 1)] += PROXIMAL
        if plan.shifted:
            quality = factor_lu(ints, mem, K, n, order)
    if not quality > SINGULAR:
        return 0.0
    plan.turned = 0
    for k in range(n):
        plan.turned ^= (mem[K + k * n + k] < 0.0) ^ (ints[order + k] != k)
    return quality


@jit(i8(Plan, Floats))
def _solve(plan, mem):
    """Solve for the step in place, with the factors at hand. Undetermined multipliers get no change."""
    ints = ints_at(plan.ints, plan.n_ints)
    n, K, x, r, order = plan.unknowns, plan.iteration_matrix, plan.iteration_step, plan.rhs, plan.iteration_order
    solve_lu(ints, mem, K, n, order, x)
    if plan.shifted:
        for i in range(n):
            mem[r + i] = 0.0
        for k in range(plan.nc):
            if _is_shifted(plan, mem, k):
                mem[r + plan.nu + k] = PROXIMAL * mem[x + plan.nu + k]
        solve_lu(ints, mem, K, n, order, r)
        for i in range(n):
            mem[x + i] -= mem[r + i]
    return 0


@jit(f8(Plan, Floats))
def _find_step(plan, mem):
    """A Newton step into iteration_step; the quality of the factors, zero if the equations are dependent."""
    n, s, x = plan.unknowns, plan.iteration_scale, plan.iteration_step
    quality = _factor(plan, mem)
    if not quality > 0.0:
        return 0.0
    _solve(plan, mem)
    for j in range(n):
        mem[x + j] *= mem[s + n + j]
    return quality


@jit(f8(Plan, Floats, f8, f8))
def _move_on(plan, mem, before, reach):
    """Go the step, or half of it, ...; the length of the way relative to the unknowns, infinite if there is none.

    No further than `reach` times the size of the unknowns.
    """
    n, x, w = plan.unknowns, plan.iteration_step, plan.iteration_in + plan.step_length - plan.x
    way, size, part = 0.0, 0.0, 1.0
    for i in range(n):
        way += abs(mem[x + i])
        size += abs(mem[w + i])
    if way > reach * size > 0.0:
        for i in range(n):
            mem[x + i] *= reach * size / way
    way, size = 0.0, 0.0
    for i in range(n):
        mem[w + i] += mem[x + i]
        way += abs(mem[x + i])
        size += abs(mem[w + i])
    for k in range(LAW_HALVINGS):
        after = _evaluate(plan, mem)
        tiny = way <= SETTLED_STEP * size
        if after < math.inf and (after <= before * (1.0 - 1e-4 * part) or tiny or k > 8):
            return part * way / size if size > 0.0 else 0.0
        part *= 0.5
        for i in range(n):
            mem[w + i] -= part * mem[x + i]
    return math.inf


@jit(i8(Plan, Floats))
def _holds(plan, mem):
    """True if every equation holds, relative to its largest term."""
    n, R, w = plan.unknowns, plan.iteration_out, plan.iteration_in + plan.step_length - plan.x
    J = R + n
    for i in range(n):
        scale = 1.0
        for j in range(n):
            scale = max(scale, abs(mem[J + i * n + j] * mem[w + j]))
        if not abs(mem[R + i]) <= HOLDS * scale:
            return 0
    return 1


@jit(i8(Plan, Floats))
def _release(plan, mem):
    """Begin with the solution of the equations without the last rows: these may not be defined where u' = 0."""
    n, nu, w = plan.unknowns, plan.nu, plan.iteration_in + plan.step_length - plan.x
    for k in range(plan.nc - plan.curved, plan.nc):
        mem[plan.bias + k] = 0.0
        for i in range(nu):
            mem[plan.jacobian + k * nu + i] = 0.0
            mem[plan.stated + k * nu + i] = 0.0
    move(mem, plan.direction, mem, plan.stated, plan.nc * nu)
    call_factor(plan.factor, (plan, mem, plan.nc))
    move(mem, plan.rhs, mem, plan.force, nu)
    move(mem, plan.rhs + nu, mem, plan.bias, plan.nc)
    call_solve(plan.solve, (plan, mem, plan.nc, plan.rhs))
    move(mem, w, mem, plan.iteration_start, n)
    move(mem, w, mem, plan.rhs, nu)
    if plan.oriented:
        move(mem, w + nu, mem, plan.rhs + nu, plan.nc - plan.curved)
    return OK


@jit(i8(Plan, Floats))
def _begin(plan, mem):
    """Begin afresh: the unknowns that solve the equations without the laws into iteration_in."""
    n, w = plan.unknowns, plan.iteration_in + plan.step_length - plan.x
    move(mem, w, mem, plan.iteration_start, n)
    mem[w + n] = 0.0
    for i in range(n):
        mem[plan.iteration_scale + i] = 1.0
    if not _evaluate(plan, mem) < math.inf:
        return _release(plan, mem)
    if not _find_step(plan, mem) > 0.0:
        return UNREACHED
    for i in range(n):
        mem[w + i] += mem[plan.iteration_step + i]
    return OK


@jit(i8(Plan, Floats, f8))
def _descend(plan, mem, reach):
    """Newton's method from the unknowns in iteration_in. The kernel's output at the solution stays in place."""
    n, w = plan.unknowns, plan.iteration_in + plan.step_length - plan.x
    mem[w + n] = 1.0
    last, before = math.inf, _evaluate(plan, mem)
    for _ in range(LAW_ITERATIONS):
        if not before < math.inf:
            return UNREACHED
        mem[plan.quality] = _find_step(plan, mem)
        if not mem[plan.quality] > 0.0:
            return UNREACHED
        before = 0.0
        for i in range(n):
            before = max(before, abs(mem[plan.iteration_out + i]) * mem[plan.iteration_scale + i])
        way = _move_on(plan, mem, before, reach)
        if way <= ROUND_OFF_STEP or (way <= SETTLED_STEP and way >= 0.5 * last):
            return OK if _holds(plan, mem) else UNREACHED
        last = way
        if way == math.inf:
            return UNREACHED
    return UNREACHED


@jit(i8(Plan, Floats, i8))
def _displace(plan, mem, k):
    """Move the accelerations to begin with to place k, further and further around where they are."""
    w, rate = plan.iteration_in + plan.step_length - plan.x, mem[plan.row_sizes + 2 * plan.np + plan.nv]
    reach = 2.0 ** (k // 2 - 2) if k > 0 else 0.0
    for i in range(plan.nu):
        size = max(abs(mem[w + i]), rate * mem[plan.sizes + plan.nq + i])
        mem[w + i] += (1.0 if k % 2 else -1.0) * reach * size * math.cos(i * (k + 1.0))
    return 0


@jit(i8(Plan, Floats, f8))
def _follow(plan, mem, reach):
    """Newton's method from the solution known; whether it ends on the branch of that one.

    On one branch the determinant of the gradients keeps its sign.
    """
    move(mem, plan.iteration_in + plan.step_length - plan.x, mem, plan.iteration_kept, plan.unknowns)
    return _descend(plan, mem, reach) == OK and (
        plan.oriented == 0 or plan.kept_turned < 0 or plan.turned == plan.kept_turned
    )


@jit(i8(Plan, Floats))
def _iterate(plan, mem):
    """Solve for the unknowns in iteration_in, from the known solution or from the start; keeps the kernel's output.

    If no solution is found on the branch of the known one, the solution found is on another branch (`plan.leapt`).
    """
    plan.leapt = 0
    if plan.known and (_follow(plan, mem, math.inf) or _follow(plan, mem, SHORT_STEP)):
        return OK
    plan.leapt = plan.known
    status = UNREACHED
    for k in range(FRESH_STARTS):
        if status != OK and _begin(plan, mem) == OK:
            _displace(plan, mem, k)
            status = _descend(plan, mem, math.inf)
    return status


@jit(factor_type)
def factor_laws(plan, mem, _nc):
    """Factorise the gradients of all equations where they were solved; zero if the equations are dependent there."""
    return 1 if _factor(plan, mem) > 0.0 else 0


@jit(solve_type)
def solve_linearised_laws(plan, mem, _nc, side):
    """(du', dla) in place of the right-hand sides of the balance and of the rows there, by `factor_laws`."""
    ints, n = ints_at(plan.ints, plan.n_ints), plan.unknowns
    x, s = plan.iteration_step, plan.iteration_scale
    for j in range(plan.implied):  # no equation of their own: these rows have no multiplier
        mem[side + plan.nu + ints[plan.implied_rows + j]] = 0.0
    for i in range(n):
        mem[x + i] = mem[side + i] * mem[s + i]
    _solve(plan, mem)
    for j in range(n):
        mem[side + j] = mem[x + j] * mem[s + n + j]
    return 0


@jit(i8(Plan, Floats))
def solve_laws(plan, mem):
    """(u', la) into RHS; leaves A, b and W of the acceleration rows at the solution, and the signs of la.

    b of the others must be at hand. Nonlinear forces of unknowns, E, count as applied forces from then on, so that M u'
    = f + W^T la holds as usual. Returns a status.
    """
    n, nu, nc, na = plan.unknowns, plan.nu, plan.nc, plan.nc - plan.np - plan.nv
    nx, first, found = plan.step_length - plan.x, plan.nc - na, plan.iteration_out + n * (n + 1)
    move(mem, plan.iteration_in, mem, plan.x, nx)
    move(mem, plan.iteration_in + nx + n + 1, mem, plan.bias, nc)
    status = _iterate(plan, mem)
    move(mem, plan.rhs, mem, found, nu + nc)
    A = found + nu + nc
    move(mem, plan.jacobian + first * nu, mem, A, na * nu)
    move(mem, plan.stated + first * nu, mem, A + na * nu, na * nu)
    for k in range(nc):
        mem[plan.sign + k] = -1.0 if mem[plan.rhs + nu + k] < 0.0 else 1.0
    for k in range(plan.curved):
        total = -mem[A + 2 * na * nu + k]
        for i in range(nu):
            total += mem[A + k * nu + i] * mem[plan.rhs + i]
        mem[plan.bias + first + k] = total
    exert_unknowns(plan, mem)
    return status
