"""Coefficients of ESDIRK4(3)6L[2]SA: six stages, the first explicit, order 4, L-stable, embedded order 3.

C. A. Kennedy, M. H. Carpenter, "Additive Runge-Kutta schemes for convection-diffusion-reaction equations", Appl. Numer.
Math. 44 (2003), the implicit half of ARK4(3)6L[2]SA. Stiffly accurate: the last stage is the new state, so what holds
at stages holds at the end of the step. Stages after the first share the coefficient `GAMMA`.
"""

from __future__ import annotations

import numpy as np

ESDIRK_STAGES = 6
GAMMA = 0.25
C = np.array([0.0, 1 / 2, 83 / 250, 31 / 50, 17 / 20, 1.0])
B = np.array([82889 / 524892, 0.0, 15625 / 83664, 69875 / 102672, -2260 / 8211, 1 / 4])
A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 4, 1 / 4, 0.0, 0.0, 0.0, 0.0],
        [8611 / 62500, -1743 / 31250, 1 / 4, 0.0, 0.0, 0.0],
        [5012029 / 34652500, -654441 / 2922500, 174375 / 388108, 1 / 4, 0.0, 0.0],
        [15267082809 / 155376265600, -71443401 / 120774400, 730878875 / 902184768, 2285395 / 8070912, 1 / 4, 0.0],
        B,
    ]
)
EMBEDDED = np.array(
    [4586570599 / 29645900160, 0.0, 178811875 / 945068544, 814220225 / 1159782912, -3700637 / 11593932, 61727 / 225920]
)
ERROR = B - EMBEDDED


def _guesses() -> np.ndarray:
    """Weights (6, 6) that extrapolate the rate of a stage from those before it, by polynomials through up to three."""
    weights = np.zeros((ESDIRK_STAGES, ESDIRK_STAGES))
    for i, nodes in enumerate([[], [0], [0, 1], [0, 1, 2], [0, 1, 3], [0, 3, 4]]):
        for j in nodes:
            others = [k for k in nodes if k != j]
            weights[i, j] = np.prod([(C[i] - C[k]) / (C[j] - C[k]) for k in others])
    return weights


GUESS = _guesses()
