"""Independence of constraint rows at a state, by singular value decompositions of dense matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.run.formulations.choice import scaled
from dalembert.solve.decompositions import decompose, singular_values

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

# Of singular values: rows with larger ones stay independent, in dense and in sparse rows; and Newton steps along them.
KEPT, DENSE_SETTLING_STEPS = 1e-2, 4
VANISHING = 0.05  # of the largest singular value


class DenseRows:
    """The rows that restrain motions: not laws of reactions, nor conditions that others imply."""

    def __init__(self, engine: Engine) -> None:
        self._engine, s = engine, engine.system
        self.restraining = [k for k, row in enumerate(s.rows) if row.law.restrains and row.law.reacts]

    def _scaled(self, t: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The rows in the mass metric, of unit length or, where a gradient vanishes, shorter, (..., n, nu)."""
        s, parts = self._engine.system, self._engine.system.parts
        out = s.evaluate("dynamics", t, z[..., : s.nq], z[..., s.nq : self._engine.size], self._engine.parameters)
        M, A = (
            out[..., parts[name][0]].reshape(*out.shape[:-1], *parts[name][1])
            for name in ("mass_matrix", "constraint_jacobian")
        )
        rows: np.ndarray = scaled(M, A[..., self.restraining, :]) * self._lengths(A)[..., self.restraining, None]
        return rows

    def _lengths(self, A: np.ndarray) -> np.ndarray:
        """The lengths of rows of position and velocity constraints relative to their sizes, at most 1, (..., nc)."""
        lengths, scales = np.ones(A.shape[:-1]), self._engine.scales
        if scales is not None:
            n = len(scales.velocity)
            longest = (np.abs(A[..., :n, :]) * scales.u).max(axis=-1, initial=0.0)
            lengths[..., :n] = np.minimum(longest / scales.velocity, 1.0)
        return lengths

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """The singular values of the rows with unit length in the mass metric, largest first, (nt, n)."""
        rows = self._scaled(times, states)
        values = np.zeros(rows.shape[:2])
        finite = np.isfinite(rows).all(axis=(1, 2))
        found = singular_values(rows[finite])
        values[finite, : found.shape[1]] = found
        return values

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """Part (nc,) of each constraint in the combinations that vanish here but not everywhere."""
        left, values, _, _ = decompose(self._scaled(np.array(t), z), KEPT)
        vanishing = [k for k in range(min(rank, len(values))) if values[k] < VANISHING * values[0]] or [rank - 1]
        parts = np.zeros(self._engine.system.nc)
        parts[self.restraining] = np.abs(left[:, vanishing]).max(axis=1)
        return parts

    def left_over(self, t: float, z: np.ndarray, close: float) -> float:
        """Residual of position rows, in the units of `values`, after z is moved onto the rows that stay independent."""
        engine, s, size = self._engine, self._engine.system, self._engine.system.nq
        n, q, u, p = s.count("position"), z[:size].copy(), z[size : engine.size], engine.parameters
        moving, left = np.sqrt(np.abs(engine.matrices(t, z)[0].diagonal())), np.zeros(0)
        for _ in range(DENSE_SETTLING_STEPS):
            M, A = engine.matrices(t, np.concatenate([q, u]))
            shortened = self._lengths(A)[:n]
            rows, plain = scaled(M, A)[:n] * shortened[:, None], A[:n] / np.where(moving > 0.0, moving, 1.0)
            length = np.linalg.norm(plain, axis=1) / np.where(shortened > 0.0, shortened, 1.0)
            U, values, V, kept = decompose(rows, KEPT)
            phi = U.T @ (s.position_residual(t, q, p) / np.where(length > 0.0, length, 1.0))
            left = phi[kept:]
            move = V[:kept].T @ (phi[:kept] / values[:kept])
            if np.linalg.norm(move) < close:
                break
            q += s.evaluate("displacement", t, q, -move / np.where(moving > 0.0, moving, 1.0), p)
        return float(np.abs(left).max(initial=0.0))

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        engine = self._engine
        masses = np.abs(engine.matrices(t, z)[0].diagonal())
        return float(np.linalg.norm(np.sqrt(masses) * z[engine.system.nq : engine.size]))
