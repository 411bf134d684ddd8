"""Estimates of the error of one step, from the rates of its stages: values that a `Tableau` holds.

An estimate is rows of weights (k, s) or (k, s + 1): the sums h sum_j weights[j] k_j. The last of s + 1 belongs to the
rates at the new state, which the next step starts with ("first same as last"); such an estimate is made after the
drift correction, with the rates there. Derivatives carried along with a motion count too, each column by its largest
entry: they may be rough where the motion is smooth or at rest.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8
from dalembert.run.integrators.combination import increments
from dalembert.run.integrators.error_norm import columns_error_norm, error_norm, explicit_work_error
from dalembert.run.time_loop.columns import column

norm_type = f8(Plan, f8, Floats, Floats, Floats, f8, f8)  # h, z, stages, znew, rtol, atol -> norm, NaN if not finite


class ErrorEstimate(Protocol):
    """A way to estimate the error of a step."""

    @property
    def rows(self) -> np.ndarray:
        """Weights of the stages, (k, s or s + 1); each row takes a column of workspace."""

    def norm(self, work: int) -> Any:
        """A native function of `norm_type`, with its workspace from column `work` on; a step passes up to 1."""


@dataclass(frozen=True, eq=False)
class EmbeddedError:
    """The difference between the solution and an embedded one of lower order; `weights` are b_hat - b."""

    weights: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The weights as one row."""
        return np.atleast_2d(np.asarray(self.weights, dtype=float))

    def norm(self, work: int) -> Any:
        """Root mean square of the difference over coordinates and speeds."""
        increment = increments(self.rows)

        @jit(norm_type)
        def embedded_norm(plan, h, z, stages, znew, rtol, atol):
            n = z.size
            error = column(stages, work, n)
            increment(0, error, h, stages, n)
            worst = error_norm(plan, error, z, znew, rtol, atol)
            if plan.n_variations:
                worst = larger(worst, columns_error_norm(plan, error, z, znew, rtol, atol))
            return worst

        return embedded_norm


@dataclass(frozen=True, eq=False)
class FifthAndThirdOrderError:
    """Estimates of orders 5 and 3 taken together: |e5|^2 / sqrt(|e5|^2 + 0.01 |e3|^2), which is O(h^8).

    E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., eq. (II.10.17).
    """

    fifth: np.ndarray
    third: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Weights of both, (2, s)."""
        return np.array([self.fifth, self.third], dtype=float)

    def norm(self, work: int) -> Any:
        """Combined root-mean-square norm of both error estimates."""
        increment = increments(self.rows)

        @jit(norm_type)
        def combined_norm(plan, h, z, stages, znew, rtol, atol):
            n, size = z.size, plan.nq + plan.nu
            fifth, third = column(stages, work, n), column(stages, work + 1, n)
            increment(0, fifth, h, stages, n)
            increment(1, third, h, stages, n)
            err3 = err5 = 0.0
            units = floats_at(plan.reached, size)
            for i in range(size):
                scale = 1.0 / (atol * units[i] + rtol * max(abs(z[i]), abs(znew[i])))
                err3 += (third[i] * scale) ** 2
                err5 += (fifth[i] * scale) ** 2
            worst = combined(err5, err3)
            if plan.nz > size + plan.n_variations:  # apart: third-order errors of speeds say nothing about the work
                err3 = explicit_work_error(plan, third, z, znew, rtol, atol) ** 2
                err5 = explicit_work_error(plan, fifth, z, znew, rtol, atol) ** 2
                worst = larger(worst, combined(err5, err3))
            worst /= math.sqrt(size)
            if plan.n_variations:
                err5 = columns_error_norm(plan, fifth, z, znew, rtol, atol) ** 2
                err3 = columns_error_norm(plan, third, z, znew, rtol, atol) ** 2
                worst = larger(worst, combined(err5, err3))
            return worst

        return combined_norm


@jit(f8(f8, f8))
def combined(fifth, third):
    """The combination of both estimates, from their squares."""
    below = fifth + 0.01 * third
    return 0.0 if below == 0.0 else fifth / math.sqrt(below)


@jit(f8(f8, f8))
def larger(a, b):
    """The larger of two norms; NaN if one of them is."""
    return a if a >= b or math.isnan(a) else b
