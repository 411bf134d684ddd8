"""The classical fourth-order Runge-Kutta method with a fixed step."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.run.integrators.dense_output import CubicHermite
from dalembert.run.integrators.explicit import FixedStep
from dalembert.run.integrators.runge_kutta import RungeKutta
from dalembert.run.integrators.tableau import Tableau, lower_triangle

TABLEAU = Tableau(
    name="RK4",
    order=4,
    A=lower_triangle([1 / 2], [0, 1 / 2], [0, 0, 1]),
    b=np.array([1, 2, 2, 1]) / 6,
    c=np.array([0, 1 / 2, 1 / 2, 1]),
    dense=CubicHermite(),
)


@dataclass(frozen=True)
class RK4(FixedStep):
    """Four evaluations per step of length `step`; between steps, cubic Hermite interpolation (order 3)."""

    scheme: ClassVar[RungeKutta] = RungeKutta(TABLEAU)
