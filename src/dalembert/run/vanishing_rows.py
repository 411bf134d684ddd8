"""Constraints whose gradients may vanish; a run has to follow their lengths (`solve.row_lengths`)."""

from __future__ import annotations

import functools
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.scattered import Scattered

SAME_LENGTH = 1e-10  # relative difference of squared lengths that is rounding


def rows_that_may_vanish(system: System) -> tuple[int, ...]:
    """The position and velocity constraints whose gradients may vanish somewhere, by their rows in A; found once.

    A gradient does not vanish if an entry of it is a number, or if it is equally long at states in no special position,
    as those of wheels and blades are.
    """
    found: tuple[int, ...] = system.kept("rows that may vanish", lambda: _find_rows(system))
    return found


def lengths_function(system: System) -> ca.Function:
    """The square of the shortest of these rows relative to its size, at most 1, of sizes and x (see `native.plan`)."""
    n_p, n = system.count("position"), system.count("position") + system.count("velocity")
    sizes, rows = ca.SX.sym("sizes", system.nq + system.nu + 1), ca.SX.sym("row_sizes", n_p + n + 1)
    A, u, shortest = _gradients(system), sizes[system.nq : system.nq + system.nu], ca.SX(1.0)
    for k in rows_that_may_vanish(system):
        entries = (ca.fabs(A[k, i]) * u[i] for i in A[k, :].sparsity().get_col())
        longest = functools.reduce(ca.fmax, entries, ca.SX(0.0))
        shortest = ca.fmin(shortest, longest / rows[n_p + k])
    return ca.Function("row_lengths", [ca.vertcat(sizes, rows, system.mechanics.x)], [shortest**2])


def _gradients(system: System) -> ca.SX:
    return system.mechanics.A[: system.count("position") + system.count("velocity"), :]


def _find_rows(system: System) -> tuple[int, ...]:
    A = _gradients(system)
    fixed = {row for row, entry in zip(A.sparsity().row(), A.nonzeros(), strict=True) if _is_number(entry)}
    rest = np.array([row for row in range(A.shape[0]) if row not in fixed], dtype=int)
    return tuple(rest[~_have_fixed_lengths(system, A[rest.tolist(), :])].tolist()) if len(rest) else ()


def _is_number(entry: Any) -> bool:
    return bool(entry.is_constant()) and float(entry) != 0.0


def _have_fixed_lengths(system: System, A: ca.SX) -> np.ndarray:
    """Mask of the rows of A that have the same length at several states, for any parameters, (n,)."""
    lengths = ca.Function("lengths", [system.mechanics.x], [ca.sum2(A * A)])
    scattered, defaults = Scattered(31), np.array(system.parameter_defaults, dtype=float)
    defaults[defaults == 0.0] = 1.0  # a parameter that is zero may be given another value
    fixed = np.ones(A.shape[0], dtype=bool)
    for _ in range(2):
        parameters = defaults * scattered.uniform(0.5, 1.5, len(defaults))
        places = [np.append(scattered.uniform(-1.0, 1.0, 1 + system.nq + system.nu), parameters) for _ in range(3)]
        values = np.array([lengths(x).full().ravel() for x in places])
        fixed &= np.ptp(values, axis=0) <= SAME_LENGTH * values.min(axis=0)
    return fixed
