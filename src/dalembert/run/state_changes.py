"""The state after an event, made consistent, by the change `then` of the event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.equations.naming import finite_number, name_of
from dalembert.equations.observation import observer_of
from dalembert.equations.system import System
from dalembert.errors import DalembertError, InconsistentStateError, InitialStateError, UnknownNameError
from dalembert.initial.accelerations import complete_state
from dalembert.initial.impact import strike
from dalembert.initial.levenberg_marquardt import MET_RESIDUAL
from dalembert.motion.state import State, state_shapes
from dalembert.run.accelerations import measured
from dalembert.run.event_checks import changeable_names
from dalembert.run.events import Event, Occurrence
from dalembert.run.every import Every

REPAIRABLE = 1e-8  # a position row that is off by more, relative to its size, is refused


def changed(event: Event | Every, before: State) -> Occurrence:
    """The occurrence of an event with a change, with the state after it. Raises if there is no such state."""
    then = event.then
    if isinstance(then, System):
        after, impulses = _joined(before, then)
    elif isinstance(then, Mapping):
        after, impulses = _reset(event, before, then)
    elif then is not None:
        after, impulses = _returned(event, before, then(_shown(before)))
    else:
        return Occurrence(event.name, before.t, before)
    return Occurrence(event.name, before.t, before, after, impulses)


def _joined(before: State, system: System) -> tuple[State, dict[str, float]]:
    """The state in another system: same positions, and speeds after the impulse of its constraints."""
    carried = dict(zip(before.system.parameters, before.parameters, strict=True))
    p = system.parameter_values(carried={name: carried[name] for name in system.parameters if name in carried})
    phi = system.position_residual(before.t, before.q, p)
    sizes = measured(system, before.t, before.q, before.u, p, 0.0).position
    bad = {system.constraint_names[k]: float(v) for k, v in enumerate(phi) if not abs(v) <= REPAIRABLE * sizes[k]}
    if bad:
        name, worst = max(bad.items(), key=lambda item: abs(item[1]))
        raise InconsistentStateError(
            f"the position constraint `{name}` of `{system.name}` is off by {worst:.3g} "
            f"(allowed {REPAIRABLE:.0e} of its size); positions cannot jump, so let the event occur where it holds",
            {("position", key): value for key, value in bad.items()},
        )
    return _completed(system, before, before.q, {}, p)


def _reset(event: Event | Every, before: State, then: Mapping[Any, Any]) -> tuple[State, dict[str, float]]:
    """The state with new values of coordinates, speeds or parameters."""
    system = before.system
    values = observer_of(system).observe(list(then.values()), f"event `{event.name}`")
    numbers = values.at(before.t, before.q, before.u, before.parameters, before.udot, before.multipliers)
    if not np.isfinite(numbers).all():
        raise DalembertError("a new value is not finite")
    return _with_values(before, {name_of(key): float(value) for key, value in zip(then, numbers, strict=True)})


def _with_values(before: State, new: Mapping[str, float]) -> tuple[State, dict[str, float]]:
    """The state with these values of coordinates, speeds, rates or parameters, by name."""
    system = before.system
    carried = dict(zip(system.parameters, before.parameters, strict=True))
    p = system.parameter_values({name: new[name] for name in system.parameters if name in new}, carried)
    q = np.array([new.get(name, value) for name, value in zip(system.coordinates, before.q, strict=True)])
    held = {name: new[name] for name in system.coordinates if name in new}
    return _completed(system, before, q, held, p, _velocities(system, new))


def _velocities(system: System, new: Mapping[str, float]) -> dict[str, float]:
    """The new values of speeds and coordinate rates, by name."""
    names = (*system.speeds, *(f"{name}'" for name in system.coordinates))
    return {name: new[name] for name in names if name in new}


def _completed(
    system: System,
    before: State,
    q: np.ndarray,
    held: Mapping[str, float],
    p: np.ndarray,
    given: Mapping[str, float] | None = None,
) -> tuple[State, dict[str, float]]:
    """The state at q, or near it where the constraints ask for that, after the impulse they give; and that impulse."""
    t = before.t
    off = system.evaluate("assembly", t, q, np.zeros(system.nu), p)
    off = off[: system.count("position") + len(system.invariants)]
    sizes = measured(system, t, q, before.u, p, 0.0).position
    if not (np.abs(off) <= MET_RESIDUAL * np.concatenate([sizes, np.ones(len(system.invariants))])).all():
        near = dict(zip(system.coordinates, q, strict=True))
        q = system.initial(held, guess=near, t0=t, parameters=dict(zip(system.parameters, p, strict=True))).q
    u, impulses = strike(system, t, q, before.u, p, given or {})
    return complete_state(system, t, q, u, p), dict(zip(system.constraint_names, map(float, impulses), strict=True))


def _returned(event: Event | Every, before: State, after: Any) -> tuple[State, dict[str, float]]:
    """The state after an event, and impulses, from what a user's function returned: a state, or new values by name.

    Raises an error if the returned value cannot be used.
    """
    where = f"the function of event `{event.name}`"
    if isinstance(after, Mapping):
        return _with_values(before, _numbers(where, before.system, after))
    if not isinstance(after, State):
        raise DalembertError(f"{where} returned {type(after).__name__}, not a State or a mapping {{name: number}}")
    if (after.system.coordinates, after.system.speeds) != (before.system.coordinates, before.system.speeds):
        raise DalembertError(
            f"{where} returned a state of `{after.system.name}`, which has other coordinates or speeds"
        )
    if after.t != before.t:
        raise DalembertError(f"{where} returned a state at t = {after.t:g} instead of t = {before.t:g}")
    left = after.system.evaluate("residual", after.t, after.q, after.u, after.parameters)
    sizes = measured(after.system, after.t, after.q, after.u, after.parameters, 0.0).rows
    if not (np.abs(left) <= REPAIRABLE * sizes).all():
        raise InitialStateError(f"{where} returned a state that violates the constraints by {np.abs(left).max():.3g}")
    return _copied(after), {}


def _shown(state: State) -> State:
    """The state for a user's function to read: its arrays cannot be written to."""
    arrays = {name: getattr(state, name).view() for name in state_shapes(state.system)}
    for array in arrays.values():
        array.flags.writeable = False
    return replace(state, **arrays)


def _copied(state: State) -> State:
    """The state with copies of its arrays."""
    arrays: dict[str, Any] = {name: np.array(getattr(state, name)) for name in state_shapes(state.system)}
    return replace(state, **arrays)


def _numbers(where: str, system: System, values: Mapping[Any, Any]) -> dict[str, float]:
    """New values by name, all of them finite."""
    numbers = {}
    for key, value in values.items():
        name, known = name_of(key), changeable_names(system)
        if name not in known:
            raise UnknownNameError(name, known, f"what {where} changes")
        numbers[name] = finite_number(value, f"what {where} returned for `{name}`")
    return numbers
