"""How independent the rows of constraints are at a state, over the nonzeros of M and A."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.solve.sparse_spectrum import ITERATIONS, smallest_values
from dalembert.solve.sparse_system import SparseSaddle

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

KEPT, SETTLING, FILTERS = 1e-2, 8, 4  # rows with larger singular values stay independent; steps along them; see below
VANISHING = 0.05


class SparseRows:
    """All rows of a system whose reactions are ideal."""

    def __init__(self, engine: Engine) -> None:
        self._engine, system = engine, engine.system
        pattern, self._kernel = system.mechanics.saddle_pattern, system.kernel("sparse_dynamics")
        self._n_mass, self._n_rows = len(pattern.mass_rows), len(pattern.columns)
        self._all = SparseSaddle(pattern)
        self._positions = SparseSaddle(pattern.first(system.count("position")))
        self._diagonal = pattern.mass_rows == pattern.mass_columns

    def _matrices(self, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nonzeros of M (lower triangle) and A at a state."""
        engine, s = self._engine, self._engine.system
        out = self._kernel(np.concatenate([[t], z[: engine.size], engine.parameters]))
        first = s.nq + self._n_mass + s.nu
        return out[s.nq : s.nq + self._n_mass], out[first : first + self._n_rows]

    def _smallest(self, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Singular values (ITERATIONS,), largest first, and their left vectors as columns."""
        M, A = self._matrices(t, z)
        if not (np.isfinite(M).all() and np.isfinite(A).all()):
            count = min(ITERATIONS, self._all.pattern.nc)
            return np.zeros(count), np.zeros((self._all.pattern.nc, count))
        self._all.factor(M, A)
        return smallest_values(self._all)

    def values(self, t: float, z: np.ndarray) -> np.ndarray:
        """Estimates of the smallest singular values, largest first, (ITERATIONS,) or (nc,)."""
        return self._smallest(t, z)[0]

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """The part (nc,) of each constraint in the combinations that vanish, beyond those that vanish everywhere."""
        values, vectors = self._smallest(t, z)
        vanishing = [k for k in range(rank) if values[k] < VANISHING * values[0]] or [rank - 1]
        found: np.ndarray = np.abs(vectors[:, vanishing]).max(axis=1)
        return found

    def left_over(self, t: float, z: np.ndarray) -> float:
        """What is left of position rows, in the units of `values`, when z is moved onto those that stay independent.

        Steps are damped least squares, which leave rows alone whose singular values are below KEPT. What the others
        still have is filtered out by KEPT^2 (S + KEPT^2)^-1.
        """
        engine, s, rows = self._engine, self._engine.system, self._positions
        n, q, u, p = s.count("position"), z[: s.nq].copy(), z[s.nq : engine.size], engine.parameters
        for _ in range(SETTLING):
            M, A = self._matrices(t, np.concatenate([q, u]))
            rows.factor(M, A[: rows.pattern.starts[n]], KEPT**2)
            q += s.evaluate("displacement", t, q, -rows.solve_rows(s.position_residual(t, q, p))[1], p)
        left = s.position_residual(t, q, p) / rows.lengths
        for _ in range(FILTERS):
            left = KEPT**2 * rows.lengths * rows.solve_rows(rows.lengths * left)[0]
        return float(np.abs(left).max(initial=0.0))

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        engine = self._engine
        masses = np.abs(self._matrices(t, z)[0][self._diagonal])
        return float(np.linalg.norm(np.sqrt(masses) * z[engine.system.nq : engine.size]))
