"""The norms in which errors of a step are measured: of coordinates and speeds, and of derivatives carried along."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8

WORK_TOLERANCES = 1e2  # times the tolerances: that of the work; the balance of energy is judged to 1e4


@jit(f8(Plan, Floats, Floats, Floats, f8, f8))
def error_norm(plan, error, z, znew, rtol, atol):
    """Root mean square of error / (atol reached + rtol |z|) over coordinates and speeds; NaN if one of them is."""
    total, size = 0.0, plan.nq + plan.nu
    units = floats_at(plan.reached, size)
    for i in range(size):
        total += (error[i] / (atol * units[i] + rtol * max(abs(z[i]), abs(znew[i])))) ** 2
    if plan.nz > size + plan.n_variations:
        total += explicit_work_error(plan, error, z, znew, rtol, atol) ** 2
    return math.sqrt(total / size)


@jit(f8(Plan, Floats, Floats, Floats, f8, f8))
def explicit_work_error(plan, error, z, znew, rtol, atol):
    """Error of the work, if there is any, relative to WORK_TOLERANCES times the tolerances and its energy.

    A push between two steps is exact for the speeds and not for the work, if it is a polynomial. The energy is the one
    that the certificate judges the balance beside, as far as it is known.
    """
    size = plan.nq + plan.nu
    unit = floats_at(plan.reached, size + 1)[size]
    return error[size] / (WORK_TOLERANCES * (atol * unit + rtol * max(unit, abs(z[size]), abs(znew[size]))))


@jit(f8(Floats, Floats, Floats, i8))
def largest_entry(z, znew, units, first):
    """The largest |z| and |znew| in their units, among as many entries from `first` on."""
    largest = 0.0
    for i in range(units.size):
        largest = max(largest, abs(z[first + i]) / units[i], abs(znew[first + i]) / units[i])
    return largest


@jit(f8(Plan, Floats, Floats, Floats, f8, f8))
def columns_error_norm(plan, error, z, znew, rtol, atol):
    """The worst root mean square of error / (atol + rtol max |S|) over the columns S carried along; 0 without any.

    Entries are measured by the sizes of their coordinates and speeds.
    """
    size, worst = plan.nq + plan.nu, 0.0
    units = floats_at(plan.units, size)
    for k in range(plan.n_variations // size):
        first = z.size - plan.n_variations + k * size
        scale, total = atol + rtol * largest_entry(z, znew, units, first), 0.0
        for i in range(size):
            total += (error[first + i] / (scale * units[i])) ** 2
        if not total <= worst:
            worst = total
    return math.sqrt(worst / size)
