"""One evaluation of the equations of motion in native code: kernel, feedback, solve, rates."""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import (
    Floats,
    Plan,
    call_accelerate,
    call_eliminate,
    call_feedback,
    call_kernel,
    f8,
    i8,
    move,
    move_few,
)
from dalembert.run.branch_memory import keep, recall
from dalembert.run.status import OK
from dalembert.solve.dense_products import exerted
from dalembert.solve.solver import call_balance, call_judge, call_power, call_row_residual

OFF_CONSTRAINTS = 1e-9  # largest residual of a constraint, relative to the size of its row, of a state that is on it


@jit(i8(Plan, Floats, f8, Floats))
def load_state(plan, mem, t, z):
    """Put (t, q, u) where kernels read them; z holds q, u and possibly the work done and derivatives of q and u."""
    mem[plan.x] = t
    move_few(mem, plan.xq, z, 0, plan.nq)
    move_few(mem, plan.xu, z, plan.nq, plan.nu)
    if plan.n_variations:
        move_few(mem, plan.variations, z, plan.nz - plan.n_variations, plan.n_variations)
    return 0


@jit(i8(Plan, Floats))
def leave(_plan, _mem):
    """No feedback: b stays as it is."""
    return 0


@jit(i8(Plan, Floats))
def feed_back(plan, mem):
    """Put b with the feedback of the drift control in the place of b, before the accelerations are solved for."""
    call_kernel(plan.feedback_kernel, mem, plan.x, plan.bias)
    return 0


@jit(i8(Plan, Floats))
def load_equations(plan, mem):
    """Evaluate M, f, A, b and the rest of OUT at x, with the feedback of the drift control in b."""
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_feedback(plan.feedback, (plan, mem))
    return 0


@jit(i8(Plan, Floats))
def exert_unknowns(plan, mem):
    """Add the nonlinear forces of unknowns, E, to the applied forces. M u' = f + W^T la then holds as usual."""
    nu, E = plan.nu, exerted(plan)
    for i in range(nu):
        mem[plan.force + i] += mem[E + i]
        mem[plan.power] += mem[E + i] * mem[plan.xu + i]
    return 0


@jit(i8(Plan, Floats))
def finish_rates(plan, mem):
    """q' into RATES, and the power of all that can change the energy: applied forces, moving frames, reactions."""
    power = mem[plan.power] + call_power(plan.reaction_power, (plan, mem))
    for i in range(plan.nu):
        power += mem[plan.transport + i] * mem[plan.udot + i]
    mem[plan.total_power] = power
    move(mem, plan.rates, mem, plan.qdot, plan.nq)
    return 0


@jit(f8(Floats, i8, i8))
def largest(mem, start, count):
    """The largest |mem[start + k]|, infinite if one of them is not finite."""
    worst = 0.0
    for k in range(start, start + count):
        if not math.isfinite(mem[k]):
            return math.inf
        worst = max(worst, abs(mem[k]))
    return worst


@jit(f8(Plan, Floats, i8, i8))
def largest_residual(plan, mem, first, count):
    """The largest of `count` residuals from `first` on relative to the sizes of their rows; infinite if not finite."""
    worst, r, s = 0.0, plan.residuals + first, plan.row_sizes + first
    for k in range(count):
        residual = abs(mem[r + k])
        if not residual <= worst * mem[s + k]:  # few are larger than all before, so few are divided
            if not math.isfinite(residual):
                return math.inf
            worst = residual / mem[s + k]
    return worst


@jit(f8(Plan, Floats, f8, Floats))
def violation(plan, mem, t, z):
    """The largest residual of a position or velocity constraint at (t, z), relative to the size of its row."""
    load_state(plan, mem, t, z)
    call_kernel(plan.residual, mem, plan.x, plan.residuals)
    return largest_residual(plan, mem, 0, 2 * plan.np + plan.nv)


@jit(i8(Floats))
def is_finite(values):
    """True if no entry is NaN or infinite. One check at the end of a step is enough: NaN in a stage persists."""
    total = 0.0
    for i in range(values.size):
        total += values[i] * 0.0
    return total == 0.0


