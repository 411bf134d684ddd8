"""Rows whose gradient vanishes in a state: a single constraint can then become dependent.

Rows of unit length do not show it, see `dalembert.solve.row_lengths`: sin a + sin b = 0 is as good as any other row up
to the very position in which both bars are upright. So the length of a row is compared with its size, for which the
gradient is measured beside the state too. A row that the others imply, such as y^2 = 0 beside y = 0, does no harm.
"""

from __future__ import annotations

import numpy as np

from dalembert.initial.dependence import BESIDE
from dalembert.initial.request import measured
from dalembert.motion.state import State
from dalembert.solve.decompositions import least_squares
from dalembert.solve.tolerances import UNIT_ROW_RANK

STICKS_OUT = 0.1  # of the length of a row there, if the others do not imply it


def vanished_rows(state: State) -> np.ndarray:
    """Mask of the rows whose gradient is round-off beside that nearby, unless other rows replace them, (nc,).

    Rows of positions and velocities only: those of accelerations have no size.
    """
    s, found = state.system, np.zeros(state.system.nc, dtype=bool)
    scales = measured()(s, state.t, state.q, state.u, state.parameters, 0.0)
    count = len(scales.velocity)
    A = s.constraint_jacobian(state.t, state.q, state.u, state.parameters)[:count] * scales.u
    faint = np.abs(A).max(axis=1, initial=0.0) <= UNIT_ROW_RANK * scales.velocity
    if faint.any():
        q, u = (
            x + BESIDE * size * np.cos(1.0 + np.arange(len(x)))
            for x, size in ((state.q, scales.q), (state.u, scales.u))
        )
        there = s.constraint_jacobian(state.t, q, u, state.parameters)[:count][faint] * scales.u
        others = A[~faint].T
        left = there.T - others @ least_squares(others, there.T, UNIT_ROW_RANK)
        found[np.flatnonzero(faint)] = np.linalg.norm(left, axis=0) > STICKS_OUT * np.linalg.norm(there, axis=1)
    return found
