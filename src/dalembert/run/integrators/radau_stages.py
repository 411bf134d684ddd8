"""The nonlinear equations of a RadauIIA step on F(t, y, y') = 0, in native code.

E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., sec. IV.8 and VII.4. The stages
Z_i = Y_i - y have the rates h Y' = INVERSE Z, so that F(t + c_i h, y + Z_i, Y'_i) = 0 are solved for Z by simplified
Newton iterations, decoupled by Z = T W into a real and a complex system.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.run.integrators.radau_coefficients import ALPHA, BACK, BETA, GAMMA, INVERSE, LAGRANGE, MATRIX, NODES, T
from dalembert.run.integrators.radau_rounding import is_rounding
from dalembert.run.integrators.radau_workspace import newton_matrix, radau_work
from dalembert.solve.complex_newton_matrix import factor_complex_newton, solve_complex_newton
from dalembert.solve.newton_matrix import factor_newton, solve_newton
from dalembert.solve.tolerances import SAME


@jit(i8(Plan, Floats, f8, Floats))
def begin(plan, mem, t, z):
    """y = (z, la, 0) at the start, and the parameters where the kernels read them."""
    ints = ints_at(plan.ints, plan.n_ints)
    at, nz = radau_work(plan.step_work), plan.nz
    n, y, x = at.ny, at.start, at.input
    move(mem, y, z, 0, nz)
    for i in range(nz, n):
        row = ints[at.multiplier_rows + i - nz]
        mem[y + i] = mem[plan.multiplier + row] if row >= 0 else 0.0
    move(mem, x + 1 + 2 * n, mem, plan.xu + plan.nu, at.n_parameters)
    return 0


@jit(i8(Plan, Floats, f8, Floats, Floats))
def linearise(plan, mem, t, z, zdot):
    """F_y and F_y' at the start of the step."""
    at, nz = radau_work(plan.step_work), plan.nz
    n, x = at.ny, at.input
    mem[x] = t
    move(mem, x + 1, mem, at.start, n)
    move(mem, x + 1 + n, zdot, 0, nz)
    for i in range(nz, n):
        mem[x + 1 + n + i] = 0.0
    call_kernel(at.jacobian_kernel, mem, x, newton_matrix(at.newton_matrix).nonzeros)
    at.n_jacobians += 1
    at.t_jacobian = t
    move(mem, at.jacobian_state, z, 0, nz)
    at.h_factors = 0.0
    return 0


@jit(i8(Plan, Floats, f8))
def factorise(plan, mem, h):
    """Factorise both Newton matrices for a step h, unless that is done; returns 0 if they cannot be factorised."""
    ints = ints_at(plan.ints, plan.n_ints)
    at = radau_work(plan.step_work)
    if abs(at.h_factors - h) <= SAME * h:
        return 1
    matrix = newton_matrix(at.newton_matrix)
    at.n_factors += 1
    done = factor_newton(ints, mem, matrix, GAMMA / h) and factor_complex_newton(ints, mem, matrix, ALPHA / h, BETA / h)
    at.h_factors = h if done else 0.0
    return 1 if done else 0


@jit(i8(Plan, Floats, f8, i8, f8, Floats))
def predict(plan, mem, h, matched, shift, zdot):
    """Stages from the last collocation polynomial at shift + c h / H, or along the rates; into Z and W."""
    ints = ints_at(plan.ints, plan.n_ints)
    at, nz = radau_work(plan.step_work), plan.nz
    n, Z, W, P, y = (
        at.ny,
        at.increments,
        at.transformed,
        at.polynomial,
        at.start,
    )
    matrix = newton_matrix(at.newton_matrix)
    dependent = mem[matrix.answer] > 1.0 if matrix.solve_outside else ints[matrix.real_pivots + 2 * matrix.n] < n
    ratio = h / at.h_polynomial if matched else 0.0
    for k in range(3):
        if matched:
            s = shift + NODES[k] * ratio
            a = ((LAGRANGE[0, 2] * s + LAGRANGE[0, 1]) * s + LAGRANGE[0, 0]) * s
            b = ((LAGRANGE[1, 2] * s + LAGRANGE[1, 1]) * s + LAGRANGE[1, 0]) * s
            c = ((LAGRANGE[2, 2] * s + LAGRANGE[2, 1]) * s + LAGRANGE[2, 0]) * s
            for i in range(n):
                value = mem[P + i] + a * mem[P + n + i] + b * mem[P + 2 * n + i] + c * mem[P + 3 * n + i]
                mem[Z + k * n + i] = value - mem[y + i]
        else:
            for i in range(nz):
                mem[Z + k * n + i] = NODES[k] * h * zdot[i]
            for i in range(nz, n):
                mem[Z + k * n + i] = 0.0
    if dependent:  # multipliers that are not solved for must not be extrapolated from step to step
        for k in range(3):
            for i in range(nz, n):
                mem[Z + k * n + i] = 0.0
    for i in range(n):
        a, b, c = mem[Z + i], mem[Z + n + i], mem[Z + 2 * n + i]
        for k in range(3):
            mem[W + k * n + i] = BACK[k, 0] * a + BACK[k, 1] * b + BACK[k, 2] * c
    return 0