@jit(i8(Plan, Floats))
def evaluate(plan, mem):
    """Rates at the state in x, left in mem, counted."""
    if plan.eliminate:
        call_eliminate(plan.eliminate, (plan, mem))
    call_accelerate(plan.accelerate, (plan, mem))
    plan.nfev += 1
    plan.least_quality = min(plan.least_quality, mem[plan.quality])
    return 0


@jit(i8(Plan, Floats, f8, Floats, Floats))
def rates(plan, mem, t, z, zdot):
    """zdot = (q', u', power), and the rates of derivatives if there are any, at (t, z); leaves u' and la in mem."""
    load_state(plan, mem, t, z)
    evaluate(plan, mem)
    plain = plan.nz - plan.n_variations
    move_few(zdot, 0, mem, plan.rates, plan.nq)
    move_few(zdot, plan.nq, mem, plan.udot, plain - plan.nq)
    if plan.n_variations:
        move_few(zdot, plain, mem, plan.variation_rates, plan.n_variations)
    return 0


@jit(f8(Plan, Floats))
def acceleration_size(plan, mem):
    """The largest |u'| relative to the sizes of the speeds."""
    worst = 0.0
    for i in range(plan.nu):
        worst = max(worst, abs(mem[plan.udot + i]) / mem[plan.sizes + plan.nq + i])
    return worst


@jit(i8(Plan, Floats, Floats, Floats, Floats, Floats))
def sample(plan, mem, ts, zs, given, out):
    """Evaluate samples, a row each in `out` (flat).

    If u' and la of all samples are `given` (flat, nu + nc each), they are judged instead of what is solved for.

    Row: u' (nu), la (nc), phi and psi (2 np + nv), acceleration residual A u' - b (nc), T, V, balance residual,
    reciprocal condition.
    """
    from_state = plan.nz
    nu, nc, n_res = plan.nu, plan.nc, 2 * plan.np + plan.nv
    width, rate = nu + nc + n_res + nc + 4, mem[plan.row_sizes + n_res]
    known, turned = plan.known, plan.kept_turned
    move(mem, plan.iteration_spare, mem, plan.iteration_kept, plan.unknowns)
    for row in range(ts.size):
        z = zs[row * from_state : (row + 1) * from_state]
        load_state(plan, mem, ts[row], z)
        if plan.iteration:
            recall(plan, mem, ts[row])
        call_accelerate(plan.accelerate, (plan, mem))
        if plan.iteration and plan.unsolved == OK:
            keep(plan, mem)
            plan.known = 1
        call_judge(plan.judge, (plan, mem, nc))
        for k in range(plan.np + plan.nv):  # kernels do not write zeros; feedback may have
            mem[plan.bias + k] = 0.0
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
        if plan.iteration:
            exert_unknowns(plan, mem)
        if given.size:
            move(mem, plan.udot, given, row * (nu + nc), nu)
            move(mem, plan.multiplier, given, row * (nu + nc) + nu, nc)
        at = row * width
        for i in range(nu):
            out[at + i] = mem[plan.udot + i]
        for k in range(nc):
            out[at + nu + k] = mem[plan.multiplier + k]
        at += nu + nc
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        for k in range(n_res):
            out[at + k] = mem[plan.residuals + k]
        at += n_res
        size = max(acceleration_size(plan, mem), rate)
        for k in range(nc):
            out[at + k] = call_row_residual(plan.row_residual, (plan, mem, k, size))
        at += nc
        call_kernel(plan.energy, mem, plan.x, plan.energies)
        out[at] = mem[plan.energies]
        out[at + 1] = mem[plan.energies + 1]
        out[at + 2] = call_balance(plan.balance, (plan, mem))
        out[at + 3] = mem[plan.quality]
    plan.known, plan.kept_turned = known, turned
    move(mem, plan.iteration_kept, mem, plan.iteration_spare, plan.unknowns)
    return 0
