"""The tables of a model file: which there are, which keys they have, and whether a file keeps to that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dalembert.dataclass import dataclass
from dalembert.errors import UnknownNameError
from dalembert.importers.file_positions import Positions, Where
from dalembert.importers.file_verbs import GROUPS, KIND, VERBS, Keys, keys_of, kinds_of
from dalembert.importers.limits import brief

Fault = Callable[[str], None]

NAMES = ("coordinates", "speeds", "unknowns")
TABLES: Mapping[str, tuple[str, ...] | None] = {  # their keys; None where these are names of the model
    "parameters": None,
    "definitions": None,
    "initial": ("given", "guess"),
    "run": ("t_end", "rtol", "atol", "formulation", "drift", "integrator"),
}
ONE_OR_MORE: Mapping[str, tuple[str, ...] | None] = {  # a table alone, or a list of tables
    "generalized_forces": None,
    "energy": ("kinetic", "potential"),
}
OCCASIONS: Mapping[str, Keys] = {
    "events": Keys(("expression",), ("direction", "terminal", "then", "name")),
    "clocks": Keys(("dt", "then"), ("start", "name")),
}
LISTS = (*(name for name in (*VERBS, *GROUPS) if name not in ONE_OR_MORE), *OCCASIONS)
TOP = ("name", "gravity", "kinematics", *NAMES)
KEYS = (*TOP, *TABLES, *ONE_OR_MORE, *LISTS)


@dataclass(frozen=True)
class Entry:
    """One table of a list such as [[particles]]: its place, its values by known keys, and its verb, if any."""

    where: Where
    values: Mapping[str, Any]
    complete: bool
    verb: str = ""


@dataclass(frozen=True)
class Tables:
    """A file in the required shape. Parts of another shape are empty here and were reported as faults."""

    values: Mapping[str, Any]  # at the top of the file
    tables: Mapping[str, Mapping[str, Any]]
    lists: Mapping[str, tuple[Entry, ...]]
    positions: Positions


def read_tables(file: Mapping[str, Any], positions: Positions, fault: Fault) -> Tables:
    """The tables of a file, each of those above, with a fault for every key that is unknown or missing."""
    check_keys(file, KEYS, Where("the file", None, positions.starts()), fault)
    tables = {name: read_table(file.get(name, {}), positions.table(name), fault, keys) for name, keys in TABLES.items()}
    lists = {name: _entries(name, file.get(name, []), positions, fault) for name in LISTS}
    lists |= {name: _one_or_more(name, file.get(name, []), positions, fault) for name in ONE_OR_MORE}
    return Tables({key: v for key, v in file.items() if key in TOP}, tables, lists, positions)


def _one_or_more(name: str, found: Any, positions: Positions, fault: Fault) -> tuple[Entry, ...]:
    """The entries of [name], or of several [[name]]."""
    if isinstance(found, list):
        places = [(positions.entry(name, k, str(k + 1)), table) for k, table in enumerate(found)]
    else:
        places = [(positions.table(name), found)]
    keys = ONE_OR_MORE[name]
    return tuple(Entry(where, read_table(table, where, fault, keys), complete=True) for where, table in places)


def read_table(value: Any, where: Where, fault: Fault, keys: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    """A table without the keys that it cannot have."""
    if not isinstance(value, dict):
        fault(f"{where} must be a table of names and values, got {brief(value)}")
        return {}
    if keys is None:
        return value
    check_keys(value, keys, where, fault)
    return {key: v for key, v in value.items() if key in keys}


def check_keys(found: Iterable[str], known: Iterable[str], where: Where, fault: Fault, what: str = "") -> None:
    """Report the keys not known in `what` (by default their place), with the closest known one."""
    for key in found:
        if key not in known:
            fault(f"{where.key(key).prefix}{UnknownNameError(key, known, what or where.text)}")


def _entries(name: str, entries: Any, positions: Positions, fault: Fault) -> tuple[Entry, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        where = positions.table(name)
        fault(f"{where}: `{name}` must be a list of tables, each under [[{name}]], got {brief(entries)}")
        return ()
    places = [positions.entry(name, k, brief(entry.get("name", k + 1))) for k, entry in enumerate(entries)]
    return tuple(_entry(name, entry, where, fault) for entry, where in zip(entries, places, strict=True))


def _entry(name: str, entry: Mapping[str, Any], where: Where, fault: Fault) -> Entry:
    verb = VERBS.get(name, "")
    if name in GROUPS:
        verb = entry.get(KIND, "")
        if verb not in kinds_of(name):
            kinds = ", ".join(kinds_of(name))
            what = f"`{KIND}` = {brief(verb)!r} is not one of them" if KIND in entry else f"`{KIND}` is missing"
            fault(f"{where}: {what}; it says what to build: {kinds}")
            return Entry(where, {}, complete=False)
    keys = OCCASIONS[name] if name in OCCASIONS else keys_of(name if name in GROUPS else "", verb)
    own = {key: v for key, v in entry.items() if key != KIND or name not in GROUPS}
    values = read_table(own, where, fault, (*keys.needed, *keys.optional))
    missing = [f"`{key}`" for key in keys.needed if key not in values]
    if missing:
        fault(f"{where} needs {' and '.join(missing)}")
    return Entry(where, values, complete=not missing, verb=verb)
