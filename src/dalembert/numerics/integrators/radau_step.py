"""One step of RadauIIA with three stages and order 5: stages, error estimate, constraints, dense output."""

from __future__ import annotations

import math

from dalembert.numerics.evaluate import rates
from dalembert.numerics.integrators.radau_coefficients import ESTIMATE, GAMMA, INVERSE
from dalembert.numerics.integrators.radau_stages import begin, factorise, iterate, linearise, predict
from dalembert.numerics.integrators.radau_workspace import (
    ATOL,
    FIXED,
    H_FACTORS,
    H_POLYNOMIAL,
    INCREMENTS,
    INPUT,
    JACOBIAN_STATE,
    KEEP_JACOBIAN,
    NEWTON_MATRIX,
    NUMBERS,
    NY,
    OUTPUT,
    POLYNOMIAL,
    PURE,
    RATE,
    RATE_AFTER,
    RATE_BEFORE,
    RTOL,
    START,
    T_JACOBIAN,
    T_POLYNOMIAL,
)
from dalembert.numerics.layout import (
    NFEV,
    NQ,
    NU,
    NZ,
    STEP_INTS,
    STEP_KERNELS,
    Floats,
    Ints,
    call_kernel,
    f8,
    i8,
    move,
)
from dalembert.numerics.linear.newton_matrix import factor_newton, solve_newton
from dalembert.numerics.native_cache import jit

HALVE = 1.8**4  # an error norm for which the time loop halves the step
POLISHED = 2e-14  # relative: constraints are as good as round-off allows
POLISHINGS = 4
SLOW = 0.3  # rate of convergence at which the step stops growing
# Columns of `stages`, for dense output: rates at the start, state and rates in the middle, rates at the end.
COLUMNS = 5


@jit(i8(Ints, Floats, i8, f8))
def _end_rates(plan, mem, where, h):
    """The rates of the collocation polynomial at the end of a step into mem[where : where + nz]."""
    at = plan[STEP_INTS]
    n, Z = plan[at + NY], plan[at + INCREMENTS]
    for i in range(plan[NZ]):
        total = INVERSE[2, 0] * mem[Z + i] + INVERSE[2, 1] * mem[Z + n + i] + INVERSE[2, 2] * mem[Z + 2 * n + i]
        mem[where + i] = total / h
    return 0


@jit(i8(Ints, Floats, f8, Floats))
def _polish(plan, mem, t, z):
    """Move a state onto the constraints that Newton iterations or interpolation miss, with the real matrix at hand."""
    at, nz = plan[STEP_INTS], plan[NZ]
    n, x, F, pure = plan[at + NY], plan[at + INPUT], plan[at + OUTPUT], plan[at + PURE]
    mem[x] = t
    for i in range(2 * n):
        mem[x + 1 + i] = 0.0  # neither multipliers nor rates enter the constraints
    last = math.inf
    for _ in range(POLISHINGS):
        move(mem, x + 1, z, 0, nz)
        call_kernel(plan[STEP_KERNELS], mem, x, F)
        plan[NFEV] += 1
        for i in range(n):
            mem[F + i] = -mem[F + i] if plan[pure + i] else 0.0
        solve_newton(plan, mem, plan[at + NEWTON_MATRIX], F)
        size = 0.0
        for i in range(nz):
            size = max(size, abs(mem[F + i]) / (1.0 + abs(z[i])))
        if not size < last:
            return 0
        for i in range(nz):
            z[i] += mem[F + i]
        if size <= POLISHED:
            return 0
        last = size
    return 0


@jit(f8(Ints, Floats, f8, f8, Floats, f8, f8, i8))
def _estimate(plan, mem, t, h, znew, rtol, atol, again):
    """Root mean square of the error of the embedded formula, filtered by the real Newton matrix; eq. (8.19), (8.20).

    With F(t, y, y' = -ESTIMATE Z / h) as right-hand side the multipliers drop out: F is linear in them, and they are
    solved for along with the error.
    """
    at, tested = plan[STEP_INTS], plan[NQ] + plan[NU]
    n, x, F, y, Z = plan[at + NY], plan[at + INPUT], plan[at + OUTPUT], plan[at + START], plan[at + INCREMENTS]
    mem[x] = t
    move(mem, x + 1, mem, y, n)
    for i in range(n):
        total = ESTIMATE[0] * mem[Z + i] + ESTIMATE[1] * mem[Z + n + i] + ESTIMATE[2] * mem[Z + 2 * n + i]
        mem[x + 1 + n + i] = -total / h
    norm = 0.0
    for round_ in range(2):
        call_kernel(plan[STEP_KERNELS], mem, x, F)
        plan[NFEV] += 1
        for i in range(n):
            mem[F + i] = -mem[F + i]
        solve_newton(plan, mem, plan[at + NEWTON_MATRIX], F)
        total = 0.0
        for i in range(tested):
            total += (mem[F + i] / (atol + rtol * max(abs(mem[y + i]), abs(znew[i])))) ** 2
        norm = math.sqrt(total / tested)
        if round_ == 1 or not again or not norm >= 1.0:
            break
        for i in range(plan[NZ]):
            mem[x + 1 + i] = mem[y + i] + mem[F + i]
    return norm


