"""Sliders of a live page, and the start values that stay while one of them moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number, name_of
from dalembert.equations.system import System
from dalembert.errors import OptionError, UnknownNameError
from dalembert.motion.state import State
from dalembert.solve.decompositions import rank_of
from dalembert.solve.tolerances import UNIT_ROW_RANK


@dataclass(frozen=True)
class Slider:
    """A parameter, or the start value of a coordinate or speed: `kind`, its `index` among these, and its range."""

    name: str
    kind: str
    index: int
    low: float
    high: float
    value: float


def read_sliders(system: System, state: State, sliders: Iterable[Any]) -> list[Slider]:
    """The sliders by name or symbol; a mapping gives ranges (lowest, highest) as well."""
    ranges = (
        dict(sliders)
        if isinstance(sliders, Mapping)
        else dict.fromkeys([sliders] if isinstance(sliders, str) else sliders)
    )
    found = {}
    for key, given in ranges.items():
        slider = _slider(system, state, name_of(key), given)
        found[slider.name] = slider
    return list(found.values())


def _slider(system: System, state: State, name: str, given: Any) -> Slider:
    places = (
        ("parameter", system.parameters, state.parameters),
        ("coordinate", system.coordinates, state.q),
        ("speed", system.speeds, state.u),
    )
    for kind, names, values in places:
        if name in names:
            k = names.index(name)
            value = float(values[k])
            low, high = _usual(kind, value) if given is None else _range(name, given, value)
            return Slider(name, kind, k, low, high, value)
    known = (*system.parameters, *system.coordinates, *system.speeds)
    raise UnknownNameError(name, known, f"the parameters and variables of `{system.name}` that can have a slider")


def _usual(kind: str, value: float) -> tuple[float, float]:
    """Parameters keep their sign; an angle may turn once around."""
    if kind == "parameter" and value:
        return (value / 4, value * 2.5) if value > 0 else (value * 2.5, value / 4)
    reach = max(math.pi if kind == "coordinate" else 5.0, abs(value))
    return value - reach, value + reach


def _range(name: str, given: Any, value: float) -> tuple[float, float]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise OptionError(f"the range of slider `{name}` must be a pair (lowest, highest), got {given!r}") from None
    low, high = (
        finite_number(low, f"lowest value of slider `{name}`"),
        finite_number(high, f"highest value of `{name}`"),
    )
    if not low < high or not low <= value <= high:
        raise OptionError(
            f"the range of slider `{name}` is {low:g} .. {high:g}; it must contain the value {value:g} of the state"
        )
    return low, high


def held_values(system: System, state: State, sliders: Iterable[Slider]) -> dict[str, Any]:
    """Start values that stay: those of sliders, then as many of the given ones as the constraints leave free.

    "q" and "u" are indices; "rates" maps indices of coordinates to their rates.
    """
    given = getattr(state.report, "given", ())
    n_p, nq, nu = system.count("position") + len(system.invariants), system.nq, system.nu
    n_v = system.count("position") + system.count("velocity")
    at = (state.t, state.q, state.u, state.parameters)
    moved = list(sliders)
    gradient = system.evaluate("assembly", *at)[n_p:].reshape(n_p, nq)
    q = _independent(
        gradient, [s.index for s in moved if s.kind == "coordinate"],
        [system.coordinates.index(name) for name in given if name in system.coordinates], system.coordinates,
    )  # fmt: skip
    rows = system.evaluate("speeds", *at)[n_v + nq :].reshape(n_v + nq, nu)
    u = _independent(
        rows[:n_v], [s.index for s in moved if s.kind == "speed"],
        [system.speeds.index(name) for name in given if name in system.speeds], system.speeds,
    )  # fmt: skip
    wished = [system.coordinates.index(name[:-1]) for name in given if name.endswith("'")]
    qdot = system.coordinate_rates(*at)
    return {"q": q, "u": u, "rates": {k: float(qdot[k]) for k in wished}}


def _independent(gradient: np.ndarray, first: list[int], more: list[int], names: tuple[str, ...]) -> list[int]:
    """The columns that can be held with the constraints still solvable for the others: `first`, then some of `more`."""
    rank, held = _rank(gradient), list[int]()
    for k in (*first, *more):
        if k in held:
            continue
        if _rank(np.delete(gradient, [*held, k], axis=1)) == rank:
            held.append(k)
        elif k in first:
            others = ", ".join(f"`{names[j]}`" for j in held)
            with_ = f" beside {others}" if others else ""
            raise OptionError(f"`{names[k]}` cannot have a slider{with_}: the constraints determine it in this state")
    return held


def _rank(matrix: np.ndarray) -> int:
    return rank_of(matrix, UNIT_ROW_RANK)
