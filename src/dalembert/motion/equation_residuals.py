"""How well accelerations and multipliers satisfy the equations of motion, wherever they come from."""

from __future__ import annotations

import numpy as np

from dalembert.motion.protocols import Source

TINY = 1e-300  # keeps a residual of nothing but zeros zero


def equation_residuals(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """A u' - b (..., nc) and the largest entry of M u' - f - r (...,), relative to the largest terms in them.

    Terms of A u' = b below 1 count as 1, as in the samples of a run (`run.evaluate.sample`). `source` is a State or
    anything like a Motion; its u' and la are put into the equations of its system, nothing is solved.
    """
    s, udot, la = source.system, source.udot, source.multipliers
    at = (source.t, source.q, source.u, source.parameters)
    more = np.concatenate([udot, la], axis=-1)
    A, b, W = s.linearised_rows(*at, more=more)
    M, f = s.mass_matrix(*at), s.forces(*at) + s.prescribed_reaction(*at)
    with np.errstate(invalid="ignore", over="ignore"):  # a run that failed may end in numbers that are not finite
        rows = np.concatenate([A * udot[..., None, :], -b[..., None]], axis=-1)
        acceleration = rows.sum(axis=-1) / np.maximum(np.abs(rows).max(axis=-1, initial=0.0), 1.0)
        pushes = np.swapaxes(W * la[..., None], -1, -2)
        terms = np.concatenate([M * udot[..., None, :], -pushes, -f[..., None]], axis=-1)
        if s.algebraic:  # what unknowns exert nonlinearly is in no row of W
            exerted = s.evaluate("reaction", *at, more=more)[..., : s.nu] - pushes.sum(axis=-1)
            terms = np.concatenate([terms, -exerted[..., None]], axis=-1)
        worst = np.abs(terms.sum(axis=-1)).max(axis=-1)
        balance = worst / np.maximum(np.abs(terms).max(axis=(-1, -2)), TINY)
    return acceleration, balance
