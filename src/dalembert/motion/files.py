"""Occurrences of events and singular positions as plain values for files, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.equations.system import System
from dalembert.errors import FileError
from dalembert.motion.archive import floats_in
from dalembert.motion.state import State, state_shapes
from dalembert.run.events import Doubt, Occurrence, Occurrences
from dalembert.run.run_facts import Energies, Passage


def packed(events: Occurrences) -> dict[str, Any]:
    """Occurrences as lists, numbers and strings."""
    found = [
        {"name": o.name, "state": _packed(o.state), "after": o.after and _packed(o.after), "impulses": {**o.impulses}}
        for o in events
    ]
    doubts = {name: list(doubt) for name, doubt in events.doubts.items()}
    return {"watched": list(events.watched), "found": found, "doubts": doubts}


def unpacked(facts: Mapping[str, Any], systems: Sequence[System]) -> Occurrences:
    """Occurrences from the plain values of `packed`."""
    found = [
        Occurrence(o["name"], o["state"]["t"], _unpacked(o["state"], systems),
                   o["after"] and _unpacked(o["after"], systems), o["impulses"])
        for o in facts["found"]
    ]  # fmt: skip
    doubts = {name: Doubt(*doubt) for name, doubt in facts.get("doubts", {}).items()}
    return Occurrences(tuple(found), tuple(facts["watched"]), doubts)


def energies_in(facts: Mapping[str, Any]) -> Energies | None:
    """The energies along a run that a file holds; None if it is older."""
    found = facts.get("energies")
    if found is None:
        return None
    return Energies(*map(float, found[:4]), *((float(least), float(most)) for least, most in found[4:]))  # type: ignore[arg-type]


def passages_in(facts: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Singular positions recorded in a file; none in files of earlier versions."""
    return tuple(
        Passage(float(t), tuple(map(str, rows)), math.nan if error is None else float(error), str(obstacle))
        for t, rows, error, obstacle in facts.get("passages", ())
    )


def packed_passages(passages: Sequence[Passage]) -> list[list[Any]]:
    """Singular positions as lists, numbers and strings."""
    return [[p.t, list(p.rows), p.error if math.isfinite(p.error) else None, p.obstacle] for p in passages]


def identity(system: System) -> list[Any]:
    """Identity of a system in files: its name and the names of its constraints."""
    return [system.name, list(system.constraint_names)]


def system_of(told: Sequence[Any], systems: Sequence[System]) -> System:
    """The system named in a file, out of several. Raises an error if it is not among them."""
    if len(systems) == 1:
        return systems[0]
    for system in systems:
        if identity(system) == list(told):
            return system
    raise FileError(
        f"the file holds a motion of `{told[0]}` with the constraints {', '.join(told[1]) or 'none'}, which is not "
        f"among the systems given ({', '.join(system.name for system in systems) or 'none'}); give it too"
    )


def _packed(state: State) -> dict[str, Any]:
    arrays = {name: getattr(state, name).tolist() for name in state_shapes(state.system)}
    return {"system": identity(state.system), "t": state.t, **arrays}


def _unpacked(facts: Mapping[str, Any], systems: Sequence[System]) -> State:
    system = system_of(facts["system"], systems)
    return State(system, float(facts["t"]), **floats_in(facts, state_shapes(system)))


def array_shapes(system: System, samples: int) -> dict[str, tuple[int, ...]]:
    """The arrays a file holds of a motion by name, with their shapes."""
    nt, nu = samples, system.nu
    return {
        "parameters": (len(system.parameters),), "t": (nt,), "q": (nt, system.nq), "u": (nt, nu), "work": (nt,),
        "udot": (nt, nu), "multipliers": (nt, system.nc),
    }  # fmt: skip
