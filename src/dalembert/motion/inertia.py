"""States in which a motion has neither inertia nor a constraint, so that it is undetermined."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.initial.dependence import MASSLESS
from dalembert.solve.decompositions import are_singular, singular_values, unit_rows
from dalembert.solve.tolerances import UNIT_ROW_RANK


def are_undetermined(
    system: System, t: np.ndarray | float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray
) -> np.ndarray:
    """In which of the states, q (n, nq) and u (n, nu), some v has M v = 0 and A v = 0, (n,); in none of large systems.

    Parameters are (np,), or (n, np) for one each. Where M was regular when the system was compiled it stays so, unless
    parameters have changed or it depends on time.
    """
    found = np.zeros(len(q), dtype=bool)
    known = not system.singular_mass and np.array_equal(parameters, system.parameter_defaults)
    if system.is_large or (known and not system.kept("mass depends on time", lambda: _depends_on_time(system))):
        return found
    weak = np.flatnonzero(are_singular(system.mass_matrix(t, q, u, parameters), MASSLESS))
    if not weak.size:
        return found
    times = np.broadcast_to(t, len(q))[weak]
    p = parameters if parameters.ndim == 1 else parameters[weak]
    M, A = (f(times, q[weak], u[weak], p) for f in (system.mass_matrix, system.constraint_jacobian))
    sizes = np.abs(np.concatenate([M, A], axis=-2)).max(axis=-2)  # of entries in the column of each speed
    measured = unit_rows(np.concatenate([M, A], axis=-2) / np.where(sizes > 0.0, sizes, 1.0)[..., None, :])
    found[weak] = singular_values(np.nan_to_num(measured)).min(axis=-1, initial=1.0) < UNIT_ROW_RANK
    return found


def _depends_on_time(system: System) -> bool:
    m = system.mechanics
    return bool(ca.jacobian_sparsity(ca.densify(m.M)[:], m.x[0]).nnz())
