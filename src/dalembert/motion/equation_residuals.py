"""Residuals of the equations of motion for accelerations and multipliers from any source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.motion.protocols import Source
from dalembert.solve.tolerances import TINY

if TYPE_CHECKING:
    from dalembert.run.scales import Scales


def equation_residuals(source: Source, scales: Scales | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A u' - b (..., nc) and the largest entry of M u' - f - r (...,), relative to the sums of the terms in them.

    As in the samples of a run (`run.evaluate.sample`): accelerations count as if all were as large as the largest,
    relative to the sizes of speeds, and at least of the rate of the motion; entries of the balance are multiplied by
    the sizes of speeds. `source` is a State or anything like a Motion; its u' and la are put into the equations of its
    system, nothing is solved. `scales` are those of the first sample if they are not given.
    """
    s, udot, la = source.system, source.udot, source.multipliers
    at = (source.t, source.q, source.u, source.parameters)
    more = np.concatenate([udot, la], axis=-1)
    A, b, W = s.linearised_rows(*at, more=more)
    M, f = s.mass_matrix(*at), s.forces(*at) + s.prescribed_reaction(*at)
    scales = _scales_of(source) if scales is None else scales
    with np.errstate(invalid="ignore", over="ignore"):  # a run that failed may end in numbers that are not finite
        large = np.maximum((np.abs(udot) / scales.u).max(axis=-1, initial=0.0), scales.rate)
        most = (np.abs(A) @ scales.u) * large[..., None] + np.abs(b)
        least = np.full(s.nc, TINY)
        if s.algebraic:  # laws may hold terms without accelerations, which cancel in b
            least[len(scales.velocity) :] = 1.0
        acceleration = ((A @ udot[..., None])[..., 0] - b) / np.maximum(most, least)
        pushes = np.swapaxes(W * la[..., None], -1, -2)
        terms = np.concatenate([M * udot[..., None, :], -pushes, -f[..., None]], axis=-1)
        if s.algebraic:  # nonlinear forces of unknowns are in no row of W
            exerted = s.evaluate("reaction", *at, more=more)[..., : s.nu] - pushes.sum(axis=-1)
            terms = np.concatenate([terms, -exerted[..., None]], axis=-1)
        worst = (np.abs(terms.sum(axis=-1)) * scales.u).max(axis=-1)
        balance = worst / np.maximum((np.abs(terms).sum(axis=-1) * scales.u).max(axis=-1), TINY)
    return acceleration, balance


def _scales_of(source: Source) -> Scales:
    """The sizes at the first sample, or in the state itself."""
    from dalembert.run.accelerations import measured

    t, q, u = np.atleast_1d(source.t), np.atleast_2d(source.q), np.atleast_2d(source.u)
    return measured(source.system, float(t[0]), q[0], u[0], source.parameters, float(t[-1] - t[0]))
