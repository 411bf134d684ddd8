"""One evaluation of the equations of motion in native code: kernel, feedback, solve, rates."""

from __future__ import annotations

import math

from dalembert.numerics.layout import (
    ACCELERATE,
    BIAS,
    DIRECTION,
    DYNAMICS,
    ENERGIES,
    ENERGY,
    FEEDBACK,
    FEEDBACK_KERNEL,
    FORCE,
    JACOBIAN,
    MASS,
    MULTIPLIER,
    NC,
    NFEV,
    NP,
    NQ,
    NU,
    NV,
    NZ,
    OUT,
    POWER,
    QDOT,
    QUALITY,
    RATES,
    RESIDUAL,
    RESIDUALS,
    TOTAL_POWER,
    TRANSPORT,
    UDOT,
    XQ,
    XU,
    Floats,
    Ints,
    X,
    call_accelerate,
    call_feedback,
    call_kernel,
    f8,
    i8,
    move,
)
from dalembert.numerics.native_cache import jit


@jit(i8(Ints, Floats, f8, Floats))
def load_state(plan, mem, t, z):
    """Put (t, q, u) where kernels read them; z holds q, u and possibly the work done."""
    mem[plan[X]] = t
    move(mem, plan[XQ], z, 0, plan[NQ] + plan[NU])
    return 0


@jit(i8(Ints, Floats))
def leave(_plan, _mem):
    """No feedback: b stays as it is."""
    return 0


@jit(i8(Ints, Floats))
def feed_back(plan, mem):
    """Put b with the feedback of the drift control in the place of b, before the accelerations are solved for."""
    call_kernel(plan[FEEDBACK_KERNEL], mem, plan[X], plan[BIAS])
    return 0


@jit(i8(Ints, Floats))
def load_equations(plan, mem):
    """Evaluate M, f, A, b and the rest of OUT at x, with the feedback of the drift control in b."""
    call_kernel(plan[DYNAMICS], mem, plan[X], plan[OUT])
    call_feedback(plan[FEEDBACK], (plan, mem))
    return 0


@jit(i8(Ints, Floats))
def finish_rates(plan, mem):
    """q' into RATES, and the power of all that can change the energy: applied forces, moving frames, reactions."""
    nu, nc, u, ud = plan[NU], plan[NC], plan[XU], plan[UDOT]
    la, W, moving = plan[MULTIPLIER], plan[DIRECTION], plan[TRANSPORT]
    power = mem[plan[POWER]]
    for i in range(nu):
        reaction = 0.0
        for k in range(nc):
            reaction += mem[la + k] * mem[W + k * nu + i]
        power += reaction * mem[u + i] + mem[moving + i] * mem[ud + i]
    mem[plan[TOTAL_POWER]] = power
    move(mem, plan[RATES], mem, plan[QDOT], plan[NQ])
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


@jit(f8(Ints, Floats, f8, Floats))
def violation(plan, mem, t, z):
    """The largest residual of a position or velocity constraint at (t, z)."""
    load_state(plan, mem, t, z)
    call_kernel(plan[RESIDUAL], mem, plan[X], plan[RESIDUALS])
    return largest(mem, plan[RESIDUALS], 2 * plan[NP] + plan[NV])


@jit(i8(Floats))
def is_finite(values):
    """Whether no entry is NaN or infinite. A step asks once, at its end: what is not finite in a stage stays so."""
    total = 0.0
    for i in range(values.size):
        total += values[i] * 0.0
    return total == 0.0


@jit(i8(Ints, Floats, f8, Floats, Floats))
def rates(plan, mem, t, z, zdot):
    """zdot = (q', u', power) at (t, z); leaves u' and la in mem."""
    load_state(plan, mem, t, z)
    call_accelerate(plan[ACCELERATE], (plan, mem))
    plan[NFEV] += 1
    move(zdot, 0, mem, plan[RATES], plan[NZ])
    return 0


