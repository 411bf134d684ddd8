"""The classical fourth-order Runge-Kutta method with a fixed step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalembert.native.jit import jit
from dalembert.numerics.evaluate import is_finite, rates
from dalembert.numerics.integrators.explicit import Explicit
from dalembert.numerics.integrators.hermite import hermite, keep_end_rates
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.integrators.options import check_count, check_length
from dalembert.numerics.integrators.tableau import stability_polynomial
from dalembert.numerics.layout import Floats, Plan, combination, f8

A = np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]])
B = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
STABILITY = stability_polynomial(A, B)


@dataclass(frozen=True)
class RK4(Explicit):
    """Four evaluations per step of length `step`; between steps, cubic Hermite interpolation (order 3)."""

    step: float
    max_steps: int = 1_000_000_000

    def __post_init__(self) -> None:
        check_length("RK4", "step", self.step)
        check_count("RK4", self.max_steps)

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return Method(
            step=rk4_step,
            prepare=keep_end_rates,
            interpolate=hermite,
            stages=5,
            order=4,
            adaptive=False,
            first_step=self.step,
            max_steps=self.max_steps,
            stability=STABILITY,
            name="RK4",
        )


_to_1, _to_2, _to_3 = (combination(row) for row in A[1:])
_to_new = combination(B)


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def rk4_step(plan, mem, t, h, z, stages, znew, _rtol, _atol):
    """One step; returns 0, or NaN if a rate is not finite."""
    n = z.size
    _to_1(znew, z, h, stages, n)
    rates(plan, mem, t + 0.5 * h, znew, stages[n : 2 * n])
    _to_2(znew, z, h, stages, n)
    rates(plan, mem, t + 0.5 * h, znew, stages[2 * n : 3 * n])
    _to_3(znew, z, h, stages, n)
    rates(plan, mem, t + h, znew, stages[3 * n : 4 * n])
    _to_new(znew, z, h, stages, n)
    return 0.0 if is_finite(znew) else math.nan
