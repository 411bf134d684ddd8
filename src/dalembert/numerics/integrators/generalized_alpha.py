"""The generalized-alpha method of Chung and Hulbert (1993) for constrained systems, positions and velocities kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.equations.native import Kernel
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.numerics import implicit_equations as equations
from dalembert.numerics.evaluate import rates
from dalembert.numerics.integrators import alpha, blocks
from dalembert.numerics.integrators.alpha import (
    A_NEW,
    A_OLD,
    A_START,
    ALPHA_F,
    ARGUMENT,
    AVERAGE,
    CLOCK,
    ERROR_Q,
    ERROR_U,
    ERRORS,
    H_MATRIX,
    H_NEW,
    H_OLD,
    KINEMATICS,
    KINEMATICS_KERNEL,
    LA_NEW,
    LA_OLD,
    LENGTH,
    MIDDLE,
    NUMBERS,
    RATE,
    RATE_BEFORE,
    SLOPE,
    T_NEW,
    T_OLD,
    V_NEW,
    V_OLD,
    Z_NEW,
    Z_OLD,
    damp,
    make_matrix,
    solve_step,
)
from dalembert.numerics.integrators.blocks import INNER
from dalembert.numerics.integrators.divided import divided_method
from dalembert.numerics.integrators.march import Samples, march
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.integrators.stepping import Stepping
from dalembert.numerics.integrators.work import work_error
from dalembert.numerics.layout import (
    MULTIPLIER,
    NC,
    NP,
    NQ,
    NU,
    STEP,
    STEP_INTS,
    UNSOLVED,
    Floats,
    Ints,
    call_kernel,
    f8,
    i8,
    move,
)
from dalembert.numerics.linear.rows import row_product
from dalembert.numerics.native_cache import jit
from dalembert.numerics.status import NOT_CONVERGED, OK

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine

NEWTON = 1e-3  # share of the tolerated error that may be left by Newton's iteration
FIXED = 1e-8  # what takes the place of the tolerances when the step is fixed
COLUMNS = 5  # of `stages`; dense output reads the last
SAME = 1e-9  # a state further from the one stored, relative to its size, is another: a new start


@dataclass(frozen=True, kw_only=True)
class GeneralizedAlpha(Stepping):
    """Order 2, high frequencies damped to `rho_inf` per step (1: not at all, 0: at once); for stiff systems.

    With `step` the steps are fixed; otherwise the error per step stays below atol + rtol |z| (by default rtol = 1e-5,
    atol = 1e-7). Positions and velocities satisfy their constraints to round-off at every step, without drift control.
    """

    rho_inf: float = 0.8

    def __post_init__(self) -> None:
        self.settle(rtol=1e-5, atol=1e-7, least=1e-12)
        if not 0.0 <= self.rho_inf <= 1.0:
            raise OptionError(f"GeneralizedAlpha: rho_inf is {self.rho_inf}; it must lie between 0 and 1")

    @property
    def explicit(self) -> bool:
        """It solves for the multipliers and keeps the constraints itself."""
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
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        system, plan, size = engine.system, engine.plan, engine.size
        first = blocks.place(engine, _blocks(system), _ints(system), alpha_step, COLUMNS)
        plan, mem = engine.plan, engine.mem
        plan[first + LENGTH] = 1 + size + len(engine.parameters)
        for key in (MIDDLE, ARGUMENT):
            at = plan[first + key] + 1 + size
            mem[at : at + len(engine.parameters)] = engine.parameters
        at = plan[first + NUMBERS]
        mem[at : at + alpha.NUMBERS_SIZE] = self.numbers
        mem[plan[first + CLOCK] : plan[first + CLOCK] + 2] = np.nan  # nothing is stored yet
        return march(engine, self.method(), z0, span, t_eval, progress)

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return divided_method(
            self, alpha_step, COLUMNS, tolerance=FIXED, order=3, kernels=_kernels, workspace=_workspace
        )


def _kernels(system: System) -> Sequence[Kernel]:
    return [
        equations.kernel(system, "kinematics", equations.kinematics),
        equations.kernel(system, "balance", equations.balance),
        equations.kernel(system, "balance jacobian", equations.balance_jacobian),
    ]


def _blocks(system: System) -> dict[int, int]:
    nq, nu, nc, n = system.nq, system.nu, system.nc, system.count("position")
    length, size, rows = 1 + nq + nu + len(system.parameters), nu + nc + n, nu + nc + n
    sizes = {
        alpha.ARGUMENT: length + nu + nc,
        alpha.MIDDLE: length,
        alpha.KINEMATICS: nq * (1 + nq + nu),
        alpha.BALANCE: rows,
        alpha.DERIVATIVE: rows * (nq + 2 * nu + nc),
        alpha.FOLD: nq * nq,
        alpha.SLOPE: nq * (nu + n),
        alpha.NORMALS: nu * n,
        alpha.MATRIX: size * size,
        alpha.RIGHT: max(size, nq),
        alpha.ROW_SCALE: size,
        alpha.COLUMN_SCALE: size,
        alpha.GAP: nq,
        alpha.AVERAGE: nu,
        alpha.CLOCK: alpha.CLOCK_SIZE,
        alpha.NUMBERS: alpha.NUMBERS_SIZE,
    }
    sizes |= dict.fromkeys((A_OLD, V_OLD, A_START, A_NEW, V_NEW), nu) | dict.fromkeys((LA_OLD, LA_NEW), nc)
    return (
        sizes | dict.fromkeys((Z_OLD, Z_NEW), nq + nu) | dict.fromkeys((RATE, RATE_BEFORE), nu + 1) | {ERRORS: 2 * nu}
    )


def _ints(system: System) -> int:
    return alpha.ORDER + system.nu + system.nc + system.count("position") + system.nq


def _workspace(system: System) -> tuple[int, int]:
    return blocks.totals(_blocks(system), _ints(system))


@jit(i8(Ints, Floats, f8, Floats, i8, f8))
def _is_of(plan, mem, t, z, stored, since):
    """Whether vectors stored for time `since` and the state at `stored` belong to (t, z)."""
    if not abs(t - since) <= 1e-12 * (1.0 + abs(t)):
        return 0
    for i in range(plan[NQ] + plan[NU]):
        if not abs(mem[stored + i] - z[i]) <= SAME * (1.0 + abs(z[i])):
            return 0
    return 1


@jit(i8(Ints, Floats, f8, Floats, Floats))
def _recall(plan, mem, t, z, stages):
    """Have a, u', la of the start of the step in A_OLD, V_OLD, LA_OLD: as the last step left them, or made anew."""
    I = plan[STEP_INTS]
    nq, nu, nc, clock = plan[NQ], plan[NU], plan[NC], plan[I + CLOCK]
    if _is_of(plan, mem, t, z, plan[I + Z_NEW], mem[clock + T_NEW]):
        move(mem, plan[I + A_OLD], mem, plan[I + A_NEW], nu)
        move(mem, plan[I + V_OLD], mem, plan[I + V_NEW], nu)
        move(mem, plan[I + LA_OLD], mem, plan[I + LA_NEW], nc)
        move(mem, plan[I + RATE_BEFORE], mem, plan[I + RATE], nu + 1)
        mem[clock + H_OLD] = mem[clock + H_NEW]
    elif _is_of(plan, mem, t, z, plan[I + Z_OLD], mem[clock + T_OLD]):
        return 0
    else:
        rates(plan, mem, t, z, stages[z.size : 2 * z.size])
        move(mem, plan[I + A_OLD], stages, nq, nu)
        move(mem, plan[I + V_OLD], stages, nq, nu)
        move(mem, plan[I + LA_OLD], mem, plan[MULTIPLIER], nc)
        mem[clock + H_OLD] = 0.0
    move(mem, plan[I + RATE], stages, nq, z.size - nq)
    move(mem, plan[I + Z_OLD], z, 0, nq + nu)
    mem[clock + T_OLD], mem[clock + T_NEW] = t, math.nan
    return 0


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, Floats))
def _predict(plan, mem, t, h, z, stages, znew):
    """First guess of the end of the step: the same a and la as at its start."""
    I = plan[STEP_INTS]
    nq, nu, c, x, k = plan[NQ], plan[NU], plan[I + NUMBERS], plan[I + MIDDLE], plan[I + KINEMATICS]
    a, a0, v0, h_old = plan[I + A_OLD], plan[I + A_START], plan[I + V_OLD], mem[plan[I + CLOCK] + H_OLD]
    alpha_f = mem[c + ALPHA_F]
    ratio = min(1.0, h / h_old) if h_old > 0.0 else 1.0
    for i in range(nu):
        # a belongs to a time proportional to the step it was made with; longer steps must not amplify stiff motions
        start = mem[v0 + i] + ratio * (mem[a + i] - mem[v0 + i])
        mem[a0 + i], mem[plan[I + A_NEW] + i] = start, start
        mem[plan[I + V_NEW] + i] = (start - alpha_f * mem[v0 + i]) / (1.0 - alpha_f)
        mem[plan[I + AVERAGE] + i] = z[nq + i] + 0.5 * h * start
        mem[x + 1 + nq + i] = z[nq + i] + 0.5 * h * start
        znew[nq + i] = z[nq + i] + h * start
    move(mem, plan[I + LA_NEW], mem, plan[I + LA_OLD], plan[NC])
    mem[x] = t + 0.5 * h
    for i in range(nq):
        mem[x + 1 + i] = z[i] + 0.5 * h * stages[i]
    call_kernel(plan[KINEMATICS_KERNEL], mem, x, k)
    for i in range(nq):
        znew[i] = z[i] + h * mem[k + i]
    return 0