@jit(i8(Plan, Floats, f8, f8, i8))
def _load_stage(plan, mem, t, h, k):
    """(t, y, y') of stage k where the kernels read it."""
    at = radau_work(plan.step_work)
    n, x, Z, y = at.ny, at.input, at.increments, at.start
    a, b, c = INVERSE[k, 0] / h, INVERSE[k, 1] / h, INVERSE[k, 2] / h
    mem[x] = t + NODES[k] * h
    for i in range(n):
        mem[x + 1 + i] = mem[y + i] + mem[Z + k * n + i]
        mem[x + 1 + n + i] = a * mem[Z + i] + b * mem[Z + n + i] + c * mem[Z + 2 * n + i]
    return 0


@jit(i8(Plan, Floats, f8, f8, i8))
def integrate_power(plan, mem, t, h, out):
    """The work at the stages from their powers, with mem[out : out + 3] to put these.

    Nothing depends on the work, and Newton's iterations end when everything else has converged.
    """
    at, size = radau_work(plan.step_work), plan.nq + plan.nu
    for k in range(3):
        _load_stage(plan, mem, t, h, k)
        call_kernel(at.power_kernel, mem, at.input, out + k)
    for k in range(3):
        total = MATRIX[k, 0] * mem[out] + MATRIX[k, 1] * mem[out + 1] + MATRIX[k, 2] * mem[out + 2]
        mem[at.increments + k * at.ny + size] = h * total
    return 0


@jit(i8(Plan, Floats, f8, f8))
def _residuals(plan, mem, t, h):
    """-T^-1 F of the three stages into SIDES."""
    at = radau_work(plan.step_work)
    n, x, F, R = at.ny, at.input, at.output, at.sides
    for k in range(3):
        _load_stage(plan, mem, t, h, k)
        call_kernel(at.residual_kernel, mem, x, F)
        plan.nfev += 1
        for j in range(3):
            weight = -BACK[j, k]
            if k == 0:
                for i in range(n):
                    mem[R + j * n + i] = weight * mem[F + i]
            else:
                for i in range(n):
                    mem[R + j * n + i] += weight * mem[F + i]
    return 0


@jit(f8(Plan, Floats, f8, f8))
def _update(plan, mem, rtol, atol):
    """Add the corrections in SIDES to W, Z = T W; returns their root mean square relative to the tolerances."""
    at, nz = radau_work(plan.step_work), plan.nz
    n, Z, W, R, y = at.ny, at.increments, at.transformed, at.sides, at.start
    total, units = 0.0, floats_at(plan.units, nz)
    for i in range(n):
        a, b, c = mem[R + i], mem[R + n + i], mem[R + 2 * n + i]
        if i < nz:
            scale = atol * units[i] + rtol * abs(mem[y + i])
            total += (a * a + b * b + c * c) / (scale * scale)
        a += mem[W + i]
        b += mem[W + n + i]
        c += mem[W + 2 * n + i]
        mem[W + i], mem[W + n + i], mem[W + 2 * n + i] = a, b, c
        for k in range(3):
            mem[Z + k * n + i] = T[k, 0] * a + T[k, 1] * b + T[k, 2] * c
    return math.sqrt(total / (3 * nz))


@jit(i8(Plan, Floats, f8, f8, f8, f8))
def iterate(plan, mem, t, h, rtol, atol):
    """Simplified Newton iterations for the stages: 1 if they converge, 0 if not, -1 if something is not finite."""
    ints = ints_at(plan.ints, plan.n_ints)
    at = radau_work(plan.step_work)
    matrix, n, R = newton_matrix(at.newton_matrix), at.ny, at.sides
    tolerance = at.newton_tolerance
    remaining = max(at.remaining, 1e-16) ** 0.8
    last = last_ratio = at.rounding = 0.0
    most = int(at.iterations)
    for k in range(most):
        _residuals(plan, mem, t, h)
        solve_newton(ints, mem, matrix, R)
        solve_complex_newton(ints, mem, matrix, R + n, R + 2 * n)
        size = _update(plan, mem, rtol, atol)
        if not math.isfinite(size):
            return -1
        if k > 0:
            ratio = size / last
            rate = ratio if k == 1 else math.sqrt(ratio * last_ratio)
            last_ratio = ratio
            at.rate = rate
            remaining = rate / (1.0 - rate) if rate < 0.99 else math.inf
            if k > 1:  # the second correction may be as large as the first, where constraints were met by none before
                if rate >= 0.99 and size <= 1e-2 * tolerance:
                    return 1  # round-off, if the corrections are that small
                if rate >= 0.99 or remaining * size * rate ** (most - 1 - k) > tolerance:
                    return is_rounding(plan, mem, size, rtol, atol)
        last = size
        if size == 0.0 or remaining * size <= tolerance:
            at.remaining = remaining
            if k == 0:
                at.rate *= 0.5  # not measured, but certainly fast
            return 1
    return 0
