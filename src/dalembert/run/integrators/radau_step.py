"""One step of RadauIIA with three stages and order 5: stages, error estimate, constraints, dense output."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.run.evaluate import rates
from dalembert.run.integrators.radau_coefficients import ESTIMATE, GAMMA, INVERSE
from dalembert.run.integrators.radau_rounding import rounding_norm
from dalembert.run.integrators.radau_stages import begin, factorise, integrate_power, iterate, linearise, predict
from dalembert.run.integrators.radau_workspace import newton_matrix, radau_work
from dalembert.run.integrators.work import work_error
from dalembert.run.time_loop.clock import SAME_TIME
from dalembert.solve.newton_matrix import factor_newton, solve_newton

HALVE = 1.8**4  # an error norm for which the time loop halves the step
POLISHED = 2e-14  # relative: constraints are as good as round-off allows
POLISHINGS = 4
SLOW_CONVERGENCE = 0.3  # rate of convergence at which the step stops growing
WORK_SHARE = 0.05  # share of the estimated error of the work that counts
# Columns of `stages`, for dense output: rates at the start, state and rates in the middle, rates at the end.
COLUMNS = 5


@jit(i8(Plan, Floats, i8, f8))
def _end_rates(plan, mem, where, h):
    """The rates of the collocation polynomial at the end of a step into mem[where : where + nz]."""
    at = radau_work(plan.step_work)
    n, Z = at.ny, at.increments
    for i in range(plan.nz):
        total = INVERSE[2, 0] * mem[Z + i] + INVERSE[2, 1] * mem[Z + n + i] + INVERSE[2, 2] * mem[Z + 2 * n + i]
        mem[where + i] = total / h
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def _polish(plan, mem, t, z):
    """Move a state onto the constraints that Newton iterations or interpolation miss, with the real matrix at hand."""
    ints = ints_at(plan.ints, plan.n_ints)
    at, nz = radau_work(plan.step_work), plan.nz
    n, x, F, pure = at.ny, at.input, at.output, at.pure
    mem[x] = t
    for i in range(2 * n):
        mem[x + 1 + i] = 0.0  # neither multipliers nor rates enter the constraints
    last = math.inf
    for _ in range(POLISHINGS):
        move(mem, x + 1, z, 0, nz)
        call_kernel(at.residual_kernel, mem, x, F)
        plan.nfev += 1
        for i in range(n):
            mem[F + i] = -mem[F + i] if ints[pure + i] else 0.0
        solve_newton(ints, mem, newton_matrix(at.newton_matrix), F)
        size = 0.0
        for i in range(nz):
            size = max(size, abs(mem[F + i]) / (mem[plan.sizes + i] + abs(z[i])))
        if not size < last:
            return 0
        for i in range(nz):
            z[i] += mem[F + i]
        if size <= POLISHED:
            return 0
        last = size
    return 0


@jit(f8(Plan, Floats, f8, f8, Floats, f8, f8, i8))
def _estimate(plan, mem, t, h, znew, rtol, atol, again):
    """Root mean square of the error of the embedded formula, filtered by the real Newton matrix; eq. (8.19), (8.20).

    With F(t, y, y' = -ESTIMATE Z / h) as right-hand side the multipliers drop out: F is linear in them, and they are
    solved for along with the error.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    at, tested = radau_work(plan.step_work), plan.nq + plan.nu
    n, x, F, y, Z = at.ny, at.input, at.output, at.start, at.increments
    units = floats_at(plan.units, tested)
    mem[x] = t
    move(mem, x + 1, mem, y, n)
    for i in range(n):
        total = ESTIMATE[0] * mem[Z + i] + ESTIMATE[1] * mem[Z + n + i] + ESTIMATE[2] * mem[Z + 2 * n + i]
        mem[x + 1 + n + i] = -total / h
    norm = 0.0
    for round_ in range(2):
        call_kernel(at.residual_kernel, mem, x, F)
        plan.nfev += 1
        for i in range(n):
            mem[F + i] = -mem[F + i]
        solve_newton(ints, mem, newton_matrix(at.newton_matrix), F)
        total = 0.0
        for i in range(tested):
            total += (mem[F + i] / (atol * units[i] + rtol * max(abs(mem[y + i]), abs(znew[i])))) ** 2
        norm = math.sqrt(total / tested)
        if round_ == 1 or not again or not norm >= 1.0:
            break
        for i in range(plan.nz):
            mem[x + 1 + i] = mem[y + i] + mem[F + i]
    return norm


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, f8, f8))
def _work_error(plan, mem, t, h, z, znew, rtol, atol):
    """Error of the work, which is not stiff. It is of order 5, so that the estimate is far too large."""
    at, size = radau_work(plan.step_work), plan.nq + plan.nu
    if not at.power_kernel:
        return 0.0
    n, W = at.ny, at.increments + size
    wrong = ESTIMATE[0] * mem[W] + ESTIMATE[1] * mem[W + n] + ESTIMATE[2] * mem[W + 2 * n]
    wrong += h * mem[at.rate_before + size]
    return work_error(plan, mem, t, z, znew, wrong * (WORK_SHARE / GAMMA), rtol, atol)


