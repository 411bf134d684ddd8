"""The generalized-alpha method of Chung and Hulbert (1993) for constrained systems, positions and velocities kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.evaluate import rates
from dalembert.run.integrators import implicit_equations as equations
from dalembert.run.integrators.alpha import damp, make_matrix, predict_multipliers, solve_step
from dalembert.run.integrators.alpha_nonzeros import WEIGHTS, inertia_product, newton_entries, newton_of
from dalembert.run.integrators.alpha_workspace import AlphaWork, alpha_work
from dalembert.run.integrators.divided import divided_method
from dalembert.run.integrators.stepping import Stepping
from dalembert.run.integrators.work import work_error
from dalembert.run.scales import Scales
from dalembert.run.status import NOT_CONVERGED, OK, Status
from dalembert.run.time_loop.clock import SAME_TIME
from dalembert.run.time_loop.march import Samples, march
from dalembert.run.time_loop.method import Method
from dalembert.solve.rows import row_product
from dalembert.solve.sparse_newton import SparseNewton
from dalembert.solve.static_elimination import NewtonMatrix

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.storage import SampleTable

ALPHA_NEWTON_SHARE = 1e-3  # share of the tolerated error that may be left by Newton's iteration
ALPHA_TOLERANCES = 1e-5, 1e-7  # rtol, atol
ALPHA_FIXED_TOLERANCE = 1e-8  # replaces the tolerances when the step is fixed
COLUMNS = 5  # of `stages`; dense output reads the last
NUMBERS = ("alpha_m", "alpha_f", "beta", "gamma", "error_q", "error_u")
NONZEROS_FROM = 700  # unknowns of a step from which on its matrix is factorised over its nonzeros
BENT = 10.0  # times the change of the error of the work counts as this error itself
SAME_STATE = 1e-9  # a state further from the one stored, relative to its size, is another: a new start


@dataclass(frozen=True, kw_only=True)
class GeneralizedAlpha(Stepping):
    """Order 2, high frequencies damped to `rho_inf` per step (1: not at all, 0: at once); for stiff systems.

    With `step` the steps are fixed; otherwise the error per step stays below atol + rtol |z| (by default rtol = 1e-5,
    atol = 1e-7). Positions and velocities satisfy their constraints to round-off at every step, without drift control.
    """

    rho_inf: float = 0.8

    def __post_init__(self) -> None:
        self.settle(*ALPHA_TOLERANCES, least=1e-12)
        if not 0.0 <= self.rho_inf <= 1.0:
            raise OptionError(f"GeneralizedAlpha: rho_inf is {self.rho_inf}; it must lie between 0 and 1")

    @property
    def explicit(self) -> bool:
        """False: it solves for the multipliers and keeps the constraints itself."""
        return False

    @property
    def numbers(self) -> np.ndarray:
        """alpha_m, alpha_f, beta, gamma, and the constants of the local errors c h^3 q''', c h^3 u''' of q and u, (6,).

        Signs as Arnold and Bruels (2007) have them: alpha_m and alpha_f weigh the start of the step.
        """
        rho = self.rho_inf
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        shift = alpha_m - alpha_f  # a belongs to t + shift h
        gamma, beta = 0.5 - shift, 0.25 * (1.0 - shift) ** 2
        error_q, error_u = abs(shift / 2 + beta - 1 / 6), abs(1 / 12 + shift * (alpha_f - 0.5))
        return np.array([alpha_m, alpha_f, beta, gamma, error_q, error_u])

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
        table: SampleTable | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        system, size = engine.system, engine.size
        newton = _lay_out_nonzeros(engine) if works_on_nonzeros(system) else None
        work = engine.work.parts["step_work"] if newton else _lay_out_dense(engine)
        work.inner, work.width, work.fixed = alpha_step.address, COLUMNS, self.step is not None
        work.length = 1 + size + len(engine.parameters)
        for at in (work.middle, work.argument):
            engine.mem[at + 1 + size : at + work.length] = engine.parameters
        for name, value in zip(NUMBERS, self.numbers, strict=True):
            setattr(work, name, value)
        work.t_old = work.t_new = math.nan  # nothing is stored yet
        work.impulse = 0.0
        if system.algebraic:
            scales = engine.scales or Scales.read(engine.work, system)
            work.impulse = scales.impulse(system, span[0], z0, engine.parameters)
        samples = march(engine, self.method(), z0, span, t_eval, progress, table=table)
        if newton is not None and newton.interrupted:
            samples.status = Status.INTERRUPTED
        return samples

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return divided_method(
            self,
            alpha_step,
            COLUMNS,
            tolerance=ALPHA_FIXED_TOLERANCE,
            usual=ALPHA_TOLERANCES,
            order=3,
            restarts=True,
            inside=False,
        )


def works_on_nonzeros(system: System) -> bool:
    """True if Newton matrices are factorised over nonzeros. Position corrections then need a mass for each speed."""
    return _size(system) >= NONZEROS_FROM and system.ideal and not system.singular_mass


def _size(system: System) -> int:
    """Number of unknowns of a step if none is eliminated."""
    return system.nq + 2 * system.nu + system.nc + system.count("position")


def _lay_out_dense(engine: Engine) -> AlphaWork:
    """Blocks and kernels of dense matrices."""
    system = engine.system
    work, _ = engine.work.part("step_work", AlphaWork, _blocks(system), _orders(system))
    work.kinematics_kernel, work.balance_kernel, work.jacobian_kernel = (
        equations.kernel(system, name, build).address
        for name, build in (
            ("kinematics", equations.kinematics), ("balance", equations.balance),
            ("balance jacobian", equations.balance_jacobian),
        )
    )  # fmt: skip
    return work


def _lay_out_nonzeros(engine: Engine) -> SparseNewton:
    """Blocks and kernels of matrices over their nonzeros; the factors must live as long as the run."""
    system, length = engine.system, 1 + engine.size + len(engine.parameters)
    function, places = system.kept("GeneralizedAlpha over nonzeros", lambda: newton_entries(system.mechanics))
    size, n = _size(system), system.count("position")
    sizes = _vectors(system) | {
        "request": WEIGHTS + 2 * length + 2 * system.nu + system.nc, "kinematics": system.nq,
        "balance": system.nu + n + system.nc, "right": size,
    }  # fmt: skip
    work, _ = engine.work.part("step_work", AlphaWork, sizes, {})
    work.middle, work.argument = work.request + WEIGHTS, work.request + WEIGHTS + length
    work.kinematics_kernel, work.balance_kernel, work.product_kernel = (
        equations.kernel(system, name, build).address
        for name, build in (
            ("rates", equations.rates), ("balance", equations.balance), ("inertia product", inertia_product),
        )
    )  # fmt: skip
    work.jacobian_kernel = system.derived_kernel("GeneralizedAlpha matrix", lambda: function).address
    newton = newton_of(places, size, system.nc + n)
    matrix = engine.work.inner("step_work", NewtonMatrix)
    newton.place(engine.work, matrix)
    work.newton_matrix = matrix.address
    return newton


def _blocks(system: System) -> dict[str, int]:
    nq, nu, nc, n = system.nq, system.nu, system.nc, system.count("position")
    length, size, rows = 1 + nq + nu + len(system.parameters), nu + nc + n, nu + nc + n
    return _vectors(system) | {
        "argument": length + nu + nc,
        "middle": length,
        "kinematics": nq * (1 + nq + nu),
        "balance": rows,
        "derivative": rows * (nq + 2 * nu + nc),
        "fold": nq * nq,
        "slope": nq * (nu + n),
        "normals": nu * n,
        "matrix": size * size,
        "right": max(size, nq),
        "row_scale": size,
        "column_scale": size,
    }


def _vectors(system: System) -> dict[str, int]:
    """Sizes of the vectors that are remembered of a step, and of its errors, by name."""
    nq, nu, nc = system.nq, system.nu, system.nc
    sizes = {"gap": nq, "average": nu, "errors": 2 * nu}
    sizes |= dict.fromkeys(("a_old", "v_old", "a_start", "a_new", "v_new"), nu) | dict.fromkeys(
        ("la_old", "la_new", "la_before"), nc
    )
    return sizes | dict.fromkeys(("z_old", "z_new"), nq + nu) | dict.fromkeys(("rate", "rate_before"), nu + 1)


def _orders(system: System) -> dict[str, int]:
    return {"order": system.nu + system.nc + system.count("position"), "fold_order": system.nq}


@jit(i8(Plan, Floats, f8, Floats, i8, f8))
def _is_of(plan, mem, t, z, stored, since):
    """Whether vectors stored for time `since` and the state at `stored` belong to (t, z); not beyond an instant."""
    if not abs(t - since) <= SAME_TIME * max(abs(t), abs(since)):
        return 0
    for i in range(plan.nq + plan.nu):
        if not abs(mem[stored + i] - z[i]) <= SAME_STATE * (1.0 + abs(z[i])):
            return 0
    return 1


@jit(i8(Plan, Floats, f8, Floats, Floats))
def _recall(plan, mem, t, z, stages):
    """Have a, u', la of the start of the step in A_OLD, V_OLD, LA_OLD: as the last step left them, or made anew."""
    I = alpha_work(plan.step_work)
    nq, nu, nc = plan.nq, plan.nu, plan.nc
    if _is_of(plan, mem, t, z, I.z_new, I.t_new):
        move(mem, I.la_before, mem, I.la_old, nc)
        move(mem, I.a_old, mem, I.a_new, nu)
        move(mem, I.v_old, mem, I.v_new, nu)
        move(mem, I.la_old, mem, I.la_new, nc)
        if I.h_old > 0.0:
            I.power_before, I.h_before = mem[I.rate_before + nu], I.h_old
        else:
            I.power_before, I.h_before = I.power_inside, -0.5 * I.h_new
        move(mem, I.rate_before, mem, I.rate, nu + 1)
        I.h_old = I.h_new
    elif _is_of(plan, mem, t, z, I.z_old, I.t_old):
        return 0
    else:
        rates(plan, mem, t, z, stages[z.size : 2 * z.size])
        move(mem, I.a_old, stages, nq, nu)
        move(mem, I.v_old, stages, nq, nu)
        move(mem, I.la_old, mem, plan.multiplier, nc)
        I.h_old = 0.0
    move(mem, I.rate, stages, nq, z.size - nq)
    move(mem, I.z_old, z, 0, nq + nu)
    I.t_old, I.t_new = t, math.nan
    return 0


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats))
def _predict(plan, mem, t, h, z, stages, znew):
    """First guess of the end of the step: the same a as at its start."""
    I = alpha_work(plan.step_work)
    nq, nu, x, k = plan.nq, plan.nu, I.middle, I.kinematics
    a, a0, v0, h_old = I.a_old, I.a_start, I.v_old, I.h_old
    alpha_f = I.alpha_f
    ratio = min(1.0, h / h_old) if h_old > 0.0 else 1.0
    for i in range(nu):
        # a belongs to a time proportional to the step it was made with; longer steps must not amplify stiff motions
        start = mem[v0 + i] + ratio * (mem[a + i] - mem[v0 + i])
        mem[a0 + i], mem[I.a_new + i] = start, start
        mem[I.v_new + i] = (start - alpha_f * mem[v0 + i]) / (1.0 - alpha_f)
        mem[I.average + i] = z[nq + i] + 0.5 * h * start
        mem[x + 1 + nq + i] = z[nq + i] + 0.5 * h * start
        znew[nq + i] = z[nq + i] + h * start
    mem[x] = t + 0.5 * h
    for i in range(nq):
        mem[x + 1 + i] = z[i] + 0.5 * h * stages[i]
    call_kernel(I.kinematics_kernel, mem, x, k)
    for i in range(nq):
        znew[i] = z[i] + h * mem[k + i]
    return predict_multipliers(plan, mem, t + h, znew, stages[z.size : 2 * z.size])


