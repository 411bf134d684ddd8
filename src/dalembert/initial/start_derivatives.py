"""Derivatives of a consistent start in parameters and in the values given for it.

A state of `initial` keeps what was given; the rest follows from the constraints, and where these leave a choice it
stays as near to the state as they allow. So along a change dp of the parameters and of the given values

    dq^T G dq least with  phi_q dq + phi_p dp = 0,      du^T M du least with  psi_u du + psi_q dq + psi_p dp = 0,

given values changing by what is asked: the derivative of `system.initial(given, guess=state, parameters=...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import InitialStateError, OptionError, UnknownNameError
from dalembert.initial.metric import position_metric, speed_metric
from dalembert.initial.request import Wishes, key_name, measured
from dalembert.motion.state import State
from dalembert.solve.decompositions import cholesky, inverse, least_squares
from dalembert.solve.least_squares import LEAST_SQUARES_RANK

LEFT_OVER = 1e-7  # part of a constraint, relative to its gradient, that the values that are free cannot make up for
START = -1  # in the place of the number of a parameter


def read_columns(system: System, keys: Sequence[Any]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of the variables of differentiation, and the indices of the parameters among them (-1: start values)."""
    if isinstance(keys, str) or not isinstance(keys, Sequence):
        raise OptionError(
            f"sensitivities must be a list of parameters, coordinates and speeds of `{system.name}`, got {keys!r}; "
            f"write sensitivities=[{keys!r}]"
        )
    names = tuple(_plain(system, key_name(key)) for key in keys)
    known = (*system.parameters, *system.coordinates, *system.speeds)
    for name in names:
        if name not in known:
            raise UnknownNameError(name, known, f"the parameters, coordinates and speeds of `{system.name}`")
    if len(set(names)) < len(names):
        raise OptionError(f"sensitivities of `{system.name}` name something twice: {', '.join(names)}")
    return names, tuple(system.parameters.index(n) if n in system.parameters else START for n in names)


def start_derivatives(state: State, t: float, names: Sequence[str]) -> np.ndarray:
    """d(q, u) / d theta (k, nq + nu) at a consistent state, for parameters, coordinates and speeds by name.

    Raises `InitialStateError` if the given values leave no consistent state beside this one.
    """
    level, parameters = _Levels.of(state, t), state.system.parameters
    found = np.zeros((len(names), level.nq + level.nu))
    groups = [[k for k, name in enumerate(names) if name in parameters]]  # all parameters at once
    groups += [[k] for k, name in enumerate(names) if name not in parameters]
    for group in groups:
        if group:
            found[group] = _columns(state, level, [names[k] for k in group])
    return found


@dataclass(frozen=True, eq=False)
class _Levels:
    """Gradients of phi with invariants, psi and q' in (q, u, p), and metrics of positions and speeds."""

    nq: int
    nu: int
    phi: np.ndarray
    psi: np.ndarray
    rates: np.ndarray
    G: np.ndarray
    M: np.ndarray
    names: tuple[str, ...]
    wishes: Wishes

    @classmethod
    def of(cls, state: State, t: float) -> _Levels:
        s = state.system
        first = s.count("position") + len(s.invariants)
        second = first + s.count("position") + s.count("velocity")
        n, width = second + s.nq, s.nq + s.nu + len(s.parameters)
        gradients = s.evaluate("level_derivatives", t, state.q, state.u, state.parameters)[n:].reshape(n, width)
        x = np.concatenate([[t], state.q, state.u, state.parameters])
        wishes = Wishes() if state.report is None else state.report.wishes
        if wishes.of_accelerations or wishes.joints or wishes.joint_rates:
            raise InitialStateError(
                f"`{s.name}`: the start was found from values of accelerations, reactions or joints, in which it "
                "cannot be differentiated; find it from coordinates and speeds: system.initial({...}, guess=state)"
            )
        names = (*s.constraint_names[: s.count("position")], *s.invariants)
        scales = measured()(s, t, state.q, state.u, state.parameters, 0.0)
        M = speed_metric(s, x, scales)
        G = M if s.trivial_kinematics else position_metric(s, x, scales)
        return cls(s.nq, s.nu, gradients[:first], gradients[first:second], gradients[second:], G, M, names, wishes)


def _columns(state: State, level: _Levels, names: list[str]) -> np.ndarray:
    """Columns (k, nq + nu) of several parameters, or of one start value."""
    s, nq, nu = state.system, level.nq, level.nu
    columns = [s.parameters.index(name) if name in s.parameters else START for name in names]
    dp = s.parameter_directions(state.parameters, columns)
    fixed = dict.fromkeys(level.wishes.q, 0.0) | {s.coordinates.index(n): 1.0 for n in names if n in s.coordinates}
    dq = _least(s, level.G, level.phi[:, :nq], -level.phi[:, nq + nu :] @ dp, fixed, level.names, names)
    fixed = dict.fromkeys(level.wishes.u, 0.0) | {s.speeds.index(n): 1.0 for n in names if n in s.speeds}
    rows = np.vstack([level.psi, level.rates[[*level.wishes.rates]]]) if level.wishes.rates else level.psi
    side = -(rows[:, :nq] @ dq + rows[:, nq + nu :] @ dp)
    labels = (*s.constraint_names, *[f"{s.coordinates[k]}'" for k in level.wishes.rates])
    du = _least(s, level.M, rows[:, nq : nq + nu], side, fixed, labels, names)
    return np.vstack([dq, du]).T


def _least(
    system: System, G: np.ndarray, J: np.ndarray, side: np.ndarray, fixed: dict[int, float], labels: Sequence[str],
    names: Sequence[str],
) -> np.ndarray:  # fmt: skip
    """The least d (n, k) in the metric G with J d = side (m, k) and the `fixed` rows as they are said to be."""
    n, k = len(G), side.shape[1]
    d = np.zeros((n, k))
    d[[*fixed]] = np.array([*fixed.values()])[:, None]
    free = [j for j in range(n) if j not in fixed]
    if not len(J):
        return d
    side = side - J @ d
    size = np.sqrt(np.einsum("ij,ij->i", J, J))
    kept = [row for row, length in enumerate(size.tolist()) if length > 0.0 or side[row].any()]
    scale = np.array([length or 1.0 for length in size[kept].tolist()])[:, None]
    rows, side = J[kept][:, free] / scale, side[kept] / scale
    if free and kept:
        back = inverse(cholesky(G[free][:, free])).T  # to variables in which G is the unit matrix, and from them
        d[free] = back @ least_squares(rows @ back, side, LEAST_SQUARES_RANK)
    left = np.abs(rows @ d[free] - side)
    bad = left > LEFT_OVER * np.maximum(1.0, np.abs(side).max(axis=0, initial=0.0))
    if bad.any():
        row, column = np.unravel_index(int((left * bad).argmax()), left.shape)
        raise InitialStateError(
            f"`{system.name}`: with the values that were given the start cannot follow a change of "
            f"`{names[int(column)]}`: `{labels[kept[int(row)]]}` would be violated; give fewer values to "
            "system.initial(...)"
        )
    return d


def _plain(system: System, name: str) -> str:
    """The speed that the rate x' of a coordinate is, where q' = u."""
    base = name.removesuffix("'")
    if base != name and system.trivial_kinematics and base in system.coordinates:
        return system.speeds[system.coordinates.index(base)]
    return name
