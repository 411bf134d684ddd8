"""Dormand and Prince's explicit Runge-Kutta method of order 8 with step control and 7th-order dense output.

E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., sec. II.5, II.10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.native.jit import jit
from dalembert.numerics.evaluate import rates
from dalembert.numerics.integrators.dop853_coefficients import E3, E5, A, B, C, D
from dalembert.numerics.integrators.explicit import Adaptive
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.integrators.tableau import stability_polynomial
from dalembert.numerics.layout import Floats, Plan, combination, f8, i8, move

STAGES, EXTENDED, DENSE = 12, 16, 7
ZERO = EXTENDED + DENSE + 1  # a column of `stages` that stays zero, after one that may be written into

STABILITY = stability_polynomial(A, B)


@dataclass(frozen=True, kw_only=True)
class DOP853(Adaptive):
    """`DOP853(rtol=, atol=)`, or `DOP853(step=1e-2)` for fixed steps; between steps, an interpolant of order 7.

    Without `step`, steps keep the error per step below atol + rtol |z| (root mean square over coordinates and speeds;
    1e-10 and 1e-12 where nothing is said).
    """

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return Method(
            step=dop853_step,
            prepare=dop853_prepare,
            interpolate=dop853_interpolate,
            stages=ZERO + 1,
            order=8,
            stability=STABILITY,
            **self.stepping(),
        )


# One function per row of the tableau: a loop over its entries costs more than the entries.
_to_1 = combination(A[1])
_to_2 = combination(A[2])
_to_3 = combination(A[3])
_to_4 = combination(A[4])
_to_5 = combination(A[5])
_to_6 = combination(A[6])
_to_7 = combination(A[7])
_to_8 = combination(A[8])
_to_9 = combination(A[9])
_to_10 = combination(A[10])
_to_11 = combination(A[11])
_to_13 = combination(A[13])
_to_14 = combination(A[14])
_to_15 = combination(A[15])
_to_new, _third, _fifth = combination(B), combination(E3), combination(E5)
_dense_0, _dense_1, _dense_2, _dense_3 = (combination(row) for row in D)


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats))
def _stages(plan, mem, t, h, z, stages, znew):
    """Rates of stages 1 to 11 into their columns of `stages`."""
    n = z.size
    _to_1(znew, z, h, stages, n)
    rates(plan, mem, t + C[1] * h, znew, stages[1 * n : 2 * n])
    _to_2(znew, z, h, stages, n)
    rates(plan, mem, t + C[2] * h, znew, stages[2 * n : 3 * n])
    _to_3(znew, z, h, stages, n)
    rates(plan, mem, t + C[3] * h, znew, stages[3 * n : 4 * n])
    _to_4(znew, z, h, stages, n)
    rates(plan, mem, t + C[4] * h, znew, stages[4 * n : 5 * n])
    _to_5(znew, z, h, stages, n)
    rates(plan, mem, t + C[5] * h, znew, stages[5 * n : 6 * n])
    _to_6(znew, z, h, stages, n)
    rates(plan, mem, t + C[6] * h, znew, stages[6 * n : 7 * n])
    _to_7(znew, z, h, stages, n)
    rates(plan, mem, t + C[7] * h, znew, stages[7 * n : 8 * n])
    _to_8(znew, z, h, stages, n)
    rates(plan, mem, t + C[8] * h, znew, stages[8 * n : 9 * n])
    _to_9(znew, z, h, stages, n)
    rates(plan, mem, t + C[9] * h, znew, stages[9 * n : 10 * n])
    _to_10(znew, z, h, stages, n)
    rates(plan, mem, t + C[10] * h, znew, stages[10 * n : 11 * n])
    _to_11(znew, z, h, stages, n)
    rates(plan, mem, t + C[11] * h, znew, stages[11 * n : 12 * n])
    return 0


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def dop853_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm, or NaN if a rate is not finite."""
    n, size = z.size, plan.nq + plan.nu
    _stages(plan, mem, t, h, z, stages, znew)
    _to_new(znew, z, h, stages, n)
    third, fifth = stages[EXTENDED * n : (EXTENDED + 1) * n], stages[(EXTENDED + 1) * n : (EXTENDED + 2) * n]
    nothing = stages[ZERO * n :]
    _third(third, nothing, h, stages, n)
    _fifth(fifth, nothing, h, stages, n)
    err3 = err5 = 0.0
    for i in range(size):
        scale = 1.0 / (atol + rtol * max(abs(z[i]), abs(znew[i])))
        err3 += (third[i] * scale) ** 2
        err5 += (fifth[i] * scale) ** 2
    below = err5 + 0.01 * err3
    return 0.0 if below == 0.0 else err5 / math.sqrt(below * size)


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def dop853_prepare(plan, mem, t, h, z, stages, znew, zdot):
    """Three more stages and the coefficients of the interpolant, into the last columns of `stages`."""
    n = z.size
    place, nothing = stages[EXTENDED * n : (EXTENDED + 1) * n], stages[ZERO * n :]
    move(stages, STAGES * n, zdot, 0, n)
    _to_13(place, z, h, stages, n)
    rates(plan, mem, t + C[13] * h, place, stages[13 * n : 14 * n])
    _to_14(place, z, h, stages, n)
    rates(plan, mem, t + C[14] * h, place, stages[14 * n : 15 * n])
    _to_15(place, z, h, stages, n)
    rates(plan, mem, t + C[15] * h, place, stages[15 * n : 16 * n])
    F = EXTENDED * n
    _dense_0(stages[F + 3 * n : F + 4 * n], nothing, h, stages, n)
    _dense_1(stages[F + 4 * n : F + 5 * n], nothing, h, stages, n)
    _dense_2(stages[F + 5 * n : F + 6 * n], nothing, h, stages, n)
    _dense_3(stages[F + 6 * n : F + 7 * n], nothing, h, stages, n)
    for i in range(n):
        change = znew[i] - z[i]
        stages[F + i] = change
        stages[F + n + i] = h * stages[i] - change
        stages[F + 2 * n + i] = 2.0 * change - h * (zdot[i] + stages[i])
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
