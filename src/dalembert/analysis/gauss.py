"""Gauss's measure of constraint: how far the accelerations are from those without constraints, in the mass metric.

Notation as in Kalaba, Udwadia (1993), eq. (14)-(18): A of the paper is our M, Q - f of the paper our f, D our A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.nonlinear_unknowns import check_known_mass
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.solve.decompositions import solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def gauss_measure(
    system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, parameters: Any = None
) -> np.ndarray:
    """||M^-1/2 (M u' - f - c)||^2 (14), (...), at any accelerations u' (..., nu).

    At the true ones it is ||M^-1/2 (r - c)||^2 (16). Of all u' with A u' = b these make it least, if the reactions are
    ideal but for what is prescribed of them, c. Unit: power per time, N m/s^2, or N^2/kg.
    """
    if system.singular_mass:
        raise PairingError(
            f"`{system.name}` has a singular mass matrix, so that Gauss's measure is infinite for some accelerations; "
            "give every coordinate some inertia"
        )
    check_known_mass(system.name, system.mechanics, "Gauss's measure")
    M = system.mass_matrix(t, q, u, parameters)
    free = system.forces(t, q, u, parameters) + system.prescribed_reaction(t, q, u, parameters)
    r = np.einsum("...ij,...j->...i", M, np.asarray(udot, dtype=float)) - free
    return np.einsum("...i,...i->...", r, solve(M, r[..., None])[..., 0])
