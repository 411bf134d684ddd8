"""States between the ends of an accepted step: values that a `Tableau` holds.

`prepare` is called once for a step that is looked into, with the rates at its end; `interpolate` gives the state at
t + theta h. Both ends are met exactly, also where the drift control has moved the new state.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError
from dalembert.native.jit import jit
from dalembert.native.plan import interpolate_type, move, prepare_type
from dalembert.run.evaluate import rates
from dalembert.run.integrators.combination import combinations, increments
from dalembert.run.time_loop.columns import Columns, column

COEFFICIENT_ROUND_OFF = 1e-12  # of sums of published coefficients, which may be as large as 500


class DenseOutput(Protocol):
    """A way to interpolate: how many stages it adds, its columns of workspace, and its native functions."""

    @property
    def further(self) -> int: ...

    @property
    def workspace(self) -> int: ...

    def check(self, stages: int) -> None:
        """Raise OptionError if it does not belong to a method of so many stages, or misses constant rates."""

    def functions(self, columns: Columns) -> tuple[Any, Any]:
        """`prepare` and `interpolate`."""


@dataclass(frozen=True)
class CubicHermite:
    """The cubic through both states and their rates: order 3, at no cost.

    Its error is O(h^4), of the order of the global error of a method of order 4.
    """

    further = 0
    workspace = 0

    def check(self, stages: int) -> None:
        """Accept any number of stages."""

    def functions(self, columns: Columns) -> tuple[Any, Any]:
        """`prepare` and `interpolate`; only the column of the rates at the end is used."""
        end = columns.end

        @jit(prepare_type)
        def keep_end_rates(_plan, _mem, _t, _h, z, stages, _znew, zdot):
            n = z.size
            move(column(stages, end, n), 0, zdot, 0, n)
            return 0

        @jit(interpolate_type)
        def hermite(theta, h, z, stages, znew, place):
            n = z.size
            last = column(stages, end, n)
            a, b = theta * theta * (3.0 - 2.0 * theta), theta * (1.0 - theta)
            for i in range(n):
                slope = (1.0 - theta) * stages[i] - theta * last[i]
                place[i] = z[i] + a * (znew[i] - z[i]) + h * b * slope
            return 0

        return keep_end_rates, hermite


@dataclass(frozen=True, eq=False)
class ContinuousWeights:
    """z + h sum_j b_j(theta) k_j over the stages and the rates at the new state, the last; b_j are polynomials.

    `weights` (s + 1, degree + 1) are their coefficients, lowest power first. The gap to a new state that was moved is
    closed by theta^2 (3 - 2 theta).
    """

    weights: np.ndarray

    further = 0
    workspace = 1

    def check(self, stages: int) -> None:
        """Raise OptionError unless there are s + 1 weights, with the sum theta."""
        if np.shape(self.weights)[:-1] != (stages + 1,):
            raise OptionError(f"continuous weights are {np.shape(self.weights)}; they must have {stages + 1} rows")
        total = np.sum(self.weights, axis=0)
        total[1] -= 1.0
        if not np.abs(total).max() < COEFFICIENT_ROUND_OFF:
            raise OptionError(f"continuous weights sum up to theta only within {np.abs(total).max():.1e}")

    def functions(self, columns: Columns) -> tuple[Any, Any]:
        """`prepare` and `interpolate`; the gap is the workspace."""
        weights, work, end = np.asarray(self.weights, dtype=float), columns.work, columns.end
        count, degree = weights.shape[0], weights.shape[1] - 1
        combine = combinations(weights.sum(axis=1)[None])  # theta = 1

        @jit(prepare_type)
        def find_gap(_plan, _mem, _t, h, z, stages, znew, zdot):
            n = z.size
            move(column(stages, end, n), 0, zdot, 0, n)
            gap = column(stages, work, n)
            combine(0, gap, z, h, stages, n)
            for i in range(n):
                gap[i] = znew[i] - gap[i]
            return 0

        @jit(interpolate_type)
        def interpolate(theta, h, z, stages, _znew, place):
            n = z.size
            gap, closed = column(stages, work, n), theta * theta * (3.0 - 2.0 * theta)
            for i in range(n):
                place[i] = z[i] + closed * gap[i]
            for j in range(count):
                rate, weight = column(stages, j, n), 0.0
                for power in range(degree, -1, -1):
                    weight = weight * theta + weights[j, power]
                for i in range(n):
                    place[i] += h * weight * rate[i]
            return 0

        return find_gap, interpolate


@dataclass(frozen=True, eq=False)
class DormandPrinceInterpolant:
    """z + theta (F0 + (1 - theta) (F1 + theta (F2 + (1 - theta) (F3 + ...)))): the cubic, and terms of higher order.

    F0, F1, F2 are the cubic through both ends; F3 and on are h sum_j D[., j] k_j over the stages, the rates at the new
    state and `further` stages given by their rows of A (d, s + 1 + d) and their nodes c (d,). E. Hairer, S. P. Norsett,
    G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., sec. II.6 and the authors' codes.
    """

    D: np.ndarray
    A: np.ndarray
    c: np.ndarray

    @property
    def further(self) -> int:
        """Stages evaluated for it."""
        return len(self.c)

    @property
    def workspace(self) -> int:
        """The coefficients F."""
        return 3 + len(self.D)

    def check(self, stages: int) -> None:
        """Raise OptionError unless rows have s + 1 + d entries, those of A with the sums c and those of D with 0."""
        width = stages + 1 + self.further
        for name, rows, sums in (("A", self.A, self.c), ("D", self.D, np.zeros(len(self.D)))):
            if np.shape(rows) != (len(sums), width):
                raise OptionError(f"{name} of dense output is {np.shape(rows)}; it must be {(len(sums), width)}")
            gap = np.abs(np.sum(rows, axis=1) - sums).max(initial=0.0)
            if not gap < COEFFICIENT_ROUND_OFF:
                raise OptionError(f"rows of {name} of dense output miss their sums by {gap:.1e}")

    def functions(self, columns: Columns) -> tuple[Any, Any]:
        """`prepare` and `interpolate`; the coefficients F are the workspace."""
        end, work, nodes = columns.end, columns.work, np.asarray(self.c, dtype=float)
        further, rows, terms = self.further, len(self.D), self.workspace
        combine, increment = combinations(np.asarray(self.A, dtype=float)), increments(np.asarray(self.D, dtype=float))

        @jit(prepare_type)
        def find_coefficients(plan, mem, t, h, z, stages, znew, zdot):
            n = z.size
            move(column(stages, end, n), 0, zdot, 0, n)
            place = column(stages, work, n)
            for s in range(further):
                combine(s, place, z, h, stages, n)
                rates(plan, mem, t + nodes[s] * h, place, column(stages, end + 1 + s, n))
            for k in range(rows):
                increment(k, column(stages, work + 3 + k, n), h, stages, n)
            F0, F1, F2 = column(stages, work, n), column(stages, work + 1, n), column(stages, work + 2, n)
            for i in range(n):
                change = znew[i] - z[i]
                F0[i] = change
                F1[i] = h * stages[i] - change
                F2[i] = 2.0 * change - h * (zdot[i] + stages[i])
            return 0

        @jit(interpolate_type)
        def nested(theta, _h, z, stages, _znew, place):
            n = z.size
            for i in range(n):
                total = 0.0
                for k in range(terms - 1, -1, -1):
                    total += column(stages, work + k, n)[i]
                    total *= theta if k % 2 == 0 else 1.0 - theta
                place[i] = z[i] + total
            return 0

        return find_coefficients, nested