@jit(i8(Ints, Floats, f8, Floats, f8, f8))
def _match(plan, mem, t, z, rtol, atol):
    """1 if (t, z) is the start of the polynomial at hand (a step tried again), 2 if it is its end, else 0."""
    at, tested = plan[STEP_INTS], plan[NQ] + plan[NU]
    n, numbers, P = plan[at + NY], plan[at + NUMBERS], plan[at + POLYNOMIAL]
    start, length = mem[numbers + T_POLYNOMIAL], mem[numbers + H_POLYNOMIAL]
    if length == 0.0:
        return 0
    at_start = t == start
    if not at_start and not abs(start + length - t) <= 1e-9 * length:
        return 0
    total = 0.0
    for i in range(tested):
        there = mem[P + i] if at_start else mem[P + i] + mem[P + 3 * n + i]
        total += ((z[i] - there) / (atol + rtol * abs(z[i]))) ** 2
    if not total <= tested:
        return 0
    return 1 if at_start else 2


@jit(i8(Ints, Floats, f8, f8))
def _remember(plan, mem, t, h):
    """Keep the collocation polynomial and its rates at the end."""
    at = plan[STEP_INTS]
    n, numbers, P = plan[at + NY], plan[at + NUMBERS], plan[at + POLYNOMIAL]
    move(mem, P, mem, plan[at + START], n)
    move(mem, P + n, mem, plan[at + INCREMENTS], 3 * n)
    mem[numbers + T_POLYNOMIAL], mem[numbers + H_POLYNOMIAL] = t, h
    _end_rates(plan, mem, plan[at + RATE_AFTER], h)
    return 0


@jit(i8(Ints, Floats, f8, Floats))
def _known(plan, mem, t, z):
    """Whether the Jacobian at hand was taken at (t, z)."""
    at = plan[STEP_INTS]
    if mem[plan[at + NUMBERS] + T_JACOBIAN] != t:
        return 0
    for i in range(plan[NZ]):
        if mem[plan[at + JACOBIAN_STATE] + i] != z[i]:
            return 0
    return 1


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, i8, f8, f8))
def _solve_stages(plan, mem, t, h, z, zdot, match, rtol, atol):
    """Stages of a step: 1 if they were found, 0 if the iterations do not converge, -1 if something is not finite.

    A Jacobian from an earlier step is used as long as the iterations converge fast with it, and made anew if not.
    """
    at = plan[STEP_INTS]
    numbers = plan[at + NUMBERS]
    fresh = _known(plan, mem, t, z)
    if not (fresh or (match == 2 and mem[numbers + RATE] <= mem[numbers + KEEP_JACOBIAN])):
        linearise(plan, mem, t, z, zdot)
        fresh = 1
    while True:
        found = 0
        if factorise(plan, mem, h):
            predict(plan, mem, h, match, 1.0 if match == 2 else 0.0, zdot)
            found = iterate(plan, mem, t, h, rtol, atol)
        if found == 1 or fresh:
            return found
        linearise(plan, mem, t, z, zdot)
        fresh = 1


