"""`SmallChanges`: first-order effect of small changes of states and inputs on the rates of coordinates and speeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, Response
from dalembert.analysis.tangent_space import TangentSpace, tangent_space
from dalembert.dataclass import dataclass
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import OptionError, UnknownNameError
from dalembert.motion.state import State


@dataclass(frozen=True, eq=False)
class SmallChanges:
    """Changes of (q, u, p) and of their rates, one column for each direction of `space` and then for each input.

    The first `count` directions are those of the named states. changes (nq + nu + np, n + inputs), rates (q', u')
    (nq + nu, n + inputs). Rows in `freed` have an unknown that is an input, `pushed` (nc, n + inputs) are its changes.
    """

    space: TangentSpace
    count: int
    inputs: tuple[str, ...]
    freed: tuple[int, ...]
    pushed: np.ndarray
    changes: np.ndarray
    response: Response
    rates: np.ndarray

    def carried(self, d: EquationDerivatives, E: np.ndarray) -> SmallChanges:
        """These changes, transformed by E (nq + nu, nq + nu), about another state, whose derivatives are `d`."""
        nz = len(E)
        changes = np.vstack([E @ self.changes[:nz], self.changes[nz:]])
        return replace(self, changes=changes, **_respond(d, changes, self.freed, self.pushed))


def small_changes(
    d: EquationDerivatives, state: State, states: Sequence[Any] | None, inputs: Sequence[Any]
) -> SmallChanges:
    """The changes about a state, with the named states first (None: a choice by pivoting)."""
    names, directions, freed = _read_inputs(d, inputs)
    space, count = tangent_space(d, state, states, freed)
    s = state.system
    n, nz = len(space.independent), s.nq + s.nu
    changes = np.zeros((nz + len(s.parameters), n + len(names)))
    changes[:nz, :n] = space.basis
    pushed = np.zeros((s.nc, n + len(names)))
    places = [place if kind == "p" else -1 for kind, place in directions]
    changes[nz:, n:] = s.parameter_directions(state.parameters, places)
    for k, (kind, place) in enumerate(directions):
        if kind == "la":
            pushed[place, n + k] = 1.0
    return SmallChanges(space, count, names, freed, pushed, changes, **_respond(d, changes, freed, pushed))


def _respond(d: EquationDerivatives, changes: np.ndarray, freed: tuple[int, ...], pushed: np.ndarray) -> dict[str, Any]:
    """First-order response of accelerations and multipliers, and rates of all coordinates and speeds."""
    response = d.response(changes, freed, pushed)
    nq, nz = d.system.nq, d.system.nq + d.system.nu
    rates = d.of("rates", "q") @ changes[:nq] + d.of("rates", "u") @ changes[nq:nz]
    rates += d.of("rates", "p") @ changes[nz:]
    return {"response": response, "rates": np.vstack([rates, response.udot])}


def _read_inputs(
    d: EquationDerivatives, inputs: Sequence[Any]
) -> tuple[tuple[str, ...], list[tuple[str, int]], tuple[int, ...]]:
    """Names; ("p", index of a parameter) or ("la", row) for each; and rows whose unknown has become an input."""
    s, enforced = d.system, rows_by_unknown(d.system.rows)
    if isinstance(inputs, str) or not isinstance(inputs, Sequence):
        raise OptionError(f"inputs must be a list of parameters or unknowns of `{s.name}`, got {inputs!r}")
    names, places = [], []
    for key in inputs:
        name = name_of(key)
        if name in s.parameters:
            _check_force(s, s.parameters.index(name))
            places.append(("p", s.parameters.index(name)))
        elif name in s.unknowns:
            places.append(("la", enforced[s.unknowns.index(name)]))
        else:
            raise UnknownNameError(name, (*s.parameters, *s.unknowns), f"the parameters and unknowns of `{s.name}`")
        names.append(name)
    if len(set(names)) < len(names):
        raise OptionError(f"inputs of `{s.name}` name something twice: {', '.join(names)}")
    return tuple(names), places, tuple(sorted(row for kind, row in places if kind == "la"))


def _check_force(system: System, index: int) -> None:
    """An input in a position or velocity constraint would act by its rates too, which B cannot say."""
    m = system.mechanics
    names = (*system.constraint_names[: system.count("position")], *system.invariants)
    names += (*system.constraint_names[: m.psi.shape[0]], *system.coordinates)
    rows = ca.vertcat(m.phi, m.h, m.psi, m.qdot)
    moved = [name for k, name in enumerate(names) if ca.depends_on(rows[k], m.p[index])]
    if moved:
        what = f"constraint `{moved[0]}`" if moved[0] not in system.coordinates else f"the kinematics of `{moved[0]}`"
        raise OptionError(
            f"input `{system.parameters[index]}` is in {what}: if it changes with time its rates act too, and "
            "x' = A x + B w has no place for them. Use lin.sweep for another constant value, or a force as the input"
        )