@jit(f8(Plan, Floats, f8, Floats, Floats, f8, f8))
def _error(plan, mem, h, z, znew, rtol, atol):
    """Norm of the local error, from the distance to extrapolations of second order (Milne's device)."""
    I = alpha_work(plan.step_work)
    nq, nu = plan.nq, plan.nu
    width, S = nu + plan.np, I.slope
    rate, before, h_old, e = I.rate, I.rate_before, I.h_old, I.errors
    c_q, c_u = I.error_q, I.error_u
    for i in range(nu):
        guess = z[nq + i] + 0.5 * h * mem[rate + i]  # of s; the true one is larger by h^2 u'' / 6
        mem[e + i] = h * (mem[I.average + i] - guess) * c_q / (c_q + 1.0 / 6.0)
        guess, share = z[nq + i] + h * mem[rate + i], c_u  # of u, of first order: on the safe side
        if h_old > 0.0:
            guess += 0.5 * h * h / h_old * (mem[rate + i] - mem[before + i])
            share = c_u / (c_u + 1.0 / 6.0 + 0.25 * h_old / h)
        mem[e + nu + i] = share * (znew[nq + i] - guess)
    if not make_matrix(plan, mem, h):  # the one at hand was made where the step was guessed to end
        return math.inf
    I.h_matrix = h
    damp(plan, mem, e)
    damp(plan, mem, e + nu)
    total, units = 0.0, floats_at(plan.units, nq + nu)
    if I.newton_matrix:  # the change of the middle is left out: h/2 q'_q beside 1
        move(mem, I.middle + 1 + nq, mem, e, nu)
        call_kernel(plan.displacement, mem, I.middle, I.right)
    for i in range(nq):
        wrong = mem[I.right + i] if I.newton_matrix else row_product(mem, S + i * width, e, nu)
        total += (wrong / (atol * units[i] + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    for i in range(nu):
        total += (mem[e + nu + i] / (atol * units[nq + i] + rtol * max(abs(z[nq + i]), abs(znew[nq + i])))) ** 2
    return math.sqrt(total / (nq + nu))


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats))
def _first_work(plan, mem, t, h, z, stages, znew):
    """The work of a step without one before it, by Simpson's rule; the power in its middle serves the next one, too."""
    I, n = alpha_work(plan.step_work), z.size
    start, end, middle, inside = stages[:n], stages[n : 2 * n], stages[2 * n : 3 * n], stages[3 * n : 4 * n]
    for i in range(n):
        middle[i] = 0.5 * (z[i] + znew[i]) + 0.125 * h * (start[i] - end[i])
    rates(plan, mem, t + 0.5 * h, middle, inside)
    I.power_inside = inside[n - 1]
    return h * (start[n - 1] + 4.0 * inside[n - 1] + end[n - 1]) / 6.0


