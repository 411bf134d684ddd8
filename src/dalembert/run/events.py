"""`Event`: a zero to locate during a motion, and its change; `Occurrence`: one that happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple, overload

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.equations.observation import observer_of
from dalembert.equations.system import System
from dalembert.errors import OptionError, PairingError, UnknownNameError
from dalembert.model.reading import Reader
from dalembert.model.statement import Constraint
from dalembert.motion.state import State

Change = Mapping[Any, Any] | System | Callable[[State], State | Mapping[Any, float]]


@dataclass(frozen=True, eq=False)
class Event:
    """A zero crossing of `expr`: rising (`direction=1`), falling (-1) or either (0).

    `expr` is a SymPy expression (or equation) of coordinates, speeds, their rates, parameters and time; the symbol of a
    constraint's name stands for its multiplier, so that `Event("table", direction=-1)` is the lift-off from a contact
    stated as the constraint `table`. `expr` may be just a name or a constraint. Such multipliers must be unique.

    Without `then` an event is recorded; with `terminal=True` it ends the motion. `then` says what changes:

    - a mapping {coordinate, its rate, speed or parameter: expression}, evaluated just before: `{vy: -e * vy}`,
      `{k: 0}`. Other values stay as they are as far as the constraints allow; otherwise they change as little as
      possible in the mass metric.
    - another System with the same coordinates and speeds, such as the model compiled with one constraint more or less:
      the motion continues with it. Its position constraints must hold already. The impulse of its constraints alone,
      M (u+ - u-) = A^T Lambda, makes the velocities consistent: momentum is conserved along every motion that the
      constraints allow, and energy is lost (`dalembert.initial.impact`). The event is inactive while that system moves.
    - a function of the State just before that returns the State after, or a mapping {name: number} of new values.

    Every zero within a step is found, however close to others: bounds of the expression and of its rate tell where
    there is none. Where a step has too many, the certificate is not ok: limit `max_step` of the integrator. A pole is
    no zero. The time is located on the dense output of the integrator, with the constraints held. An event whose
    expression is zero (within 1e-12 of its size) at the start does not occur there, and an event that has just changed
    the motion does not occur again at once.
    """

    expr: Any
    direction: int = 0
    terminal: bool = False
    then: Change | None = None
    name: str = ""

    def __post_init__(self) -> None:
        expr = sp.Symbol(self.expr.name) if isinstance(self.expr, Constraint) else self.expr
        name = self.name or (expr if isinstance(expr, str) else _label(expr))
        if not isinstance(name, str):
            raise OptionError(f"the name of an event must be a string, got {name!r}")
        if not isinstance(expr, str):
            expr = _read(expr, f"event `{name}`")
            if not expr.free_symbols:
                raise OptionError(f"event `{name}`: {expr} is a constant and never crosses zero; leave it out")
        if isinstance(self.direction, bool) or self.direction not in (-1, 0, 1):
            raise OptionError(f"event `{name}`: direction is {self.direction!r}; it must be -1, 0 or 1")
        if not isinstance(self.terminal, bool):
            raise OptionError(f"event `{name}`: terminal is {self.terminal!r}; it must be True or False")
        if self.terminal and self.then is not None:
            raise OptionError(f"event `{name}`: terminal ends the motion, so `then` has nothing to change; drop one")
        object.__setattr__(self, "expr", expr)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "then", read_change(self.then, f"event `{name}`"))

    @property
    def stops(self) -> bool:
        """Whether the run cannot simply go on."""
        return self.terminal or self.then is not None

    def expression(self, system: System) -> sp.Expr:
        """The event function, whose zeros are located, in the symbols of a system."""
        return observer_of(system).symbol(self.expr)

    def concerns(self, system: System) -> bool:
        """True if the event is watched while this system moves: not if it leads there or cannot be evaluated."""
        return self.then is not system and not observer_of(system).lacking(self.expression(system))


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event that happened: its name, when, the `state` just before and, if it changed anything, the one `after`.

    `impulses` are those of the constraints by name (Lambda of M (u+ - u-) = A^T Lambda) if velocities jumped.
    """

    name: str
    t: float
    state: State
    after: State | None = None
    impulses: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def energy_lost(self) -> float:
        """Energy before minus energy after, kinetic and potential; zero if nothing changed."""
        return 0.0 if self.after is None else _energy(self.state) - _energy(self.after)

    def __repr__(self) -> str:
        return f"Occurrence({self})"

    def __str__(self) -> str:
        if self.after is None:
            return f"`{self.name}` at t = {self.t:.6g}"
        text = f"`{self.name}` at t = {self.t:.6g}: energy lost {self.energy_lost:.3g}"
        pushed = ", ".join(f"`{name}` {value:.3g}" for name, value in self.impulses.items() if value)
        if self.after.system is self.state.system:
            return text + (f", impulses {pushed}" if pushed else "")
        how = f"after impulses that keep momentum: {pushed}" if pushed else "without impulses"
        return f"{text}; continues as `{self.after.system.name}` {how}"


