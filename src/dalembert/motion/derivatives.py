"""`Derivatives`: derivatives of a motion in parameters and start values, sampled with it."""

from __future__ import annotations

import numpy as np

from dalembert.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Derivatives:
    """S = d(q, u) / d theta at the samples, (nt, k, nq + nu).

    `names` (k,) are those of the parameters, coordinates and speeds that theta stands for, `columns` (k,) the
    parameters by number, -1 for a start value.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    S: np.ndarray
