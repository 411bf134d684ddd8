"""The point that satisfies equations and lies nearest to a target: Levenberg-Marquardt, then a walk along the equations.

Variables v (n,) of which some are free, equations r(v) = 0 (m,) from a kernel that gives r and then its gradients, row by
row. The distance is d^T G d with d = v - target and a constant metric G. Steps are the least ones in that metric,
d = -B J^T (J B J^T + mu)^-1 r with B the inverse of G among the free variables and rows scaled to unit length, so that
dependent rows and singular positions only slow it down. Once r vanishes, v moves along the null space of J towards the
target until the way left is normal to all equations: a local minimum of the distance.

All numbers lie in two arrays as elsewhere in the numerics: `plan` (sizes, offsets, indices) and `mem`.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.numerics.layout import Floats, Ints, call_kernel, f8, i8, move
from dalembert.numerics.native_cache import jit

# Sizes, the kernel and where its input and output lie in mem; index lists in plan: place of a variable in the input, row
# of the kernel behind an equation, freedom of a variable (FIXED, LOOSE or STOPPED at a bound), whether it is an angle.
N, M, TOTAL, KERNEL, INPUT, OUTPUT, PLACE, PICK, FREEDOM, TURN, BOUNDED, STEPS, CALLS = range(13)
# Offsets in mem.
TARGET, VALUE, LOW, HIGH, WANTED, METRIC, INVERSE, SPREAD, GRAM, FACTOR, NORM = range(13, 24)
RESIDUAL, RESIDUAL_OLD, WEIGHT, STEP, VALUE_OLD, BEST, TANGENT, TANGENT_OLD = range(24, 32)
PLAN_SIZE = 32
FIXED, LOOSE, STOPPED = 0, 1, 2

HELD = 1e-12  # residuals below this, relative to the largest term if that exceeds 1, are met
ROUND_OFF = 1e-16
FLOOR = 1e-14  # least damping, for rows of unit length: directions with singular values below its root are damped
FIRST = 1e-3  # damping at the start
STEEPEST = 1e10  # damping at which no step helps
FLAT = 8  # steps without a gain worth the name before a point counts as stationary
NORMAL = 1e-18  # square of the part of the way to the target that may be left along the equations, relative


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
    plan[CALLS] += 1
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
            total = mem[B + i * n + j]
            for k in range(j):
                total -= mem[B + i * n + k] * mem[B + j * n + k]
            if i == j:
                mem[B + j * n + j] = math.sqrt(total) if total > 0.0 else 1.0
            else:
                mem[B + i * n + j] = total / mem[B + j * n + j]
    for j in range(n):  # L^-1 in its place
        mem[B + j * n + j] = 1.0 / mem[B + j * n + j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total -= mem[B + i * n + k] * mem[B + k * n + j]
            mem[B + i * n + j] = total / mem[B + i * n + i]
    for i in range(n):  # L^-T L^-1: entry (i, j) needs rows from max(i, j) on only
        for j in range(i + 1):
            total = 0.0
            for k in range(i, n):
                total += mem[B + k * n + i] * mem[B + k * n + j]
            mem[B + i * n + j] = total
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
                for j in range(n):
                    mem[S + k * n + j] += g * mem[B + i * n + j]
        for l in range(k + 1):
            other = plan[OUTPUT] + plan[TOTAL] + plan[plan[PICK] + l] * n
            total = 0.0
            for j in range(n):
                total += mem[S + k * n + j] * mem[other + j]
            mem[K + k * m + l] = total
        # The longest a row has been: one that vanishes at a singular position must not be blown up there.
        mem[plan[NORM] + k] = max(mem[plan[NORM] + k], math.sqrt(max(mem[K + k * m + k], 0.0)))
    return 0


@jit(f8(Floats, i8, i8))
def _unit(mem, norms, k):
    return 1.0 / mem[norms + k] if mem[norms + k] > 0.0 else 1.0


@jit(f8(Ints, Floats))
def _cost(plan, mem):
    total = 0.0
    for k in range(plan[M]):
        total += (mem[plan[RESIDUAL] + k] * _unit(mem, plan[NORM], k)) ** 2
    return total


@jit(f8(Ints, Floats, f8, i8))
def solve_rows(plan, mem, mu, side):
    """STEP = B J^T y with (J B J^T + mu) y = mem[side:], rows scaled to unit length; returns mu |y|, what is left."""
    n, m, K, L, y, norms = plan[N], plan[M], plan[GRAM], plan[FACTOR], plan[WEIGHT], plan[NORM]
    for k in range(m):
        for l in range(k + 1):
            mem[L + k * m + l] = mem[K + k * m + l] * _unit(mem, norms, k) * _unit(mem, norms, l)
        mem[L + k * m + k] += mu
        mem[y + k] = mem[side + k] * _unit(mem, norms, k)
    for k in range(m):
        for l in range(k + 1):
            total = mem[L + k * m + l]
            for i in range(l):
                total -= mem[L + k * m + i] * mem[L + l * m + i]
            if k == l:
                mem[L + k * m + k] = math.sqrt(max(total, 0.1 * mu))
            else:
                mem[L + k * m + l] = total / mem[L + l * m + l]
    for k in range(m):
        for i in range(k):
            mem[y + k] -= mem[L + k * m + i] * mem[y + i]
        mem[y + k] /= mem[L + k * m + k]
    left = 0.0
    for k in range(m - 1, -1, -1):
        for i in range(k + 1, m):
            mem[y + k] -= mem[L + i * m + k] * mem[y + i]
        mem[y + k] /= mem[L + k * m + k]
        left += (mu * mem[y + k]) ** 2
    for j in range(n):
        mem[plan[STEP] + j] = 0.0
    for k in range(m):
        weight = mem[y + k] * _unit(mem, norms, k)
        for j in range(n):
            mem[plan[STEP] + j] += weight * mem[plan[SPREAD] + k * n + j]
    return left


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
    for j in range(plan[N] if plan[BOUNDED] else 0):
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


@jit(f8(Ints, Floats, f8, i8))
def meet(plan, mem, first, limit):
    """Levenberg-Marquardt from v until the equations are met to round-off or no step helps; the worst residual."""
    n, m, v, r = plan[N], plan[M], plan[VALUE], plan[RESIDUAL]
    worst, mu, flat = evaluate(plan, mem), first, 0
    if not math.isfinite(worst):
        return worst
    linearise(plan, mem)
    for _ in range(limit):
        cost = _cost(plan, mem)
        if worst <= ROUND_OFF or mu > STEEPEST or flat > FLAT or cost == 0.0:
            break
        left = solve_rows(plan, mem, mu, r)
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
            flat = flat + 1 if _cost(plan, mem) > (1.0 - 1e-7) * cost else 0
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


@jit(i8(Ints, Floats))
def unwind(plan, mem):
    """Bring free angles within half a turn of the target."""
    for j in range(plan[N]):
        if plan[plan[TURN] + j] and plan[plan[FREEDOM] + j] == LOOSE:
            v, turn = mem[plan[VALUE] + j], 2.0 * math.pi
            near = v - turn * math.floor((v - mem[plan[TARGET] + j]) / turn + 0.5)
            if mem[plan[LOW] + j] <= near <= mem[plan[HIGH] + j]:
                mem[plan[VALUE] + j] = near
    return 0


@jit(f8(Ints, Floats, i8, i8))
def _product(plan, mem, a, b):
    """a^T G b of two ways among the free variables."""
    n, total = plan[N], 0.0
    for i in range(n):
        if plan[plan[FREEDOM] + i] != FIXED and mem[a + i] != 0.0:
            for j in range(n):
                if plan[plan[FREEDOM] + j] != FIXED:
                    total += mem[a + i] * mem[plan[METRIC] + i * n + j] * mem[b + j]
    return total


@jit(f8(Ints, Floats))
def _distance(plan, mem):
    """d^T G d; leaves d in STEP."""
    for j in range(plan[N]):
        free = plan[plan[FREEDOM] + j] != FIXED
        mem[plan[STEP] + j] = mem[plan[VALUE] + j] - mem[plan[TARGET] + j] if free else 0.0
    return _product(plan, mem, plan[STEP], plan[STEP])


@jit(f8(Ints, Floats))
def _find_tangent(plan, mem):
    """TANGENT = the part of v - target along the equations; returns the square of its length."""
    n, m, t, side = plan[N], plan[M], plan[TANGENT], plan[RESIDUAL_OLD]
    while True:
        _distance(plan, mem)
        for j in range(n):
            mem[t + j] = mem[plan[STEP] + j] if plan[plan[FREEDOM] + j] == LOOSE else 0.0
        for k in range(m):
            J, total = plan[OUTPUT] + plan[TOTAL] + plan[plan[PICK] + k] * n, 0.0
            for j in range(n):
                total += mem[J + j] * mem[t + j]
            mem[side + k] = total
        solve_rows(plan, mem, FLOOR, side)
        for j in range(n):
            mem[t + j] -= mem[plan[STEP] + j] if plan[plan[FREEDOM] + j] == LOOSE else 0.0
        if not stop_at_bounds(plan, mem, t, -1.0):
            return _product(plan, mem, t, t)
        invert_metric(plan, mem)
        linearise(plan, mem)


@jit(f8(Ints, Floats, i8))
def approach(plan, mem, limit):
    """Move v, which meets the equations, along them to a local minimum of the distance; the worst residual."""
    n, v, t, old = plan[N], plan[VALUE], plan[TANGENT], plan[TANGENT_OLD]
    worst, length, last = evaluate(plan, mem), 1.0, 0.0
    linearise(plan, mem)
    for _ in range(limit):
        release_bounds(plan, mem)
        distance = _distance(plan, mem)
        size = _find_tangent(plan, mem)
        if not size > NORMAL * distance:
            break
        if last > 0.0:  # Barzilai and Borwein's step length, from the last step and the change of the tangent
            change = 0.0
            for j in range(n):
                mem[old + j] -= mem[t + j]
            change = _product(plan, mem, old, old)
            length = min(max(math.sqrt(last / change) * length if change > 0.0 else 1.0, 0.1), 10.0)
        move(mem, plan[BEST], mem, v, n)
        while True:
            advance(plan, mem, t, -length)
            plan[STEPS] += 1
            met = meet(plan, mem, FLOOR, 12)
            if met <= HELD and _distance(plan, mem) < distance:
                worst, last = met, size
                break
            move(mem, v, mem, plan[BEST], n)
            length *= 0.25
            if length < 1e-3:
                last = -1.0
                break
        if last < 0.0:
            break
        move(mem, old, mem, t, n)
    release_bounds(plan, mem)
    worst = evaluate(plan, mem)
    linearise(plan, mem)
    return worst


@jit(f8(Ints, Floats, i8, i8))
def find_nearest(plan, mem, limit, walk):
    """From v to a point that meets the equations, then along them towards the target; the worst residual."""
    invert_metric(plan, mem)
    worst = meet(plan, mem, FIRST, limit)
    if worst <= HELD:
        unwind(plan, mem)
        worst = evaluate(plan, mem)
        if worst > HELD:
            worst = meet(plan, mem, FLOOR, limit)
        if walk > 0:
            worst = approach(plan, mem, walk)
    return worst
