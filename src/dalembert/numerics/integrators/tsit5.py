"""Tsitouras' Runge-Kutta pair of orders 5(4) with a 4th-order interpolant: six evaluations per step.

Ch. Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption", Computers and
Mathematics with Applications 62 (2011) 770-775. The seventh stage is the first of the next step; with a drift control
that moves the state it is taken at the corrected one, where the next step starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalembert.native.jit import jit
from dalembert.numerics.evaluate import is_finite, rates
from dalembert.numerics.integrators.error_norm import error_norm
from dalembert.numerics.integrators.explicit import Adaptive
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.integrators.tableau import stability_polynomial
from dalembert.numerics.layout import Floats, Plan, combination, f8, i8, move

C = np.array([0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0])
A = np.zeros((7, 7))
A[1, :1] = 0.161
A[2, :2] = -0.008480655492356989, 0.335480655492357
A[3, :3] = 2.8971530571054935, -6.359448489975075, 4.3622954328695815
A[4, :4] = 5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525
A[5, :5] = 5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383
A[6, :6] = (
    0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774,
)  # fmt: skip
B = A[6, :6]
E = np.array(
    [
        -0.00178001105222577714,
        -0.0008164344596567469,
        0.007880878010261995,
        -0.1447110071732629,
        0.5823571654525552,
        -0.45808210592918697,
        1 / 66,
    ]
)
# Weights of the stages in the interpolant, as polynomials in theta (powers 0 to 4) of the paper's factors.
DENSE = np.array(
    [
        -1.0530884977290216
        * np.polynomial.polynomial.polymul([0, -1.3299890189751412, 1], [0.7139816917074209, -1.4364028541716351, 1]),
        0.1017 * np.array([0, 0, 1.2949852507374631, -2.1966568338249754, 1]),
        2.490627285651252793 * np.array([0, 0, 1.57803468208092486, -2.38535645472061657, 1]),
        -16.54810288924490272
        * np.polynomial.polynomial.polymul(
            [0, 0, 1], [1.21712927295533244 * 0.61620406037800089, -1.83333333333333333, 1]
        ),
        47.37952196281928122
        * np.polynomial.polynomial.polymul(
            [0, 0, 1], [1.203071208372362603 * 0.658047292653547382, -1.861118501025909985, 1]
        ),
        -34.87065786149660974 * np.array([0, 0, 0.8, -1.866666666666666667, 1]),
        2.5 * np.array([0, 0, 0.6, -1.6, 1]),
    ]
)
STAGES = 7
GAP, ERROR, ZERO, COLUMNS = 7, 8, 10, 11  # columns of `stages` behind those of the stages
STABILITY = stability_polynomial(A, B)


@dataclass(frozen=True, kw_only=True)
class Tsit5(Adaptive):
    """`Tsit5(rtol=, atol=)`, or `Tsit5(step=1e-3)` for fixed steps; between steps, an interpolant of order 4.

    Without `step`, steps keep the error per step below atol + rtol |z| (root mean square over coordinates and speeds;
    1e-10 and 1e-12 where nothing is said).
    """

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return Method(
            step=tsit5_step,
            prepare=tsit5_prepare,
            interpolate=tsit5_interpolate,
            estimate=tsit5_estimate,
            stages=COLUMNS,
            order=5,
            stability=STABILITY,
            **self.stepping(),
        )


_to_1, _to_2, _to_3, _to_4, _to_5 = (combination(row) for row in A[1:6])
_to_new, _error = combination(B), combination(E)


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def tsit5_step(plan, mem, t, h, z, stages, znew, _rtol, _atol):
    """One step; returns 0, the error is known when the rates at the new state are; NaN if a rate is not finite."""
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
    rates(plan, mem, t + h, znew, stages[5 * n : 6 * n])
    _to_new(znew, z, h, stages, n)
    return 0.0 if is_finite(znew) else math.nan


@jit(f8(Plan, f8, Floats, Floats, Floats, Floats, f8, f8))
def tsit5_estimate(plan, h, z, stages, znew, zdot, rtol, atol):
    """The error norm, with the rates at the new state."""
    n = z.size
    move(stages, 6 * n, zdot, 0, n)
    error = stages[ERROR * n : (ERROR + 1) * n]
    _error(error, stages[ZERO * n :], h, stages, n)
    return error_norm(error, z, znew, plan.nq + plan.nu, rtol, atol)


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def tsit5_prepare(_plan, _mem, _t, h, z, stages, znew, zdot):
    """Keep the rates at the end, and the gap between the interpolant and the new state, which may have been moved."""
    n = z.size
    move(stages, 6 * n, zdot, 0, n)
    gap = stages[GAP * n : (GAP + 1) * n]
    _to_new(gap, z, h, stages, n)
    for i in range(n):
        gap[i] = znew[i] - gap[i]
    return 0


@jit(i8(f8, f8, Floats, Floats, Floats, Floats))
def tsit5_interpolate(theta, h, z, stages, _znew, place):
    """The state at t + theta h; continuous, as the gap is closed smoothly along the step."""
    n = z.size
    closed = theta * theta * (3.0 - 2.0 * theta)
    for i in range(n):
        place[i] = z[i] + closed * stages[GAP * n + i]
    for j in range(STAGES):
        weight = 0.0
        for power in range(4, -1, -1):
            weight = weight * theta + DENSE[j, power]
        for i in range(n):
            place[i] += h * weight * stages[j * n + i]
    return 0
