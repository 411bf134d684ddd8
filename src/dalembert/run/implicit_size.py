"""Which implicit integrators work on systems of any size."""

from __future__ import annotations

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.run.integrators.integrator import Integrator
from dalembert.run.integrators.radau import Radau
from dalembert.run.solver_choice import LARGEST_DENSE


def check_implicit_size(system: System, integrator: Integrator) -> None:
    """Raise `PairingError` if the Newton matrices of an implicit integrator are dense and would be too large."""
    n = system.nu + system.nc
    if n > LARGEST_DENSE and not isinstance(integrator, Radau):
        raise PairingError(
            f"{type(integrator).__name__} solves dense equations, too many of them for `{system.name}` ({n:,} speeds "
            f"and constraints, at most {LARGEST_DENSE:,}); use Radau() for stiff motions, which works on nonzeros, or "
            "an explicit integrator such as DOP853()"
        )
