"""Dormand and Prince's explicit Runge-Kutta method of order 8 with step control and 7th-order dense output.

E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., sec. II.5, II.10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.errors import OptionError
from dalembert.numerics.evaluate import rates
from dalembert.numerics.integrators.dop853_coefficients import E3, E5, A, B, C, D
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.layout import NQ, NU, Floats, Ints, f8, i8
from dalembert.numerics.native_cache import jit

STAGES, EXTENDED, DENSE = 12, 16, 7


@dataclass(frozen=True)
class DOP853:
    """Error per step below atol + rtol |z| (root mean square over coordinates and speeds)."""

    rtol: float = 1e-10
    atol: float = 1e-12
    first_step: float | None = None
    max_step: float = math.inf
    max_steps: int = 1_000_000_000

    def __post_init__(self) -> None:
        if not (0.0 <= self.rtol < 1.0 and self.atol > 0.0 and math.isfinite(self.atol)):
            raise OptionError(f"DOP853: rtol={self.rtol}, atol={self.atol}; need 0 <= rtol < 1 and atol > 0")
        if self.rtol < 5e-16:
            raise OptionError(f"DOP853: rtol={self.rtol} is below round-off; use at least 1e-15")
        if self.first_step is not None and not self.first_step > 0.0:
            raise OptionError(f"DOP853: first_step is {self.first_step}; it must be positive")
        if not self.max_step > 0.0:
            raise OptionError(f"DOP853: max_step is {self.max_step}; it must be positive")

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return Method(
            step=dop853_step,
            prepare=dop853_prepare,
            interpolate=dop853_interpolate,
            stages=EXTENDED + DENSE,
            order=8,
            adaptive=True,
            first_step=self.first_step or 0.0,
            rtol=self.rtol,
            atol=self.atol,
            max_step=self.max_step,
            max_steps=self.max_steps,
        )


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, Floats, i8))
def _stage(plan, mem, t, h, z, stages, place, s):
    """Rates of stage s into its column of `stages`."""
    n = z.size
    for i in range(n):
        place[i] = 0.0
    for j in range(s):
        a = A[s, j]
        if a != 0.0:
            for i in range(n):
                place[i] += a * stages[j * n + i]
    for i in range(n):
        place[i] = z[i] + h * place[i]
    return rates(plan, mem, t + C[s] * h, place, stages[s * n : (s + 1) * n])


@jit(f8(Ints, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def dop853_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm, or NaN if a rate is not finite."""
    n, size = z.size, plan[NQ] + plan[NU]
    for s in range(1, STAGES):
        if _stage(plan, mem, t, h, z, stages, znew, s):
            return math.nan
    err3 = err5 = 0.0
    for i in range(n):
        total = e3 = e5 = 0.0
        for s in range(STAGES):
            k = stages[s * n + i]
            total += B[s] * k
            e3 += E3[s] * k
            e5 += E5[s] * k
        znew[i] = z[i] + h * total
        if i < size:
            scale = atol + rtol * max(abs(z[i]), abs(znew[i]))
            err3 += (e3 / scale) ** 2
            err5 += (e5 / scale) ** 2
    below = err5 + 0.01 * err3
    return 0.0 if below == 0.0 else abs(h) * err5 / math.sqrt(below * size)


@jit(i8(Ints, Floats, f8, f8, Floats, Floats, Floats, Floats))
def dop853_prepare(plan, mem, t, h, z, stages, znew, zdot):
    """Three more stages and the coefficients of the interpolant, into the last columns of `stages`."""
    n = z.size
    place = stages[EXTENDED * n : (EXTENDED + 1) * n]
    for i in range(n):
        stages[STAGES * n + i] = zdot[i]
    for s in range(STAGES + 1, EXTENDED):
        _stage(plan, mem, t, h, z, stages, place, s)
    F = EXTENDED * n
    for i in range(n):
        change = znew[i] - z[i]
        stages[F + i] = change
        stages[F + n + i] = h * stages[i] - change
        stages[F + 2 * n + i] = 2.0 * change - h * (zdot[i] + stages[i])
        for row in range(4):
            total = 0.0
            for s in range(EXTENDED):
                total += D[row, s] * stages[s * n + i]
            stages[F + (3 + row) * n + i] = h * total
    return 0


@jit(i8(f8, f8, Floats, Floats, Floats, Floats))
def dop853_interpolate(theta, _h, z, stages, _znew, place):
    """7th-order interpolant at t + theta h."""
    n = z.size
    F = EXTENDED * n
    for i in range(n):
        total = 0.0
        for row in range(DENSE - 1, -1, -1):
            total += stages[F + row * n + i]
            total *= theta if row % 2 == 0 else 1.0 - theta
        place[i] = z[i] + total
    return 0
