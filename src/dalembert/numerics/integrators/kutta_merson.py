"""Merson's Runge-Kutta method of order 4: five evaluations per step, one of which buys an error estimate.

R. H. Merson, "An operational method for the study of integration processes", Proc. Symp. Data Processing, Weapons
Research Establishment, Salisbury 1957; E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations
I", 2nd ed., table II.4.1. The estimate is exact to O(h^5) for linear equations with constant coefficients, and O(h^4),
on the safe side, for others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.native.jit import jit
from dalembert.numerics.evaluate import rates
from dalembert.numerics.integrators.error_norm import error_norm
from dalembert.numerics.integrators.explicit import Adaptive
from dalembert.numerics.integrators.hermite import hermite, keep_end_rates
from dalembert.numerics.integrators.method import Method
from dalembert.numerics.integrators.tableau import stability_polynomial
from dalembert.numerics.layout import Floats, Plan, combination, f8

C = np.array([0.0, 1 / 3, 1 / 3, 1 / 2, 1.0])
A = np.array(
    [
        [0.0, 0, 0, 0, 0],
        [1 / 3, 0, 0, 0, 0],
        [1 / 6, 1 / 6, 0, 0, 0],
        [1 / 8, 0, 3 / 8, 0, 0],
        [1 / 2, 0, -3 / 2, 2, 0],
    ]
)
B = np.array([1 / 6, 0, 0, 2 / 3, 1 / 6])
E = np.array([2.0, 0.0, -9.0, 8.0, -1.0]) / 30.0
ERROR, ZERO, COLUMNS = 5, 7, 8  # columns of `stages` behind those of the stages; combinations write past their end
STABILITY = stability_polynomial(A, B)


@dataclass(frozen=True, kw_only=True)
class KuttaMerson(Adaptive):
    """`KuttaMerson(step=1e-3)` or `KuttaMerson(rtol=, atol=)`; between steps, cubic Hermite interpolation (order 3).

    Steps of length `step`; or, without it, of a length that keeps Merson's estimate of the error per step below
    atol + rtol |z| (root mean square over coordinates and speeds; 1e-10 and 1e-12 where nothing is said).
    """

    def method(self) -> Method:
        """The native functions and the settings of the time loop."""
        return Method(
            step=kutta_merson_step,
            prepare=keep_end_rates,
            interpolate=hermite,
            stages=COLUMNS,
            order=4,
            stability=STABILITY,
            **self.stepping(),
        )


_to_1, _to_2, _to_3, _to_4 = (combination(row) for row in A[1:])
_to_new, _error = combination(B), combination(E)


@jit(f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8))
def kutta_merson_step(plan, mem, t, h, z, stages, znew, rtol, atol):
    """One step; returns the error norm, or NaN if a rate is not finite."""
    n = z.size
    _to_1(znew, z, h, stages, n)
    rates(plan, mem, t + C[1] * h, znew, stages[1 * n : 2 * n])
    _to_2(znew, z, h, stages, n)
    rates(plan, mem, t + C[2] * h, znew, stages[2 * n : 3 * n])
    _to_3(znew, z, h, stages, n)
    rates(plan, mem, t + C[3] * h, znew, stages[3 * n : 4 * n])
    _to_4(znew, z, h, stages, n)
    rates(plan, mem, t + h, znew, stages[4 * n : 5 * n])
    _to_new(znew, z, h, stages, n)
    error = stages[ERROR * n : (ERROR + 1) * n]
    _error(error, stages[ZERO * n :], h, stages, n)
    return error_norm(error, z, znew, plan.nq + plan.nu, rtol, atol)
