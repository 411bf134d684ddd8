"""The work done as part of the error test of implicit methods.

They keep the constraints exactly, so that a motion which is prescribed altogether has no error at all, whatever the
step; the work that its reactions do is integrated and has one.
"""

from __future__ import annotations

from dalembert.numerics.evaluate import load_state
from dalembert.numerics.layout import ENERGIES, ENERGY, NQ, NU, Floats, Ints, X, call_kernel, f8
from dalembert.numerics.native_cache import jit


@jit(f8(Ints, Floats, Floats, Floats, f8, f8, f8))
def work_error(plan, mem, z, znew, wrong, rtol, atol):
    """The error `wrong` of the work in a step relative to the tolerances and the energies at its end; 0 if none."""
    size = plan[NQ] + plan[NU]
    if z.size == size:
        return 0.0
    load_state(plan, mem, mem[plan[X]], znew)
    call_kernel(plan[ENERGY], mem, plan[X], plan[ENERGIES])
    energy = abs(mem[plan[ENERGIES]]) + abs(mem[plan[ENERGIES] + 1])
    return abs(wrong) / (atol + rtol * (energy + max(abs(z[size]), abs(znew[size]))))
