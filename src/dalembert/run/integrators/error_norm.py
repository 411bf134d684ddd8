"""The norm in which errors of a step are measured."""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8


@jit(f8(Floats, Floats, Floats, i8, f8, f8))
def error_norm(error, z, znew, size, rtol, atol):
    """Root mean square of error / (atol + rtol |z|) over the first `size` entries; NaN if one of them is."""
    total = 0.0
    for i in range(size):
        total += (error[i] / (atol + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    return math.sqrt(total / size)
