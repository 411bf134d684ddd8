"""Tsitouras' Runge-Kutta pair of orders 5(4) with a 4th-order interpolant: six evaluations per step.

Ch. Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption", Computers and
Mathematics with Applications 62 (2011) 770-775. The seventh stage is the first of the next step; with a drift control
that moves the state it is taken at the corrected one, where the next step starts.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.polynomial.polynomial import polymul

from dalembert.dataclass import dataclass
from dalembert.run.integrators.dense_output import ContinuousWeights
from dalembert.run.integrators.error_estimate import EmbeddedError
from dalembert.run.integrators.explicit import Adaptive
from dalembert.run.integrators.runge_kutta import RungeKutta
from dalembert.run.integrators.tableau import Tableau, lower_triangle

# b_j(theta) as in the paper, by their factors.
DENSE = np.array(
    [
        -1.0530884977290216 * polymul([0, -1.3299890189751412, 1], [0.7139816917074209, -1.4364028541716351, 1]),
        0.1017 * np.array([0, 0, 1.2949852507374631, -2.1966568338249754, 1]),
        2.490627285651252793 * np.array([0, 0, 1.57803468208092486, -2.38535645472061657, 1]),
        -16.54810288924490272
        * polymul([0, 0, 1], [1.21712927295533244 * 0.61620406037800089, -1.83333333333333333, 1]),
        47.37952196281928122
        * polymul([0, 0, 1], [1.203071208372362603 * 0.658047292653547382, -1.861118501025909985, 1]),
        -34.87065786149660974 * np.array([0, 0, 0.8, -1.866666666666666667, 1]),
        2.5 * np.array([0, 0, 0.6, -1.6, 1]),
    ]
)
TABLEAU = Tableau(
    name="Tsit5",
    order=5,
    A=lower_triangle(
        [0.161],
        [-0.008480655492356989, 0.335480655492357],
        [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
        [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
    ),
    b=np.array(
        [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774]
    ),
    c=np.array([0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0]),
    dense=ContinuousWeights(DENSE),
    error=EmbeddedError(
        np.array(
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
    ),
)


@dataclass(frozen=True, kw_only=True)
class Tsit5(Adaptive):
    """`Tsit5(rtol=, atol=)`, or `Tsit5(step=1e-3)` for fixed steps; between steps, an interpolant of order 4.

    Without `step`, steps keep the error per step below atol + rtol |z| (root mean square over coordinates and speeds;
    1e-10 and 1e-12 where nothing is said).
    """

    scheme: ClassVar[RungeKutta] = RungeKutta(TABLEAU)
