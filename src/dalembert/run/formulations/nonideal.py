"""Accelerations when reactions are not simply A^T la: servo constraints, friction, constraints not linear in u'.

M u' = f + W^T la with A u' = b. Servo constraints let W differ from A. Coulomb friction adds -F^T |la|: W = W0 - s F
with s = sign(la), and the signs are found by solving, comparing and flipping. Acceleration constraints g(u') = 0 that
are not linear give A = dg/du', which is also the direction of their ideal reaction, at the solution only: Newton's
method on both equations, started from the acceleration without these constraints, so that of several solutions the
one close to it is found, in the spirit of Gauss's least constraint, and the result depends on the state alone.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_feedback, call_kernel, f8, i8, ints_at, move
from dalembert.run.evaluate import finish_rates
from dalembert.run.formulations.law_loops import solve_laws
from dalembert.run.status import JAMMED, OK, UNREACHED
from dalembert.solve.solver import call_factor, call_solve

AT_ONCE = 4  # rounds in which every wrong sign is flipped; then one at a time (Murty's rule), which cannot cycle
ROUNDS = 64
ITERATIONS = 50
ROUND_OFF = 1e-13


@jit(i8(Plan, Floats))
def _compose(plan, mem):
    """W = W0 - s F, with the signs at hand."""
    nu, nc, W, W0, F, s = plan.nu, plan.nc, plan.direction, plan.stated, plan.friction, plan.sign
    move(mem, W, mem, W0, nc * nu)
    if plan.rubs:
        for k in range(nc):
            sign = -1.0 if mem[s + k] < 0.0 else 1.0
            for i in range(nu):
                mem[W + k * nu + i] -= sign * mem[F + k * nu + i]
    return 0


@jit(i8(Plan, Floats, i8))
def _solve(plan, mem, bend):
    """(u', la) into RHS; with `bend`, a Newton step that counts the curvature H of the constraints: M - H, f - H u'."""
    nu, M, H, x = plan.nu, plan.mass, plan.linearised, plan.rhs
    move(mem, x, mem, plan.force, nu)
    move(mem, x + nu, mem, plan.bias, plan.nc)
    if bend:
        H += (plan.nc - plan.np - plan.nv) * (2 * nu + 1)
        for i in range(nu):
            for j in range(nu):
                mem[M + i * nu + j] -= mem[H + i * nu + j]
                mem[x + i] -= mem[H + i * nu + j] * mem[plan.xudot + j]
    call_factor(plan.factor, (plan, mem, plan.nc))
    call_solve(plan.solve, (plan, mem, plan.nc, x))
    if bend:
        move(mem, M, mem, plan.mass_copy, nu * nu)
    return 0


@jit(i8(Plan, Floats, i8))
def _flip(plan, mem, every):
    """Flip signs that contradict the multipliers in RHS, or only the last of them; returns how many there are."""
    nu, nc, W0, F, s, la = plan.nu, plan.nc, plan.stated, plan.friction, plan.sign, plan.rhs + plan.nu
    scale = 0.0
    for i in range(nu):
        scale = max(scale, abs(mem[plan.force + i]))
    for k in range(nc):
        for i in range(nu):
            scale = max(scale, abs(mem[la + k] * mem[W0 + k * nu + i]))
    wrong = 0
    for k in range(nc - 1, -1, -1):
        size, rubs = 0.0, 0.0
        for i in range(nu):
            size = max(size, abs(mem[W0 + k * nu + i]))
            rubs = max(rubs, abs(mem[F + k * nu + i]))
        sign = -1.0 if mem[s + k] < 0.0 else 1.0
        if rubs > 0.0 and sign * mem[la + k] * size < -ROUND_OFF * scale:
            if every or wrong == 0:
                mem[s + k] = -sign
            wrong += 1
    return wrong


@jit(i8(Plan, Floats, i8))
def _solve_signs(plan, mem, bend):
    """(u', la) into RHS with signs that agree with la; JAMMED if none were found."""
    for attempt in range(ROUNDS):
        _compose(plan, mem)
        _solve(plan, mem, bend)
        if not plan.rubs or _flip(plan, mem, attempt < AT_ONCE) == 0:
            return OK
    return JAMMED


@jit(i8(Plan, Floats))
def _linearise(plan, mem):
    """Rows of A, W0 and b of the acceleration constraints at the estimate of u' behind x; whether they are finite."""
    nu, na = plan.nu, plan.nc - plan.np - plan.nv
    first, new, ud = plan.nc - na, plan.linearised, plan.xudot
    call_kernel(plan.newton, mem, plan.x, new)
    move(mem, plan.jacobian + first * nu, mem, new, na * nu)
    move(mem, plan.stated + first * nu, mem, new + na * nu, na * nu)
    for k in range(na):
        total = -mem[new + 2 * na * nu + k]
        for i in range(nu):
            total += mem[new + k * nu + i] * mem[ud + i]
        mem[plan.bias + first + k] = total
    check = 0.0
    for i in range(na * (2 * nu + 1) + nu * nu):
        check += mem[new + i] * 0.0
    return check == 0.0


@jit(i8(Plan, Floats))
def _release(plan, mem):
    """Empty the rows of the acceleration constraints, and solve without them."""
    nu, na, nc = plan.nu, plan.nc - plan.np - plan.nv, plan.nc
    for k in range(nc - na, nc):
        mem[plan.bias + k] = 0.0
        for i in range(nu):
            mem[plan.jacobian + k * nu + i] = 0.0
            mem[plan.stated + k * nu + i] = 0.0
    move(mem, plan.mass_copy, mem, plan.mass, nu * nu)
    return _solve_signs(plan, mem, 0)


@jit(f8(Plan, Floats))
def _approach(plan, mem):
    """Move the estimate of u' to that in RHS, or half-way, ... until the constraints are defined; linearise them there.

    Returns the length of the whole way relative to u'; infinite if the constraints are defined nowhere on it.
    """
    nu, na, x, ud, old = plan.nu, plan.nc - plan.np - plan.nv, plan.rhs, plan.xudot, plan.remainder
    move(mem, old, mem, ud, nu)
    move(mem, ud, mem, x, nu)
    move(mem, ud + nu, mem, x + nu + plan.nc - na, na)
    way, size, part = 0.0, 0.0, 1.0
    for i in range(nu):
        way += abs(mem[x + i] - mem[old + i])
        size += abs(mem[x + i])
    while not _linearise(plan, mem):
        part *= 0.5
        if not (part > 1e-9 and math.isfinite(way)):
            return math.inf
        for i in range(nu):
            mem[ud + i] = mem[old + i] + part * (mem[x + i] - mem[old + i])
    return way / size if size > 0.0 else min(way, 1.0)


@jit(i8(Plan, Floats))
def _holds(plan, mem):
    """Whether the acceleration constraints are met; not so where their gradient vanishes and they have no say."""
    nu, na, new, ud = plan.nu, plan.nc - plan.np - plan.nv, plan.linearised, plan.xudot
    for k in range(na):
        scale = 1.0
        for i in range(nu):
            scale += abs(mem[new + k * nu + i] * mem[ud + i])
        if not abs(mem[new + 2 * na * nu + k]) <= 1e-9 * scale:
            return 0
    return 1


@jit(i8(Plan, Floats))
def _solve_curved(plan, mem):
    """(u', la) into RHS by Newton's method; leaves A, b and W at the solution."""
    nu, na, ud = plan.nu, plan.nc - plan.np - plan.nv, plan.xudot
    for i in range(nu + na):
        mem[ud + i] = 0.0
    _release(plan, mem)
    last = _approach(plan, mem)
    for _ in range(ITERATIONS):
        if not math.isfinite(last):
            break
        status = _solve_signs(plan, mem, 1)
        way = _approach(plan, mem)
        if way <= ROUND_OFF or (way <= 1e-9 and way >= 0.5 * last):
            _compose(plan, mem)
            return status if _holds(plan, mem) else UNREACHED
        last = way
    return UNREACHED


@jit(i8(Plan, Floats))
def _leave_out(plan, mem):
    """Empty the rows of A and b that the others imply."""
    ints, nu = ints_at(plan.ints, plan.n_ints), plan.nu
    for j in range(plan.implied):
        k = ints[plan.implied_rows + j]
        mem[plan.bias + k] = 0.0
        for i in range(nu):
            mem[plan.jacobian + k * nu + i] = 0.0
    return 0


@jit(i8(Plan, Floats))
def accelerate_nonideal(plan, mem):
    """u' and la for reactions of every kind; u' is NaN, and the reason in UNSOLVED, if there is no solution."""
    nu, ud, z = plan.nu, plan.udot, plan.xq
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_feedback(plan.feedback, (plan, mem))
    _leave_out(plan, mem)
    if plan.iteration:
        status = solve_laws(plan, mem)
        _compose(plan, mem)
    else:
        status = _solve_curved(plan, mem) if plan.newton else _solve_signs(plan, mem, 0)
    move(mem, ud, mem, plan.rhs, nu)
    move(mem, plan.multiplier, mem, plan.rhs + nu, plan.nc)
    for i in range(nu if status != OK else 0):
        mem[ud + i] = math.nan
    check = 0.0
    for i in range(plan.nq + nu):
        check += mem[z + i] * 0.0
    if check == 0.0:  # what follows from a state that is not finite already is not a new finding
        plan.unsolved = status
    return finish_rates(plan, mem)
