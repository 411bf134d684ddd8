"""Events and clocks of a live page: which systems they lead through, and their expressions as functions of w.

The page follows them as `run.hybrid` does. It computes what stands in a mapping and the impulse of another system's
constraints; a Python function it cannot run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.equations.observation import Observation, observer_of
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.motion.state import State
from dalembert.run.accelerations import measured
from dalembert.run.events import Change, Event
from dalembert.run.every import Every
from dalembert.run.segment import slacks_of

WATCH, RATES = "watch", "watch_rates"


@dataclass(frozen=True, eq=False)
class Course:
    """Systems, events and clocks of a page: `modes` are the first system and those that events lead to.

    `zeros` are the events that change something or end the motion. Events that are only recorded are left out.
    """

    modes: tuple[System, ...]
    zeros: tuple[Event, ...]
    clocks: tuple[Every, ...]

    @classmethod
    def of(cls, system: System, events: Sequence[Event | Every]) -> Course:
        """Course of checked events. Raises `PairingError`, naming the event, for anything a page cannot do."""
        modes = [system]
        for event in events:
            then = event.then
            if isinstance(then, System):
                _check_mode(system, then, event.name)
                modes += [then] if then not in modes else []
            elif then is not None and not isinstance(then, Mapping):
                raise PairingError(
                    f"event `{event.name}` changes the motion by a Python function, which a page cannot run; write "
                    "then={symbol: expression}, or use motion.animate or motion.report"
                )
        zeros = tuple(event for event in events if isinstance(event, Event) and event.stops)
        return cls(tuple(modes), zeros, tuple(event for event in events if isinstance(event, Every)))

    def functions(self, mode: System) -> tuple[dict[str, ca.Function], dict[str, bool]]:
        """Functions of w in a system by name, and whether each reads accelerations or multipliers."""
        observer = observer_of(mode)
        wanted = {WATCH: [event.expression(mode) for event in self._watched(mode)]}
        for k, then in enumerate(self._thens()):
            if isinstance(then, Mapping) and not any(map(observer.lacking, then.values())):
                wanted[_kernel(k)] = list(then.values())
        seen = {name: observer.observe(list_, f"events of `{mode.name}`") for name, list_ in wanted.items() if list_}
        functions = {name: o.function for name, o in seen.items()}
        reads = {name: o.reads_rates for name, o in seen.items()}
        if WATCH in seen:
            functions[RATES], reads[RATES] = self._rates(mode, seen[WATCH]), True
        return functions, reads

    def _rates(self, mode: System, seen: Observation) -> ca.Function:
        """Time derivatives of the watched event functions, of w; zero for those of accelerations or multipliers."""
        observer, n = observer_of(mode), mode.nq + mode.nu
        alone = [observer.observe([e.expression(mode)], f"event `{e.name}`") for e in self._watched(mode)]
        w, known = ca.SX.sym("w", seen.function.size1_in(0)), ca.DM([float(not one.reads_rates) for one in alone])
        rates = seen.rate_function(n, 1 + n + len(mode.parameters))(w)
        return ca.Function("rates", [w], [ca.densify(ca.if_else(known, rates, 0))])

    def slacks(self, mode: System, state: State, span: float) -> list[float]:
        """Zero tolerances of the watched event functions at the start, from the sizes in a state."""
        watched = self._watched(mode)
        if not watched:
            return []
        seen = observer_of(mode).observe([event.expression(mode) for event in watched], f"events of `{mode.name}`")
        return list(slacks_of(measured(mode, state.t, state.q, state.u, state.parameters, span), state, seen))

    def watched(self, mode: System) -> list[int]:
        """Indices of the zeros watched while a system moves, in the order of its function "watch"."""
        found = self._watched(mode)
        return [k for k, event in enumerate(self.zeros) if event in found]

    def facts(self) -> dict[str, Any]:
        """Events and clocks as JSON."""
        zeros = [
            {"name": e.name, "direction": e.direction, "terminal": e.terminal, "change": self._change(k, e)}
            for k, e in enumerate(self.zeros)
        ]
        clocks = [
            {"name": c.name, "dt": float(c.dt), "start": c.start, "change": self._change(len(self.zeros) + k, c)}
            for k, c in enumerate(self.clocks)
        ]
        return {"events": zeros, "clocks": clocks}

    def changed_parameters(self) -> list[str]:
        """Names of the parameters of the first system that events or clocks change."""
        changed = {name_of(key) for then in self._thens() if isinstance(then, Mapping) for key in then}
        return [name for name in self.modes[0].parameters if name in changed]

    def _thens(self) -> list[Change | None]:
        """The changes `then` of the zeros, followed by those of the clocks."""
        return [*(event.then for event in self.zeros), *(clock.then for clock in self.clocks)]

    def _watched(self, mode: System) -> list[Event]:
        return [event for event in self.zeros if event.concerns(mode)]

    def _change(self, k: int, event: Event | Every) -> dict[str, Any] | None:
        if event.then is None:
            return None
        if isinstance(event.then, System):
            return {"to": self.modes.index(event.then)}
        targets = (
            [_target(self.modes[0], name_of(key)) for key in event.then] if isinstance(event.then, Mapping) else []
        )
        return {"kernel": _kernel(k), "targets": targets}


def _kernel(k: int) -> str:
    return f"change_{k}"


def _target(system: System, name: str) -> dict[str, Any]:
    """Kind and index of the variable that a name in a mapping stands for."""
    places = (("parameter", system.parameters), ("coordinate", system.coordinates), ("speed", system.speeds))
    for kind, names in places:
        if name in names:
            return {"kind": kind, "index": names.index(name)}
    return {"kind": "rate", "index": system.coordinates.index(name.removesuffix("'"))}


def _check_mode(first: System, other: System, event: str) -> None:
    if first.parameters != other.parameters:
        apart = sorted(set(first.parameters) ^ set(other.parameters)) or list(other.parameters)
        raise PairingError(
            f"event `{event}` leads to `{other.name}`, whose parameters are not those of `{first.name}` (see "
            f"{', '.join(apart)}); a page needs the same ones in the same order: declare them in both models"
        )
