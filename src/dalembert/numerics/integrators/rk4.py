"""The classical fourth-order Runge-Kutta method with a fixed step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import OptionError
from dalembert.numerics.evaluate import is_finite, rates
from dalembert.numerics.integrators.march import Samples, march
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.layout import Floats, Ints, combination, f8, i8, move
from dalembert.numerics.native_cache import jit

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine


@dataclass(frozen=True)
class RK4:
    """Four evaluations per step of length `step`; between steps, cubic Hermite interpolation."""

    step: float
    max_steps: int = 1_000_000_000

    def __post_init__(self) -> None:
        if not (self.step > 0.0 and math.isfinite(self.step)):
            raise OptionError(f"RK4: step is {self.step}; it must be positive and finite")

    @property
    def explicit(self) -> bool:
        """It integrates u' as any formulation gives it."""
        return True

    def run(
        self,
        engine: Engine,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Samples:
        """Samples of the motion from z0 over `span`."""
        return march(engine, self.method(), z0, span, t_eval, progress)

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return Method(
            step=rk4_step,
            prepare=rk4_prepare,
            interpolate=hermite,
            stages=5,
            order=4,
            adaptive=False,
            first_step=self.step,
            max_steps=self.max_steps,
        )


_to_1, _to_2, _to_3 = (combination(np.array(row)) for row in ([0.5], [0.0, 0.5], [0.0, 0.0, 1.0]))
_to_new = combination(np.array([1.0, 2.0, 2.0, 1.0]) / 6.0)


@jit(f8(Ints, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
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


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, Floats, Floats))
def rk4_prepare(_plan, _mem, _t, _h, z, stages, _znew, zdot):
    """Keep the rates at the end of the step for `hermite`."""
    n = z.size
    move(stages, 4 * n, zdot, 0, n)
    return 0


@jit(i8(f8, f8, Floats, Floats, Floats, Floats))
def hermite(theta, h, z, stages, znew, place):
    """Cubic Hermite interpolation between two states and their rates."""
    n = z.size
    a, b = theta * theta * (3.0 - 2.0 * theta), theta * (1.0 - theta)
    for i in range(n):
        slope = (1.0 - theta) * stages[i] - theta * stages[4 * n + i]
        place[i] = z[i] + a * (znew[i] - z[i]) + h * b * slope
    return 0
