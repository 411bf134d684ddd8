"""Conditions on positions that velocity constraints hide: those in which they become dependent, and let a system move.

Rows A(q) u = 0 that leave a speed no value but zero let it move where some combination n^T A m of them vanishes, with
the singular vectors n and m of the least singular value. This is an unstated condition on the positions, of codimension
one. A car whose mass centre is to follow a circle, with both wheels rolling, must head along it: the rows are
independent elsewhere, so ranks at random states do not show it. The gradient of the condition is n^T (dA/dq) m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from dalembert.equations.system import System
from dalembert.initial.dependence import BESIDE, INVOLVED, scale
from dalembert.scattered import Scattered
from dalembert.solve.decompositions import UNIT, decompose, least_squares, rank_of, unit_rows
from dalembert.solve.tolerances import UNIT_ROW_RANK

DIFFERENCE_STEP = 1e-6  # of finite differences, relative to the coordinates and at least this
HIDDEN_ITERATIONS = 30  # of Newton's method
SHARE = 1e-3  # part of a sum, or of a motion, that is worth naming
LAST_MOVE = 1e-10  # moves that are the last


def hidden_position(system: System, t: float, q: np.ndarray, parameters: np.ndarray, servos: tuple[str, ...]) -> str:
    """Clause with the condition hidden by velocity rows: its rows, gradient and nearest position that satisfies it.

    Empty if there is none at q: if the rows ask for a motion themselves, or leave one elsewhere, or are dependent in a
    single position or everywhere. `servos` are the constraints with an unknown, for which it may take the place.
    """
    rest, count = np.zeros(system.nu), system.count("position") + system.count("velocity")
    if not count or np.abs(system.velocity_residual(t, q, rest, parameters)).max(initial=0.0) > INVOLVED:
        return ""
    met = _nearest(system, t, q, parameters) if _leaves_at_rest(system, t, q, parameters) else None
    if met is None:
        return ""
    rows, gradient, there = met
    names = [name for name, part in zip(system.constraint_names, rows, strict=False) if abs(part) > SHARE]
    about = [s for s in servos if s in names] or names[:1]
    terms = " ".join(
        f"{'-' if g < 0.0 else '+'} {abs(g):.3g} d{name}" for name, g in zip(system.coordinates, gradient, strict=True)
        if abs(g) > SHARE * np.abs(gradient).max()
    )  # fmt: skip
    places = ", ".join(
        f"{name} = {value:.6g}" for name, value in zip(system.coordinates, there.round(12) + 0.0, strict=True)
    )
    return (
        f"there is a hidden condition, hidden({about[0]}): the system moves only where {_listed(names)} are dependent, "
        f"a position constraint with the gradient {terms}, met at {places}; state it with the unknown, "
        f"model.constrain(..., servo=...), and what it implies, `{about[0]}`, by model.condition(...)"
    )


def _leaves_at_rest(system: System, t: float, q: np.ndarray, parameters: np.ndarray) -> bool:
    """True if the rows force their speeds to zero at a position near q."""
    beside = q + BESIDE * np.maximum(1.0, np.abs(q)) * Scattered(1743).uniform(-1.0, 1.0, len(q))
    A = _gradients(system, t, beside, parameters)
    largest = np.abs(A).max(axis=0)
    bound = largest > 0.0
    rows = unit_rows(A[:, bound] / largest[bound])
    return bool(np.isfinite(rows).all()) and rank_of(rows, UNIT_ROW_RANK, UNIT) == bound.sum()


def _gradients(system: System, t: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Gradients of all velocity rows as stated, (n, nu)."""
    A = system.constraint_jacobian(t, q, np.zeros(system.nu), parameters)
    return A[: system.count("position") + system.count("velocity")]


def _rows(system: System, t: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Gradients of all velocity rows, of unit length in the mass metric at the speeds they bind, (n, nu)."""
    A = _gradients(system, t, q, parameters)
    return scale(system.mass_matrix(t, q, np.zeros(system.nu), parameters), A, A).A


def _condition(system: System, t: float, q: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """n (n,), the value of n^T A m and its gradient (nq,); m is the motion along which A changes most.

    Where the condition is met, the motions that no row binds anywhere are with m in the null space of A.
    """
    here = _rows(system, t, q, parameters)
    left, values, right, _ = decompose(here, UNIT_ROW_RANK, UNIT)
    n, among = left[:, len(values) - 1], right[len(values) - 1 :]
    changes = np.array([n @ change @ among.T for change in _differences(partial(_rows, system, t), q, parameters)])
    m = decompose(changes, UNIT_ROW_RANK).right[0]
    return n, float(n @ here @ among.T @ m), changes @ m


def _differences(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], q: np.ndarray, parameters: np.ndarray
) -> Iterator[np.ndarray]:
    """The derivatives of a function of positions in each coordinate, by central differences."""
    for j, value in enumerate(q):
        step = np.zeros(len(q))
        step[j] = DIFFERENCE_STEP * max(1.0, abs(value))
        yield (function(q + step, parameters) - function(q - step, parameters)) / (2.0 * step[j])


def _nearest(
    system: System, t: float, q: np.ndarray, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Newton's method onto the position constraints and the condition: n, its gradient and the position; None if lost.

    Where the condition changes along the constraints, what it asks for is new.
    """
    there = q.copy()
    for _ in range(HIDDEN_ITERATIONS):
        left, value, slopes = _condition(system, t, there, parameters)
        phi = system.position_residual(t, there, parameters)
        held = _differences(partial(system.position_residual, t), there, parameters)
        J = np.vstack([*np.array([*held]).T, slopes])
        unit = J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), INVOLVED)
        if not np.isfinite(J).all() or rank_of(unit, INVOLVED, UNIT) < len(J):
            return None
        move = least_squares(J, -np.append(phi, value))
        there = there + move
        if np.linalg.norm(move) <= LAST_MOVE * (1.0 + np.linalg.norm(there)):
            return left, slopes, there
    return None


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
