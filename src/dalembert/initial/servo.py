"""Whether the unknowns of servo constraints can enforce them in a state."""

from __future__ import annotations

import numpy as np

from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.system import System
from dalembert.errors import InitialStateError
from dalembert.initial.dependence import scale

SINGULAR = 1e-13  # reciprocal condition of the scaled equations below which they have no unique solution
INVOLVED = 1e-6  # component of a null vector above which a servo constraint or its unknown takes part


def check_servos(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> None:
    """Raise `InitialStateError` naming servo constraints that their unknowns cannot influence.

    They show in the null vectors of [M -W^T; A 0], on either side; redundant constraints with ideal reactions have null
    vectors too, but the servo constraints take no part in those. For regular M it is A M^-1 W^T that is singular.
    """
    if not system.unknowns:
        return
    n = system.nc - system.curved
    enforced = {k: system.unknowns[j] for j, k in rows_by_unknown(system.rows[:n]).items()}
    servos = sorted(enforced)
    if not servos:
        return
    A = system.constraint_jacobian(t, q, u, parameters)[:n]
    W = system.directions(t, q, u, parameters)[:n]
    scaled = scale(system.mass_matrix(t, q, u, parameters), A, W)
    K = np.block([[scaled.M, -scaled.W.T], [scaled.A, np.zeros((n, n))]])
    left, values, right = np.linalg.svd(K)
    rank = int((values > SINGULAR * values[0]).sum())
    share = np.abs(np.vstack([left[:, rank:].T, right[rank:]]))[:, system.nu :].max(axis=0, initial=0.0)
    bad = [k for k in servos if share[k] > INVOLVED]
    if not bad:
        return
    constraints = ", ".join(f"`{system.rows[k].name}`" for k in bad)
    unknowns = ", ".join(f"`{enforced[k]}`" for k in bad)
    who = (
        f"servo constraint {constraints}: its unknown {unknowns} does not influence it"
        if len(bad) == 1
        else f"servo constraints {constraints}: their unknowns {unknowns} do not influence them independently"
    )
    raise InitialStateError(
        f"`{system.name}`: {who} in this state (the matrix A M^-1 B is singular, reciprocal condition "
        f"{values[-1] / values[0]:.1e}); choose another unknown or state"
    )
