"""Where along a path constraints become dependent: a sharp minimum of the smallest singular value of their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from dalembert.run.formulations.choice import scaled

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

SAMPLES = 19  # along the path
INDEPENDENT = 1e-6  # singular values above this, of unit rows in the mass metric, count towards the rank
SHARP = 0.05  # a minimum below this part of the largest value on the path was stepped over, not followed
SHARE = 0.05  # rows with a smaller part in the largest combination that vanishes are not named

Path = Callable[[float], np.ndarray]


class Dependence(NamedTuple):
    """A time at which rows become dependent, and their numbers."""

    t: float
    rows: tuple[int, ...]

    def names(self, constraint_names: tuple[str, ...]) -> tuple[str, ...]:
        """The rows by name."""
        return tuple(constraint_names[k] for k in self.rows)


def singular_values(engine: Engine, t: float, z: np.ndarray) -> np.ndarray:
    """Of the rows with unit length in the mass metric, largest first, (nc,)."""
    rows = scaled(*engine.matrices(t, z))
    values = np.zeros(len(rows))
    found = np.linalg.svd(rows, compute_uv=False) if np.isfinite(rows).all() else values[:0]
    values[: len(found)] = found
    return values


def find_dependences(engine: Engine, path: Path, t0: float, t1: float) -> list[Dependence]:
    """The times in t0 .. t1 at which the rank drops along a path, in order; the end itself is left out."""
    times = np.linspace(t0, t1, SAMPLES).tolist()
    values = np.array([singular_values(engine, t, path(t)) for t in times])
    rank = int((values > INDEPENDENT).sum(axis=1).max())
    least = values[:, rank - 1] if rank else np.zeros(0)

    def smallest(t: float) -> float:
        return float(singular_values(engine, t, path(t))[rank - 1])

    found = []
    for k in range(SAMPLES - 1 if rank else 0):
        left, right = max(k - 1, 0), k + 1
        if least[k] > least[left] or least[k] >= least[right]:
            continue
        at, lowest = times[k], float(least[k])
        if lowest > 0.0:
            bounds, precision = (times[left], times[right]), 1e-7 * (t1 - t0)
            refined = minimize_scalar(smallest, bounds=bounds, method="bounded", options={"xatol": precision})
            if refined.fun < lowest:
                at, lowest = float(refined.x), float(refined.fun)
        if lowest < SHARP * float(least.max()):
            found.append(Dependence(at, dependent_rows(engine, at, path(at), rank)))
    return found


def dependent_rows(engine: Engine, t: float, z: np.ndarray, rank: int) -> tuple[int, ...]:
    """The rows with a part in the combinations that vanish, beyond those that vanish wherever the rank is full."""
    rows = scaled(*engine.matrices(t, z))
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    vanishing = [k for k in range(min(rank, len(values))) if values[k] < SHARP * values[0]] or [rank - 1]
    part = np.abs(left[:, vanishing]).max(axis=1)
    return tuple(int(k) for k in np.flatnonzero(part > SHARE * part.max()))
