"""Request for an initial state: values to meet, a guess, weights and bounds, by name; checked before the solve."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.naming import finite_number, name_of
from dalembert.equations.system import System
from dalembert.errors import InitialStateError, OptionError, PairingError, UnknownNameError
from dalembert.initial.joint_rows import joint_coordinates, joint_rates, wrapped_value
from dalembert.model.statement import Constraint
from dalembert.motion.state import State

if TYPE_CHECKING:
    from dalembert.run.scales import Scales

Values = Mapping[Any, float]


@dataclass
class Wishes:
    """Values to meet, by index: positions, speeds, accelerations u', multipliers, q', q'' and generalised reactions;
    angles and displacements of joints, and their rates.
    """

    q: dict[int, float] = field(default_factory=dict)
    u: dict[int, float] = field(default_factory=dict)
    udot: dict[int, float] = field(default_factory=dict)
    la: dict[int, float] = field(default_factory=dict)
    rates: dict[int, float] = field(default_factory=dict)
    second_rates: dict[int, float] = field(default_factory=dict)
    reactions: dict[int, float] = field(default_factory=dict)
    joints: dict[int, float] = field(default_factory=dict)
    joint_rates: dict[int, float] = field(default_factory=dict)

    @property
    def of_accelerations(self) -> bool:
        """Whether a value at acceleration level is asked for, so that all levels must be solved together."""
        return bool(self.udot or self.la or self.second_rates or self.reactions)


@dataclass(frozen=True, eq=False)
class Task:
    """A consistent state to be found at time t: x0 = (t, q, u, p) holds the guess with the wishes in their places.

    `weights` and bounds are by (q, u), (nq + nu,); udot and la hold the guess at acceleration level.
    """

    system: System
    t: float
    p: np.ndarray
    wishes: Wishes
    guess: np.ndarray  # (q, u) before the wishes
    target: np.ndarray  # (q, u) with the wishes in their places
    udot: np.ndarray
    la: np.ndarray
    weights: np.ndarray | None
    low: np.ndarray
    high: np.ndarray
    bounded: bool

    def x(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Input of kernels: (t, q, u, p)."""
        return np.concatenate([[self.t], q, u, self.p])

    def scales(self, q: np.ndarray, u: np.ndarray) -> Scales:
        """The sizes of coordinates, speeds and rows at (q, u)."""
        return measured()(self.system, self.t, q, u, self.p, 0.0)


@functools.cache
def measured() -> Callable[..., Scales]:
    """The function that finds sizes in a state."""
    from dalembert.run.accelerations import measured as find  # the engine is imported when it is first needed

    return find


def read_task(
    system: System,
    given: Values | None,
    *,
    guess: Values | State | None = None,
    weights: Values | None = None,
    hold: Any = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    t0: float | None = None,
    parameters: Values | None = None,
) -> Task:
    """The task, with every name and number checked."""
    n, state = system.nq + system.nu, guess if isinstance(guess, State) else None
    t = (0.0 if state is None else state.t) if t0 is None else finite_number(t0, "t0")
    near = np.zeros(n)
    near[: system.nq] = system.guess
    carried: dict[str, float] = {}
    udot, la = np.zeros(system.nu), np.zeros(system.nc)
    if state is not None:
        near, udot, la, carried = _carry(system, state)
    elif isinstance(guess, Mapping):
        rough = read_wishes(system, guess, "guess")
        if rough.rates or rough.second_rates or rough.reactions or rough.joints or rough.joint_rates:
            raise OptionError(
                f"`{system.name}`: a guess may hold coordinates, speeds, their rates u' and multipliers; "
                "rates of coordinates, reactions and values of joints belong to the given values"
            )
        for array, values in ((near, rough.q), (near[system.nq :], rough.u), (udot, rough.udot), (la, rough.la)):
            for k, value in values.items():
                array[k] = value
    elif guess is not None:
        raise PairingError(f"guess must be a mapping of values or a State, got {type(guess).__name__}")
    wishes = read_wishes(system, given or {}, "given")
    _hold(system, wishes, near, hold)
    target = near.copy()
    for array, values in ((target, wishes.q), (target[system.nq :], wishes.u), (udot, wishes.udot), (la, wishes.la)):
        for k, value in values.items():
            array[k] = value
    low, high = _read_bounds(system, bounds, target, wishes) if bounds else _no_bounds(n)
    return Task(
        system=system,
        t=float(t),
        p=system.parameter_values(parameters, carried),
        wishes=wishes,
        guess=near,
        target=np.clip(target, low, high) if bounds else target,
        udot=udot,
        la=la,
        weights=_read_weights(system, weights),
        low=low,
        high=high,
        bounded=bool(bounds),
    )


