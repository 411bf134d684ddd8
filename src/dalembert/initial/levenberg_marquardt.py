"""Equations met by least steps: Levenberg-Marquardt in a metric, with bounds.

Variables v (n,) of which some are free, equations r(v) = 0 (m,) from a kernel that gives r and then its gradients, row
by row. Steps are the least ones in a constant metric G, -B J^T (J B J^T + mu)^-1 r with B the inverse of G among the
free variables and rows scaled to unit length, so that dependent rows and singular positions only slow it down.

`Descent` is the plan, `mem` holds the floats, as elsewhere in native code.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, call_kernel, f8, i8, ints_at, move
from dalembert.native.types import Record, ints
from dalembert.native.workspace import Workspace
from dalembert.solve.cholesky import factor_semidefinite, invert_factored, solve_lower, solve_upper
from dalembert.solve.rows import add_row, row_product


class Descent(Record):
    """Variables, equations and all a search for the nearest point works with."""

    _fields_ = (
        # Variables, equations, rows of the kernel, the kernel; whether there are bounds; steps made; how rows count.
        *ints("n m total kernel bounded steps uniform"),
        # Where the integers are; place of a variable in the input, freedom of a variable (FIXED, LOOSE, STOPPED at a
        # bound), whether it is an angle, row of the kernel behind an equation.
        *ints("ints n_ints place freedom turn pick"),
        # Blocks of floats.
        *ints("input output target value low high size wanted row_size metric inverse spread gram factor norm"),
        *ints("residual residual_old weight step value_old best tangent tangent_old"),
        *ints("multiplier cg_r cg_z cg_p cg_h cg_base"),
    )


FIXED, LOOSE, STOPPED = 0, 1, 2
STAYS_STOPPED = 2  # `bounded`: no bounds (0), bounds (1), and variables stopped at one stay there (2)
# `uniform`: rows count by the length of their gradients (0), or all alike, as for a least sum of squares of residuals.
TO_WEIGHT_ALIKE, WEIGHTED_ALIKE = 1, 2

MET_RESIDUAL = 1e-12  # residuals below this, relative to the size of their row, are met
LEAST_RESIDUAL = 1e-16
# Least damping, for rows of unit length: directions with singular values below its root are damped.
LEAST_DAMPING = 1e-14
FIRST_DAMPING = 1.0  # damping at the start
MOST_DAMPING = 1e10  # damping at which no step helps
FLAT = 1e-12  # relative gain of a step that is none
STATIONARY_STEPS = 8  # steps without a gain before a point counts as stationary
STAGNANT_RATIO = 0.1  # part of met residuals that remains after a step, if round-off keeps them from shrinking


def lay_out(n: int, m: int, total: int, n_in: int) -> Workspace:
    """A workspace for n variables, m equations, a kernel of `total` rows and n_in inputs."""
    plan = Descent(n=n, m=m, total=total)
    work = Workspace(plan)
    blocks = {"input": n_in, "output": total * (1 + n), "target": 5 * n + 2 * m, "spread": m * n, "cg_base": 2 * n}
    blocks |= dict.fromkeys(("step", "value_old", "best", "tangent", "tangent_old"), n)
    blocks |= dict.fromkeys(("cg_r", "cg_z", "cg_p", "cg_h"), n) | dict.fromkeys(("metric", "inverse"), n * n)
    blocks |= dict.fromkeys(("gram", "factor"), m * m)
    blocks |= dict.fromkeys(("norm", "residual", "residual_old", "weight", "multiplier"), m)
    work.reserve(plan, blocks, {"place": n, "freedom": n, "turn": n, "pick": m})
    # What is given stands in one piece: target, value, bounds, sizes, wanted, least sizes of rows.
    plan.value, plan.low, plan.high, plan.size, plan.wanted = (plan.target + k * n for k in range(1, 6))
    plan.row_size = plan.wanted + m
    return work


@jit(f8(Descent, Floats))
def evaluate(plan, mem):
    """Residuals and gradients at v; returns the worst residual relative to |gradient| x size of the variables.

    Where gradients vanish, rows still have the least sizes that were given.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    n, v, x, out = plan.n, plan.value, plan.input, plan.output
    for j in range(n):
        mem[x + ints[plan.place + j]] = mem[v + j]
    call_kernel(plan.kernel, mem, x, out)
    worst = 0.0
    for k in range(plan.m):
        row = ints[plan.pick + k]
        r = mem[out + row] - mem[plan.wanted + k]
        mem[plan.residual + k] = r
        size = 0.0
        for j in range(n):
            size += abs(mem[out + plan.total + row * n + j]) * max(abs(mem[v + j]), mem[plan.size + j])
        if not (math.isfinite(r) and math.isfinite(size)):
            return math.inf
        if r != 0.0:
            size = max(size, mem[plan.row_size + k])
            worst = max(worst, abs(r) / size if size > 0.0 else 1.0)
    return worst


