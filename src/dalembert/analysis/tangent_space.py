"""The tangent space of all constraints at a state, in coordinates that are variables of the system.

Changes of (q, u) that keep phi, the invariants and psi satisfy J (dq, du) = 0. With independent variables x and
dependent ones d that is J_d dd = -J_x dx, so that (dq, du) = T dx with the unit matrix in the rows of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives
from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import LinearizationError, OptionError, UnknownNameError
from dalembert.initial.start_derivatives import LEFT_OVER
from dalembert.motion.state import State
from dalembert.solve.decompositions import UNIT, decompose, null_space, orthogonal_triangular, solve, unit_rows
from dalembert.solve.pivoting import pivot_columns
from dalembert.solve.tolerances import RANK_TOLERANCE, SAME

INDEPENDENT_SHARE = 1e-6  # least share of a direction that an independent variable must have


@dataclass(frozen=True, eq=False)
class TangentSpace:
    """`basis` T (nq + nu, n) and `independent` (n,), the places in (q, u) of the coordinates of the tangent space."""

    basis: np.ndarray
    independent: tuple[int, ...]


def tangent_space(
    d: EquationDerivatives, state: State, states: Sequence[Any] | None, freed: tuple[int, ...] = ()
) -> tuple[TangentSpace, int]:
    """The tangent space, with the named `states` first (None: a choice by pivoting), and how many were named.

    Constraint rows in `freed` are not enforced.
    """
    s = state.system
    P, V = _constraints(d, freed)
    positions, velocities = P[:, : s.nq], V[:, s.nq :]
    free = _choose(positions)
    alike = positions.shape == velocities.shape and np.abs(positions - velocities).max(initial=0.0) <= SAME
    moving = free if alike else _choose(velocities)  # they are alike if q' = u
    default = (*free, *(s.nq + k for k in moving))
    T = _basis(s, np.vstack([P, V]), default)
    if states is None:
        return TangentSpace(T, default), len(default)
    named = read_states(s, states)
    order = _complete(s, T, default, named)
    change = T[list(order)]
    return TangentSpace(solve(change.T, T.T).T, order), len(named)


def read_states(system: System, states: Sequence[Any]) -> list[int]:
    """Places in (q, u) of coordinates and speeds by name."""
    names = (*system.coordinates, *system.speeds)
    if isinstance(states, str) or not isinstance(states, Sequence):
        raise OptionError(f"states must be a list of coordinates and speeds of `{system.name}`, got {states!r}")
    found = []
    for key in states:
        name = name_of(key)
        if name.endswith("'") and system.trivial_kinematics and name[:-1] in system.coordinates:
            name = system.speeds[system.coordinates.index(name[:-1])]
        if name not in names:
            raise UnknownNameError(name, names, f"the coordinates and speeds of `{system.name}`")
        found.append(names.index(name))
    if len(set(found)) < len(found):
        raise OptionError(f"states of `{system.name}` name a variable twice: {', '.join(map(name_of, states))}")
    return found


def _constraints(d: EquationDerivatives, freed: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of position rows and of velocity rows in (q, u), of unit length, without those that vanish."""
    s = d.system
    J = d.gradients[: d.rows["velocity"].stop, d.columns["q"].start : d.columns["u"].stop]
    if not np.isfinite(J).all():
        raise LinearizationError(f"`{s.name}`: the gradient of a constraint is not finite in this state")
    positions, velocities = J[d.rows["position"]], J[d.rows["velocity"]]
    P = np.delete(positions, [k for k in freed if k < s.count("position")], axis=0)
    V = np.delete(velocities, [k for k in freed if k < len(velocities)], axis=0)
    return _unit(P), _unit(V)


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1)
    return rows[lengths > 0.0] / lengths[lengths > 0.0, None]


def _choose(rows: np.ndarray) -> list[int]:
    """Independent variables: those that a pivoted QR does not need as dependent ones."""
    dependent: set[int] = set()
    if len(rows) and np.abs(rows).max(initial=0.0) > 0.0:
        order, sizes = pivot_columns(rows)
        dependent = set(order[: int((sizes > RANK_TOLERANCE * sizes[0]).sum())])
    return [k for k in range(rows.shape[1]) if k not in dependent]


def _basis(system: System, J: np.ndarray, independent: tuple[int, ...]) -> np.ndarray:
    """T (nq + nu, n) with the unit matrix in the rows of the independent variables."""
    n = system.nq + system.nu
    T = np.zeros((n, len(independent)))
    T[list(independent), np.arange(len(independent))] = 1.0
    dependent = [k for k in range(n) if k not in set(independent)]
    if not dependent or not independent:
        return T
    Q, R = orthogonal_triangular(J[:, dependent])
    sizes = np.abs(np.diag(R))
    solvable = len(sizes) == len(dependent) and sizes.min() > RANK_TOLERANCE * sizes.max()
    found = solve(R, -Q.T @ J[:, list(independent)]) if solvable else np.zeros_like(T[dependent])
    left = J[:, dependent] @ found + J[:, list(independent)]
    if not solvable or np.abs(left).max(initial=0.0) > LEFT_OVER:
        names = (*system.coordinates, *system.speeds)
        bad = [names[independent[k]] for k in np.flatnonzero(np.abs(left).max(axis=0) > LEFT_OVER)]
        raise LinearizationError(
            f"`{system.name}`: the constraints have no tangent space in this state: positions and velocities are "
            f"restricted in different directions{' (along ' + ', '.join(bad) + ')' if bad else ''}; the state is a "
            "singular one (a dead point or bifurcation), linearise next to it",
            bad,
        )
    T[dependent] = found
    return T


def _complete(system: System, T: np.ndarray, default: tuple[int, ...], named: list[int]) -> tuple[int, ...]:
    """The named variables and then others that make up coordinates of the whole tangent space."""
    nq = system.nq
    first = [k for k, place in enumerate(default) if place < nq]
    order = list(named)
    names = (*system.coordinates, *system.speeds)
    for columns, places in (
        (first, range(nq)),
        ([k for k in range(len(default)) if k not in first], range(nq, nq + system.nu)),
    ):
        rows = [k for k in named if k in places]
        block = T[rows][:, columns]
        _check_independent(block, [names[k] for k in rows], len(columns), system)
        order += _fill(T[places.start : places.stop][:, columns], block, places.start, rows)
    return tuple(order)


def _check_independent(block: np.ndarray, names: list[str], count: int, system: System) -> None:
    """Raise if the named variables depend on each other."""
    if len(names) > count:
        raise OptionError(
            f"states name {len(names)} of {', '.join(names)}, but only {count} of them are independent in this state "
            f"of `{system.name}`; leave out {len(names) - count}"
        )
    found = decompose(unit_rows(block), INDEPENDENT_SHARE, UNIT)
    if found.rank < len(names):
        bad = [names[k] for k in np.flatnonzero(np.abs(found.left[:, -1]) > INDEPENDENT_SHARE)]
        raise LinearizationError(
            f"`{system.name}`: the constraints tie the states {', '.join(bad)} to each other here, or fix them; "
            "name others",
            bad,
        )


def _fill(rows: np.ndarray, block: np.ndarray, offset: int, taken: list[int]) -> list[int]:
    """Variables that span the directions not fixed by the named ones, by pivoted QR."""
    missing = rows.shape[1] - len(block)
    if not missing:
        return []
    shares = rows @ null_space(block, 0.0)
    shares[[k - offset for k in taken]] = 0.0
    return [k + offset for k in pivot_columns(shares.T)[0][:missing]]
