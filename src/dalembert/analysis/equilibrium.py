"""Equilibria and steady motions: states with u' = 0, at rest or with constant speeds.

All levels are solved together for (q, u, la) with the accelerations given as zero, by the descents that consistent
states are found with: what is given is met, the rest is nearest to the guess. Accelerations and multipliers are then
solved for independently. A steady motion is followed for a while: u' = 0 at one instant is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analysis.steady_check import STILL_RATE, check_balance, check_rest, check_steady
from dalembert.analysis.steady_search import search, search_all
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import Closest, InitialStateError, OptionError, UnknownNameError
from dalembert.initial.accelerations import combined_stage, complete_state
from dalembert.initial.report import Report
from dalembert.initial.request import Task, Values, read_task
from dalembert.initial.solution import solve_task
from dalembert.initial.stage import Found, Stage
from dalembert.motion.state import State

ZERO_ACCELERATION = 1e-12  # accelerations below this, relative to the largest speed and at least 1, are zero
MOST_EQUILIBRIA = 24  # branches; more of them are points of a continuum


def find_equilibrium(
    system: System,
    given: Values | None = None,
    *,
    guess: Values | State | None = None,
    hold: Any = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    t0: float | None = None,
    parameters: Values | None = None,
    all_branches: bool = False,
) -> State | tuple[State, ...]:
    """A state at rest; see `System.equilibrium`."""
    task = read_task(system, given, guess=guess, hold=hold, bounds=bounds, t0=t0, parameters=parameters)
    moving = [system.speeds[k] for k, value in task.wishes.u.items() if value]
    if moving:
        raise OptionError(f"`{system.name}` is not at rest with {', '.join(moving)} other than 0; call system.steady")
    task = _with_constants(task, range(system.nu), at_rest=True)
    return _solve(task, "equilibrium", all_branches=all_branches)


def find_steady(
    system: System,
    given: Values | None = None,
    *,
    guess: Values | State | None = None,
    constant: Sequence[Any] | None = None,
    hold: Any = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    t0: float | None = None,
    parameters: Values | None = None,
    all_branches: bool = False,
) -> State | tuple[State, ...]:
    """A state of a motion with constant speeds; see `System.steady`."""
    task = read_task(system, given, guess=guess, hold=hold, bounds=bounds, t0=t0, parameters=parameters)
    task = _with_constants(task, _read_speeds(system, constant), at_rest=False)
    return _solve(task, "steady motion", all_branches=all_branches)


def _read_speeds(system: System, constant: Sequence[Any] | None) -> Sequence[int]:
    if constant is None:
        return range(system.nu)
    if isinstance(constant, str) or not isinstance(constant, Sequence):
        raise OptionError(f"constant must be a list of speeds of `{system.name}`, got {constant!r}")
    found = []
    for key in constant:
        if name_of(key) not in system.speeds:
            raise UnknownNameError(name_of(key), system.speeds, f"the speeds of `{system.name}`")
        found.append(system.speeds.index(name_of(key)))
    return found


def _with_constants(task: Task, speeds: Sequence[int], *, at_rest: bool) -> Task:
    """The task with accelerations of some speeds zero, and all speeds too if `at_rest`."""
    nq, udot, target, w = task.system.nq, task.udot.copy(), task.target.copy(), task.wishes
    udot[list(speeds)] = 0.0
    u = w.u
    if at_rest:
        target[nq:], u = 0.0, dict.fromkeys(range(task.system.nu), 0.0)
    wishes = replace(w, u=u, udot={**w.udot, **dict.fromkeys(speeds, 0.0)})
    return replace(task, wishes=wishes, udot=udot, target=target)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # trials may leave the domain of the model
def _solve(task: Task, what: str, *, all_branches: bool) -> State | tuple[State, ...]:
    at_once = None if all_branches else _at_once(task, what)
    if at_once is not None:
        return at_once
    stage = combined_stage(task)
    first = search(task, stage)
    if all_branches:
        return _branches(task, stage, first, what)
    if not first.met:
        raise _failure(task, stage, first, what)
    return _finish(task, first, what)


def _branches(task: Task, stage: Stage, first: Found, what: str) -> tuple[State, ...]:
    """Every state that qualifies, by distance from the guess."""
    found = search_all(task, stage, first, MOST_EQUILIBRIA)
    if len(found) > MOST_EQUILIBRIA:
        raise InitialStateError(
            f"`{task.system.name}`: more than {MOST_EQUILIBRIA} different states qualify as {what}, so they are "
            "probably a continuum; give more values"
        )
    states = []
    for tried in found:
        try:
            states.append(_finish(task, tried, what))
        except InitialStateError:  # at rest for an instant only, or singular
            continue
    if not states:
        raise _failure(task, stage, first, what)
    return tuple(states)


def _at_once(task: Task, what: str) -> State | None:
    """The consistent state nearest to the guess if it is steady already, as straight running is; None if not."""
    loose = replace(task, wishes=replace(task.wishes, udot={}))
    if loose.wishes.of_accelerations:
        return None
    try:
        state = solve_task(loose, attempts=0)
        off = max((abs(state.udot[k] - value) for k, value in task.wishes.udot.items()), default=0.0)
        if off > ZERO_ACCELERATION * max(1.0, np.abs(state.u).max(initial=0.0)):
            return None
        return _checked(task, state, what)
    except InitialStateError:
        return None


def _finish(task: Task, found: Found, what: str) -> State:
    """The state, its accelerations solved for again and checked."""
    s, nq, nu = task.system, task.system.nq, task.system.nu
    q, u = found.v[:nq], found.v[nq : nq + nu]
    state = _checked(task, complete_state(s, task.t, q, u, task.p), what)
    return replace(state, report=Report(state, {"all": found.steps}, task.guess, task.wishes))


def _checked(task: Task, state: State, what: str) -> State:
    """The state if its accelerations are as wanted and it stays at rest, or steady."""
    s, q, u, nu = task.system, state.q, state.u, task.system.nu
    wanted = np.array([task.wishes.udot.get(k, np.nan) for k in range(nu)])
    terms = np.abs(s.mass_matrix(task.t, q, u, task.p)) @ np.ones(nu)
    force = np.abs(s.forces(task.t, q, u, task.p)).max(initial=0.0)
    scale = 1.0 + force / max(terms.max(initial=0.0), 1e-300)
    off = np.nan_to_num(np.abs(state.udot - wanted))
    if off.max(initial=0.0) > STILL_RATE * scale:
        k = int(np.argmax(off))
        raise InitialStateError(
            f"`{s.name}`: no {what} here: `{s.speeds[k]}'` is {state.udot[k]:.3g}, as the accelerations are not unique "
            "or the constraints are singular in this state; give another guess",
            {f"{s.speeds[k]}'": float(off[k])},
            closest=Closest(q, u),
        )
    if what == "equilibrium":
        check_rest(state)
    else:
        check_steady(state, sorted(task.wishes.udot))
    given = (*task.wishes.q, *(s.nq + k for k in task.wishes.u))
    check_balance(state, sorted(task.wishes.udot), given, what)
    return state


def _failure(task: Task, stage: Stage, found: Found, what: str) -> InitialStateError:
    """Error with the residuals at the closest state, if no equilibrium or steady motion (`what`) was found."""
    s, nq = task.system, task.system.nq
    size = np.where(np.isfinite(found.residual), np.abs(found.residual), np.inf)
    order = [k for k in np.argsort(-size) if size[k] > 1e-5 * size.max(initial=0.0)]
    left = {stage.labels[k]: float(size[k]) for k in order}
    said = ", ".join(f"`{name}` {value:.3g}" for name, value in list(left.items())[:5])
    names = (*s.coordinates, *s.speeds)
    wished = (*task.wishes.q, *((nq + k for k in task.wishes.u) if what != "equilibrium" else ()))
    given = ", ".join(f"{names[k]} = {task.target[k]:.6g}" for k in wished)
    place = ", ".join(f"{name} = {value:.4g}" for name, value in list(zip(s.coordinates, found.v, strict=False))[:6])
    return InitialStateError(
        f"`{s.name}`: no {what} was found{' with ' + given if given else ''}; closest: {said} left over at {place}. "
        "Release a given value, change a parameter, or give a guess closer to it",
        left,
        closest=Closest(found.v[:nq], found.v[nq : nq + s.nu]),
        conflicting=list(left),
    )
