"""Driven mechanisms position by position, and driving forces of a prescribed motion, without integration.

At each time the positions follow from phi(q, t) = 0 and the wanted coordinates, the speeds from psi = 0 and their
rates. Accelerations, multipliers and the efforts tau of the actuators solve, all together,

    M u' - f - r = B tau,    A u' = b,    q_w'' = wanted,

by Newton's method, which is one step where nothing is nonlinear in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.analysis.driven_motion import DrivenMotion
from dalembert.analysis.wanted import Wanted, read_wanted
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import ArrayError, InitialStateError, OptionError, UnknownNameError
from dalembert.initial.failure import explain
from dalembert.initial.positions import position_stage
from dalembert.initial.request import Task, Values, read_task
from dalembert.initial.velocities import velocity_stage
from dalembert.motion.state import State
from dalembert.solve.decompositions import UNIT, least_squares, null_space, unit_rows
from dalembert.solve.tolerances import CANCELLED, UNIT_ROW_RANK

POSITION_ITERATIONS = 30  # of Newton's method


def driven_kinematics(
    system: System, times: Any, *, guess: Values | State | None = None, parameters: Values | None = None
) -> DrivenMotion:
    """The motion of a mechanism without free motions; see `System.kinematics`."""
    return inverse_dynamics(system, {}, times, guess=guess, parameters=parameters)


def inverse_dynamics(
    system: System,
    wanted: Mapping[Any, Any],
    times: Any,
    *,
    actuators: Sequence[Any] | None = None,
    guess: Values | State | None = None,
    parameters: Values | None = None,
) -> DrivenMotion:
    """The motion with prescribed coordinates, and its driving forces; see `System.inverse_dynamics`."""
    t = np.asarray(times, dtype=float)
    if t.ndim != 1 or not t.size or not np.isfinite(t).all():
        raise ArrayError(f"times must be finite numbers in one axis, got shape {t.shape}")
    goal = read_wanted(system, wanted, t)
    driven = _read_actuators(system, goal, actuators)
    state = _start(system, t[0], guess, parameters)
    found, efforts = [], []
    for k, time in enumerate(t.tolist()):
        state = _placed(_predicted(state, time), goal, k, restart=k == 0)
        if k == 0:
            _check_determined(state, goal)
        state, effort = _accelerated(state, goal, k, driven)
        found.append(state)
        efforts.append(effort)
    columns = {
        name: np.array([getattr(s, name) for s in found]) for name in ("q", "u", "udot", "multipliers", "parameters")
    }
    names = [name for name, _, _ in driven]
    return DrivenMotion(
        system, t, **columns, efforts=dict(zip(names, np.array(efforts).reshape(len(t), -1).T, strict=True))
    )


def _start(system: System, t: float, guess: Values | State | None, parameters: Values | None) -> State:
    """The guess as a state that need not be consistent."""
    task = read_task(system, {}, guess=guess, t0=float(t), parameters=parameters)
    q, u = np.split(task.target, [system.nq])
    return State(system, float(t), q, u, task.udot, task.la, task.p)


def _predicted(state: State, t: float) -> State:
    """The state extrapolated to time t by its rates and accelerations."""
    h = t - state.t
    if not h:
        return state
    s = state.system
    at = (state.t, state.q, state.u, state.parameters)
    rates = s.coordinate_rates(*at)
    second = s.evaluate("second_rates", *at, more=np.concatenate([state.udot, state.multipliers]))
    return replace(state, t=t, q=state.q + h * rates + h * h / 2 * second, u=state.u + h * state.udot)


def _placed(state: State, goal: Wanted, k: int, *, restart: bool) -> State:
    """Positions and speeds at a time, nearest to a predicted state; restarts could jump to another branch."""
    s = state.system
    given = {s.coordinates[j]: goal.values[k, i] for i, j in enumerate(goal.places)}
    given |= {f"{s.coordinates[j]}'": goal.rates[k, i] for i, j in enumerate(goal.places)}
    task: Task = read_task(s, given, guess=state, t0=state.t)
    attempts = 12 if restart else 0
    positions = position_stage(task)
    q = positions.seek(attempts)
    if not q.met:
        raise explain(task, positions, q)
    velocities = velocity_stage(task, q.v)
    u = velocities.seek(attempts)
    if not u.met:
        raise explain(task, velocities, u, q=q.v)
    return replace(state, q=q.v, u=u.v)


def _read_actuators(
    system: System, goal: Wanted, actuators: Sequence[Any] | None
) -> list[tuple[str, int | None, int | None]]:
    """Name, and the parameter that an actuator is or the speed along which it acts."""
    if actuators is None:
        return [(f"effort({system.coordinates[j]})", None, j) for j in goal.places]
    if isinstance(actuators, str) or not isinstance(actuators, Sequence):
        raise OptionError(f"actuators must be a list of parameters of `{system.name}`, got {actuators!r}")
    found: list[tuple[str, int | None, int | None]] = []
    for key in actuators:
        if name_of(key) not in system.parameters:
            raise UnknownNameError(name_of(key), system.parameters, f"the parameters of `{system.name}`")
        found.append((name_of(key), system.parameters.index(name_of(key)), None))
    if len(found) != len(goal.places):
        tied = system.invariants and len(found) < len(goal.places)
        raise OptionError(
            f"{len(found)} actuators cannot make {len(goal.places)} coordinates of `{system.name}` move as wanted; "
            "give one for each" + ("; of a unit quaternion want three components, the fourth follows" if tied else "")
        )
    return found


def _check_determined(state: State, goal: Wanted) -> None:
    """Raise if constraints and wanted coordinates leave a motion free."""
    s, d = state.system, differentiate(state)
    rows = np.vstack([d.of("velocity", "u"), d.of("rates", "u")[list(goal.places)]])
    free = null_space(unit_rows(rows), UNIT_ROW_RANK, UNIT).T
    if len(free):
        names = [s.speeds[k] for k in np.flatnonzero(np.abs(free).max(axis=0) > 1e-6)]
        raise InitialStateError(
            f"`{s.name}`: the motion is not determined: the constraints leave {len(free)} motions free (of "
            f"{', '.join(names)}); state as many wanted coordinates or driving constraints, or call system.simulate"
        )


def _accelerated(
    state: State, goal: Wanted, k: int, driven: list[tuple[str, int | None, int | None]]
) -> tuple[State, np.ndarray]:
    """Accelerations, multipliers and efforts of a placed state."""
    s, nu, nc, m = state.system, state.system.nu, state.system.nc, len(driven)
    tau = np.zeros(m)
    for _ in range(POSITION_ITERATIONS):
        d = differentiate(state)
        K, B = _matrix(d, goal, driven)
        balance = d.values[d.rows["balance"]] - B @ np.where([p is None for _, p, _ in driven], tau, 0.0)
        second = s.evaluate(
            "second_rates", state.t, state.q, state.u, state.parameters,
            more=np.concatenate([state.udot, state.multipliers]),
        )  # fmt: skip
        left = np.concatenate([balance, d.values[d.rows["acceleration"]], second[list(goal.places)] - goal.seconds[k]])
        terms = np.abs(K) @ np.abs(np.concatenate([state.udot, state.multipliers, tau])) + 1.0
        if (np.abs(left) <= CANCELLED * terms).all():
            return state, _efforts(state, driven, tau)
        step = least_squares(K, -left, 1e-13)
        tau = tau + step[nu + nc :]
        p = state.parameters.copy()
        for i, (_, place, _) in enumerate(driven):
            if place is not None:
                p[place] += step[nu + nc + i]
        state = replace(
            state, udot=state.udot + step[:nu], multipliers=state.multipliers + step[nu : nu + nc], parameters=p
        )
    names = ", ".join(name for name, _, _ in driven) or "the reactions"
    raise InitialStateError(
        f"`{s.name}`: {names} cannot bring about the motion wanted at t = {state.t:g} (worst residual "
        f"{np.abs(left).max():.3g}); the actuators do not act on it, or constraints are singular there"
    )


def _matrix(
    d: EquationDerivatives, goal: Wanted, driven: list[tuple[str, int | None, int | None]]
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of (balance, acceleration rows, wanted accelerations) in (u', la, tau), and B (nu, m)."""
    s, m = d.system, len(driven)
    C = d.of("rates", "u")
    B, pushed = np.zeros((s.nu, m)), np.zeros((s.nc, m))
    for i, (_, parameter, coordinate) in enumerate(driven):
        if parameter is None:
            B[:, i] = C[coordinate]
        else:
            B[:, i] = -d.of("balance", "p")[:, parameter]
            pushed[:, i] = d.of("acceleration", "p")[:, parameter]
    zero = np.zeros
    K = np.block([
        [d.of("balance", "udot"), d.of("balance", "la"), -B],
        [d.of("acceleration", "udot"), d.of("acceleration", "la"), pushed],
        [C[list(goal.places)], zero((len(goal.places), s.nc + m))],
    ])  # fmt: skip
    return K, B


def _efforts(state: State, driven: list[tuple[str, int | None, int | None]], tau: np.ndarray) -> np.ndarray:
    """Generalised forces along coordinates, or the values of the parameters."""
    return np.array([tau[i] if p is None else state.parameters[p] for i, (_, p, _) in enumerate(driven)])
