"""The norms in which errors of a step are measured: of coordinates and speeds, and of derivatives carried along."""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8


@jit(f8(Floats, Floats, Floats, i8, f8, f8))
def error_norm(error, z, znew, size, rtol, atol):
    """Root mean square of error / (atol + rtol |z|) over the first `size` entries; NaN if one of them is."""
    total = 0.0
    for i in range(size):
        total += (error[i] / (atol + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    return math.sqrt(total / size)


@jit(f8(Floats, Floats, i8, i8))
def largest_entry(z, znew, first, size):
    """The largest |z| and |znew| among `size` entries from `first` on."""
    largest = 0.0
    for i in range(first, first + size):
        largest = max(largest, abs(z[i]), abs(znew[i]))
    return largest


@jit(f8(Plan, Floats, Floats, Floats, f8, f8))
def columns_error_norm(plan, error, z, znew, rtol, atol):
    """The worst root mean square of error / (atol + rtol max |S|) over the columns S carried along; 0 without any."""
    size, worst = plan.nq + plan.nu, 0.0
    for k in range(plan.n_variations // size):
        first = z.size - plan.n_variations + k * size
        scale, total = atol + rtol * largest_entry(z, znew, first, size), 0.0
        for i in range(first, first + size):
            total += (error[i] / scale) ** 2
        if not total <= worst:
            worst = total
    return math.sqrt(worst / size)
