"""The equations of one level ready for native code: kernel, names of its variables and rows; made once per system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.initial.joint_rows import (
    all_levels_kernel,
    joint_coordinates,
    joint_rates,
    position_kernel,
    velocity_kernel,
)
from dalembert.native.kernel import Kernel
from dalembert.scattered import Scattered

POSITION, VELOCITY, ALL = "position", "velocity", "acceleration"


@dataclass(frozen=True, eq=False)
class LevelEquations:
    """A kernel of residuals and gradients: names of the variables and of all rows, and where variables stand in x.

    The first `required` rows must always hold; the others are there for values that may be given.
    """

    name: str
    kernel: Kernel
    variables: tuple[str, ...]
    rows: tuple[str, ...]
    required: int
    units: tuple[str, ...]
    place: np.ndarray
    turns: np.ndarray  # which variables are angles: a full turn leaves the equations as they are
    joints: bool = False  # whether coordinates and rates of joints are among the rows, at their end
    plans: dict[Any, Any] = field(default_factory=dict, repr=False)  # workspaces by free variables and requested values

    def equations(self, asked: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Rows to be met and the values they must have: zero for the required ones, given ones for those asked for."""
        if not asked:
            return self._required
        rows, wanted = self._required
        return np.concatenate([rows, [*asked]]), np.concatenate([wanted, [*asked.values()]])

    @cached_property
    def _required(self) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(self.required), np.zeros(self.required)


def level(system: System, name: str, *, parameters: bool = False, joints: bool = False) -> LevelEquations:
    """The level POSITION, VELOCITY or ALL; with `parameters` among the variables (not ALL), with rows for `joints`."""

    def make() -> LevelEquations:
        made = _MAKE[name](system)
        made = _add_joints(system, made) if joints else made
        return _add_parameters(system, made) if parameters else made

    return system.kept(("level", name, parameters, joints), make)


def _positions(s: System) -> LevelEquations:
    n_p = s.count(POSITION)
    rows = (*s.constraint_names[:n_p], *s.invariants)
    units = (*[row.unit for row in s.rows[:n_p]], *[""] * len(s.invariants))
    kernel, place = s.kernel("assembly"), 1 + np.arange(s.nq)
    return LevelEquations(POSITION, kernel, s.coordinates, rows, len(rows), units, place, _find_turns(s, kernel))


def _velocities(s: System) -> LevelEquations:
    n_p, n_pv, names = s.count(POSITION), s.count(POSITION) + s.count(VELOCITY), s.constraint_names
    rows = (*[f"rate of {n}" for n in names[:n_p]], *names[n_p:n_pv], *[f"{q}'" for q in s.coordinates])
    units = [f"{row.unit}/s" if row.unit and k < n_p else row.unit for k, row in enumerate(s.rows[:n_pv])]
    place, turns = 1 + s.nq + np.arange(s.nu), np.zeros(s.nu, dtype=np.int64)
    return LevelEquations(
        VELOCITY, s.kernel("speeds"), s.speeds, rows, n_pv, (*units, *[""] * s.nq), place, turns
    )  # fmt: skip


def _all(s: System) -> LevelEquations:
    first, second = level(s, POSITION), level(s, VELOCITY)
    names, nu, n_x = s.constraint_names, s.nu, 1 + s.nq + s.nu + len(s.parameters)
    third = [f"acceleration of {n}" for n in names]
    rows = (
        *first.rows, *second.rows[: second.required], *[f"balance of {u}" for u in s.speeds], *third,
        *second.rows[second.required :], *[f"{q}''" for q in s.coordinates], *[f"reaction({u})" for u in s.speeds],
    )  # fmt: skip
    shown = (*first.units, *second.units[: second.required])
    required = len(shown) + nu + s.nc
    variables = (*s.coordinates, *s.speeds, *[f"{u}'" for u in s.speeds], *names)
    place = np.concatenate([1 + np.arange(s.nq + nu), n_x + np.arange(nu + s.nc)])
    turns = np.concatenate([first.turns, np.zeros(2 * nu + s.nc, dtype=np.int64)])
    units = (*shown, *[""] * (len(rows) - len(shown)))
    return LevelEquations(ALL, s.kernel("all_levels"), variables, rows, required, units, place, turns)


_MAKE = {POSITION: _positions, VELOCITY: _velocities, ALL: _all}


def _add_joints(s: System, made: LevelEquations) -> LevelEquations:
    """The level with coordinates of joints (POSITION), their rates (VELOCITY) or both (ALL) behind its rows."""
    more, turns = [*joint_coordinates(s), *joint_rates(s)], made.turns
    if made.name == POSITION:
        more, kernel = joint_coordinates(s), position_kernel(s, parameters=False)
        turns = _find_turns(s, kernel)
    elif made.name == VELOCITY:
        more, kernel = joint_rates(s), velocity_kernel(s, parameters=False)
    else:
        kernel = all_levels_kernel(s)
        turns = np.concatenate([level(s, POSITION, joints=True).turns, made.turns[s.nq :]])
    rows, units = (*made.rows, *more), (*made.units, *[""] * len(more))
    return replace(made, kernel=kernel, rows=rows, units=units, turns=turns, joints=True, plans={})


def _add_parameters(system: System, made: LevelEquations) -> LevelEquations:
    if made.joints:
        of_joints = position_kernel if made.name == POSITION else velocity_kernel
        kernel = of_joints(system, parameters=True)
    else:
        kernel = system.kernel(f"{made.name}_with_parameters")
    n = len(system.parameters)
    place = np.concatenate([made.place, 1 + system.nq + system.nu + np.arange(n)])
    turns = np.concatenate([made.turns, np.zeros(n, dtype=np.int64)])
    variables = (*made.variables, *system.parameters)
    return replace(made, kernel=kernel, variables=variables, place=place, turns=turns, plans={})


def _find_turns(system: System, kernel: Kernel) -> np.ndarray:
    """Coordinates that are angles to the rows of a kernel, (nq,), found by turning each at two places."""
    rng = Scattered(7)
    nq = system.nq
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
