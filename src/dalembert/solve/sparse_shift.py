"""Factors of K - shift E over nonzeros, for eigenvalues near a shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import SuperLU

ASIDE = 1e-3  # of 1 + |shift|: how far the shift is moved if it is an eigenvalue itself


def factor_shifted(E: csc_matrix, K: csc_matrix, shift: complex, tolerance: float) -> tuple[SuperLU, complex] | None:
    """SuperLU's factors and the shift, moved aside if it is an eigenvalue; None if that does not help either.

    Pivots below `tolerance` times the largest are zero.
    """
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    for moved in (shift, shift + ASIDE * (1.0 + abs(shift))):
        try:
            lu = splu(csc_matrix(K - moved * E))
        except RuntimeError:  # exactly singular
            continue
        size = np.abs(lu.U.diagonal())
        if size.min(initial=1.0) > tolerance * size.max(initial=1.0):
            return lu, moved
    return None
