"""The work done as part of the error test of implicit methods.

They keep the constraints exactly, so that a motion which is prescribed altogether has no error at all, whatever the
step; the work that its reactions do is integrated and has one.
"""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8
from dalembert.run.evaluate import load_state


@jit(f8(Plan, Floats, Floats, Floats, f8, f8, f8))
def work_error(plan, mem, z, znew, wrong, rtol, atol):
    """The error `wrong` of the work in a step relative to the tolerances and the energies at its end; 0 if none."""
    size = plan.nq + plan.nu
    if z.size == size:
        return 0.0
    load_state(plan, mem, mem[plan.x], znew)
    call_kernel(plan.energy, mem, plan.x, plan.energies)
    energy = abs(mem[plan.energies]) + abs(mem[plan.energies + 1])
    unit = floats_at(plan.units, size + 1)[size]
    return abs(wrong) / (atol * unit + rtol * (energy + max(abs(z[size]), abs(znew[size]))))
