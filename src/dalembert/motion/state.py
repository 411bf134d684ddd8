"""`State`: a value of everything at one instant, with named access."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import FileError, InconsistentStateError
from dalembert.guidance import no_attribute
from dalembert.motion.archive import check_times, facts_in, floats_in, read_archive, reading, write_archive
from dalembert.motion.equation_residuals import equation_residuals
from dalembert.motion.outputs import Observed, rates_of, second_rates_of, spelling, values_of
from dalembert.motion.reactions import Reacting, constraint_power, motion_values, reactions_of
from dalembert.stages import stage
from dalembert.text_tables import html_table, text_table

LOADED = 1e-9  # residuals above this, relative to the values they come from, make a file one of another system


@dataclass(frozen=True, eq=False)
class State(Observed, Reacting):
    """Time, coordinates, speeds, accelerations, multipliers and parameter values of a system at one instant.

    Arrays: q (nq,), u (nu,), udot (nu,), multipliers (nc,), parameters (np,). `state["x"]` or `state[x]` gives one
    value; `state["x'"]` and `state["x''"]` rates of a coordinate, `state["vx'"]` an acceleration, `state["loop"]` the
    multiplier of a constraint, `state["reaction(vx)"]` the generalised reaction along a speed, `state["tip"]` an
    output, `state[x + y]` an expression. `report` describes how `System.initial` found the state.
    """

    system: System
    t: float
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    multipliers: np.ndarray
    parameters: np.ndarray
    report: Any = field(default=None, repr=False)

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    def __getitem__(self, key: Any) -> Any:
        values = values_of(self, key)
        return values if np.ndim(values) else float(values)

    @property
    def z(self) -> np.ndarray:
        """(q, u) in one array."""
        return np.concatenate([self.q, self.u])

    @property
    def reactions(self) -> np.ndarray:
        """Generalised reaction r of M u' = f + r, (nu,)."""
        return reactions_of(self)

    @property
    def gauss_measure(self) -> float:
        """Gauss's measure of constraint: see `System.gauss_measure`."""
        return float(self.system.gauss_measure(self.t, self.q, self.u, self.udot, self.parameters))

    def constraint_power(self, constraint: Any) -> float:
        """Power of one constraint, or of all stated in one list under this name."""
        return float(constraint_power(self, constraint))

    @property
    def residuals(self) -> dict[str, dict[str, float]]:
        """The residual of every constraint by level and name; "balance" holds M u' - f - r by speed."""
        return residuals_of(self)

    # -- other states ----------------------------------------------------------------------------------------------

    def with_(self, changes: Mapping[Any, float] | None = None, /, **named: float) -> State:
        """The consistent state with these values, the rest of it nearest to this one.

        Values are those of `System.initial`, by symbol, by name or as keywords; parameters and `t` may be among them.
        Other values may change: pass those that must stay exactly.
        """
        values = {**{spelling(key): value for key, value in (changes or {}).items()}, **named}
        parameters = {key: values.pop(key) for key in list(values) if key in self.system.parameters}
        t0 = values.pop("t", None)
        return self.system.initial(values, guess=self, t0=t0, parameters=parameters)

    def follow(self, key: Any, values: Iterable[float], *, hold: Any = None) -> tuple[State, ...]:
        """The states of this branch at successive `values` of a coordinate, a parameter or "t".

        Each state is the guess for the next; intermediate steps keep it on the branch. At a limit (dead point) it
        raises `InitialStateError` with the value, and with the states found so far in `.states`. `hold` names
        coordinates and speeds that stay as they are.
        """
        return stage("State.follow")(self, key, values, hold=hold)

    def branch(
        self, key: Any, span: tuple[float, float], *, hold: Any = (), step: float = 0.05, most: int = 400
    ) -> Any:
        """The equilibria or steady motions on the branch of this one along a parameter, past folds, within a `span`.

        It starts towards larger values and ends at an end of the span or after `most` states. `step` is the first
        arclength, relative to the sizes of coordinates and parameter; `hold` names what stays as it is. See
        `analysis.branch.Branch`.
        """
        return stage("State.branch")(self, key, span, hold=hold, step=step, most=most)

    @property
    def stability(self) -> Any:
        """Whether this equilibrium or steady motion is stable, by linearisation: see `analysis.stability.Stability`."""
        return stage("State.stability")(self)

    # -- to look at and to keep ------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"State of {self.system.name!r} at t = {self.t:g}\n" + text_table(self._blocks())

    def _repr_html_(self) -> str:
        return html_table(f"State of {self.system.name} at t = {self.t:g}", self._blocks())

    def _blocks(self) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
        """Tables: column titles and rows of texts."""
        s = self.system
        rates, seconds = rates_of(self), second_rates_of(self)
        blocks: list[tuple[tuple[str, ...], list[tuple[str, ...]]]]
        blocks = [(("coordinate", "value", "rate", "acceleration"), _rows(s.coordinates, self.q, rates, seconds))]
        if len(self.u) != len(rates) or not np.array_equal(rates, self.u):
            blocks.append((("speed", "value", "rate"), _rows(s.speeds, self.u, self.udot)))
        blocks.append((("reaction", "value"), _rows(s.speeds, self.reactions)))
        for title, names, values in (
            ("multiplier", s.constraint_names, self.multipliers),
            ("unknown", s.unknowns, self.unknowns),
            ("parameter", s.parameters, self.parameters),
        ):
            blocks.append(((title, "value"), _rows(names, values)))
        if not s.nc:
            blocks = [block for block in blocks if block[0][0] != "reaction"]
        return [block for block in blocks if block[1]]

    def save(self, path: str | Path) -> Path:
        """Write the state to an .npz file; `State.load` reads it back. The file is replaced at once, or not at all."""
        arrays = {name: getattr(self, name) for name in state_shapes(self.system)}
        return write_archive(path, "state", {"t": self.t, "facts": json.dumps(_names(self.system)), **arrays})

    @staticmethod
    def load(path: str | Path, system: System) -> State:
        """A state written by `save`, for the same system.

        Raises `FileError` if the file is damaged or of a system with other names, `InconsistentStateError` if the
        constraints or the equations of motion do not hold.
        """
        data = read_archive(path, "state")
        with reading(path, "state"):
            facts = facts_in(data, "facts")
            for what, names in _names(system).items():
                if facts.get(what) != names and what != "system":
                    raise FileError(
                        f"{path} holds a state of `{facts.get('system')}` with {what} {facts.get(what)}, "
                        f"but those of `{system.name}` are {names}"
                    )
            t = floats_in(data, {"t": ()})["t"]
            check_times(t.reshape(1))
            state = State(system, float(t), **floats_in(data, state_shapes(system)))
        _check_loaded(path, state)
        return state


