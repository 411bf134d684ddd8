"""The point that meets equations and lies nearest to a target: Levenberg-Marquardt, then a walk along the equations.

The distance is d^T G d with d = v - target. Once the equations are met, v moves along the null space of J until d is
normal to all of them, a local minimum of the distance, by Newton steps: G + sum y_k r_k'' is applied by differences of
gradients inside conjugate gradients, preconditioned with the metric.
"""

from __future__ import annotations

import math

from dalembert.numerics.layout import Floats, Ints, f8, i8, move
from dalembert.numerics.least_steps import (
    BEST,
    BOUNDED,
    CG_BASE,
    CG_H,
    CG_P,
    CG_R,
    CG_Z,
    FIRST,
    FIXED,
    FLOOR,
    FREEDOM,
    HELD,
    HIGH,
    INVERSE,
    KEPT,
    LOOSE,
    LOW,
    METRIC,
    MULTIPLIER,
    NORM,
    OUTPUT,
    PICK,
    RESIDUAL_OLD,
    ROUND_OFF,
    SPREAD,
    STEP,
    STEPS,
    TANGENT,
    TANGENT_OLD,
    TARGET,
    TOTAL,
    TURN,
    VALUE,
    WEIGHT,
    M,
    N,
    advance,
    evaluate,
    factor_rows,
    invert_metric,
    linearise,
    meet,
    release_bounds,
    solve_rows,
    stop_at_bounds,
    unit_factor,
)
from dalembert.numerics.linear.rows import add_row, row_product
from dalembert.numerics.native_cache import jit

NORMAL = 1e-16  # square of the part of the way to the target that may be left along the equations, relative


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


@jit(i8(Floats, i8, i8, i8, i8))
def _multiply(mem, n, S, a, to):
    """mem[to:] = S a for a symmetric matrix (n, n)."""
    for i in range(n):
        mem[to + i] = row_product(mem, S + i * n, a, n)
    return 0


@jit(i8(Ints, Floats, i8))
def _keep_loose(plan, mem, a):
    """Zero in mem[a:] wherever a variable cannot move."""
    for j in range(plan[N]):
        if plan[plan[FREEDOM] + j] != LOOSE:
            mem[a + j] = 0.0
    return 0


@jit(f8(Ints, Floats, i8))
def _square(plan, mem, a):
    """a^T G a of a way that leaves fixed variables alone; CG_H is overwritten."""
    _multiply(mem, plan[N], plan[METRIC], a, plan[CG_H])
    return row_product(mem, a, plan[CG_H], plan[N])


@jit(f8(Ints, Floats))
def _distance(plan, mem):
    """d^T G d; leaves d in STEP."""
    for j in range(plan[N]):
        free = plan[plan[FREEDOM] + j] != FIXED
        mem[plan[STEP] + j] = mem[plan[VALUE] + j] - mem[plan[TARGET] + j] if free else 0.0
    return _square(plan, mem, plan[STEP])


@jit(f8(Ints, Floats))
def _find_tangent(plan, mem):
    """TANGENT = the part of v - target along the equations; returns the square of its length."""
    n, m, t, side = plan[N], plan[M], plan[TANGENT], plan[RESIDUAL_OLD]
    while True:
        _distance(plan, mem)
        for j in range(n):
            mem[t + j] = mem[plan[STEP] + j] if plan[plan[FREEDOM] + j] == LOOSE else 0.0
        for k in range(m):
            mem[side + k] = row_product(mem, plan[OUTPUT] + plan[TOTAL] + plan[plan[PICK] + k] * n, t, n)
        factor_rows(plan, mem, FLOOR)
        solve_rows(plan, mem, side)
        for j in range(n):
            mem[t + j] -= mem[plan[STEP] + j] if plan[plan[FREEDOM] + j] == LOOSE else 0.0
        if not stop_at_bounds(plan, mem, t, -1.0):
            return _square(plan, mem, t)
        invert_metric(plan, mem)
        linearise(plan, mem)


@jit(i8(Ints, Floats, i8))
def _pull(plan, mem, to):
    """mem[to:] = J^T y among the loose variables, with the gradients last evaluated and y in MULTIPLIER."""
    n = plan[N]
    for j in range(n):
        mem[to + j] = 0.0
    for k in range(plan[M]):
        J = plan[OUTPUT] + plan[TOTAL] + plan[plan[PICK] + k] * n
        add_row(mem, to, J, mem[plan[MULTIPLIER] + k], n)
    return _keep_loose(plan, mem, to)


@jit(i8(Ints, Floats))
def _precondition(plan, mem):
    """CG_Z = the part of B CG_R along the equations."""
    n, m, r, z, side = plan[N], plan[M], plan[CG_R], plan[CG_Z], plan[RESIDUAL_OLD]
    for k in range(m):
        mem[side + k] = row_product(mem, plan[SPREAD] + k * n, r, n)
    solve_rows(plan, mem, side)
    _multiply(mem, n, plan[INVERSE], r, z)
    for i in range(n):
        mem[z + i] -= mem[plan[STEP] + i]
    return 0


