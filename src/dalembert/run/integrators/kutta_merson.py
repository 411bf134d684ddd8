"""Merson's Runge-Kutta method of order 4: five evaluations per step, one of which buys an error estimate.

R. H. Merson, "An operational method for the study of integration processes", Proc. Symp. Data Processing, Weapons
Research Establishment, Salisbury 1957; E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations
I", 2nd ed., table II.4.1. The estimate is exact to O(h^5) for linear equations with constant coefficients, and O(h^4),
on the safe side, for others.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.run.integrators.dense_output import CubicHermite
from dalembert.run.integrators.error_estimate import EmbeddedError
from dalembert.run.integrators.explicit import Adaptive
from dalembert.run.integrators.runge_kutta import RungeKutta
from dalembert.run.integrators.tableau import Tableau, lower_triangle

TABLEAU = Tableau(
    name="KuttaMerson",
    order=4,
    A=lower_triangle([1 / 3], [1 / 6, 1 / 6], [1 / 8, 0, 3 / 8], [1 / 2, 0, -3 / 2, 2]),
    b=np.array([1 / 6, 0, 0, 2 / 3, 1 / 6]),
    c=np.array([0, 1 / 3, 1 / 3, 1 / 2, 1]),
    dense=CubicHermite(),
    error=EmbeddedError(np.array([2.0, 0.0, -9.0, 8.0, -1.0]) / 30.0),  # a fifth of the difference of both solutions
)


@dataclass(frozen=True, kw_only=True)
class KuttaMerson(Adaptive):
    """`KuttaMerson(step=1e-3)` or `KuttaMerson(rtol=, atol=)`; between steps, cubic Hermite interpolation (order 3).

    Steps of length `step`; or, without it, of a length that keeps Merson's estimate of the error per step below
    atol + rtol |z| (root mean square over coordinates and speeds; 1e-10 and 1e-12 where nothing is said).
    """

    scheme: ClassVar[RungeKutta] = RungeKutta(TABLEAU)
