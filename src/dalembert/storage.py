"""Occurrences of events as plain values for files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.events import Occurrence, Occurrences
from dalembert.state import State

ARRAYS = ("q", "u", "udot", "multipliers", "parameters")


def packed(events: Occurrences) -> dict[str, Any]:
    """Occurrences as lists, numbers and strings."""
    found = [
        {"name": o.name, "state": _packed(o.state), "after": o.after and _packed(o.after), "impulses": {**o.impulses}}
        for o in events
    ]
    return {"watched": list(events.watched), "found": found}


def unpacked(facts: Mapping[str, Any], systems: Mapping[str, System]) -> Occurrences:
    """Occurrences from what `packed` made of them; `systems` by name."""
    found = [
        Occurrence(o["name"], o["state"]["t"], _unpacked(o["state"], systems),
                   o["after"] and _unpacked(o["after"], systems), o["impulses"])
        for o in facts["found"]
    ]  # fmt: skip
    return Occurrences(tuple(found), tuple(facts["watched"]))


def system_of(name: str, systems: Mapping[str, System]) -> System:
    """The system of a name; raises if the file tells of one that was not given."""
    if name not in systems:
        raise DalembertError(
            f"the file holds a motion of `{name}`, which is not among {', '.join(systems)}; give it too"
        )
    return systems[name]


def _packed(state: State) -> dict[str, Any]:
    arrays = {name: getattr(state, name).tolist() for name in ARRAYS}
    return {"system": state.system.name, "t": state.t, **arrays}


def _unpacked(facts: Mapping[str, Any], systems: Mapping[str, System]) -> State:
    arrays = {name: np.array(facts[name], dtype=float) for name in ARRAYS}
    return State(system_of(facts["system"], systems), facts["t"], **arrays)
