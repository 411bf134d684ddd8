"""What follows from the coefficients of an explicit Runge-Kutta method."""

from __future__ import annotations

import numpy as np


def stability_polynomial(A: np.ndarray, b: np.ndarray) -> tuple[float, ...]:
    """Coefficients of R(z) = 1 + z b^T (I - z A)^-1 1, lowest first: a step h of y' = s y multiplies y by R(h s)."""
    stages = len(b)
    vector, coefficients = np.ones(stages), [1.0]
    for _ in range(stages):
        coefficients.append(float(b @ vector))
        vector = A[:stages, :stages] @ vector
    return tuple(coefficients)
