"""Independent variables: the best-conditioned coordinates and speeds that can be chosen together in a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.initial.dependence import scale
from dalembert.motion.state import State
from dalembert.solve.decompositions import UNIT, null_space, unit_rows
from dalembert.solve.pivoting import pivot_columns
from dalembert.solve.tolerances import UNIT_ROW_RANK


class Independent(NamedTuple):
    """Names of n_p coordinates and n_v speeds that may be given together."""

    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]


def suggest_independent(system: System, state: State) -> Independent:
    """The coordinates and speeds that determine the others best in this state, most decisive first.

    Directions that the constraints leave free are found by singular values in the mass metric, and of the variables
    those are taken by pivoted QR in which these directions show most clearly.
    """
    if state.system.speeds != system.speeds:
        raise PairingError(f"the state belongs to `{state.system.name}`, not to `{system.name}`")
    at = (state.t, state.q, state.u, state.parameters)
    n_p, n_pv = system.count("position"), system.count("position") + system.count("velocity")
    A, M = system.constraint_jacobian(*at)[:n_pv], system.mass_matrix(*at)
    scaled = scale(M, A, A)
    first = n_pv + system.nq
    C = system.evaluate("speeds", *at)[first + n_pv * system.nu :].reshape(system.nq, system.nu)
    positions = _decisive(C @ scaled.back, _free(scaled.A[:n_p], system.nu))
    speeds = _decisive(scaled.back, _free(scaled.A, system.nu))
    return Independent(
        tuple(system.coordinates[k] for k in positions),
        tuple(system.speeds[k] for k in speeds),
    )


def _free(A: np.ndarray, n: int) -> np.ndarray:
    """Orthonormal directions that rows of unit length leave free, (n, n - rank)."""
    return null_space(A.reshape(-1, n), UNIT_ROW_RANK, UNIT)


def _decisive(rows: np.ndarray, free: np.ndarray) -> list[int]:
    """Rows that best distinguish the free directions, by QR with pivoting. Only the directions of rows count."""
    count = free.shape[1]
    if not count:
        return []
    return pivot_columns((unit_rows(rows) @ free).T)[0][:count]