@jit(i8(Plan, Floats, f8, Floats, f8, f8))
def _match(plan, mem, t, z, rtol, atol):
    """1 if (t, z) is the start of the polynomial at hand (a step tried again), 2 if it is its end, else 0.

    Beyond an instant at which forces jump nothing matches.
    """
    at, tested = radau_work(plan.step_work), plan.nq + plan.nu
    n, P = at.ny, at.polynomial
    start, length = at.t_polynomial, at.h_polynomial
    if length == 0.0:
        return 0
    at_start = t == start
    if not at_start and not abs(start + length - t) <= SAME_TIME * max(abs(start), abs(t)):
        return 0
    total, units = 0.0, floats_at(plan.units, tested)
    for i in range(tested):
        there = mem[P + i] if at_start else mem[P + i] + mem[P + 3 * n + i]
        total += ((z[i] - there) / (atol * units[i] + rtol * abs(z[i]))) ** 2
    if not total <= tested:
        return 0
    return 1 if at_start else 2


@jit(i8(Plan, Floats, f8, f8))
def _remember(plan, mem, t, h):
    """Keep the collocation polynomial and its rates at the end."""
    at = radau_work(plan.step_work)
    n, P = at.ny, at.polynomial
    move(mem, P, mem, at.start, n)
    move(mem, P + n, mem, at.increments, 3 * n)
    at.t_polynomial, at.h_polynomial = t, h
    _end_rates(plan, mem, at.rate_after, h)
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def _known(plan, mem, t, z):
    """Whether the Jacobian at hand was taken at (t, z)."""
    at = radau_work(plan.step_work)
    if at.t_jacobian != t:
        return 0
    for i in range(plan.nz):
        if mem[at.jacobian_state + i] != z[i]:
            return 0
    return 1


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, i8, f8, f8))
def _solve_stages(plan, mem, t, h, z, zdot, match, rtol, atol):
    """Stages of a step: 1 if they were found, 0 if the iterations do not converge, -1 if something is not finite.

    A Jacobian from an earlier step is used as long as the iterations converge fast with it, and made anew if not.
    """
    at = radau_work(plan.step_work)
    fresh = _known(plan, mem, t, z)
    if not (fresh or (match == 2 and at.rate <= at.keep_jacobian)):
        linearise(plan, mem, t, z, zdot)
        fresh = 1
    while True:
        found = 0
        if factorise(plan, mem, h):
            predict(plan, mem, h, match, 1.0 if match == 2 else 0.0, zdot)
            found = iterate(plan, mem, t, h, rtol, atol)
        if found == 1 and at.power_kernel:
            integrate_power(plan, mem, t, h, at.output)
        if found == 1 or fresh:
            return found
        linearise(plan, mem, t, z, zdot)
        fresh = 1


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def radau_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm (0 if steps are fixed), or NaN if something is not finite."""
    at, nz = radau_work(plan.step_work), plan.nz
    n, Z, y = at.ny, at.increments, at.start
    match = _match(plan, mem, t, z, rtol, atol)
    begin(plan, mem, t, z)
    if match == 2:
        move(mem, at.rate_before, mem, at.rate_after, nz)
    elif match == 0:
        move(mem, at.rate_before, stages, 0, nz)
    found = _solve_stages(plan, mem, t, h, z, stages, match, rtol, atol)
    if found != 1:
        return HALVE if found == 0 else math.nan
    for i in range(nz):
        znew[i] = mem[y + i] + mem[Z + 2 * n + i]
    _polish(plan, mem, t + h, znew)
    error = _estimate(plan, mem, t, h, znew, rtol, atol, match != 2)
    error = math.hypot(error, _work_error(plan, mem, t, h, z, znew, rtol, atol))
    if math.isfinite(error):
        if error > 1.0 and at.rounding == 0.0:
            at.rounding = rounding_norm(plan, mem, rtol, atol)
        error /= max(1.0, at.rounding)  # no step is better than that
        _remember(plan, mem, t, h)
    if at.fixed and error >= 0.0:
        return 0.0
    if at.rounding > 0.0:
        return error  # the iterations end where rounding begins, and their rate says nothing
    # A step that would only just pass the iterations must not grow: its rate of convergence counts as an error.
    return max(error, min(0.9, (0.9 * at.rate / SLOW_CONVERGENCE) ** 4)) if error <= 1.0 else error


@jit(i8(Plan, Floats, f8, Floats, Floats))
def _constrain_rates(plan, mem, t, z, zdot):
    """Move rates of a collocation polynomial so that constraints stay met: F_t + F_y y' = 0 for equations without y'.

    The multipliers in a step, and with them u', are of order 3 only; this takes their error out. The equations of
    motion would do so too, but amplify what is left of the Newton iterations where forces are stiff.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    at, nz = radau_work(plan.step_work), plan.nz
    n, x, F, h = at.ny, at.input, at.output, at.h_factors
    if h == 0.0:
        return 0
    mem[x] = t
    for i in range(n):
        mem[x + 1 + i] = z[i] if i < nz else 0.0
        mem[x + 1 + n + i] = 0.0
    for _ in range(2):  # the matrix belongs to the start of the step
        move(mem, x + 1 + n, zdot, 0, nz)
        call_kernel(at.rates_kernel, mem, x, F)
        for i in range(n):
            mem[F + i] *= -h / GAMMA
        solve_newton(ints, mem, newton_matrix(at.newton_matrix), F)
        for i in range(nz):
            zdot[i] += mem[F + i] * GAMMA / h
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def radau_prepare(plan, mem, t, h, z, stages, znew, _zdot):
    """States and rates at the start, the middle and the end of the step for `radau_interpolate`, into `stages`.

    The collocation polynomial is of order 3 only between the ends, so that a step of half the length gives the middle.
    """
    at, nz = radau_work(plan.step_work), plan.nz
    n, Z, P = at.ny, at.increments, at.polynomial
    start, middle, half, end = (
        stages[nz : 2 * nz], stages[2 * nz : 3 * nz], stages[3 * nz : 4 * nz], stages[4 * nz : 5 * nz],
    )  # fmt: skip
    move(start, 0, mem, at.rate_before, nz)
    move(end, 0, mem, at.rate_after, nz)
    move(mem, at.start, mem, P, n)
    found = _solve_stages(plan, mem, t, 0.5 * h, z, stages, 1, at.rtol, at.atol)
    if found != 1:
        predict(plan, mem, 0.5 * h, 1, 0.0, stages)  # the polynomial itself
    for i in range(nz):
        middle[i] = z[i] + mem[Z + 2 * n + i]
    _end_rates(plan, mem, at.output, 0.5 * h)
    move(half, 0, mem, at.output, nz)
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


@jit(i8(Plan, Floats, f8, Floats, Floats, Floats))
def settle(plan, mem, h, ts, zs, zdot):
    """Move interpolated states zs (nt nz) at times ts onto the constraints, weighted as in a step of length h."""
    ints = ints_at(plan.ints, plan.n_ints)
    at, nz = radau_work(plan.step_work), plan.nz
    for k in range(ts.size):
        z = zs[k * nz : (k + 1) * nz]
        rates(plan, mem, ts[k], z, zdot)
        begin(plan, mem, ts[k], z)
        linearise(plan, mem, ts[k], z, zdot)
        if factor_newton(ints, mem, newton_matrix(at.newton_matrix), GAMMA / h):
            _polish(plan, mem, ts[k], z)
    return 0
