"""The tables of a model file: which there are, which keys they have, and whether a file keeps to that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.importers.limits import brief

Fault = Callable[[str], None]

NAMES = ("coordinates", "speeds", "unknowns")
TABLES: Mapping[str, tuple[str, ...] | None] = {  # their keys; None where these are names of the model
    "parameters": None,
    "definitions": None,
    "kinematics": None,
    "generalized_forces": None,
    "energy": ("kinetic", "potential"),
    "initial": ("given", "guess"),
    "run": ("t_end", "rtol", "atol"),
}
LISTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # keys an entry must have, and those it may have
    "particles": (("name", "mass"), ("position", "velocity")),
    "bodies": (("name", "mass", "inertia"), ("position", "rotation", "velocity", "angular_velocity")),
    "forces": (("vector", "at"), ()),
    "torques": (("vector", "on"), ()),
    "constraints": (("expression",), ("name", "servo", "unit")),
    "lines": (("points",), ("name",)),
}
KEYS = ("name", "gravity", *NAMES, *TABLES, *LISTS)


@dataclass(frozen=True)
class Entry:
    """One table of a list such as [[particles]]: where it stands, for messages, and what it says by known keys."""

    where: str
    values: Mapping[str, Any]
    complete: bool


@dataclass(frozen=True)
class Tables:
    """A file in the shape it must have; what has another one is empty here and was told as a fault."""

    values: Mapping[str, Any]  # at the top of the file
    tables: Mapping[str, Mapping[str, Any]]
    lists: Mapping[str, tuple[Entry, ...]]


def read_tables(file: Mapping[str, Any], fault: Fault) -> Tables:
    """The tables of a file, each of `TABLES` and `LISTS`, with a fault for every key that is unknown or missing."""
    check_keys(file, KEYS, "the file", fault)
    tables = {name: read_table(file.get(name, {}), f"[{name}]", fault, keys) for name, keys in TABLES.items()}
    lists = {name: _entries(name, file.get(name, []), fault) for name in LISTS}
    return Tables({key: v for key, v in file.items() if key in ("name", "gravity", *NAMES)}, tables, lists)


def read_table(value: Any, where: str, fault: Fault, keys: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    """A table without the keys that it cannot have."""
    if not isinstance(value, dict):
        fault(f"{where} must be a table of names and values, got {brief(value)}")
        return {}
    if keys is None:
        return value
    check_keys(value, keys, where, fault)
    return {key: v for key, v in value.items() if key in keys}


def check_keys(found: Iterable[str], known: Iterable[str], where: str, fault: Fault) -> None:
    """Tell which keys are not known, and which is meant."""
    for key in found:
        if key not in known:
            fault(str(UnknownNameError(key, known, where)))


def _entries(name: str, entries: Any, fault: Fault) -> tuple[Entry, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        fault(f"`{name}` must be a list of tables, each under [[{name}]], got {brief(entries)}")
        return ()
    needed, optional = LISTS[name]
    read = []
    for k, entry in enumerate(entries, 1):
        where = f"[[{name}]] {brief(entry.get('name', k))}"
        values = read_table(entry, where, fault, (*needed, *optional))
        missing = [f"`{key}`" for key in needed if key not in values]
        if missing:
            fault(f"{where} needs {' and '.join(missing)}")
        read.append(Entry(where, values, complete=not missing))
    return tuple(read)
