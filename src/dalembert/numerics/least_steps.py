"""Equations met by least steps: Levenberg-Marquardt in a metric, with bounds.

Variables v (n,) of which some are free, equations r(v) = 0 (m,) from a kernel that gives r and then its gradients, row
by row. Steps are the least ones in a constant metric G, -B J^T (J B J^T + mu)^-1 r with B the inverse of G among the
free variables and rows scaled to unit length, so that dependent rows and singular positions only slow it down.

All numbers lie in two arrays as elsewhere in the numerics: `plan` (sizes, offsets, indices) and `mem`.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.numerics.layout import Floats, Ints, call_kernel, f8, i8, move
from dalembert.numerics.linear.rows import add_row, row_product, scale_row
from dalembert.numerics.native_cache import jit

# Sizes, the kernel and where its input and output lie in mem; index lists in plan: place of a variable in the input,
# row of the kernel behind an equation, freedom of a variable (FIXED, LOOSE, STOPPED at a bound), whether an angle.
N, M, TOTAL, KERNEL, INPUT, OUTPUT, PLACE, PICK, FREEDOM, TURN, BOUNDED, STEPS, UNIFORM = range(13)
# Offsets in mem.
TARGET, VALUE, LOW, HIGH, WANTED, METRIC, INVERSE, SPREAD, GRAM, FACTOR, NORM = range(13, 24)
RESIDUAL, RESIDUAL_OLD, WEIGHT, STEP, VALUE_OLD, BEST, TANGENT, TANGENT_OLD = range(24, 32)
MULTIPLIER, CG_R, CG_Z, CG_P, CG_H, CG_BASE = range(32, 38)
PLAN_SIZE = 38
FIXED, LOOSE, STOPPED = 0, 1, 2
KEPT = 2  # BOUNDED: there are no bounds (0), there are (1), and what is stopped at one stays so (2)
# UNIFORM: rows count by the length of their gradients (0), or all alike, as for a least sum of squares of residuals.
TO_WEIGHT_ALIKE, WEIGHTED_ALIKE = 1, 2

HELD = 1e-12  # residuals below this, relative to the largest term if that exceeds 1, are met
ROUND_OFF = 1e-16
FLOOR = 1e-14  # least damping, for rows of unit length: directions with singular values below its root are damped
FIRST = 1.0  # damping at the start
STEEPEST = 1e10  # damping at which no step helps
FLAT = 1e-12  # relative gain of a step that is none
PATIENCE = 8  # steps without a gain before a point counts as stationary


def lay_out(sizes: tuple[int, int, int, int]) -> tuple[np.ndarray, int]:
    """A plan for n variables, m equations, a kernel of `total` rows and n_in inputs, and the size of mem."""
    n, m, total, n_in = sizes
    plan = np.zeros(PLAN_SIZE + 3 * n + m, dtype=np.int64)
    plan[[N, M, TOTAL]] = n, m, total
    plan[[PLACE, FREEDOM, TURN, PICK]] = PLAN_SIZE + np.array([0, n, 2 * n, 3 * n])
    lengths = (
        (INPUT, n_in), (OUTPUT, total * (1 + n)), (TARGET, n), (VALUE, n), (LOW, n), (HIGH, n), (WANTED, m),
        (METRIC, n * n), (INVERSE, n * n), (SPREAD, m * n), (GRAM, m * m), (FACTOR, m * m), (NORM, m), (RESIDUAL, m),
        (RESIDUAL_OLD, m), (WEIGHT, m), (STEP, n), (VALUE_OLD, n), (BEST, n), (TANGENT, n), (TANGENT_OLD, n),
        (MULTIPLIER, m), (CG_R, n), (CG_Z, n), (CG_P, n), (CG_H, n), (CG_BASE, 2 * n),
    )  # fmt: skip
    size = 0
    for key, length in lengths:
        plan[key] = size
        size += length
    return plan, size


@jit(f8(Ints, Floats))
def evaluate(plan, mem):
    """Residuals and gradients at v; returns the worst residual relative to max(1, its largest sum of terms)."""
    n, v, x, out = plan[N], plan[VALUE], plan[INPUT], plan[OUTPUT]
    for j in range(n):
        mem[x + plan[plan[PLACE] + j]] = mem[v + j]
    call_kernel(plan[KERNEL], mem, x, out)
    worst = 0.0
    for k in range(plan[M]):
        row = plan[plan[PICK] + k]
        r = mem[out + row] - mem[plan[WANTED] + k]
        mem[plan[RESIDUAL] + k] = r
        size = 0.0
        for j in range(n):
            size += abs(mem[out + plan[TOTAL] + row * n + j] * mem[v + j])
        if not (math.isfinite(r) and math.isfinite(size)):
            return math.inf
        worst = max(worst, abs(r) / max(size, 1.0))
    return worst


@jit(i8(Ints, Floats))
def invert_metric(plan, mem):
    """B, the inverse of G among the loose variables, zero elsewhere; by Cholesky in place, without further room."""
    n, G, B = plan[N], plan[METRIC], plan[INVERSE]
    for i in range(n):
        for j in range(n):
            loose = plan[plan[FREEDOM] + i] == LOOSE and plan[plan[FREEDOM] + j] == LOOSE
            mem[B + i * n + j] = mem[G + i * n + j] if loose else (1.0 if i == j else 0.0)
    for j in range(n):  # G = L L^T in the lower triangle
        for i in range(j, n):
            total = mem[B + i * n + j] - row_product(mem, B + i * n, B + j * n, j)
            if i == j:
                mem[B + j * n + j] = math.sqrt(total) if total > 0.0 else 1.0
            else:
                mem[B + i * n + j] = total / mem[B + j * n + j]
    for i in range(n):  # L^-1 in its place, each row from those above it
        row = B + i * n
        for k in range(i):
            factor = mem[row + k]
            mem[row + k] = 0.0
            add_row(mem, row, B + k * n, factor, k + 1)
        mem[row + i] = 1.0 / mem[row + i]
        scale_row(mem, row, -mem[row + i], i)
    for k in range(n):  # L^-T L^-1: row k of L^-1 adds to the rows above it, then to its own
        row = B + k * n
        for i in range(k):
            add_row(mem, B + i * n, row, mem[row + i], i + 1)
        scale_row(mem, row, mem[row + k], k + 1)
    for i in range(n):
        for j in range(i + 1):
            if plan[plan[FREEDOM] + i] != LOOSE or plan[plan[FREEDOM] + j] != LOOSE:
                mem[B + i * n + j] = 0.0
            mem[B + j * n + i] = mem[B + i * n + j]
    return 0


@jit(i8(Ints, Floats))
def linearise(plan, mem):
    """J B, its Gram matrix J B J^T and the lengths of the rows, at the gradients last evaluated."""
    n, m, B, S, K = plan[N], plan[M], plan[INVERSE], plan[SPREAD], plan[GRAM]
    for k in range(m):
        J = plan[OUTPUT] + plan[TOTAL] + plan[plan[PICK] + k] * n
        for j in range(n):
            mem[S + k * n + j] = 0.0
        for i in range(n):
            g = mem[J + i]
            if g != 0.0 and plan[plan[FREEDOM] + i] == LOOSE:
                add_row(mem, S + k * n, B + i * n, g, n)
        for l in range(k + 1):
            other = plan[OUTPUT] + plan[TOTAL] + plan[plan[PICK] + l] * n
            mem[K + k * m + l] = row_product(mem, S + k * n, other, n)
        # The longest a row has been: one that vanishes at a singular position must not be blown up there.
        if plan[UNIFORM] != WEIGHTED_ALIKE:
            mem[plan[NORM] + k] = max(mem[plan[NORM] + k], math.sqrt(max(mem[K + k * m + k], 0.0)))
    if plan[UNIFORM] == TO_WEIGHT_ALIKE:
        longest = 0.0
        for k in range(m):
            longest = max(longest, mem[plan[NORM] + k])
        for k in range(m):
            mem[plan[NORM] + k] = longest
        plan[UNIFORM] = WEIGHTED_ALIKE
    return 0


@jit(f8(Floats, i8, i8))
def unit_factor(mem, norms, k):
    return 1.0 / mem[norms + k] if mem[norms + k] > 0.0 else 1.0


@jit(f8(Ints, Floats))
def _cost(plan, mem):
    total = 0.0
    for k in range(plan[M]):
        total += (mem[plan[RESIDUAL] + k] * unit_factor(mem, plan[NORM], k)) ** 2
    return total


@jit(i8(Ints, Floats, f8))
def factor_rows(plan, mem, mu):
    """Cholesky factor of J B J^T + mu, rows scaled to unit length."""
    m, K, L, norms = plan[M], plan[GRAM], plan[FACTOR], plan[NORM]
    for k in range(m):
        for l in range(k + 1):
            total = mem[K + k * m + l] * unit_factor(mem, norms, k) * unit_factor(mem, norms, l)
            if k == l:
                total += mu
            for i in range(l):
                total -= mem[L + k * m + i] * mem[L + l * m + i]
            mem[L + k * m + l] = math.sqrt(max(total, 0.1 * mu)) if k == l else total / mem[L + l * m + l]
    return 0


@jit(f8(Ints, Floats, i8))
def solve_rows(plan, mem, side):
    """STEP = B J^T y with (J B J^T + mu) y = mem[side:] by the factor at hand; returns y^T y, for unit rows."""
    n, m, L, y, norms = plan[N], plan[M], plan[FACTOR], plan[WEIGHT], plan[NORM]
    for k in range(m):
        mem[y + k] = mem[side + k] * unit_factor(mem, norms, k)
        for i in range(k):
            mem[y + k] -= mem[L + k * m + i] * mem[y + i]
        mem[y + k] /= mem[L + k * m + k]
    square = 0.0
    for k in range(m - 1, -1, -1):
        for i in range(k + 1, m):
            mem[y + k] -= mem[L + i * m + k] * mem[y + i]
        mem[y + k] /= mem[L + k * m + k]
        square += mem[y + k] ** 2
    for j in range(n):
        mem[plan[STEP] + j] = 0.0
    for k in range(m):
        add_row(mem, plan[STEP], plan[SPREAD] + k * n, mem[y + k] * unit_factor(mem, norms, k), n)
    return square


@jit(i8(Ints, Floats, i8, f8))
def stop_at_bounds(plan, mem, way, factor):
    """Fix variables at a bound that v + factor * mem[way:] would cross; returns how many were."""
    v, stopped = plan[VALUE], 0
    for j in range(plan[N] if plan[BOUNDED] else 0):
        if plan[plan[FREEDOM] + j] == LOOSE:
            ahead = factor * mem[way + j]
            low, high = mem[v + j] <= mem[plan[LOW] + j], mem[v + j] >= mem[plan[HIGH] + j]
            if (low and ahead < 0.0) or (high and ahead > 0.0):
                plan[plan[FREEDOM] + j] = STOPPED
                stopped += 1
    return stopped


@jit(i8(Ints, Floats))
def release_bounds(plan, mem):
    """Let variables at a bound move again."""
    stopped = 0
    for j in range(plan[N] if plan[BOUNDED] == 1 else 0):
        if plan[plan[FREEDOM] + j] == STOPPED:
            plan[plan[FREEDOM] + j] = LOOSE
            stopped += 1
    if stopped:
        invert_metric(plan, mem)
    return stopped


@jit(i8(Ints, Floats, i8, f8))
def advance(plan, mem, way, factor):
    """v += factor * mem[way:], within the bounds."""
    v = plan[VALUE]
    for j in range(plan[N]):
        if plan[plan[FREEDOM] + j] == LOOSE:
            moved = mem[v + j] + factor * mem[way + j]
            mem[v + j] = min(max(moved, mem[plan[LOW] + j]), mem[plan[HIGH] + j])
    return 0


@jit(f8(Ints, Floats, f8, f8, i8))
def meet(plan, mem, first, goal, limit):
    """Levenberg-Marquardt from v, damped by `first`, until residuals reach the goal or no step helps; the worst one."""
    n, m, v, r = plan[N], plan[M], plan[VALUE], plan[RESIDUAL]
    worst, mu, flat = evaluate(plan, mem), first, 0
    if not math.isfinite(worst):
        return worst
    linearise(plan, mem)
    for _ in range(limit):
        cost = _cost(plan, mem)
        if worst <= goal or mu > STEEPEST or flat > PATIENCE or cost == 0.0:
            break
        factor_rows(plan, mem, mu)
        left = mu * mu * solve_rows(plan, mem, r)
        if stop_at_bounds(plan, mem, plan[STEP], -1.0):
            invert_metric(plan, mem)
            linearise(plan, mem)
            continue
        move(mem, plan[VALUE_OLD], mem, v, n)
        move(mem, plan[RESIDUAL_OLD], mem, r, m)
        advance(plan, mem, plan[STEP], -1.0)
        plan[STEPS] += 1
        new = evaluate(plan, mem)
        if math.isfinite(new) and _cost(plan, mem) < cost:
            gain = (cost - _cost(plan, mem)) / max(cost - left, 1e-300)
            flat = flat + 1 if _cost(plan, mem) > (1.0 - FLAT) * cost else 0
            mu = max(FLOOR, mu * (0.01 if gain > 0.75 else (0.2 if gain > 0.25 else 4.0)))
            worst = new
            release_bounds(plan, mem)
            linearise(plan, mem)
        else:
            move(mem, v, mem, plan[VALUE_OLD], n)
            move(mem, r, mem, plan[RESIDUAL_OLD], m)
            if worst <= HELD:
                break
            mu = max(mu, 1e-6) * 8.0
    release_bounds(plan, mem)
    worst = evaluate(plan, mem)
    linearise(plan, mem)
    return worst
