"""Reproducible pseudo-random states for checking identities numerically.

Python's own generator gives them: NumPy's takes longer to import than all such numbers of a small model to draw.
"""

from __future__ import annotations

import math
import random

import numpy as np


class Scattered:
    """A sequence of numbers that begins anew with each object; `seed` names the sequence."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed).random  # noqa: S311 - nothing secret

    def uniform(self, low: float, high: float, shape: int | tuple[int, ...]) -> np.ndarray:
        """Numbers between `low` and `high`, as an array of `shape`."""
        count = shape if isinstance(shape, int) else math.prod(shape)
        return low + (high - low) * np.array([self._draw() for _ in range(count)]).reshape(shape)
