"""Shooting: a motion over one trial period, its closure error, and the exact derivative of that error.

With z = (q, u) at the start and the motion z(T) a period later, a periodic motion has

    F = z(T) - z - advance = 0,      dF = (S_z - 1) dz + S_p dp + f(T) dT,

S_z from the variational equations (the monodromy matrix), S_p the sensitivity to a parameter, f(T) the rates at the
end. dz is a combination of orthonormal directions in the tangent space of all constraints that keep given values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.derivatives import differentiate
from dalembert.analysis.tangent_space import tangent_space
from dalembert.analysis.transition import carry, changes_at_end
from dalembert.dataclass import dataclass
from dalembert.equations.naming import finite_number, name_of
from dalembert.equations.system import System
from dalembert.errors import OptionError, UnknownNameError
from dalembert.initial.start_derivatives import start_derivatives
from dalembert.motion.motion import Motion
from dalembert.motion.outputs import rates_of
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.run.recipe import Recipe
from dalembert.solve.decompositions import null_space, orthogonal_triangular

ANY = None  # the advance of a coordinate that may advance by any amount
LEAST_COMPONENT = 1e-9  # least part of unit length of a direction that counts


@dataclass(frozen=True, eq=False)
class Period:
    """The period, an expression of the parameters; it is where a search starts if it is `unknown`."""

    system: System
    expression: sp.Expr
    unknown: bool

    def at(self, p: np.ndarray) -> float:
        """The period with parameter values p."""
        return finite_number(self.expression.subs(self._values(p)), "the period")

    def slope(self, p: np.ndarray, name: str) -> float:
        """Derivative of the period in a parameter."""
        symbol = next((one for one in self.expression.free_symbols if name_of(one) == name), None)
        return 0.0 if symbol is None or self.unknown else float(self.expression.diff(symbol).subs(self._values(p)))

    def _values(self, p: np.ndarray) -> dict[Any, float]:
        values = dict(zip(self.system.parameters, p.tolist(), strict=True))
        return {symbol: values[name_of(symbol)] for symbol in self.expression.free_symbols}


@dataclass(frozen=True, eq=False)
class Shooting:
    """A shooting problem: the data that stay the same during the search for a periodic motion, or along a branch.

    `held` are the indices in (q, u) of given values. `advance` (nq + nu,) is the advance of the coordinates in one
    period, NaN where it is free.
    """

    system: System
    recipe: Recipe
    t0: float
    period: Period
    held: tuple[int, ...]
    advance: np.ndarray
    events: tuple[Any, ...]

    def shoot(self, state: State, T: float, key: str | None = None) -> Shot:
        """The motion from a state over a period T, with derivatives in its start and in the parameter `key`."""
        s = self.system
        ways = self._directions(state)
        starts, columns = ways.T, list[int]()
        if key is not None:
            starts = np.vstack([starts, start_derivatives(state, state.t, [key])])
            columns = [s.parameters.index(key)]
        motion = carry(self.recipe, state, state.t + T, starts, columns, events=self.events)
        return Shot(self, state, T, key, motion, starts.T)

    def moved(self, shot: Shot, change: np.ndarray) -> tuple[State, float]:
        """The consistent state and the period after a change of (z, T, p)."""
        s, (dz, dT, dp) = self.system, np.split(change, [self.system.nq + self.system.nu, len(change) - 1])
        p = shot.state.parameters.copy()
        if shot.key is not None:
            p[s.parameters.index(shot.key)] += float(dp[0])
            p = s.followed(shot.state.parameters, p, [s.parameters.index(shot.key)])
        return self.start(shot.state.z + dz, p), shot.T + float(dT[0]) if self.unknown else self.period.at(p)

    def start(self, z: np.ndarray, p: np.ndarray) -> State:
        """The consistent state nearest to z that has the given values."""
        s = self.system
        names = (*s.coordinates, *s.speeds)
        guess = dict(zip(names, z.tolist(), strict=True))
        parameters = dict(zip(s.parameters, p.tolist(), strict=True))
        return s.initial({names[k]: guess[names[k]] for k in self.held}, guess=guess, t0=self.t0, parameters=parameters)

    @property
    def unknown(self) -> bool:
        """Whether the period is to be found."""
        return self.period.unknown

    @property
    def rows(self) -> np.ndarray:
        """Indices in (q, u) of the variables that must return."""
        return np.flatnonzero(~np.isnan(self.advance))

    def _directions(self, state: State) -> np.ndarray:
        """Orthonormal changes of (q, u) that keep constraints and given values, (nq + nu, k)."""
        basis = tangent_space(differentiate(state), state, None)[0].basis
        if self.held:
            basis = basis @ null_space(basis[list(self.held)], LEAST_COMPONENT)
        return orthogonal_triangular(basis)[0] if basis.shape[1] else basis


@dataclass(frozen=True, eq=False)
class Shot:
    """A motion from `state` over a period T; `starts` (nq + nu, k) are the changes of the start carried along."""

    problem: Shooting
    state: State
    T: float
    key: str | None
    motion: Motion | MotionSequence
    starts: np.ndarray

    @cached_property
    def end(self) -> State:
        """The state at the end."""
        last = self.motion.segments[-1]
        return State(last.system, float(last.t[-1]), last.q[-1], last.u[-1], last.udot[-1], last.multipliers[-1],
                     last.parameters)  # fmt: skip

    @property
    def F(self) -> np.ndarray:
        """Closure error z(T) - z - advance, relative to the sizes of the variables, (rows,)."""
        rows = self.problem.rows
        return (self.end.z - self.state.z - self.problem.advance)[rows] / self.size[rows]

    @cached_property
    def size(self) -> np.ndarray:
        """The largest value of every coordinate and speed along the motion, at least 1, (nq + nu,)."""
        parts = [np.hstack([part.q, part.u]) for part in self.motion.segments]
        return np.maximum(1.0, np.abs(np.vstack(parts)).max(axis=0))

    @cached_property
    def changes(self) -> np.ndarray:
        """Changes of (z, T, p) for each unknown, (nq + nu + 2, unknowns): directions, period, parameter."""
        n, plain = len(self.state.z), self.starts.shape[1] - (self.key is not None)
        columns = [np.vstack([self.starts[:, :plain], np.zeros((2, plain))])]
        if self.problem.unknown:
            columns.append(np.eye(n + 2)[:, [n]])
        if self.key is not None:
            slope = self.problem.period.slope(self.state.parameters, self.key)
            columns.append(np.append(self.starts[:, -1], [slope, 1.0])[:, None])
        return np.hstack(columns)

    @cached_property
    def J(self) -> np.ndarray:
        """dF for each unknown, (rows, unknowns)."""
        rows, plain = self.problem.rows, self.starts.shape[1] - (self.key is not None)
        closing = changes_at_end(self.motion).T - self.starts
        columns = [closing[:, :plain]]
        f = np.concatenate([rates_of(self.end), self.end.udot])
        if self.problem.unknown:
            columns.append(f[:, None])
        if self.key is not None:
            slope = self.problem.period.slope(self.state.parameters, self.key)
            columns.append(closing[:, plain:] + slope * f[:, None])
        return np.hstack(columns)[rows] / self.size[rows, None]

    @property
    def phase(self) -> np.ndarray:
        """Change of the start along the unit tangent of the motion, for each unknown, (unknowns,)."""
        f = np.concatenate([rates_of(self.state), self.state.udot])
        way = (f / self.size) @ (self.changes[: len(f)] / self.size[:, None])
        length = np.linalg.norm(way)
        return way / length if length > LEAST_COMPONENT else np.zeros_like(way)


def read_period(system: System, period: Any, *, unknown: bool) -> Period:
    """The period as the user states it, a number or an expression of parameters."""
    expression = sp.sympify(period)
    for symbol in expression.free_symbols:
        if name_of(symbol) not in system.parameters:
            raise UnknownNameError(name_of(symbol), system.parameters, f"the parameters of `{system.name}`")
    return Period(system, expression, unknown)


def read_advance(system: System, advance: Mapping[Any, float | None]) -> np.ndarray:
    """Advance of the coordinates in a period, (nq + nu,): NaN where it is free, 0 by default."""
    values = np.zeros(system.nq + system.nu)
    if not isinstance(advance, Mapping):
        raise OptionError(f"advance must map coordinates to amounts, such as {{th: 2*pi}}, got {advance!r}")
    for key, amount in advance.items():
        name = name_of(key)
        if name not in system.coordinates:
            raise UnknownNameError(name, system.coordinates, f"the coordinates of `{system.name}`")
        k = system.coordinates.index(name)
        values[k] = np.nan if amount is ANY else finite_number(amount, f"the advance of `{name}`")
    return values


def read_held(system: System, given: Sequence[str]) -> tuple[int, ...]:
    """Places in (q, u) of given coordinates and speeds."""
    names = (*system.coordinates, *system.speeds)
    plain = [
        system.speeds[system.coordinates.index(name[:-1])]
        if name.endswith("'") and system.trivial_kinematics and name[:-1] in system.coordinates
        else name
        for name in given
    ]
    for name in plain:
        if name not in names:
            raise UnknownNameError(name, names, f"the coordinates and speeds of `{system.name}`")
    return tuple(names.index(name) for name in plain)