@jit(i8(Ints, Floats))
def _curve(plan, mem):
    """CG_H = (G + sum y_k r_k'') p for p = CG_P, the curvature by a difference of gradients."""
    n, v, p, h, base = plan[N], plan[VALUE], plan[CG_P], plan[CG_H], plan[CG_BASE]
    reach, size = 0.0, 1.0
    for j in range(n):
        reach, size = max(reach, abs(mem[p + j])), max(size, abs(mem[v + j]))
    e = 1e-6 * size / reach if reach > 0.0 else 1.0
    for j in range(n):
        mem[v + j] += e * mem[p + j]
    evaluate(plan, mem)
    _pull(plan, mem, h)
    for j in range(n):
        mem[v + j] = mem[plan[BEST] + j]
        mem[base + n + j] = (mem[h + j] - mem[base + j]) / e
    _multiply(mem, n, plan[METRIC], p, h)
    _keep_loose(plan, mem, h)
    for j in range(n):
        mem[h + j] += mem[base + n + j]
    return 0


@jit(i8(Ints, Floats, f8))
def _find_way(plan, mem, distance):
    """TANGENT = minus the Newton step of the distance along the equations, by conjugate gradients; v stays in BEST.

    Where the curvature is not positive the way found up to there is taken, at first the tangent itself.
    """
    n, m, t, r, z, p, h = plan[N], plan[M], plan[TANGENT], plan[CG_R], plan[CG_Z], plan[CG_P], plan[CG_H]
    norms = plan[NORM]
    for k in range(m):  # G d = -J^T y up to the tangent: y from the solve that gave it
        mem[plan[MULTIPLIER] + k] = -mem[plan[WEIGHT] + k] * unit_factor(mem, norms, k)
    _pull(plan, mem, plan[CG_BASE])
    _multiply(mem, n, plan[METRIC], t, r)
    _keep_loose(plan, mem, r)
    move(mem, z, mem, t, n)
    move(mem, p, mem, t, n)
    for j in range(n):
        mem[plan[TANGENT_OLD] + j] = 0.0
    gain = row_product(mem, r, z, n)
    first = gain
    accuracy = min(max(gain / distance, 1e-8), 1e-3)  # far from the minimum a rough step is as good as an exact one
    for _ in range(2 * n):
        _curve(plan, mem)
        bend = row_product(mem, p, h, n)
        if not bend > 1e-3 * gain:
            break
        step = gain / bend
        add_row(mem, plan[TANGENT_OLD], p, step, n)
        add_row(mem, r, h, -step, n)
        _precondition(plan, mem)
        after = row_product(mem, r, z, n)
        if not after > accuracy * first:
            break
        for j in range(n):
            mem[p + j] = mem[z + j] + after / gain * mem[p + j]
        gain = after
    if row_product(mem, plan[TANGENT_OLD], plan[TANGENT_OLD], n) > 0.0:
        move(mem, t, mem, plan[TANGENT_OLD], n)
    evaluate(plan, mem)
    return 0


@jit(i8(Ints, Floats, i8))
def approach(plan, mem, limit):
    """Move v, which meets the equations, along them to a local minimum of the distance, never away from it."""
    n, v, t = plan[N], plan[VALUE], plan[TANGENT]
    for _ in range(limit):
        release_bounds(plan, mem)
        distance = _distance(plan, mem)
        if not _find_tangent(plan, mem) > NORMAL * distance:
            break
        move(mem, plan[BEST], mem, v, n)
        _find_way(plan, mem, distance)
        length = 1.0
        while length > 1e-3:
            advance(plan, mem, t, -length)
            plan[STEPS] += 1
            if stop_at_bounds(plan, mem, t, -length):
                invert_metric(plan, mem)
                plan[BOUNDED] = KEPT  # what ran into its bound stays there, or meeting the equations would lead it off
            met = meet(plan, mem, FLOOR, HELD, 12)
            plan[BOUNDED] = min(plan[BOUNDED], 1)
            if met <= HELD and _distance(plan, mem) < distance:
                break
            release_bounds(plan, mem)
            move(mem, v, mem, plan[BEST], n)
            length *= 0.25
        if not length > 1e-3:
            evaluate(plan, mem)
            linearise(plan, mem)
            break
    return release_bounds(plan, mem)


@jit(f8(Ints, Floats, i8, i8))
def find_nearest(plan, mem, limit, walk):
    """From v to a point that meets the equations, then along them towards the target; the worst residual."""
    invert_metric(plan, mem)
    worst = meet(plan, mem, FIRST, ROUND_OFF, limit)
    if worst <= HELD:
        unwind(plan, mem)
        worst = meet(plan, mem, FLOOR, ROUND_OFF, limit)
        if walk > 0:
            approach(plan, mem, walk)
            worst = meet(plan, mem, FLOOR, ROUND_OFF, limit)
    return worst
