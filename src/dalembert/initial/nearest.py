"""Nearest solution of equations to a target: Levenberg-Marquardt, then a walk along the solutions.

The distance is d^T G d with d = v - target. Once the equations are met, v moves along the null space of J until d is
normal to all of them, a local minimum of the distance, by Newton steps: G + sum y_k r_k'' is applied by differences of
gradients inside conjugate gradients, preconditioned with the metric.
"""

from __future__ import annotations

import math

from dalembert.initial.levenberg_marquardt import (
    FIRST_DAMPING,
    FIXED,
    LEAST_DAMPING,
    LEAST_RESIDUAL,
    LOOSE,
    MET_RESIDUAL,
    STAYS_STOPPED,
    Descent,
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
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, ints_at, move
from dalembert.solve.rows import add_row, row_product

NORMAL = 1e-16  # square of the part of the way to the target that may be left along the equations, relative


@jit(i8(Descent, Floats))
def unwind(plan, mem):
    """Bring free angles within half a turn of the target."""
    ints = ints_at(plan.ints, plan.n_ints)
    for j in range(plan.n):
        if ints[plan.turn + j] and ints[plan.freedom + j] == LOOSE:
            v, turn = mem[plan.value + j], 2.0 * math.pi
            near = v - turn * math.floor((v - mem[plan.target + j]) / turn + 0.5)
            if mem[plan.low + j] <= near <= mem[plan.high + j]:
                mem[plan.value + j] = near
    return 0


@jit(i8(Floats, i8, i8, i8, i8))
def _multiply(mem, n, S, a, to):
    """mem[to:] = S a for a symmetric matrix (n, n)."""
    for i in range(n):
        mem[to + i] = row_product(mem, S + i * n, a, n)
    return 0


@jit(i8(Descent, Floats, i8))
def _keep_loose(plan, mem, a):
    """Zero in mem[a:] wherever a variable cannot move."""
    ints = ints_at(plan.ints, plan.n_ints)
    for j in range(plan.n):
        if ints[plan.freedom + j] != LOOSE:
            mem[a + j] = 0.0
    return 0


@jit(f8(Descent, Floats, i8))
def _square(plan, mem, a):
    """a^T G a of a way that leaves fixed variables alone; CG_H is overwritten."""
    _multiply(mem, plan.n, plan.metric, a, plan.cg_h)
    return row_product(mem, a, plan.cg_h, plan.n)


@jit(f8(Descent, Floats))
def _distance(plan, mem):
    """d^T G d; leaves d in STEP."""
    ints = ints_at(plan.ints, plan.n_ints)
    for j in range(plan.n):
        free = ints[plan.freedom + j] != FIXED
        mem[plan.step + j] = mem[plan.value + j] - mem[plan.target + j] if free else 0.0
    return _square(plan, mem, plan.step)


@jit(f8(Descent, Floats))
def _find_tangent(plan, mem):
    """TANGENT = the part of v - target along the equations; returns the square of its length."""
    ints = ints_at(plan.ints, plan.n_ints)
    n, m, t, side = plan.n, plan.m, plan.tangent, plan.residual_old
    while True:
        _distance(plan, mem)
        for j in range(n):
            mem[t + j] = mem[plan.step + j] if ints[plan.freedom + j] == LOOSE else 0.0
        for k in range(m):
            mem[side + k] = row_product(mem, plan.output + plan.total + ints[plan.pick + k] * n, t, n)
        factor_rows(plan, mem, LEAST_DAMPING)
        solve_rows(plan, mem, side)
        for j in range(n):
            mem[t + j] -= mem[plan.step + j] if ints[plan.freedom + j] == LOOSE else 0.0
        if not stop_at_bounds(plan, mem, t, -1.0):
            return _square(plan, mem, t)
        invert_metric(plan, mem)
        linearise(plan, mem)


@jit(i8(Descent, Floats, i8))
def _pull(plan, mem, to):
    """mem[to:] = J^T y among the loose variables, with the gradients last evaluated and y in MULTIPLIER."""
    ints = ints_at(plan.ints, plan.n_ints)
    n = plan.n
    for j in range(n):
        mem[to + j] = 0.0
    for k in range(plan.m):
        J = plan.output + plan.total + ints[plan.pick + k] * n
        add_row(mem, to, J, mem[plan.multiplier + k], n)
    return _keep_loose(plan, mem, to)


@jit(i8(Descent, Floats))
def _precondition(plan, mem):
    """CG_Z = the part of B CG_R along the equations."""
    n, m, r, z, side = plan.n, plan.m, plan.cg_r, plan.cg_z, plan.residual_old
    for k in range(m):
        mem[side + k] = row_product(mem, plan.spread + k * n, r, n)
    solve_rows(plan, mem, side)
    _multiply(mem, n, plan.inverse, r, z)
    for i in range(n):
        mem[z + i] -= mem[plan.step + i]
    return 0


@jit(i8(Descent, Floats))
def _curve(plan, mem):
    """CG_H = (G + sum y_k r_k'') p for p = CG_P, the curvature by a difference of gradients."""
    n, v, p, h, base = plan.n, plan.value, plan.cg_p, plan.cg_h, plan.cg_base
    reach = 0.0
    for j in range(n):
        reach = max(reach, abs(mem[p + j]) / max(mem[plan.size + j], abs(mem[v + j])))
    e = 1e-6 / reach if reach > 0.0 else 1.0
    for j in range(n):
        mem[v + j] += e * mem[p + j]
    evaluate(plan, mem)
    _pull(plan, mem, h)
    for j in range(n):
        mem[v + j] = mem[plan.best + j]
        mem[base + n + j] = (mem[h + j] - mem[base + j]) / e
    _multiply(mem, n, plan.metric, p, h)
    _keep_loose(plan, mem, h)
    for j in range(n):
        mem[h + j] += mem[base + n + j]
    return 0


@jit(i8(Descent, Floats, f8))
def _find_way(plan, mem, distance):
    """TANGENT = minus the Newton step of the distance along the equations, by conjugate gradients; v stays in BEST.

    Where the curvature is not positive the way found up to there is taken, at first the tangent itself.
    """
    n, m, t, r, z, p, h = plan.n, plan.m, plan.tangent, plan.cg_r, plan.cg_z, plan.cg_p, plan.cg_h
    norms = plan.norm
    for k in range(m):  # G d = -J^T y up to the tangent: y from the solve that gave it
        mem[plan.multiplier + k] = -mem[plan.weight + k] * unit_factor(mem, norms, k)
    _pull(plan, mem, plan.cg_base)
    _multiply(mem, n, plan.metric, t, r)
    _keep_loose(plan, mem, r)
    move(mem, z, mem, t, n)
    move(mem, p, mem, t, n)
    for j in range(n):
        mem[plan.tangent_old + j] = 0.0
    gain = row_product(mem, r, z, n)
    first = gain
    accuracy = min(max(gain / distance, 1e-8), 1e-3)  # far from the minimum a rough step is as good as an exact one
    for _ in range(2 * n):
        _curve(plan, mem)
        bend = row_product(mem, p, h, n)
        if not bend > 1e-3 * gain:
            break
        step = gain / bend
        add_row(mem, plan.tangent_old, p, step, n)
        add_row(mem, r, h, -step, n)
        _precondition(plan, mem)
        after = row_product(mem, r, z, n)
        if not after > accuracy * first:
            break
        for j in range(n):
            mem[p + j] = mem[z + j] + after / gain * mem[p + j]
        gain = after
    if row_product(mem, plan.tangent_old, plan.tangent_old, n) > 0.0:
        move(mem, t, mem, plan.tangent_old, n)
    evaluate(plan, mem)
    return 0


@jit(i8(Descent, Floats, i8))
def approach(plan, mem, limit):
    """Move v, which meets the equations, along them to a local minimum of the distance, never away from it."""
    n, v, t = plan.n, plan.value, plan.tangent
    for _ in range(limit):
        release_bounds(plan, mem)
        distance = _distance(plan, mem)
        if not _find_tangent(plan, mem) > NORMAL * distance:
            break
        move(mem, plan.best, mem, v, n)
        _find_way(plan, mem, distance)
        length = 1.0
        while length > 1e-3:
            advance(plan, mem, t, -length)
            plan.steps += 1
            if stop_at_bounds(plan, mem, t, -length):
                invert_metric(plan, mem)
                # What ran into its bound stays there, or meeting the equations would lead it off.
                plan.bounded = STAYS_STOPPED
            met = meet(plan, mem, LEAST_DAMPING, MET_RESIDUAL, 12)
            plan.bounded = min(plan.bounded, 1)
            if met <= MET_RESIDUAL and _distance(plan, mem) < distance:
                break
            release_bounds(plan, mem)
            move(mem, v, mem, plan.best, n)
            length *= 0.25
        if not length > 1e-3:
            evaluate(plan, mem)
            linearise(plan, mem)
            break
    return release_bounds(plan, mem)


@jit(f8(Descent, Floats, i8, i8))
def find_nearest(plan, mem, limit, walk):
    """Find a solution from v, then walk along the solutions towards the target. Returns the worst residual."""
    invert_metric(plan, mem)
    worst = meet(plan, mem, FIRST_DAMPING, LEAST_RESIDUAL, limit)
    if worst <= MET_RESIDUAL:
        unwind(plan, mem)
        worst = meet(plan, mem, LEAST_DAMPING, LEAST_RESIDUAL, limit)
        if walk > 0:
            approach(plan, mem, walk)
            worst = meet(plan, mem, LEAST_DAMPING, LEAST_RESIDUAL, limit)
    return worst