class Doubt(NamedTuple):
    """Steps in which the zeros of an event are not known: how many, the first time, the length of the longest."""

    steps: int
    t: float
    longest: float


@dataclass(frozen=True, eq=False)
class Occurrences(Sequence[Occurrence]):
    """Occurrences of events in order, as a sequence. `events["bounce"]` are those of one name; `watched` are all names.

    `doubts` are the steps in which the zeros of an event are not known, by name.
    """

    items: tuple[Occurrence, ...] = ()
    watched: tuple[str, ...] = ()
    doubts: Mapping[str, Doubt] = field(default_factory=dict)
    stated: tuple[Any, ...] = ()  # the events and clocks themselves, unless a file or a pickle told of the motion

    def __getstate__(self) -> dict[str, Any]:
        """All fields but the events themselves: functions and expressions may not pickle."""
        return {**vars(self), "stated": ()}

    @overload
    def __getitem__(self, key: int) -> Occurrence: ...
    @overload
    def __getitem__(self, key: slice | str) -> Occurrences: ...
    def __getitem__(self, key: int | slice | str) -> Occurrence | Occurrences:
        if isinstance(key, str):
            if key not in self.watched:
                raise UnknownNameError(key, self.watched, "the events of this motion")
            return Occurrences(tuple(o for o in self.items if o.name == key), (key,))
        return Occurrences(self.items[key], self.watched) if isinstance(key, slice) else self.items[key]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Occurrence]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"Occurrences({', '.join(map(str, self.items)) or 'none'})"

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line per event for the certificate: how often it occurred and when."""
        lines = []
        for name in self.watched:
            found = self[name].items
            if not found:
                lines.append(f"event `{name}` did not occur")
            elif len(found) == 1:
                lines.append(f"event {found[0]}")
            else:
                lost = sum(o.energy_lost for o in found)
                more = f"; energy lost {lost:.3g}" if any(o.after is not None for o in found) else ""
                lines.append(
                    f"event `{name}` occurred {len(found)} times, t = {found[0].t:.6g} .. {found[-1].t:.6g}{more}"
                )
        return (*lines, *self.missed)

    @property
    def missed(self) -> tuple[str, ...]:
        """A line per event whose zeros are not known in some steps."""
        return tuple(
            f"event `{name}` MAY HAVE BEEN MISSED from t = {t:.6g} on: its zeros could not be told in {steps:,} steps, "
            f"up to {longest:.2g} long; limit max_step of the integrator, or use Every(dt, then=...) for a clock"
            for name, (steps, t, longest) in self.doubts.items()
        )


NONE_OCCURRED = Occurrences()  # of a run that watches none


def read_change(then: Any, where: str) -> Change | None:
    """Read the change `then` of an event or a clock, with its expressions. Raises if it is of no known kind."""
    if then is None or isinstance(then, System):
        return then
    if isinstance(then, Mapping):
        if not then:
            raise OptionError(f"{where}: `then` is empty; leave it out, or say what changes")
        return {key: _read(value, f"{where}: the new value of `{name_of(key)}`") for key, value in then.items()}
    if isinstance(then, type) or not callable(then):
        raise PairingError(
            f"{where}: then={then!r} is neither a mapping {{symbol: new value}} nor a System nor a function of a State"
        )
    return then


def _read(value: Any, what: str) -> sp.Expr:
    faults: list[str] = []
    expression = Reader(faults).expression(value, what)
    if expression is None:
        raise OptionError(faults[0])
    return expression


def _label(expr: Any) -> str:
    """A short name for an expression."""
    text = str(expr).replace("(t)", "")
    return text if len(text) <= 40 else f"{text[:37]}..."


def _energy(state: State) -> float:
    return float(state.system.energy(state.t, state.q, state.u, state.parameters))
