"""Contents of an overview figure as plain arrays, which need neither Matplotlib nor a system to be passed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

NamedCurves = Mapping[str, np.ndarray]


class Panels(NamedTuple):
    """Curves (nt,) over the times `t` (nt,), by group and name; the violation and the energy-balance error.

    Groups without columns, an empty `violation` and a `balance` of None get no panel.
    """

    t: np.ndarray
    groups: Mapping[str, NamedCurves]
    violation: NamedCurves
    balance: np.ndarray | None
    title: str