@jit(f8(Plan, Floats, f8, f8, f8))
def _third(plan, mem, h, power, after):
    """Work that the third divided difference of the power takes off a step of length h.

    The difference is that of the powers at both ends of the step and at two times before it.
    """
    I = alpha_work(plan.step_work)
    h0, h1, before = I.h_old, I.h_before, mem[I.rate_before + plan.nu]
    slope = (power - before) / h0
    second, last = ((after - power) / h - slope) / (h + h0), (slope - (before - I.power_before) / h1) / (h0 + h1)
    return (second - last) / (h + h0 + h1) * h**3 * (h + 2.0 * h0) / 12.0


@jit(f8(Plan, Floats, f8, f8, f8))
def _work(plan, mem, h, power, after):
    """The work of a step of length h by the cubic through the powers at its ends and at two times before."""
    I = alpha_work(plan.step_work)
    second = ((after - power) / h - (power - mem[I.rate_before + plan.nu]) / I.h_old) / (h + I.h_old)
    return 0.5 * h * (power + after) - second * h**3 / 6.0 - _third(plan, mem, h, power, after)


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def _work_error(plan, mem, t, h, z, stages, znew, rtol, atol):
    """The same for the work, as if it were integrated by the trapezoidal rule.

    Where its error passes zero the next difference tells how it changes on the way.
    """
    I, nu, size = alpha_work(plan.step_work), plan.nu, plan.nq + plan.nu
    if z.size == size:
        return 0.0
    power, before, h_old = mem[I.rate + nu], mem[I.rate_before + nu], I.h_old
    guess, share, bend = z[size] + h * power, 1.0 / 12.0, 0.0
    if h_old > 0.0:
        guess += 0.5 * h * h / h_old * (power - before)
        share = 1.0 / (3.0 + 3.0 * h_old / h)
        bend = BENT * _third(plan, mem, h, power, stages[z.size + size])
    wrong = max(abs(share * (znew[size] - guess)), abs(bend))
    return work_error(plan, mem, t, z, znew, wrong, rtol, atol)


