"""The nonlinear equations of a RadauIIA step on F(t, y, y') = 0, in native code.

E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., sec. IV.8 and VII.4. The stages
Z_i = Y_i - y have the rates h Y' = INVERSE Z, so that F(t + c_i h, y + Z_i, Y'_i) = 0 are solved for Z by simplified
Newton iterations, decoupled by Z = T W into a real and a complex system.
"""

from __future__ import annotations

import math

from dalembert.numerics.integrators.radau_coefficients import ALPHA, BACK, BETA, GAMMA, INVERSE, LAGRANGE, NODES, T
from dalembert.numerics.integrators.radau_workspace import (
    H_FACTORS,
    H_POLYNOMIAL,
    INCREMENTS,
    INPUT,
    ITERATIONS,
    JACOBIAN_STATE,
    N_FACTORS,
    N_JACOBIANS,
    N_PARAMETERS,
    NEWTON_MATRIX,
    NEWTON_TOLERANCE,
    NUMBERS,
    NY,
    OUTPUT,
    POLYNOMIAL,
    RATE,
    REMAINING,
    SIDES,
    START,
    T_JACOBIAN,
    TRANSFORMED,
)
from dalembert.numerics.layout import (
    MULTIPLIER,
    NC,
    NFEV,
    NU,
    NZ,
    STEP_INTS,
    STEP_KERNELS,
    XU,
    Floats,
    Ints,
    call_kernel,
    f8,
    i8,
    move,
)
from dalembert.numerics.linear.complex_newton_matrix import factor_complex_newton, solve_complex_newton
from dalembert.numerics.linear.newton_matrix import factor_newton, solve_newton
from dalembert.numerics.linear.static_elimination import NONZEROS, REAL_PIVOTS, N
from dalembert.numerics.native_cache import jit

CLOSE = 1e-12  # relative: steps for which one factorisation serves


@jit(i8(Ints, Floats, f8, Floats))
def begin(plan, mem, t, z):
    """y = (z, la, 0) at the start, and the parameters where the kernels read them."""
    at, nz, nc = plan[STEP_INTS], plan[NZ], plan[NC]
    n, y, x = plan[at + NY], plan[at + START], plan[at + INPUT]
    move(mem, y, z, 0, nz)
    move(mem, y + nz, mem, plan[MULTIPLIER], nc)
    for i in range(nz + nc, n):
        mem[y + i] = 0.0
    move(mem, x + 1 + 2 * n, mem, plan[XU] + plan[NU], plan[at + N_PARAMETERS])
    return 0


@jit(i8(Ints, Floats, f8, Floats, Floats))
def linearise(plan, mem, t, z, zdot):
    """F_y and F_y' at the start of the step."""
    at, nz = plan[STEP_INTS], plan[NZ]
    n, x, numbers = plan[at + NY], plan[at + INPUT], plan[at + NUMBERS]
    mem[x] = t
    move(mem, x + 1, mem, plan[at + START], n)
    move(mem, x + 1 + n, zdot, 0, nz)
    for i in range(nz, n):
        mem[x + 1 + n + i] = 0.0
    call_kernel(plan[STEP_KERNELS + 1], mem, x, plan[plan[at + NEWTON_MATRIX] + NONZEROS])
    plan[at + N_JACOBIANS] += 1
    mem[numbers + T_JACOBIAN] = t
    move(mem, plan[at + JACOBIAN_STATE], z, 0, nz)
    mem[numbers + H_FACTORS] = 0.0
    return 0


@jit(i8(Ints, Floats, f8))
def factorise(plan, mem, h):
    """Both Newton matrices for a step h, unless they are there already; 0 if they cannot be factorised."""
    at = plan[STEP_INTS]
    numbers = plan[at + NUMBERS]
    if abs(mem[numbers + H_FACTORS] - h) <= CLOSE * h:
        return 1
    matrix = plan[at + NEWTON_MATRIX]
    plan[at + N_FACTORS] += 1
    done = factor_newton(plan, mem, matrix, GAMMA / h) and factor_complex_newton(plan, mem, matrix, ALPHA / h, BETA / h)
    mem[numbers + H_FACTORS] = h if done else 0.0
    return 1 if done else 0