@jit(f8(Ints, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def radau_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm (0 if steps are fixed), or NaN if something is not finite."""
    at, nz = plan[STEP_INTS], plan[NZ]
    n, Z, y = plan[at + NY], plan[at + INCREMENTS], plan[at + START]
    match = _match(plan, mem, t, z, rtol, atol)
    begin(plan, mem, t, z)
    if match == 2:
        move(mem, plan[at + RATE_BEFORE], mem, plan[at + RATE_AFTER], nz)
    elif match == 0:
        move(mem, plan[at + RATE_BEFORE], stages, 0, nz)
    found = _solve_stages(plan, mem, t, h, z, stages, match, rtol, atol)
    if found != 1:
        return HALVE if found == 0 else math.nan
    for i in range(nz):
        znew[i] = mem[y + i] + mem[Z + 2 * n + i]
    _polish(plan, mem, t + h, znew)
    error = _estimate(plan, mem, t, h, znew, rtol, atol, match != 2)
    numbers = plan[at + NUMBERS]
    if math.isfinite(error):
        _remember(plan, mem, t, h)
    if mem[numbers + FIXED] and error >= 0.0:
        return 0.0
    # A step that would only just pass the iterations must not grow: its rate of convergence counts as an error.
    return max(error, min(0.9, (0.9 * mem[numbers + RATE] / SLOW) ** 4)) if error <= 1.0 else error


@jit(i8(Ints, Floats, f8, Floats, Floats))
def _constrain_rates(plan, mem, t, z, zdot):
    """Move rates of a collocation polynomial so that constraints stay met: F_t + F_y y' = 0 for equations without y'.

    The multipliers in a step, and with them u', are of order 3 only; this takes their error out. The equations of
    motion would do so too, but amplify what is left of the Newton iterations where forces are stiff.
    """
    at, nz = plan[STEP_INTS], plan[NZ]
    n, x, F, h = plan[at + NY], plan[at + INPUT], plan[at + OUTPUT], mem[plan[at + NUMBERS] + H_FACTORS]
    if h == 0.0:
        return 0
    mem[x] = t
    for i in range(n):
        mem[x + 1 + i] = z[i] if i < nz else 0.0
        mem[x + 1 + n + i] = 0.0
    for _ in range(2):  # the matrix belongs to the start of the step
        move(mem, x + 1 + n, zdot, 0, nz)
        call_kernel(plan[STEP_KERNELS + 2], mem, x, F)
        for i in range(n):
            mem[F + i] *= -h / GAMMA
        solve_newton(plan, mem, plan[at + NEWTON_MATRIX], F)
        for i in range(nz):
            zdot[i] += mem[F + i] * GAMMA / h
    return 0


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, Floats, Floats))
def radau_prepare(plan, mem, t, h, z, stages, znew, _zdot):
    """States and rates at the start, the middle and the end of the step for `radau_interpolate`, into `stages`.

    The collocation polynomial is of order 3 only between the ends, so that a step of half the length gives the middle.
    """
    at, nz = plan[STEP_INTS], plan[NZ]
    n, Z, P, numbers = plan[at + NY], plan[at + INCREMENTS], plan[at + POLYNOMIAL], plan[at + NUMBERS]
    start, middle, half, end = (
        stages[nz : 2 * nz], stages[2 * nz : 3 * nz], stages[3 * nz : 4 * nz], stages[4 * nz : 5 * nz],
    )  # fmt: skip
    move(start, 0, mem, plan[at + RATE_BEFORE], nz)
    move(end, 0, mem, plan[at + RATE_AFTER], nz)
    move(mem, plan[at + START], mem, P, n)
    found = _solve_stages(plan, mem, t, 0.5 * h, z, stages, 1, mem[numbers + RTOL], mem[numbers + ATOL])
    if found != 1:
        predict(plan, mem, 0.5 * h, 1, 0.0, stages)  # the polynomial itself
    for i in range(nz):
        middle[i] = z[i] + mem[Z + 2 * n + i]
    _end_rates(plan, mem, plan[at + OUTPUT], 0.5 * h)
    move(half, 0, mem, plan[at + OUTPUT], nz)
    if found == 1:
        _polish(plan, mem, t + 0.5 * h, middle)
        _constrain_rates(plan, mem, t + 0.5 * h, middle, half)
    _constrain_rates(plan, mem, t, z, start)
    _constrain_rates(plan, mem, t + h, znew, end)
    return 0


@jit(i8(f8, f8, Floats, Floats, Floats, Floats))
def radau_interpolate(theta, h, z, stages, znew, place):
    """Quintic through states and rates at the start, the middle and the end, at t + theta h."""
    n, x = z.size, 2.0 * theta - 1.0
    inner, left, right = (1.0 - x * x) ** 2, 0.25 * (x * (x - 1.0)) ** 2, 0.25 * (x * (x + 1.0)) ** 2
    half = 0.5 * h
    for i in range(n):
        first = z[i] * (4.0 + 3.0 * x) + half * stages[n + i] * (x + 1.0)
        middle = stages[2 * n + i] + half * stages[3 * n + i] * x
        last = znew[i] * (4.0 - 3.0 * x) + half * stages[4 * n + i] * (x - 1.0)
        place[i] = left * first + inner * middle + right * last
    return 0


@jit(i8(Ints, Floats, f8, Floats, Floats, Floats))
def settle(plan, mem, h, ts, zs, zdot):
    """Move interpolated states zs (nt nz) at times ts onto the constraints, weighted as in a step of length h."""
    at, nz = plan[STEP_INTS], plan[NZ]
    for k in range(ts.size):
        z = zs[k * nz : (k + 1) * nz]
        rates(plan, mem, ts[k], z, zdot)
        begin(plan, mem, ts[k], z)
        linearise(plan, mem, ts[k], z, zdot)
        if factor_newton(plan, mem, plan[at + NEWTON_MATRIX], GAMMA / h):
            _polish(plan, mem, ts[k], z)
    return 0
