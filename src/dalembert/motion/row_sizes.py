"""Sizes of constraint rows over a motion: those of its start, or larger where gradients or speeds grew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.motion.tally import Spread
    from dalembert.run.scales import Scales


def row_sizes(motion: Spread, scales: Scales) -> dict[str, np.ndarray]:
    """Sizes of phi (np,) and psi (np + nv,), by level, at some samples of a motion."""
    system, count = motion.system, len(scales.velocity)
    point = (motion.t, motion.q, motion.u, motion.parameters)
    sums = system.evaluate("row_rates", *point)[:, system.nc : system.nc + count]  # of |A_kj u_j|
    moved = np.fmax.reduce(sums, axis=0, initial=0.0)
    if system.is_large:
        pattern = system.structure.saddle_pattern
        rows, columns = pattern.rows, pattern.columns
        first = system.nq + len(pattern.mass_rows) + system.nu
        A = system.evaluate("sparse_dynamics", *point)[:, first : first + len(rows)]
    else:
        across = system.mechanics.known(system.mechanics.A).T.sparsity()
        rows, columns = np.array(across.get_col(), dtype=int), np.array(across.row(), dtype=int)
        A = system.constraint_jacobian(*point)[:, rows, columns]
    spread = np.zeros(system.nc)
    np.fmax.at(spread, rows, np.fmax.reduce(np.abs(A), axis=0, initial=0.0) * scales.u[columns])
    spread = spread[:count]
    return {
        "position": np.maximum(scales.position, spread[: len(scales.position)] / scales.rate),
        "velocity": np.maximum(scales.velocity, np.maximum(spread, moved)),
    }