@jit(i8(Ints, Floats, f8, i8, f8, Floats))
def predict(plan, mem, h, matched, shift, zdot):
    """Stages from the last collocation polynomial at shift + c h / H, or along the rates; into Z and W."""
    at, nz = plan[STEP_INTS], plan[NZ]
    n, Z, W, P, y = (
        plan[at + NY],
        plan[at + INCREMENTS],
        plan[at + TRANSFORMED],
        plan[at + POLYNOMIAL],
        plan[at + START],
    )
    matrix = plan[at + NEWTON_MATRIX]
    dependent = plan[plan[matrix + REAL_PIVOTS] + 2 * plan[matrix + N]] < n
    ratio = h / mem[plan[at + NUMBERS] + H_POLYNOMIAL] if matched else 0.0
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


@jit(i8(Ints, Floats, f8, f8))
def _residuals(plan, mem, t, h):
    """-T^-1 F of the three stages into SIDES."""
    at = plan[STEP_INTS]
    n, x, F = plan[at + NY], plan[at + INPUT], plan[at + OUTPUT]
    Z, R, y = plan[at + INCREMENTS], plan[at + SIDES], plan[at + START]
    for k in range(3):
        mem[x] = t + NODES[k] * h
        a, b, c = INVERSE[k, 0] / h, INVERSE[k, 1] / h, INVERSE[k, 2] / h
        for i in range(n):
            mem[x + 1 + i] = mem[y + i] + mem[Z + k * n + i]
            mem[x + 1 + n + i] = a * mem[Z + i] + b * mem[Z + n + i] + c * mem[Z + 2 * n + i]
        call_kernel(plan[STEP_KERNELS], mem, x, F)
        plan[NFEV] += 1
        for j in range(3):
            weight = -BACK[j, k]
            if k == 0:
                for i in range(n):
                    mem[R + j * n + i] = weight * mem[F + i]
            else:
                for i in range(n):
                    mem[R + j * n + i] += weight * mem[F + i]
    return 0


@jit(f8(Ints, Floats, f8, f8))
def _update(plan, mem, rtol, atol):
    """Add the corrections in SIDES to W, Z = T W; returns their root mean square relative to the tolerances."""
    at, nz = plan[STEP_INTS], plan[NZ]
    n, Z, W, R, y = plan[at + NY], plan[at + INCREMENTS], plan[at + TRANSFORMED], plan[at + SIDES], plan[at + START]
    total = 0.0
    for i in range(n):
        a, b, c = mem[R + i], mem[R + n + i], mem[R + 2 * n + i]
        if i < nz:
            scale = atol + rtol * abs(mem[y + i])
            total += (a * a + b * b + c * c) / (scale * scale)
        a += mem[W + i]
        b += mem[W + n + i]
        c += mem[W + 2 * n + i]
        mem[W + i], mem[W + n + i], mem[W + 2 * n + i] = a, b, c
        for k in range(3):
            mem[Z + k * n + i] = T[k, 0] * a + T[k, 1] * b + T[k, 2] * c
    return math.sqrt(total / (3 * nz))


@jit(i8(Ints, Floats, f8, f8, f8, f8))
def iterate(plan, mem, t, h, rtol, atol):
    """Simplified Newton iterations for the stages: 1 if they converge, 0 if not, -1 if something is not finite."""
    at = plan[STEP_INTS]
    numbers, matrix, n, R = plan[at + NUMBERS], plan[at + NEWTON_MATRIX], plan[at + NY], plan[at + SIDES]
    tolerance = mem[numbers + NEWTON_TOLERANCE]
    remaining = max(mem[numbers + REMAINING], 1e-16) ** 0.8
    last = last_ratio = 0.0
    most = int(mem[numbers + ITERATIONS])
    for k in range(most):
        _residuals(plan, mem, t, h)
        solve_newton(plan, mem, matrix, R)
        solve_complex_newton(plan, mem, matrix, R + n, R + 2 * n)
        size = _update(plan, mem, rtol, atol)
        if not math.isfinite(size):
            return -1
        if k > 0:
            ratio = size / last
            rate = ratio if k == 1 else math.sqrt(ratio * last_ratio)
            last_ratio = ratio
            mem[numbers + RATE] = rate
            remaining = rate / (1.0 - rate) if rate < 0.99 else math.inf
            if k > 1:  # the second correction may be as large as the first, where constraints were met by none before
                if rate >= 0.99:
                    return 1 if size <= 1e-2 * tolerance else 0  # round-off, if the corrections are that small
                if remaining * size * rate ** (most - 1 - k) > tolerance:
                    return 0
        last = size
        if size == 0.0 or remaining * size <= tolerance:
            mem[numbers + REMAINING] = remaining
            if k == 0:
                mem[numbers + RATE] *= 0.5  # not measured, but certainly fast
            return 1
    return 0
