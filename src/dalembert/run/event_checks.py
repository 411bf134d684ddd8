"""Checks of events and clocks before a run: names, expressions, changes, and the systems they lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.equations.naming import name_of
from dalembert.equations.observation import observer_of
from dalembert.equations.system import System
from dalembert.errors import OptionError, PairingError, UnknownNameError
from dalembert.motion.state import State
from dalembert.run.events import Event
from dalembert.run.every import Every


def check_events(state: State, events: Iterable[Event | Every]) -> tuple[Event | Every, ...]:
    """The events and clocks, if each of them can be evaluated in the system or in one that an event leads to.

    Multipliers in them must be unique in the state the motion starts from.
    """
    system, listed = state.system, list_events(events)
    names = [event.name for event in listed]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{names.count(name)} events are called `{name}`; give each its own `name=`")
    systems = [system, *(event.then for event in listed if isinstance(event.then, System))]
    for other in systems[1:]:
        _check_same(system, other)
    zeros = [event for event in listed if isinstance(event, Event)]
    for event in zeros:
        _check_expression(systems, event)
    for one in listed:
        _check_change(systems, one)
    _check_unique(state, [event for event in zeros if event.concerns(system)])
    return listed


def list_events(events: Any) -> tuple[Event | Every, ...]:
    """The events and clocks of an option, one or several of them; raises `PairingError` if it holds anything else."""
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    for event in listed:
        if not isinstance(event, Event | Every):
            raise PairingError(f"events={event!r}: not an Event; write Event(expression, ...), or Every(dt, then=...)")
    return listed


def _check_expression(systems: Sequence[System], event: Event) -> None:
    where = f"event `{event.name}`"
    able = [s for s in systems if not observer_of(s).lacking(event.expression(s))]
    if not able:
        observer_of(systems[0]).check_known(event.expression(systems[0]), f"{where} of `{systems[0].name}`")
    expression = event.expression(able[0])
    parameters = {sp.Symbol(name) for name in able[0].parameters}
    if not (expression.free_symbols | expression.atoms(AppliedUndef)) - parameters:
        raise OptionError(f"{where}: {expression} is constant during a motion and never crosses zero")


def _check_change(systems: Sequence[System], event: Event | Every) -> None:
    """Raise unless the keys of a mapping can be changed in some system, by expressions known there."""
    if not isinstance(event.then, Mapping):
        return
    where = f"event `{event.name}`"
    able = [s for s in systems if not isinstance(event, Event) or not observer_of(s).lacking(event.expression(s))]
    for key, value in event.then.items():
        name, changeable = name_of(key), changeable_names(able[0])
        if name not in changeable:
            raise UnknownNameError(name, changeable, f"what {where} changes")
        observer_of(able[0]).check_known(value, f"the new value of `{name}`, {where}")


def changeable_names(system: System) -> tuple[str, ...]:
    """Names in a system that an event can change; a prime stands for the rate of a coordinate."""
    rates = (f"{q}'" for q in system.coordinates)
    return (*system.coordinates, *system.speeds, *system.parameters, *rates)


def _check_unique(state: State, events: Sequence[Event]) -> None:
    """Raise if an event contains a multiplier that redundant constraints leave open."""
    system = state.system
    named = {sp.Symbol(name): name for name in system.constraint_names}
    asked = {event.name: [named[s] for s in event.expression(system).free_symbols if s in named] for event in events}
    if not any(asked.values()):
        return
    unique = system.diagnose(state).unique
    for event, names in asked.items():
        for name in names:
            if not unique[name]:
                raise OptionError(
                    f"event `{event}`: the multiplier of `{name}` is not unique, as constraints are redundant; remove "
                    "those that repeat others (system.diagnose names them)"
                )


def _check_same(system: System, other: System) -> None:
    for what in ("coordinates", "speeds"):
        mine, theirs = getattr(system, what), getattr(other, what)
        if mine != theirs:
            raise PairingError(
                f"`{other.name}` has the {what} {', '.join(theirs)}, not {', '.join(mine)} as `{system.name}`; an "
                "event can only lead to a system with the same coordinates and speeds in the same order"
            )


def check_locates(integrator: Any, option: str = "events") -> None:
    """Raise `PairingError` unless the integrator marches by the time loop, which locates events and stores samples."""
    from dalembert.run.integrators.integrator import Marching

    if not isinstance(integrator, Marching):
        raise PairingError(
            f"{type(integrator).__name__} does not support `{option}`; use an integrator such as DOP853(), or leave it "
            "out"
        )
