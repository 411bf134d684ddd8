"""Which constraints have gradients that may vanish, so that a run has to follow their lengths (`solve.row_lengths`)."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations.functions import flat
from dalembert.equations.system import System
from dalembert.scattered import Scattered

SAME = 1e-10  # relative difference of squared lengths that is rounding


def may_vanish(system: System) -> bool:
    """Whether the gradient of a position or velocity constraint may vanish somewhere; found once.

    It does not if an entry of it is a number, or if it is equally long at states in no special position, as those of
    wheels and blades are.
    """
    return system.kept("rows may vanish", lambda: _may_vanish(system))


def gradients_function(system: System) -> ca.Function:
    """The first rows of A, those of positions and velocities, as a function of x; flat and row-major."""
    return ca.Function("row_gradients", [system.mechanics.x], [flat(_gradients(system))])


def _gradients(system: System) -> ca.SX:
    return system.mechanics.A[: system.count("position") + system.count("velocity"), :]


def _may_vanish(system: System) -> bool:
    A = _gradients(system)
    fixed = {row for row, entry in zip(A.sparsity().row(), A.nonzeros(), strict=True) if _is_number(entry)}
    rest = [row for row in range(A.shape[0]) if row not in fixed]
    return bool(rest) and not _have_fixed_lengths(system, A[rest, :])


def _is_number(entry: Any) -> bool:
    return bool(entry.is_constant()) and float(entry) != 0.0


def _have_fixed_lengths(system: System, A: ca.SX) -> bool:
    """Whether each row of A has the same length at several states, whatever the parameters are."""
    lengths = ca.Function("lengths", [system.mechanics.x], [ca.sum2(A * A)])
    scattered, defaults = Scattered(31), np.array(system.parameter_defaults, dtype=float)
    defaults[defaults == 0.0] = 1.0  # what is zero may be given another value
    for _ in range(2):
        parameters = defaults * scattered.uniform(0.5, 1.5, len(defaults))
        places = [np.append(scattered.uniform(-1.0, 1.0, 1 + system.nq + system.nu), parameters) for _ in range(3)]
        values = np.array([lengths(x).full().ravel() for x in places])
        if not (np.ptp(values, axis=0) <= SAME * values.min(axis=0)).all():
            return False
    return True
