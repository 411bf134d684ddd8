"""Values without repetitions."""

from __future__ import annotations

import numpy as np


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values (n,) in increasing order: `np.unique`, which would first import `numpy.ma` for them.

    That takes longer than to judge or to draw a motion of one degree of freedom.
    """
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered
