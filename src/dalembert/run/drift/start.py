"""Data about a run that its drift control receives before the start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Start(NamedTuple):
    """The state (t, q, u) with parameter values a run starts from, the `rate` of the motion, how the integrator steps.

    The rate is that of `run.scales`. `integrator` is a name, `order` its order; `step` its fixed step, None if steps
    are adapted to `tolerance`. `stability` are the coefficients of its stability polynomial R, lowest first: a step h
    multiplies the solution of y' = s y by R(h s).
    """

    t: float
    q: np.ndarray
    u: np.ndarray
    parameters: np.ndarray
    rate: float
    integrator: str
    order: int
    step: float | None
    tolerance: float
    stability: tuple[float, ...]
