"""Cubic Hermite interpolation between two states and their rates: dense output of methods of order 4.

Its error is O(h^4), of the order of the global error; a step's own is O(h^5).
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.numerics.layout import Floats, Plan, f8, i8, move

END = 4  # column of `stages` that takes the rates at the end; a method may use it for a stage before


@jit(i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats))
def keep_end_rates(_plan, _mem, _t, _h, z, stages, _znew, zdot):
    """Keep the rates at the end of the step for `hermite`."""
    n = z.size
    move(stages, END * n, zdot, 0, n)
    return 0


@jit(i8(f8, f8, Floats, Floats, Floats, Floats))
def hermite(theta, h, z, stages, znew, place):
    """The state at t + theta h."""
    n = z.size
    a, b = theta * theta * (3.0 - 2.0 * theta), theta * (1.0 - theta)
    for i in range(n):
        slope = (1.0 - theta) * stages[i] - theta * stages[END * n + i]
        place[i] = z[i] + a * (znew[i] - z[i]) + h * b * slope
    return 0
