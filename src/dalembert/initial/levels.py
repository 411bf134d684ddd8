"""The equations of one level ready for native code: kernel, names of its variables and rows; made once per system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.equations.system import System
from dalembert.native.kernel import Kernel

POSITION, VELOCITY, ALL = "position", "velocity", "acceleration"


@dataclass(frozen=True, eq=False)
class LevelEquations:
    """A kernel of residuals and gradients: names of the variables and of all rows, and where variables stand in x."""

    name: str
    kernel: Kernel
    variables: tuple[str, ...]
    rows: tuple[str, ...]
    units: tuple[str, ...]
    place: np.ndarray
    turns: np.ndarray  # which variables are angles: a full turn leaves the equations as they are
    plans: dict[int, Any] = field(default_factory=dict, repr=False)  # workspaces by number of equations


def level(system: System, name: str, *, parameters: bool = False) -> LevelEquations:
    """The level POSITION, VELOCITY or ALL; with `parameters` among the variables (not ALL)."""

    def make() -> LevelEquations:
        made = _make(system, name)
        return _add_parameters(system, made) if parameters else made

    return system.kept(("level", name, parameters), make)


def _make(system: System, name: str) -> LevelEquations:
    s, nq, nu = system, system.nq, system.nu
    names = s.constraint_names
    units = [row.unit for row in s.rows]
    n_p, n_pv = s.count(POSITION), s.count(POSITION) + s.count(VELOCITY)
    positions, first = [*names[:n_p], *s.invariants], [f"rate of {n}" for n in names[:n_p]] + list(names[n_p:n_pv])
    units_p = [*units[:n_p], *[""] * len(s.invariants)]
    units_v = [f"{u}/s" if u and k < n_p else u for k, u in enumerate(units[:n_pv])]
    rates = [f"{q}'" for q in s.coordinates]
    if name == POSITION:
        place = 1 + np.arange(nq)
        turns = _find_turns(s)
        return LevelEquations(name, s.kernel("assembly"), s.coordinates, tuple(positions), tuple(units_p), place, turns)
    if name == VELOCITY:
        place, rows = 1 + nq + np.arange(nu), (*first, *rates)
        turns = np.zeros(nu, dtype=np.int64)
        return LevelEquations(name, s.kernel("speeds"), s.speeds, rows, (*units_v, *[""] * nq), place, turns)
    kernel = s.kernel("all_levels")
    n_x = 1 + nq + nu + len(s.parameters)
    place = np.concatenate([1 + np.arange(nq + nu), n_x + np.arange(nu + s.nc)])
    third = [f"acceleration of {n}" for n in names]
    rows = (
        *positions, *first, *[f"balance of {u}" for u in s.speeds], *third, *rates, *[f"{q}''" for q in s.coordinates],
        *[f"reaction({u})" for u in s.speeds],
    )  # fmt: skip
    variables = (*s.coordinates, *s.speeds, *[f"{u}'" for u in s.speeds], *names)
    shown = (*units_p, *units_v, *[""] * (len(rows) - len(units_p) - len(units_v)))
    turns = np.concatenate([level(s, POSITION).turns, np.zeros(2 * nu + s.nc, dtype=np.int64)])
    return LevelEquations(name, kernel, variables, rows, shown, place, turns)


def _add_parameters(system: System, made: LevelEquations) -> LevelEquations:
    kernel = system.kernel(f"{made.name}_with_parameters")
    n = len(system.parameters)
    place = np.concatenate([made.place, 1 + system.nq + system.nu + np.arange(n)])
    turns = np.concatenate([made.turns, np.zeros(n, dtype=np.int64)])
    return LevelEquations(made.name, kernel, (*made.variables, *system.parameters), made.rows, made.units, place, turns)


def _find_turns(system: System) -> np.ndarray:
    """Which coordinates are angles to the position constraints, found by turning each at two places, (nq,)."""
    rng = np.random.default_rng(7)
    kernel, nq = system.kernel("assembly"), system.nq
    turns = np.ones(nq, dtype=np.int64)
    for _ in range(2):
        x = np.concatenate([rng.uniform(-1.0, 1.0, 1 + nq + system.nu), system.parameter_defaults])
        here = kernel(x)
        scale = 1e-9 * (1.0 + np.abs(here).max(initial=0.0))
        for j in range(nq):
            turned = x.copy()
            turned[1 + j] += 2.0 * np.pi
            turns[j] &= bool(np.abs(kernel(turned) - here).max(initial=0.0) <= scale)
    return turns
