"""How a consistent start depends on parameters and on the values given for it.

A state of `initial` keeps what was given; the rest follows from the constraints, and where these leave a choice it
stays as near to the state as they allow. So along a change dp of the parameters and of the given values

    dq^T G dq least with  phi_q dq + phi_p dp = 0,      du^T M du least with  psi_u du + psi_q dq + psi_p dp = 0,

given values changing by what is asked: the derivative of `system.initial(given, guess=state, parameters=...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import InitialStateError, OptionError, UnknownNameError
from dalembert.initial.metric import position_metric, speed_metric
from dalembert.initial.request import Wishes, key_name
from dalembert.motion.state import State

LEFT_OVER = 1e-7  # part of a constraint, relative to its gradient, that the values that are free cannot make up for
RANK = 1e-11
START = -1  # in the place of the number of a parameter


def read_columns(system: System, keys: Sequence[Any]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of what a motion is differentiated in, and the numbers of the parameters among them (-1: start values)."""
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
    level = _Levels.of(state, t)
    return np.array([_column(state, level, name) for name in names]).reshape(len(names), level.nq + level.nu)


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
        return cls(s.nq, s.nu, gradients[:first], gradients[first:second], gradients[second:],
                   position_metric(s, x), speed_metric(s, x), names, wishes)  # fmt: skip


def _column(state: State, level: _Levels, name: str) -> np.ndarray:
    s, nq, nu = state.system, level.nq, level.nu
    dp = np.array([float(name == parameter) for parameter in s.parameters])
    fixed = dict.fromkeys(level.wishes.q, 0.0)
    if name in s.coordinates:
        fixed[s.coordinates.index(name)] = 1.0
    dq = _least(s, level.G, level.phi[:, :nq], -level.phi[:, nq + nu :] @ dp, fixed, level.names, name)
    known = np.concatenate([dq, dp])
    fixed = dict.fromkeys(level.wishes.u, 0.0)
    if name in s.speeds:
        fixed[s.speeds.index(name)] = 1.0
    asked = level.rates[[*level.wishes.rates]]
    rows = np.vstack([level.psi, asked])
    side = -np.hstack([rows[:, :nq], rows[:, nq + nu :]]) @ known
    names = (*s.constraint_names, *[f"{s.coordinates[k]}'" for k in level.wishes.rates])
    du = _least(s, level.M, rows[:, nq : nq + nu], side, fixed, names, name)
    return np.concatenate([dq, du])


def _least(
    system: System, G: np.ndarray, J: np.ndarray, side: np.ndarray, fixed: dict[int, float], names: Sequence[str],
    name: str,
) -> np.ndarray:  # fmt: skip
    """The least d in the metric G with J d = side and the `fixed` entries as they are said to be."""
    n = len(G)
    d = np.zeros(n)
    d[[*fixed]] = [*fixed.values()]
    side = side - J @ d
    free = np.array([k for k in range(n) if k not in fixed], dtype=int)
    if not len(J):
        return d
    size = np.linalg.norm(J, axis=1)
    kept = np.flatnonzero((size > 0.0) | (np.abs(side) > 0.0))
    scale = np.where(size[kept] > 0.0, size[kept], 1.0)
    rows, side = J[np.ix_(kept, free)] / scale[:, None], side[kept] / scale
    if len(free) and len(kept):
        L = np.linalg.cholesky(G[np.ix_(free, free)])
        d[free] = np.linalg.solve(L.T, np.linalg.pinv(np.linalg.solve(L, rows.T).T, rcond=RANK) @ side)
    left = np.abs(rows @ d[free] - side)
    if len(left) and not left.max() <= LEFT_OVER * max(1.0, np.abs(side).max()):
        worst = names[kept[int(left.argmax())]]
        raise InitialStateError(
            f"`{system.name}`: with the values that were given the start cannot follow a change of `{name}`: "
            f"`{worst}` would be violated; give fewer values to system.initial(...)"
        )
    return d


def _plain(system: System, name: str) -> str:
    """The speed that the rate x' of a coordinate is, where q' = u."""
    base = name.removesuffix("'")
    if base != name and system.trivial_kinematics and base in system.coordinates:
        return system.speeds[system.coordinates.index(base)]
    return name