def state_shapes(system: System) -> dict[str, tuple[int]]:
    """The arrays of a state by name, with their shapes."""
    nu = system.nu
    return {
        "q": (system.nq,), "u": (nu,), "udot": (nu,), "multipliers": (system.nc,),
        "parameters": (len(system.parameters),),
    }  # fmt: skip


def _names(system: System) -> dict[str, Any]:
    return {
        "system": system.name,
        "coordinates": list(system.coordinates),
        "speeds": list(system.speeds),
        "constraints": list(system.constraint_names),
        "parameters": list(system.parameters),
    }


def _rows(names: Iterable[str], *columns: np.ndarray) -> list[tuple[str, ...]]:
    return [(name, *(f"{v:.9g}" for v in values)) for name, *values in zip(names, *columns, strict=True)]


def _check_loaded(path: str | Path, state: State) -> None:
    """Refuse a state that is not consistent for this system."""
    scale = 1.0 + max(float(np.abs(values).max(initial=0.0)) for values in (state.q, state.u))
    bad = {
        (level, name): value
        for level, values in state.residuals.items()
        if level in ("position", "velocity")
        for name, value in values.items()
        if not abs(value) <= LOADED * scale
    }
    balance = float(equation_residuals(state)[1])
    if not balance <= LOADED:
        bad["balance", "M u' - f - r"] = balance
    if bad:
        (level, name), worst = max(bad.items(), key=lambda item: abs(item[1]))
        raise InconsistentStateError(
            f"the state in {path} violates {len(bad)} equations of `{state.system.name}` (worst: {level} of "
            f"`{name}`, {worst:.3g}): it was saved for other equations",
            bad,
        )


def residuals_of(state: State) -> dict[str, dict[str, float]]:
    """Residuals of every constraint by level and name, and of M u' = f + r by speed."""
    s, at = state.system, (state.t, state.q, state.u, state.parameters)
    names = (*s.constraint_names[: s.count("position")], *s.invariants)
    phi = s.evaluate("assembly", *at)[: len(names)]
    psi = s.velocity_residual(*at)
    balance, third = np.split(motion_values(state, "remainder"), [s.nu])
    found = {
        "position": dict(zip(names, phi.tolist(), strict=True)),
        "velocity": dict(zip(s.constraint_names, psi.tolist(), strict=False)),
        "acceleration": dict(zip(s.constraint_names, third.tolist(), strict=True)),
        "balance": dict(zip(s.speeds, balance.tolist(), strict=True)),
    }
    return {level: values for level, values in found.items() if values}