def read_wishes(system: System, values: Values, what: str) -> Wishes:
    """Values by kind and index; every name declared, every number finite, nothing said twice."""
    if not isinstance(values, Mapping):
        raise PairingError(
            f"{what} values need names, got {type(values).__name__}: write system.initial({{x: 1.0}}) with symbols or "
            'names such as "x"'
        )
    wishes, places = Wishes(), _places(system)
    for key, value in values.items():
        name = key if type(key) is str else key_name(key)
        place_of = places.found.get(name) or places.get(name)
        if place_of is None:
            raise _unknown(system, name, what)
        kind, index = place_of
        plain = type(value) is float and math.isfinite(value)
        number: float = value if plain else finite_number(value, f"{what} value of `{name}`")
        if kind == "joints":
            number = wrapped_value(system, name, number)
        place: dict[int, float] = getattr(wishes, kind)
        if place.setdefault(index, number) != number:
            said = next(n for n in map(key_name, values) if places.get(n) == (kind, index))
            raise InitialStateError(
                f"`{system.name}`: {what} values `{said}` = {place[index]:g} and `{name}` = {number:g} "
                "are of the same quantity; give one of them"
            )
    return wishes


def key_name(key: Any) -> str:
    """The name of a symbol, a constraint or a string."""
    return key.name if isinstance(key, Constraint) else name_of(key)


def find_name(system: System, name: str, what: str) -> tuple[str, int]:
    """The field of `Wishes` and the index for a name."""
    place = _places(system).get(name)
    if place is None:
        raise _unknown(system, name, what)
    return place


def _unknown(system: System, name: str, what: str) -> UnknownNameError:
    known = (*system.coordinates, *system.speeds, *system.unknowns, *system.constraint_names)
    known += (*joint_coordinates(system), *joint_rates(system))
    return UnknownNameError(name, known, f"the {what} values of `{system.name}`")


def _places(system: System) -> Places:
    """The field of `Wishes` and the index behind every name, made once."""
    found: Places = system.kept("places of names", lambda: _name_places(system))
    return found


class Places:
    """The field of `Wishes` and the index behind names; of fields that know the same name the first is meant.

    Each field has a list of names and what is written before and behind them. They are looked at when needed: a large
    system has many names, and mostly coordinates are asked for.
    """

    def __init__(
        self, fields: Sequence[tuple[str, Sequence[str], str, str]], others: Mapping[str, tuple[str, int]]
    ) -> None:
        self._fields, self._others = fields, others
        self._known: dict[int, dict[str, int]] = {}  # indices by name, of the fields looked at
        self.found: dict[str, tuple[str, int]] = {}  # names found before

    def get(self, name: str) -> tuple[str, int] | None:
        """The field and the index of a name; None if there is none of this name."""
        found = self.found.get(name) or self._find(name)
        if found is not None:
            self.found[name] = found
        return found

    def _find(self, name: str) -> tuple[str, int] | None:
        for number, (kind, names, before, behind) in enumerate(self._fields):
            if name.startswith(before) and name.endswith(behind):
                if number not in self._known:
                    self._known[number] = {own: k for k, own in enumerate(names)}
                index = self._known[number].get(name[len(before) : len(name) - len(behind)])
                if index is not None:
                    return kind, index
        return self._others.get(name)