@jit(f8(Ints, Floats))
def balance_residual(plan, mem):
    """Largest entry of M u' - f - W^T la relative to the largest term in it: how well the solve was done."""
    nu, nc = plan[NU], plan[NC]
    M, f, W, ud, la = plan[MASS], plan[FORCE], plan[DIRECTION], plan[UDOT], plan[MULTIPLIER]
    worst, scale = 0.0, 1e-300
    for i in range(nu):
        total = -mem[f + i]
        scale = max(scale, abs(mem[f + i]))
        for j in range(nu):
            term = mem[M + i * nu + j] * mem[ud + j]
            total += term
            scale = max(scale, abs(term))
        for k in range(nc):
            term = mem[W + k * nu + i] * mem[la + k]
            total -= term
            scale = max(scale, abs(term))
        worst = max(worst, abs(total))
    return worst / scale


@jit(f8(Ints, Floats, i8))
def _acceleration_residual(plan, mem, k):
    """(A u' - b)_k relative to the largest term in it."""
    nu, A, ud, b = plan[NU], plan[JACOBIAN], plan[UDOT], mem[plan[BIAS] + k]
    total, scale = -b, max(abs(b), 1e-300)
    for i in range(nu):
        term = mem[A + k * nu + i] * mem[ud + i]
        total += term
        scale = max(scale, abs(term))
    return total / max(scale, 1.0)


@jit(i8(Ints, Floats, Floats, Floats, Floats))
def sample(plan, mem, ts, zs, out):
    """Everything worth knowing at given samples, a row each in `out` (flat).

    Row: u' (nu), la (nc), phi and psi (2 np + nv), acceleration residual A u' - b (nc), T, V, balance residual,
    reciprocal condition.
    """
    from_state = plan[NZ]
    nu, nc, n_res = plan[NU], plan[NC], 2 * plan[NP] + plan[NV]
    width = nu + nc + n_res + nc + 4
    for row in range(ts.size):
        z = zs[row * from_state : (row + 1) * from_state]
        load_state(plan, mem, ts[row], z)
        call_accelerate(plan[ACCELERATE], (plan, mem))
        for k in range(plan[NP] + plan[NV]):  # kernels do not write zeros; feedback may have
            mem[plan[BIAS] + k] = 0.0
        call_kernel(plan[DYNAMICS], mem, plan[X], plan[OUT])
        at = row * width
        for i in range(nu):
            out[at + i] = mem[plan[UDOT] + i]
        for k in range(nc):
            out[at + nu + k] = mem[plan[MULTIPLIER] + k]
        at += nu + nc
        call_kernel(plan[RESIDUAL], mem, plan[X], plan[RESIDUALS])
        for k in range(n_res):
            out[at + k] = mem[plan[RESIDUALS] + k]
        at += n_res
        for k in range(nc):
            out[at + k] = _acceleration_residual(plan, mem, k)
        at += nc
        call_kernel(plan[ENERGY], mem, plan[X], plan[ENERGIES])
        out[at] = mem[plan[ENERGIES]]
        out[at + 1] = mem[plan[ENERGIES] + 1]
        out[at + 2] = balance_residual(plan, mem)
        out[at + 3] = mem[plan[QUALITY]]
    return 0


@jit(i8(Ints, Floats, f8, Floats, Floats))
def complete(plan, mem, t, z, out):
    """u' (nu), la (nc), acceleration residuals (nc), balance residual at one state, by one call of the accelerator.

    For accelerators that leave the equations they solved in mem; the unrolled ones do not.
    """
    nu, nc = plan[NU], plan[NC]
    load_state(plan, mem, t, z)
    call_accelerate(plan[ACCELERATE], (plan, mem))
    move(out, 0, mem, plan[UDOT], nu)
    move(out, nu, mem, plan[MULTIPLIER], nc)
    for k in range(nc):
        out[nu + nc + k] = _acceleration_residual(plan, mem, k)
    out[nu + 2 * nc] = balance_residual(plan, mem)
    return 0