@jit(f8(Plan, Floats, f8, f8))
def _impulse_error(plan, mem, h, atol):
    """The same for the impulses of unknowns that laws determine, as if they were integrated by the trapezoidal rule.

    Where a law holds a body at rest nothing else tells how its force changes, and when it reaches what the law allows.
    """
    I, worst = alpha_work(plan.step_work), 0.0
    share = 1.0 / (3.0 + 3.0 * I.h_old / h) if I.h_old > 0.0 else 1.0 / 12.0
    for k in range(plan.nc - plan.curved if I.impulse > 0.0 else plan.nc, plan.nc):
        bend = mem[I.la_new + k] - mem[I.la_old + k]
        if I.h_old > 0.0:
            bend -= h / I.h_old * (mem[I.la_old + k] - mem[I.la_before + k])
        worst = max(worst, 0.5 * h * abs(bend) * share / (atol * I.impulse))
    return worst


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def alpha_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm, or NaN if Newton's method did not converge."""
    I = alpha_work(plan.step_work)
    n, size = z.size, plan.nq + plan.nu
    plan.unsolved = OK
    _recall(plan, mem, t, z, stages)
    _predict(plan, mem, t, h, z, stages, znew)
    if not solve_step(plan, mem, t, h, z, znew, ALPHA_NEWTON_SHARE * rtol, ALPHA_NEWTON_SHARE * atol):
        plan.unsolved = NOT_CONVERGED
        return math.nan
    move(mem, I.z_new, znew, 0, size)
    I.t_new, I.h_new = t + h, h
    if n > size:
        zdot = stages[n : 2 * n]
        rates(plan, mem, t + h, znew, zdot)
        znew[size] = z[size]
        if I.h_old > 0.0:
            znew[size] += _work(plan, mem, h, stages[size], zdot[size])
        else:
            znew[size] += _first_work(plan, mem, t, h, z, stages, znew)
    if I.fixed:  # the error is not used
        return 0.0
    wrong = _work_error(plan, mem, t, h, z, stages, znew, rtol, atol)
    wrong = math.hypot(wrong, _impulse_error(plan, mem, h, atol))
    return math.hypot(_error(plan, mem, h, z, znew, rtol, atol), wrong)
