"""The norm in which errors of a step are measured."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8


@jit(f8(Plan, Floats, Floats, Floats, f8, f8))
def error_norm(plan, error, z, znew, rtol, atol):
    """Root mean square of error / (atol size + rtol |z|) over coordinates and speeds; NaN if one of them is."""
    total, size = 0.0, plan.nq + plan.nu
    units = floats_at(plan.units, size)
    for i in range(size):
        total += (error[i] / (atol * units[i] + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    return math.sqrt(total / size)