def _name_places(system: System) -> Places:
    plain, enforced = system.trivial_kinematics, rows_by_unknown(system.rows)
    fields: list[tuple[str, Sequence[str], str, str]] = [
        ("q", system.coordinates, "", ""),
        ("u", system.speeds, "", ""),
        ("la", system.constraint_names, "", ""),
        ("udot", system.speeds, "", "'"),
        ("u" if plain else "rates", system.coordinates, "", "'"),
        ("udot" if plain else "second_rates", system.coordinates, "", "''"),
        ("reactions", system.speeds, "reaction(", ")"),
        ("joint_rates", joint_rates(system), "", ""),
        ("joints", joint_coordinates(system), "", ""),
    ]
    return Places(fields, {name: ("la", enforced[k]) for k, name in enumerate(system.unknowns) if k in enforced})


def _carry(system: System, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, float]]:
    """Positions, velocities, accelerations, multipliers and parameter values of a state, of this or a like system."""
    other = state.system
    if (other.coordinates, other.speeds) != (system.coordinates, system.speeds):
        raise PairingError(
            f"the guess is a state of `{other.name}` ({', '.join(other.coordinates)}), not of `{system.name}` "
            f"({', '.join(system.coordinates)})"
        )
    near = np.concatenate([state.q, state.u])
    if not np.isfinite(near).all():
        raise PairingError(f"the guess, a state of `{other.name}`, holds values that are not finite")
    la = dict(zip(other.constraint_names, state.multipliers, strict=True))
    values = {n: v for n, v in zip(other.parameters, state.parameters, strict=True) if n in system.parameters}
    kept = np.array([la.get(name, 0.0) for name in system.constraint_names])
    return near, np.array(state.udot), kept, values


def _hold(system: System, wishes: Wishes, near: np.ndarray, hold: Any) -> None:
    """Add the variables to be held at their guess to the wishes."""
    if hold is None:
        return
    names = hold if isinstance(hold, Iterable) and not isinstance(hold, str) else [hold]
    for key in names:
        name = key_name(key)
        kind, index = find_name(system, name, "held")
        if kind not in ("q", "u"):
            raise OptionError(f"`{system.name}`: `{name}` cannot be held; hold takes coordinates and speeds")
        value = float(near[index + (system.nq if kind == "u" else 0)])
        place: dict[int, float] = getattr(wishes, kind)
        if place.setdefault(index, value) != value:
            raise InitialStateError(
                f"`{system.name}`: `{name}` is given as {place[index]:g} and held at its guess {value:g}; give one only"
            )


def _read_weights(system: System, weights: Values | None) -> np.ndarray | None:
    if not weights:
        return None
    read = np.ones(system.nq + system.nu)
    for key, value in weights.items():
        name = key_name(key)
        kind, index = find_name(system, name, "weighted")
        number = finite_number(value, f"weight of `{name}`")
        if kind not in ("q", "u") or number <= 0.0:
            raise OptionError(f"weight of `{name}` is {number:g}; weights are positive and for coordinates and speeds")
        read[index + (system.nq if kind == "u" else 0)] = number
    return read


@functools.cache
def _no_bounds(n: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    low.flags.writeable = high.flags.writeable = False
    return low, high


def _read_bounds(
    system: System, bounds: Mapping[Any, tuple[float, float]], target: np.ndarray, wishes: Wishes
) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(target.size, -np.inf), np.full(target.size, np.inf)
    for key, pair in bounds.items():
        name = key_name(key)
        kind, index = find_name(system, name, "bounded")
        try:
            least, most = (float(v) for v in pair)
        except (TypeError, ValueError):
            raise OptionError(f"bounds of `{name}` must be a pair (lowest, highest), got {pair!r}") from None
        if kind not in ("q", "u"):
            raise OptionError(f"`{name}` cannot be bounded; bounds are for coordinates and speeds")
        if not least <= most:
            raise OptionError(f"bounds of `{name}` are {least:g} .. {most:g}; the first must not exceed the second")
        k = index + (system.nq if kind == "u" else 0)
        low[k], high[k] = least, most
        asked: dict[int, float] = getattr(wishes, kind)
        if index in asked and not least <= asked[index] <= most:
            raise InitialStateError(
                f"`{system.name}`: `{name}` = {asked[index]:g} is outside its bounds {least:g} .. {most:g}; "
                "change the value or the bounds"
            )
    return low, high
