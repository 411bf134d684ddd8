"""Derivatives carried along with a motion: S = d(q, u) / d theta, a column for each parameter or start value theta.

The equations R(q, u, u', la, p, t) = 0, balance and acceleration rows, determine u' and la. Along a column

    S_q' = (q')_q S_q + (q')_u S_u + (q')_p dp,      K (S_u', dla) = -(R_q S_q + R_u S_u + R_p dp),   K = dR/d(u', la)

(the implicit function theorem): the matrix that was factorised for u' serves all columns. Small systems have all of it
unrolled in one kernel, with q', u' and la; others solve in loops, whatever the formulation, as u' is the same. Steps
keep the errors of the state and of each column below the tolerances. After a step the columns are brought onto the
tangent space of the constraints, phi_q S_q + phi_p dp = 0 and psi_q S_q + psi_u S_u + psi_p dp = 0, by least moves in
the mass metric.

Kernels read (x, estimate, h, options, columns): what stands behind x in memory, see `native.plan`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca

from dalembert.equations.mechanics import rows_of
from dalembert.equations.system import System
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_accelerate, call_correct, call_kernel, f8, i8, move
from dalembert.run.evaluate import load_state
from dalembert.run.formulations.choice import RECHOOSE
from dalembert.run.right_hand_side import Equations, Feedback, Unroll
from dalembert.run.status import OK, UNREACHED
from dalembert.solve.refinement import refine_saddle
from dalembert.solve.solver import call_factor, call_solve
from dalembert.solve.unrolled import TRUSTED, unroll_factors
from dalembert.solve.unsymmetric import refine_shifted

START = -1  # a column that stands for a start value: no parameter changes
CarriedColumns = tuple[int, ...]  # for each column the number of its parameter, or START


class _Inputs:
    """Variables of a kernel: those of the mechanics, the entries after x, and the columns S (nq + nu, 1)."""

    def __init__(self, system: System, columns: CarriedColumns, options: int) -> None:
        self.system, m = system, system.mechanics
        self.tail = ca.SX.sym("tail", 1 + options)
        self.S = [ca.SX.sym(f"S{k}", system.nq + system.nu) for k in range(len(columns))]
        self.dp = [
            ca.SX(len(system.parameters), 1) if index == START else system.parameter_direction(index, columns)
            for index in columns
        ]
        self.all = ca.vertcat(m.x, self.tail, *self.S)

    def along(self, graph: ca.SX, k: int) -> ca.SX:
        """The derivative of a graph of (q, u, p) along column k."""
        return _along(self.system, graph, self.S[k], self.dp[k])

    def bias(self, feedback: Feedback | None) -> ca.SX:
        """Term that feedback adds to b, (nc, 1)."""
        m = self.system.mechanics
        if feedback is None:
            return ca.SX(m.b.shape[0], 1)
        return feedback.change(m, self.tail[0], self.tail[1 : 1 + feedback.size])


def varied_motion_function(
    system: System, unroll: Unroll, choice: Any, feedback: Feedback | None, columns: CarriedColumns, options: int
) -> ca.Function | None:
    """q', u', power, la, quality, and then the rates of all columns; None if it cannot be unrolled."""
    m, e, inputs = system.mechanics, Equations.of(system), _Inputs(system, columns, options)
    b = e.b + inputs.bias(feedback)
    solved = unroll(Equations(M=e.M, f=e.f, A=e.A, b=b, singular_mass=e.singular_mass), choice)
    rows = sorted(choice.rows)
    factors = unroll_factors(e.M, rows_of(e.A, rows), augment=e.singular_mass)
    if solved is None or factors is None:
        return None
    udot, la, quality = (ca.densify(part) for part in solved)
    unsolved = ca.vertcat(m.balance, ca.mtimes(e.A, m.udot) - b, m.qdot)
    out = [m.qdot, udot, m.ideal_power(udot, la), la, ca.fmin(quality, factors.quality)]
    for k in range(len(columns)):
        change = ca.substitute(inputs.along(unsolved, k), ca.vertcat(m.udot, m.la), ca.vertcat(udot, la))
        balance, acceleration, rates = ca.vertsplit(
            ca.densify(change), [0, system.nu, system.nu + system.nc, change.shape[0]]
        )
        out += [rates, factors.solve(-balance, -rows_of(acceleration, rows))[0]]
    return _function("varied_motion", inputs.all, out)


def sides_function(system: System, columns: CarriedColumns, feedback: Feedback | None, options: int) -> ca.Function:
    """For each column S_q' (nq), and the right-hand side (nu + nc) of K; u' and la stand behind the columns."""
    inputs, m = _Inputs(system, columns, options), system.mechanics
    added = inputs.bias(feedback)
    out = []
    for k in range(len(columns)):
        out += [inputs.along(m.qdot, k), -inputs.along(m.balance, k), -inputs.along(m.acceleration - added, k)]
    return _function("variation_sides", ca.vertcat(inputs.all, m.udot, m.la), out)


def tangent_function(system: System, columns: CarriedColumns, options: int) -> ca.Function | None:
    """The columns on the tangent space of the constraints, and the quality of the solves; None if it is too long."""
    inputs = _Inputs(system, columns, options)
    found = onto_tangent(system, list(zip(inputs.S, inputs.dp, strict=True)))
    return None if found is None else _function("variation_tangent", inputs.all, [*found[0], found[1]])


def onto_tangent(system: System, changes: Sequence[tuple[ca.SX, ca.SX]]) -> tuple[list[ca.SX], ca.SX] | None:
    """Changes (S, dp) of (q, u) and p with S moved onto the tangent space, and the quality of the solves.

    None if there are no constraints, or if the graph would be too long.
    """
    m, still, nq = system.mechanics, ca.SX(system.nu, 1), system.nq
    n_p, n_pv = system.count("position"), m.psi.shape[0]
    if not (n_pv or m.h.shape[0]):
        return None
    positions = unroll_factors(m.M, m.A[:n_p, :], augment=system.singular_mass) if n_p else None
    velocities = unroll_factors(m.M, m.A[:n_pv, :], augment=system.singular_mass) if n_pv else None
    if (n_p and positions is None) or (n_pv and velocities is None):
        return None
    quality = ca.SX(1)
    for factors in (positions, velocities):
        quality = quality if factors is None else ca.fmin(quality, factors.quality)
    moved = []
    for S, dp in changes:
        Sq, Su = _restored(system, S[:nq]), S[nq:]
        if positions is not None:
            step = positions.solve(still, -_along(system, m.phi, ca.vertcat(Sq, Su), dp))[0]
            Sq = Sq + ca.mtimes(m.C, step)
        if velocities is not None:
            Su = Su + velocities.solve(still, -_along(system, m.psi, ca.vertcat(Sq, Su), dp))[0]
        moved.append(ca.vertcat(Sq, Su))
    return moved, quality


def _along(system: System, graph: ca.SX, S: ca.SX, dp: ca.SX) -> ca.SX:
    """The derivative of a graph of (q, u, p) along a change (S, dp) of them."""
    m = system.mechanics
    return ca.jtimes(graph, ca.vertcat(m.q, m.u, m.p), ca.vertcat(S, dp))


def _restored(system: System, Sq: ca.SX) -> ca.SX:
    """S_q moved along the gradients of the invariants until it keeps them."""
    m = system.mechanics
    for i in range(m.h.shape[0]):
        gradient = ca.jacobian(m.h[i], m.q).T
        Sq = Sq - gradient * (ca.dot(gradient, Sq) / ca.sumsqr(gradient))
    return Sq


def _function(name: str, x: ca.SX, columns: Sequence[ca.SX]) -> ca.Function:
    return ca.Function(name, [x], [ca.cse(ca.vertcat(*[ca.densify(column) for column in columns]))])


@jit(i8(Plan, Floats))
def accelerate_varied(plan, mem):
    """q', u', la and the rates of the columns: by one kernel while its pivots are good, else in loops."""
    if plan.motion:
        call_kernel(plan.motion, mem, plan.x, plan.rates)
        if mem[plan.quality] > RECHOOSE and math.isfinite(mem[plan.total_power]):
            return 0
    call_accelerate(plan.plain_accelerate, (plan, mem))
    return _vary(plan, mem)


@jit(i8(Plan, Floats))
def _vary(plan, mem):
    """The rates of the columns where u' and la are known; reactions that are not ideal leave their factors at hand."""
    nq, nu, nc, size = plan.nq, plan.nu, plan.nc, plan.nq + plan.nu
    quality, solved = mem[plan.quality], plan.variations + plan.n_variations
    move(mem, solved, mem, plan.udot, nu)
    move(mem, solved + nu, mem, plan.multiplier, nc)
    call_kernel(plan.sides_kernel, mem, plan.x, plan.sides)
    if plan.ideal:
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
    if (plan.ideal or plan.iteration) and not call_factor(plan.factor_changes, (plan, mem, nc)) and plan.iteration:
        plan.unsolved = UNREACHED
    for k in range(plan.n_variations // size):
        side, to = plan.sides + k * (size + nc), plan.variation_rates + k * size
        move(mem, to, mem, side, nq)
        if not plan.iteration and (plan.ideal or plan.shifted):
            move(mem, plan.force, mem, side + nq, nu)
            move(mem, plan.bias, mem, side + size, nc)
            if plan.ideal:
                refine_saddle(plan, mem, nc)
            else:
                refine_shifted(plan, mem, nc)
        else:
            move(mem, plan.rhs, mem, side + nq, nu + nc)
            call_solve(plan.solve_changes, (plan, mem, nc, plan.rhs))
        move(mem, to + nq, mem, plan.rhs, nu)
    if plan.ideal or plan.shifted:  # kernels do not write zeros
        for i in range(nu):
            mem[plan.force + i] = 0.0
        for k in range(nc):
            mem[plan.bias + k] = 0.0
    mem[plan.quality] = quality
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def correct_varied(plan, mem, t, z):
    """The drift correction of a state, then its columns onto the tangent space there; returns the status of the first.

    Where constraints depend on each other the columns stay as they are.
    """
    status = call_correct(plan.plain_correct, (plan, mem, t, z))
    if status != OK or plan.onto_tangent == 0:
        return status
    n = plan.n_variations
    load_state(plan, mem, t, z)
    call_kernel(plan.onto_tangent, mem, plan.x, plan.sides)
    if mem[plan.sides + n] > TRUSTED:
        move(z, plan.nz - n, mem, plan.sides, n)
    return status