@jit(i8(Descent, Floats))
def invert_metric(plan, mem):
    """B, the inverse of G among the loose variables, zero elsewhere."""
    ints = ints_at(plan.ints, plan.n_ints)
    n, G, B = plan.n, plan.metric, plan.inverse
    for i in range(n):
        for j in range(n):
            loose = ints[plan.freedom + i] == LOOSE and ints[plan.freedom + j] == LOOSE
            mem[B + i * n + j] = mem[G + i * n + j] if loose else (1.0 if i == j else 0.0)
    factor_semidefinite(mem, B, n, 0.0, 1.0)
    invert_factored(mem, B, n)
    for j in range(n):
        if ints[plan.freedom + j] != LOOSE:
            mem[B + j * n + j] = 0.0
    return 0


@jit(i8(Descent, Floats))
def linearise(plan, mem):
    """J B, its Gram matrix J B J^T and the lengths of the rows, at the gradients last evaluated."""
    ints = ints_at(plan.ints, plan.n_ints)
    n, m, B, S, K = plan.n, plan.m, plan.inverse, plan.spread, plan.gram
    for k in range(m):
        J = plan.output + plan.total + ints[plan.pick + k] * n
        for j in range(n):
            mem[S + k * n + j] = 0.0
        for i in range(n):
            g = mem[J + i]
            if g != 0.0 and ints[plan.freedom + i] == LOOSE:
                add_row(mem, S + k * n, B + i * n, g, n)
        for l in range(k + 1):
            other = plan.output + plan.total + ints[plan.pick + l] * n
            mem[K + k * m + l] = row_product(mem, S + k * n, other, n)
        # The longest a row has been: one that vanishes at a singular position must not be blown up there.
        if plan.uniform != WEIGHTED_ALIKE:
            mem[plan.norm + k] = max(mem[plan.norm + k], math.sqrt(max(mem[K + k * m + k], 0.0)))
    if plan.uniform == TO_WEIGHT_ALIKE:
        longest = 0.0
        for k in range(m):
            longest = max(longest, mem[plan.norm + k])
        for k in range(m):
            mem[plan.norm + k] = longest
        plan.uniform = WEIGHTED_ALIKE
    return 0


@jit(f8(Floats, i8, i8))
def unit_factor(mem, norms, k):
    return 1.0 / mem[norms + k] if mem[norms + k] > 0.0 else 1.0


@jit(f8(Descent, Floats))
def _cost(plan, mem):
    total = 0.0
    for k in range(plan.m):
        total += (mem[plan.residual + k] * unit_factor(mem, plan.norm, k)) ** 2
    return total


@jit(i8(Descent, Floats, f8))
def factor_rows(plan, mem, mu):
    """Cholesky factor of J B J^T + mu, rows scaled to unit length."""
    m, K, L, norms = plan.m, plan.gram, plan.factor, plan.norm
    for k in range(m):
        for l in range(k + 1):
            mem[L + k * m + l] = mem[K + k * m + l] * unit_factor(mem, norms, k) * unit_factor(mem, norms, l)
        mem[L + k * m + k] += mu
    factor_semidefinite(mem, L, m, 0.1 * mu, 0.1 * mu)
    return 0


