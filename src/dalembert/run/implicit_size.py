"""Size limits of the implicit integrators that solve dense equations."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.run.integrators.generalized_alpha import GeneralizedAlpha, works_on_nonzeros
from dalembert.run.integrators.integrator import Integrator
from dalembert.run.integrators.radau import Radau
from dalembert.run.solver_choice import LARGEST_DENSE


def check_implicit_size(system: System, integrator: Integrator, sensitivities: Sequence[object]) -> None:
    """Raise `PairingError` if matrices of an implicit integrator, or of its derivatives, are dense and too large."""
    n = system.nu + system.nc
    able = isinstance(integrator, Radau) or (isinstance(integrator, GeneralizedAlpha) and works_on_nonzeros(system))
    if n <= LARGEST_DENSE or (able and not sensitivities):
        return
    remedy = "an explicit integrator such as DOP853()"
    if not sensitivities:
        remedy = f"Radau() for stiff motions, which works on nonzeros, or {remedy}"
    what = "finds derivatives of a motion by dense matrices" if able else "solves dense equations"
    raise PairingError(
        f"{type(integrator).__name__} {what}, too many for `{system.name}` ({n:,} speeds and constraints, at most "
        f"{LARGEST_DENSE:,}); use {remedy}"
    )
