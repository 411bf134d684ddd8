"""`Evaluation`: quantities computed at the samples of a motion."""

from __future__ import annotations

import numpy as np

from dalembert.dataclass import dataclass


@dataclass(frozen=True)
class Evaluation:
    """Evaluation at samples: u' (nt, nu), la (nt, nc), residuals by level, energies, solve quality (nt,)."""

    udot: np.ndarray
    multipliers: np.ndarray
    phi: np.ndarray
    psi: np.ndarray
    acceleration: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    balance: np.ndarray
    condition: np.ndarray
