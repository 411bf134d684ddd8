"""Following a branch of consistent states along a coordinate, another given value, a parameter or time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.equations.naming import finite_number
from dalembert.errors import InitialStateError
from dalembert.initial.request import key_name, read_task
from dalembert.initial.solution import solve_task
from dalembert.motion.state import State

PROBE = 1e-6  # relative size of the change that shows where a branch leads
# A solution further from where the branch leads than this part of the step may be on another branch.
OFF_THE_BRANCH = 0.5
OFF_AT_LIMIT = 1.2  # likewise for tiny steps: a branch that turns back at a limit gets there at half its last speed
TINY_STEP = 1e-3  # part of the way below which a step is tiny
SHORTEST_STEP = 1e-9  # part of the way below which a step is none: the branch ends


def follow(state: State, key: Any, values: Iterable[float], *, hold: Any = None) -> tuple[State, ...]:
    """States of one branch at successive `values` of `key`, each found from the one before.

    Between two values the step is refined until the solution lies where the branch leads, so that it does not jump to
    another branch. Other values stay nearest to the state before; `hold` names values that stay as they are.
    """
    name = "t" if key_name(key) == "t" else key_name(key)
    asked = [finite_number(value, f"value of `{name}` to follow") for value in values]
    at, states = _value(state, name), list[State]()
    for value in asked:
        try:
            state = _reach(state, name, at, value, hold)
        except InitialStateError as error:
            raise InitialStateError(
                str(error),
                error.residuals,
                closest=error.closest,
                conflicting=error.conflicting,
                remedies=error.remedies,
                states=states,
            ) from error.__cause__
        at = value
        states.append(state)
    return tuple(states)


def _value(state: State, name: str) -> float:
    if name == "t":
        return state.t
    if name in state.system.parameters:
        return float(state.parameters[state.system.parameters.index(name)])
    return state[name]


def _step(state: State, name: str, value: float, hold: Any, guess: np.ndarray | None = None) -> State:
    """The state at another value, near `guess` (q, u) or else near the state itself; no restarts, they might jump."""
    system = state.system
    given = {} if name == "t" or name in system.parameters else {name: value}
    task = read_task(
        system,
        given,
        guess=state if guess is None else State(
            system, state.t, guess[: system.nq], guess[system.nq :], state.udot, state.multipliers, state.parameters
        ),
        hold=hold,
        t0=value if name == "t" else None,
        parameters={name: value} if name in system.parameters else None,
    )  # fmt: skip
    return solve_task(task, attempts=0)


def _reach(state: State, name: str, start: float, end: float, hold: Any) -> State:
    """The state at `end` on the branch through `state`, where the value is `start`."""
    at, whole = start, end - start
    step = whole
    while at != end:
        value = end if abs(end - at) <= abs(step) * (1.0 + 1e-12) else at + step
        found, cause = None, None
        try:
            found = _step_along(state, name, (at, value), hold, tiny=abs(step) < TINY_STEP * abs(whole))
        except InitialStateError as error:
            cause = error
        if found is not None:
            state, at, step = found, value, 2.0 * step
            continue
        step *= 0.5
        if abs(step) < SHORTEST_STEP * max(abs(whole), abs(at) * 1e-3):
            residuals = {} if cause is None else cause.residuals
            raise InitialStateError(
                f"`{state.system.name}`: the branch cannot be followed along `{name}` beyond {at:.9g} towards "
                f"{end:.6g}: it turns back there, or jumps; the mechanism is at a limit (dead point). Ask for "
                "values before it, or follow another coordinate through it",
                residuals,
                closest=None if cause is None else cause.closest,
                conflicting=() if cause is None else cause.conflicting,
            ) from cause
    return state


def _step_along(state: State, name: str, span: tuple[float, float], hold: Any, *, tiny: bool) -> State | None:
    """The state at the end of a step if it continues the branch; else None."""
    at, value = span
    small = PROBE * (value - at)
    if abs(small) < 1e-9 * max(1.0, abs(at)):
        small = float(np.copysign(min(1e-9 * max(1.0, abs(at)), abs(value - at)), value - at))
    probe = _step(state, name, at + small, hold)
    ahead = (probe.z - state.z) * ((value - at) / small)
    found = _step(state, name, value, hold, state.z + ahead)
    nq = state.system.nq
    expected, off = np.linalg.norm(ahead[:nq]), np.linalg.norm((found.z - state.z - ahead)[:nq])
    allowed = (OFF_AT_LIMIT if tiny else OFF_THE_BRANCH) * expected + 1e-6 * (1.0 + np.linalg.norm(state.q))
    return found if off <= allowed else None