@jit(f8(Ints, Floats, f8, Floats, Floats, f8, f8))
def _error(plan, mem, h, z, znew, rtol, atol):
    """Norm of the local error, from the distance to extrapolations of second order (Milne's device)."""
    I = plan[STEP_INTS]
    nq, nu, c, clock = plan[NQ], plan[NU], plan[I + NUMBERS], plan[I + CLOCK]
    width, S = nu + plan[NP], plan[I + SLOPE]
    rate, before, h_old, e = plan[I + RATE], plan[I + RATE_BEFORE], mem[clock + H_OLD], plan[I + ERRORS]
    c_q, c_u = mem[c + ERROR_Q], mem[c + ERROR_U]
    for i in range(nu):
        guess = z[nq + i] + 0.5 * h * mem[rate + i]  # of s; the true one is larger by h^2 u'' / 6
        mem[e + i] = h * (mem[plan[I + AVERAGE] + i] - guess) * c_q / (c_q + 1.0 / 6.0)
        guess, share = z[nq + i] + h * mem[rate + i], c_u  # of u, of first order: on the safe side
        if h_old > 0.0:
            guess += 0.5 * h * h / h_old * (mem[rate + i] - mem[before + i])
            share = c_u / (c_u + 1.0 / 6.0 + 0.25 * h_old / h)
        mem[e + nu + i] = share * (znew[nq + i] - guess)
    if not make_matrix(plan, mem, h):  # the one at hand was made where the step was guessed to end
        return math.inf
    mem[clock + H_MATRIX] = h
    damp(plan, mem, e)
    damp(plan, mem, e + nu)
    total = 0.0
    for i in range(nq):
        wrong = row_product(mem, S + i * width, e, nu)
        total += (wrong / (atol + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    for i in range(nu):
        total += (mem[e + nu + i] / (atol + rtol * max(abs(z[nq + i]), abs(znew[nq + i])))) ** 2
    return math.sqrt(total / (nq + nu))


@jit(f8(Ints, Floats, f8, Floats, Floats, f8, f8))
def _work_error(plan, mem, h, z, znew, rtol, atol):
    """The same for the work, integrated by the trapezoidal rule."""
    I, nu, size = plan[STEP_INTS], plan[NU], plan[NQ] + plan[NU]
    if z.size == size:
        return 0.0
    power, before, h_old = mem[plan[I + RATE] + nu], mem[plan[I + RATE_BEFORE] + nu], mem[plan[I + CLOCK] + H_OLD]
    guess, share = z[size] + h * power, 1.0 / 12.0
    if h_old > 0.0:
        guess += 0.5 * h * h / h_old * (power - before)
        share = 1.0 / (3.0 + 3.0 * h_old / h)
    return work_error(plan, mem, z, znew, share * (znew[size] - guess), rtol, atol)


@jit(f8(Ints, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def alpha_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm, or NaN if Newton's method did not converge."""
    I = plan[STEP_INTS]
    n, size, clock = z.size, plan[NQ] + plan[NU], plan[I + CLOCK]
    plan[UNSOLVED] = OK
    _recall(plan, mem, t, z, stages)
    _predict(plan, mem, t, h, z, stages, znew)
    if not solve_step(plan, mem, t, h, z, znew, NEWTON * rtol, NEWTON * atol):
        plan[UNSOLVED] = NOT_CONVERGED
        return math.nan
    move(mem, plan[I + Z_NEW], znew, 0, size)
    mem[clock + T_NEW], mem[clock + H_NEW] = t + h, h
    if n > size:
        zdot = stages[n : 2 * n]
        rates(plan, mem, t + h, znew, zdot)
        znew[size] = z[size] + 0.5 * h * (stages[size] + zdot[size])
    if plan[STEP] != plan[I + INNER]:  # a fixed step: nobody asks
        return 0.0
    return math.hypot(_error(plan, mem, h, z, znew, rtol, atol), _work_error(plan, mem, h, z, znew, rtol, atol))
