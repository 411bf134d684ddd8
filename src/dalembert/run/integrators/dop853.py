"""Dormand and Prince's explicit Runge-Kutta method of order 8 with step control and 7th-order dense output.

E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., sec. II.5, II.10.
"""

from __future__ import annotations

from typing import ClassVar

from dalembert.dataclass import dataclass
from dalembert.run.integrators.dense_output import DormandPrinceInterpolant
from dalembert.run.integrators.dop853_coefficients import E3, E5, A, B, C, D
from dalembert.run.integrators.error_estimate import FifthAndThirdOrderError
from dalembert.run.integrators.explicit import Adaptive
from dalembert.run.integrators.runge_kutta import RungeKutta
from dalembert.run.integrators.tableau import Tableau

TABLEAU = Tableau(
    name="DOP853",
    order=8,
    A=A[:12, :12],
    b=B,
    c=C[:12],
    dense=DormandPrinceInterpolant(D=D, A=A[13:], c=C[13:]),
    error=FifthAndThirdOrderError(fifth=E5, third=E3),
)


@dataclass(frozen=True, kw_only=True)
class DOP853(Adaptive):
    """`DOP853(rtol=, atol=)`, or `DOP853(step=1e-2)` for fixed steps; between steps, an interpolant of order 7.

    Without `step`, steps keep the error per step below atol + rtol |z| (root mean square over coordinates and speeds;
    1e-10 and 1e-12 where nothing is said).
    """

    scheme: ClassVar[RungeKutta] = RungeKutta(TABLEAU)
