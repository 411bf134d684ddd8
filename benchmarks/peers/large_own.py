"""Large mechanisms by this library, with its defaults for all but the tolerance."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.large_cases import LargeCase, Solve

import dalembert as da


def prepare(case: LargeCase) -> Solve:
    """`solve` is given 1/rtol; kernels are compiled here, once."""
    case.simulate(da.DOP853(rtol=1e-2, atol=1e-2))

    def solve(effort: float) -> np.ndarray:
        return case.simulate(da.DOP853(rtol=1.0 / effort, atol=1.0 / effort))

    return solve
