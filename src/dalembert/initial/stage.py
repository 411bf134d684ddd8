"""One level of an initial-state problem: its free variables, start, target and metric, and the result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.initial.levels import LevelEquations

DESCENT_STEPS = 300
WALK = 60  # steps along the equations towards the guess
RESTARTS = 12
DESCENTS = 4  # of the tries, the best, that are worth a descent to the closest point
CONSISTENT_GUESS = 1e-14  # a guess with smaller residuals, relative to the sizes of rows, is taken as it is


@dataclass(frozen=True, eq=False)
class Found:
    """End of a descent: variables (n,), residuals (m,), gradients (m, n), the worst residual, and the cost."""

    v: np.ndarray
    residual: np.ndarray
    gradients: np.ndarray
    worst: float
    met: bool
    steps: int


@dataclass(frozen=True, eq=False)
class Stage:
    """The equations `pick` of a level, equal to `wanted` (m,), for variables of which those in `free` (n,) may move.

    `x` is what the kernel reads besides the variables. `target` (n,) is the guess, `metric` gives G (n, n) when asked;
    `sizes` (n,) are those of the variables, `row_sizes` the least ones of the first rows of the level.
    """

    level: LevelEquations
    x: np.ndarray
    pick: np.ndarray
    wanted: np.ndarray
    target: np.ndarray
    free: np.ndarray
    metric: Callable[[], np.ndarray]
    sizes: np.ndarray
    row_sizes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bounded: bool
    _metric: list[np.ndarray] = field(default_factory=list, repr=False)

    @property
    def labels(self) -> list[str]:
        """Names of the equations, (m,)."""
        return [self.level.rows[k] for k in self.pick]

    @property
    def G(self) -> np.ndarray:
        """The metric, (n, n), computed once."""
        if not self._metric:
            self._metric.append(self.metric())
        return self._metric[0]

    def distance(self, v: np.ndarray) -> float:
        """Length of the way from the target, among the free variables."""
        d = np.where(self.free, v - self.target, 0.0)
        return float(np.sqrt(max(d @ self.G @ d, 0.0)))

    def solve(self, start: np.ndarray | None = None, *, walk: int = WALK, alike: bool = False) -> Found:
        """The point nearest to the target that a descent from `start` (the target if None) leads to.

        Residuals are weighed by their gradients or, with `alike`, count as they are stated.
        """
        steps, find_nearest = _native()
        n, m, total = len(self.target), len(self.pick), len(self.level.rows)
        work = self.workspace(steps.lay_out)
        plan, mem = work.plan, work.mem
        plan.uniform = int(alike)
        value = self.target if start is None else start
        mem[plan.input : plan.input + len(self.x)] = self.x
        least = self.row_sizes
        if not m == total == len(least):  # not every row of the level, or some that have no least size
            least = np.concatenate([least, np.zeros(total - len(least))])[self.pick]
        given = np.concatenate([self.target, value, self.low, self.high, self.sizes, self.wanted, least])
        mem[plan.target : plan.target + len(given)] = given
        worst = steps.evaluate.call(*work.numbers)
        if m and not (start is None and worst <= CONSISTENT_GUESS) and any(self.free.tolist()):
            mem[plan.metric : plan.metric + n * n] = self.G.ravel()
            worst = find_nearest.call(*work.numbers, DESCENT_STEPS, walk)
        work.check_guards()
        rows = mem[plan.output + total :][: total * n].reshape(total, n)
        return Found(
            v=mem[plan.value : plan.value + n].copy(),
            residual=mem[plan.residual : plan.residual + m].copy(),
            gradients=rows[self.pick],
            worst=worst,
            met=worst <= steps.MET_RESIDUAL,
            steps=plan.steps,
        )

    def workspace(self, lay_out: Callable[[int, int, int, int], Any]) -> Any:
        """A workspace of its own for a descent, laid out once: kernel, places, freedom and rows are there."""
        level, plans, key = self.level, self.level.plans, (self.free.tobytes(), self.pick.tobytes(), self.bounded)
        if key not in plans:
            made = lay_out(len(self.target), len(self.pick), len(level.rows), level.kernel.n_in)
            made.plan.kernel, made.plan.bounded = level.kernel.address, int(self.bounded)
            made.ints[:] = np.concatenate([level.place, self.free, level.turns, self.pick])
            plans[key] = made
        return plans[key].copied()

    def at(self, point: np.ndarray) -> Found:
        """Residuals and gradients at a point, nothing moved."""
        return replace(self, free=np.zeros_like(self.free), target=point).solve()

    def seek(self, attempts: int = RESTARTS) -> Found:
        """The nearest point found from the target or, if there is none, from perturbed starts.

        If there is none at all, a point with the least sum of squares of the residuals as they are stated.
        """
        first = self.solve()
        if first.met or not self.free.any():
            return first
        tries = [first, *(self.solve(start) for start in self.starts(attempts))]
        met = [found for found in tries if found.met]
        if met:
            return min(met, key=lambda found: self.distance(found.v))
        finite = [found for found in tries if np.isfinite(found.worst)]
        settled = [self.solve(found.v, alike=True) for found in sorted(finite, key=self.cost)[:DESCENTS]]
        return min(settled, key=self.cost) if settled else first

    @staticmethod
    def cost(found: Found) -> float:
        """Sum of squares of the residuals."""
        return float(found.residual @ found.residual)

    def starts(self, count: int) -> list[np.ndarray]:
        """Points around the target, further and further out, the same on every call; angles anywhere on the circle."""
        rng = np.random.default_rng(1717)
        n, found = len(self.target), []
        reach = np.maximum(self.sizes, np.abs(self.target))
        for k in range(count):
            spread = 0.05 * 1.6**k
            way = spread * reach * rng.standard_normal(n)
            far = self.level.turns.astype(bool) & (np.abs(way) > np.pi)
            way[far] = rng.uniform(-np.pi, np.pi, int(far.sum()))
            point = np.where(self.free, self.target + way, self.target)
            inside = np.isfinite(self.low) & np.isfinite(self.high) & self.free
            if self.bounded and k % 2:
                point[inside] = rng.uniform(self.low[inside], self.high[inside])
            found.append(np.clip(point, self.low, self.high) if self.bounded else point)
        return found


@functools.cache
def _native() -> tuple[Any, Any]:
    from dalembert.initial import levenberg_marquardt
    from dalembert.initial.nearest import find_nearest

    return levenberg_marquardt, find_nearest
