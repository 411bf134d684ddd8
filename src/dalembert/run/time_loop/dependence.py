"""Where along a path constraints become dependent: a sharp minimum of the smallest singular value of their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.equations.laws import Algebraic
from dalembert.run.formulations.choice import scaled

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

GOLDEN, SECTIONS = 0.5 * (5.0**0.5 - 1.0), 34
SAMPLES = 19  # along the path
FEW, DIP = 7, 0.3
INDEPENDENT = 1e-6  # singular values above this, of unit rows in the mass metric, count towards the rank
SHARP = 0.05  # a minimum below this part of the largest value on the path was stepped over, not followed
KEPT, SETTLING = 1e-2, 4  # of the singular values: rows that stay independent; Newton steps along them
SHARE = 0.05  # rows with a smaller part in the largest combination that vanishes are not named

Path = Callable[[float], np.ndarray]


class Dependence(NamedTuple):
    """A time at which rows become dependent, and their numbers."""

    t: float
    rows: tuple[int, ...]

    def names(self, constraint_names: tuple[str, ...]) -> tuple[str, ...]:
        """The rows by name."""
        return tuple(constraint_names[k] for k in self.rows)


def _restraining(engine: Engine) -> list[int]:
    """The rows that restrain motions: not laws of reactions, nor conditions that others imply."""
    s = engine.system
    return [k for k, row in enumerate(s.rows) if k not in s.implied and not isinstance(row.law, Algebraic)]


def _scaled_rows(engine: Engine, t: float, z: np.ndarray) -> np.ndarray:
    """Restraining rows with unit length in the mass metric."""
    M, A = engine.matrices(t, z)
    return scaled(M, A[_restraining(engine)])


def singular_values(engine: Engine, t: float, z: np.ndarray) -> np.ndarray:
    """Of the rows with unit length in the mass metric, largest first, (nc,)."""
    rows = _scaled_rows(engine, t, z)
    values = np.zeros(len(rows))
    found = np.linalg.svd(rows, compute_uv=False) if np.isfinite(rows).all() else values[:0]
    values[: len(found)] = found
    return values


def dips(engine: Engine, path: Path, t0: float, t1: float) -> bool:
    """Whether the smallest singular value varies much between a few times in t0 .. t1."""
    values = np.array([singular_values(engine, t, path(t)) for t in np.linspace(t0, t1, FEW).tolist()])
    least = values[:, max(int((values > INDEPENDENT).sum(axis=1).max()) - 1, 0)]
    return not least.min() > DIP * least.max()


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
            at, lowest = _least(smallest, times[left], times[right], (at, lowest))
        if lowest < SHARP * float(least.max()):
            found.append(Dependence(at, dependent_rows(engine, at, path(at), rank)))
    return found


def _least(f: Callable[[float], float], a: float, b: float, known: tuple[float, float]) -> tuple[float, float]:
    """Where f is least in a .. b, and the value: by golden sections, never worse than what is `known`."""
    x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    fx, fy = f(x), f(y)
    for _ in range(SECTIONS):
        if fx < fy:
            b, y, fy = y, x, fx
            x = b - GOLDEN * (b - a)
            fx = f(x)
        else:
            a, x, fx = x, y, fy
            y = a + GOLDEN * (b - a)
            fy = f(y)
    return min(((x, fx), (y, fy), known), key=lambda point: point[1])


def dependent_rows(engine: Engine, t: float, z: np.ndarray, rank: int) -> tuple[int, ...]:
    """The rows with a part in the combinations that vanish, beyond those that vanish wherever the rank is full."""
    rows = _scaled_rows(engine, t, z)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    vanishing = [k for k in range(min(rank, len(values))) if values[k] < SHARP * values[0]] or [rank - 1]
    part = np.abs(left[:, vanishing]).max(axis=1)
    kept = _restraining(engine)
    return tuple(kept[k] for k in np.flatnonzero(part > SHARE * part.max()))


def separation(engine: Engine, t: float, z: np.ndarray, way: float) -> float:
    """By how much position rows miss the singular position next to z, relative to the `way` of a motion past it.

    Along the rows that stay independent z is moved onto the constraints; what is left along the others is zero where
    branches meet, up to the square of the distance, and not zero where the motion turns off before they do.
    """
    s, size = engine.system, engine.system.nq
    n, q, u, p = s.count("position"), z[:size].copy(), z[size : engine.size], engine.parameters
    moving, left = np.sqrt(np.abs(engine.matrices(t, z)[0].diagonal())), np.zeros(0)
    speed = float(np.linalg.norm(moving * u))
    for _ in range(SETTLING):
        M, A = engine.matrices(t, np.concatenate([q, u]))
        rows, plain = scaled(M, A)[:n], A[:n] / np.where(moving > 0.0, moving, 1.0)
        length = np.linalg.norm(plain, axis=1)
        U, values, V = np.linalg.svd(rows, full_matrices=True)
        kept = int((values > KEPT * values[0]).sum())
        phi = U.T @ (s.position_residual(t, q, p) / np.where(length > 0.0, length, 1.0))
        left = phi[kept:]
        shift = -(V[:kept].T @ (phi[:kept] / values[:kept])) / np.where(moving > 0.0, moving, 1.0)
        q += s.coordinate_rates(t, q, shift, p) - s.coordinate_rates(t, q, np.zeros(s.nu), p)
    return float(np.abs(left).max(initial=0.0)) / max(speed * way, 1e-300)


def cubic(t: float, h: float, z: np.ndarray, zdot: np.ndarray, znew: np.ndarray, zdotnew: np.ndarray) -> Path:
    """The cubic through both ends of a step and their rates."""
    rise = znew - z

    def at(time: float) -> np.ndarray:
        s = (time - t) / h
        bent = (1.0 - s) * (h * zdot - rise) - s * (h * zdotnew - rise)
        return z + s * (rise + (1.0 - s) * bent)

    return at
