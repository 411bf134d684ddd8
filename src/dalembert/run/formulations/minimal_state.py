"""The minimal state (q, u_I): independent speeds are integrated, the others follow from the constraints.

Kane's minimal equations as Bajodah, Hodges and Chen state them, eq. (39), and the 2n + M ordinary differential
equations of Moore's lecture: with u = (u_I, u_D), at every evaluation

    psi(q, u_I, u_D, t) = 0  gives u_D,     q' = C u + D,     u_I' from (39).

psi holds the rates of the position constraints and the velocity constraints, linear in u or not. The velocities
therefore never leave the constraints; positions do by the error of q alone. The state in memory has a place for u_D
too: there its rate is integrated, which is where Newton's method starts and what keeps it on its branch of a nonlinear
constraint. Reactions may be of any kind: if they are not ideal, u' is solved for with their multipliers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_correct, call_kernel, correct_type, f8, i8, ints_at, move
from dalembert.run.evaluate import load_state
from dalembert.run.formulations.accelerators import Accelerators
from dalembert.run.formulations.choice import RECHOOSE, Choice
from dalembert.run.formulations.fall_back import accelerate_rechosen
from dalembert.run.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.run.formulations.law_graphs import Iteration
from dalembert.run.formulations.minimal_kane import MinimalKane, accelerate
from dalembert.run.formulations.nonideal import accelerate_nonideal
from dalembert.run.formulations.partition import check_names, choose_partition
from dalembert.run.formulations.partition_loops import form_partition
from dalembert.run.right_hand_side import Equations
from dalembert.solve.lu import factor_lu, solve_lu

SPEED_ITERATIONS = 20
DETERMINED = 0.05  # pivots of J2 below which speeds do not follow; errors of q would show in them, 20 times as large
LAST_STEP = 1e-9  # a step this short, relative to the speeds, leaves its square
LAST_STEP_AT_REST = 1e-14  # a step that does not matter, whatever the speeds are


@dataclass(frozen=True)
class MinimalState:
    """Integrates (q, u_I) by (39), with u_D from the constraints at every evaluation.

    `u_ind` names the independent speeds; None chooses them by a pivoted factorisation, and again when they degrade.
    """

    u_ind: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "u_ind", check_names(self.u_ind))

    def choose(self, system: System, M: Any, A: Any) -> Choice:
        """The partition at a state: first the rows that give u_D, then those on accelerations."""
        leading = system.count("position") + system.count("velocity")
        return choose_partition(system, M, A, check_names(self.u_ind), leading)

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and quality as a graph: those of `MinimalKane`."""
        return MinimalKane().unroll(equations, choice)

    def workspace(self, nu: int, nc: int) -> tuple[int, int]:
        """Floats and integers the native functions work in."""
        return MinimalKane().workspace(nu, nc)

    def iteration(self, system: System) -> Iteration | None:
        """The graph of Newton's method: that of `LagrangeMultipliers`."""
        return LagrangeMultipliers().iteration(system)

    def accelerators(self) -> Accelerators:
        """The native functions that find the accelerations."""
        return Accelerators(accelerate_rechosen, accelerate, accelerate_partitioned)

    def eliminator(self) -> Any:
        """The native function that makes u_D follow."""
        return eliminate

    def corrector(self) -> Any:
        """The correction of the drift control, and u_D that follows."""
        return correct_and_eliminate


@jit(i8(Plan, Floats))
def accelerate_partitioned(plan, mem):
    """u' and la for reactions of every kind; asks for another partition when this one degrades."""
    accelerate_nonideal(plan, mem)
    if plan.chosen > 0 and plan.stale == 0 and not form_partition(plan, mem) > RECHOOSE:
        plan.stale = 1
    return 0


@jit(i8(Plan))
def _keep(plan):
    """Count that all speeds were integrated, and ask for another partition."""
    plan.integrated += 1
    if plan.stale == 0:
        plan.stale = 1
    return 0


@jit(f8(Plan, Floats))
def _determination(plan, mem):
    """Conditioning of the dependent speeds: the smallest pivot of J2, with unit rows of A.

    It vanishes in singular positions, whatever the partition, and with a partition that has become a bad one.
    """
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    least = form_partition(plan, mem)
    for k in range(plan.chosen):
        least = min(least, abs(mem[plan.work + k * plan.chosen + k]))
    return least


@jit(f8(Plan, Floats, i8))
def _step(plan, mem, r):
    """One step of Newton's method for the first r speeds chosen; its length over the speeds, -1 if J2 is singular."""
    ints = ints_at(plan.ints, plan.n_ints)
    nu, n, psi, rows, speeds = plan.nu, plan.np + plan.nv, plan.speed_rows, plan.chosen_rows, plan.chosen_speeds
    A, J2 = psi + n + plan.nq, plan.work
    x = J2 + r * r
    call_kernel(plan.speeds, mem, plan.x, psi)
    for k in range(r):
        row = ints[rows + k]
        mem[x + k] = -mem[psi + row]
        for j in range(r):
            mem[J2 + k * r + j] = mem[A + row * nu + ints[speeds + j]]
    if not factor_lu(ints, mem, J2, r, plan.work_ints) > 0.0:
        return -1.0
    solve_lu(ints, mem, J2, r, plan.work_ints, x)
    way, size = 0.0, LAST_STEP_AT_REST / LAST_STEP
    for j in range(r):
        mem[plan.xu + ints[speeds + j]] += mem[x + j]
        way = max(way, abs(mem[x + j]))
        if not math.isfinite(mem[x + j]):
            return -1.0
    for i in range(nu):
        size = max(size, abs(mem[plan.xu + i]))
    return way / size


@jit(i8(Plan, Floats))
def eliminate(plan, mem):
    """Make the dependent speeds in x follow from psi(q, u, t) = 0, as long as these determine them.

    Where Newton's method fails they stay as integrated: that is counted, and another partition asked for.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    nu, n, r = plan.nu, plan.np + plan.nv, 0
    while r < plan.chosen and ints[plan.chosen_rows + r] < n:
        r += 1
    if r == 0 or plan.undetermined:
        return 0
    kept = plan.work + r * r + r
    move(mem, kept, mem, plan.xu, nu)
    for _ in range(SPEED_ITERATIONS):
        way = _step(plan, mem, r)
        if way < 0.0:
            break
        if way <= LAST_STEP:
            return 0
    move(mem, plan.xu, mem, kept, nu)
    return _keep(plan)


@jit(correct_type)
def correct_and_eliminate(plan, mem, t, z):
    """Correct a state by the drift control, then make its dependent speeds follow; returns a status.

    Here, after a step, it is decided whether speeds are eliminated in the next one: not near a singular position,
    which only a state with all speeds can pass. Within a step that must not change, or the error estimate would see it.
    """
    status = call_correct(plan.correct_drift, (plan, mem, t, z))
    load_state(plan, mem, t, z)
    plan.undetermined = 0
    if plan.chosen > 0 and not _determination(plan, mem) > DETERMINED:
        plan.undetermined = 1
        _keep(plan)
    eliminate(plan, mem)
    move(z, plan.nq, mem, plan.xu, plan.nu)
    return status
