"""Positions or velocities of large systems: the stage of `stage`, over nonzeros.

Steps are least in the mass metric G: [G J^T; J -mu] (step, y) = (0, -r), Levenberg-Marquardt with rows of unit length.
Once the equations are met, steps with -G (v - target) in the place of 0 lead along them to the point nearest to the
target (sequential quadratic programming with the metric as Hessian).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.initial.large_levels import SparseLevel
from dalembert.initial.levenberg_marquardt import MET_RESIDUAL
from dalembert.initial.stage import CONSISTENT_GUESS
from dalembert.solve.elimination_order import SaddlePattern
from dalembert.solve.sparse_system import SparseSaddle

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

DAMPED_STEPS = 100  # of least squares or towards the target, at most
LEAST_SPARSE_DAMPING, MOST_SPARSE_DAMPING = 1e-12, 1e8  # damping, for rows of unit length
SHORTEST_APPROACH = 1e-9  # a step along the equations below this fraction of the distance is none
ATTEMPTS = 3


@dataclass(frozen=True, eq=False)
class LargeFound:
    """End of a descent: variables (n,), residuals (m,), the worst of them, and the cost."""

    v: np.ndarray
    residual: np.ndarray
    worst: float
    met: bool
    steps: int


@dataclass(frozen=True, eq=False)
class LargeStage:
    """The equations `pick` of a level, equal to `wanted` (m,), for variables of which those in `free` (n,) may move.

    `x` is what the kernel reads, `target` (n,) the guess, `metric` gives G (n, n), sparse, when asked; `sizes` (n,) are
    those of the variables, `row_sizes` the least ones of the first rows of the level.
    """

    level: SparseLevel
    x: np.ndarray
    pick: np.ndarray
    wanted: np.ndarray
    target: np.ndarray
    free: np.ndarray
    metric: Callable[[], csc_matrix]
    sizes: np.ndarray
    row_sizes: np.ndarray

    def seek(self) -> LargeFound:
        """The nearest point found from the target or, if there is none, from perturbed starts."""
        found = self._descend(self.target)
        rng, size = np.random.default_rng(1717), np.maximum(self.sizes, np.abs(self.target))
        for k in range(ATTEMPTS):
            if found.met or not self.free.any():
                break
            way = 0.05 * 4.0**k * size * rng.standard_normal(len(self.target))
            other = self._descend(np.where(self.free, self.target + way, self.target))
            found = other if other.met or not found.worst <= other.worst else found
        return found

    def evaluate(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Residuals (m,), nonzeros of their gradients, and the worst residual relative to |gradient| x size."""
        level, x = self.level, self.x.copy()
        x[level.first : level.first + len(v)] = v
        out = level.kernel(x)
        total = len(level.starts) - 1
        r = out[:total][self.pick] - self.wanted
        J = out[total:][self._taken]
        sizes = np.zeros(len(r))
        np.add.at(sizes, self._rows, np.abs(J) * np.maximum(np.abs(v), self.sizes)[self._columns])
        sizes = np.maximum(sizes, self._least)
        worst = float(np.max(np.abs(r) / np.where(sizes > 0.0, sizes, np.abs(r) + (r == 0.0)), initial=0.0))
        return r, np.where(self.free[self._columns], J, 0.0), worst if np.isfinite(worst) else np.inf

    @cached_property
    def _taken(self) -> np.ndarray:
        """Indices of the nonzeros of the level that belong to the rows picked."""
        counts = np.diff(self.level.starts)[self.pick]
        before = np.cumsum(counts) - counts
        found: np.ndarray = np.repeat(self.level.starts[self.pick] - before, counts) + np.arange(counts.sum())
        return found

    @cached_property
    def _least(self) -> np.ndarray:
        """The least sizes of the rows picked, (m,)."""
        least = np.zeros(len(self.level.starts) - 1)
        least[: len(self.row_sizes)] = self.row_sizes
        return least[self.pick]

    @cached_property
    def _columns(self) -> np.ndarray:
        return self.level.columns[self._taken]

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.pick)), np.diff(self.level.starts)[self.pick])

    @cached_property
    def _saddle(self) -> tuple[SparseSaddle, np.ndarray, csc_matrix]:
        """The equations of a step, nonzeros of the metric among the free variables, and the metric."""
        from scipy.sparse import csc_matrix, tril  # a guess that holds takes no step, and waits for no import

        G = csc_matrix(self.metric())
        low = csc_matrix(tril(G, format="csc"))
        low.sort_indices()
        columns = np.repeat(np.arange(len(self.target)), np.diff(low.indptr))
        starts = np.concatenate([[0], np.cumsum(np.bincount(self._rows, minlength=len(self.pick)))])
        pattern = SaddlePattern(len(self.target), low.indices.astype(np.int64), columns, starts, self._columns)
        loose = self.free[low.indices] & self.free[columns]
        values = np.where(loose | (low.indices == columns), low.data, 0.0)
        return SparseSaddle(pattern), values, G

    def _descend(self, start: np.ndarray) -> LargeFound:
        r, _, worst = self.evaluate(start)
        if worst <= CONSISTENT_GUESS or not (len(r) and self.free.any()):
            return LargeFound(start, r, worst, worst <= MET_RESIDUAL, 0)
        v, steps = self._meet(start)
        if self.evaluate(v)[2] <= MET_RESIDUAL:
            v, more = self._approach(v)
            steps += more
        r, _, worst = self.evaluate(v)
        return LargeFound(v, r, worst, worst <= MET_RESIDUAL, steps)

    def _meet(self, v: np.ndarray) -> tuple[np.ndarray, int]:
        """A solution of the equations, by damped least steps; the last point if there is none."""
        saddle, G, _ = self._saddle
        r, J, worst = self.evaluate(v)
        damping, still = LEAST_SPARSE_DAMPING, np.zeros(len(v))
        for step in range(DAMPED_STEPS):
            lengths = np.zeros(len(r))
            np.add.at(lengths, self._rows, J * J)
            weight = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
            saddle.factor(G, J, damping)
            way = np.where(self.free, saddle.solve(still, -r, refined=False), 0.0)
            after = self.evaluate(v + way)
            better = bool(weight @ after[0] ** 2 < weight @ r**2)
            if better:
                v, (r, J, worst) = v + way, after
                damping = max(0.1 * damping, LEAST_SPARSE_DAMPING)
            else:
                damping = max(10.0 * damping, 1e-8)
            if not better and (worst <= MET_RESIDUAL or damping > MOST_SPARSE_DAMPING):
                return v, step + 1
            if worst <= CONSISTENT_GUESS:
                return v, step + 1
        return v, DAMPED_STEPS

    def _approach(self, v: np.ndarray) -> tuple[np.ndarray, int]:
        """Along the equations to the point nearest to the target; never away from it."""
        saddle, values, G = self._saddle

        def distance(point: np.ndarray) -> float:
            d = np.where(self.free, point - self.target, 0.0)
            return float(d @ (G @ d))

        for step in range(DAMPED_STEPS):
            r, J, _ = self.evaluate(v)
            saddle.factor(values, J)
            d = np.where(self.free, v - self.target, 0.0)
            way = np.where(self.free, saddle.solve(-np.where(self.free, G @ d, 0.0), -r, refined=True), 0.0)
            before = distance(v)
            if not way @ (G @ way) > SHORTEST_APPROACH**2 * before:
                return v, step
            length = 1.0
            while length > 1e-3:
                point = self._meet(v + length * way)[0]
                if self.evaluate(point)[2] <= MET_RESIDUAL and distance(point) < before:
                    break
                length *= 0.25
            else:
                return v, step
            v = point
        return v, DAMPED_STEPS