@jit(f8(Descent, Floats, i8))
def solve_rows(plan, mem, side):
    """STEP = B J^T y with (J B J^T + mu) y = mem[side:] by the factor at hand; returns y^T y, for unit rows."""
    n, m, L, y, norms = plan.n, plan.m, plan.factor, plan.weight, plan.norm
    for k in range(m):
        mem[y + k] = mem[side + k] * unit_factor(mem, norms, k)
    solve_lower(mem, L, m, y)
    solve_upper(mem, L, m, y)
    square = row_product(mem, y, y, m)
    for j in range(n):
        mem[plan.step + j] = 0.0
    for k in range(m):
        add_row(mem, plan.step, plan.spread + k * n, mem[y + k] * unit_factor(mem, norms, k), n)
    return square


@jit(i8(Descent, Floats, i8, f8))
def stop_at_bounds(plan, mem, way, factor):
    """Fix variables at a bound that v + factor * mem[way:] would cross; returns how many were."""
    ints = ints_at(plan.ints, plan.n_ints)
    v, stopped = plan.value, 0
    for j in range(plan.n if plan.bounded else 0):
        if ints[plan.freedom + j] == LOOSE:
            ahead = factor * mem[way + j]
            low, high = mem[v + j] <= mem[plan.low + j], mem[v + j] >= mem[plan.high + j]
            if (low and ahead < 0.0) or (high and ahead > 0.0):
                ints[plan.freedom + j] = STOPPED
                stopped += 1
    return stopped


@jit(i8(Descent, Floats))
def release_bounds(plan, mem):
    """Free the variables that stopped at a bound; returns their number."""
    ints = ints_at(plan.ints, plan.n_ints)
    stopped = 0
    for j in range(plan.n if plan.bounded == 1 else 0):
        if ints[plan.freedom + j] == STOPPED:
            ints[plan.freedom + j] = LOOSE
            stopped += 1
    if stopped:
        invert_metric(plan, mem)
    return stopped


@jit(i8(Descent, Floats, i8, f8))
def advance(plan, mem, way, factor):
    """v += factor * mem[way:], within the bounds."""
    ints = ints_at(plan.ints, plan.n_ints)
    v = plan.value
    for j in range(plan.n):
        if ints[plan.freedom + j] == LOOSE:
            moved = mem[v + j] + factor * mem[way + j]
            mem[v + j] = min(max(moved, mem[plan.low + j]), mem[plan.high + j])
    return 0


@jit(f8(Descent, Floats, f8, f8, i8))
def meet(plan, mem, first, goal, limit):
    """Levenberg-Marquardt from v, damped by `first`, until residuals reach the goal or no step helps; the worst one."""
    n, m, v, r = plan.n, plan.m, plan.value, plan.residual
    worst, mu, flat = evaluate(plan, mem), first, 0
    if not math.isfinite(worst):
        return worst
    linearise(plan, mem)
    for _ in range(limit):
        cost = _cost(plan, mem)
        if worst <= goal or mu > MOST_DAMPING or flat > STATIONARY_STEPS or cost == 0.0:
            break
        factor_rows(plan, mem, mu)
        left = mu * mu * solve_rows(plan, mem, r)
        if stop_at_bounds(plan, mem, plan.step, -1.0):
            invert_metric(plan, mem)
            linearise(plan, mem)
            continue
        move(mem, plan.value_old, mem, v, n)
        move(mem, plan.residual_old, mem, r, m)
        advance(plan, mem, plan.step, -1.0)
        plan.steps += 1
        new = evaluate(plan, mem)
        if math.isfinite(new) and _cost(plan, mem) < cost:
            gain = (cost - _cost(plan, mem)) / max(cost - left, 1e-300)
            flat = flat + 1 if _cost(plan, mem) > (1.0 - FLAT) * cost else 0
            mu = max(LEAST_DAMPING, mu * (0.01 if gain > 0.75 else (0.2 if gain > 0.25 else 4.0)))
            settled = new <= MET_RESIDUAL and new > STAGNANT_RATIO * worst
            worst = new
            release_bounds(plan, mem)
            linearise(plan, mem)
            if settled:
                break
        else:
            move(mem, v, mem, plan.value_old, n)
            move(mem, r, mem, plan.residual_old, m)
            if worst <= MET_RESIDUAL:
                break
            mu = max(mu, 1e-6) * 8.0
    release_bounds(plan, mem)
    worst = evaluate(plan, mem)
    linearise(plan, mem)
    return worst
