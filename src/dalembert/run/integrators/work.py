"""The work done as part of the error test of implicit methods.

They keep the constraints exactly, so that a motion which is prescribed altogether has no error at all, whatever the
step; the work that its reactions do is integrated and has one. A step that starts off the constraints, as after a drive
has jumped, is moved onto them by an impulse: no step is short enough to make its work accurate, and it does not count.
"""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8
from dalembert.run.evaluate import OFF_CONSTRAINTS, load_state, violation


@jit(f8(Plan, Floats, f8, Floats, Floats, f8, f8, f8))
def work_error(plan, mem, t, z, znew, wrong, rtol, atol):
    """The error `wrong` of the work in a step from (t, z), relative to the tolerances and the energies at its end."""
    size = plan.nq + plan.nu
    if z.size == size:
        return 0.0
    load_state(plan, mem, mem[plan.x], znew)
    call_kernel(plan.energy, mem, plan.x, plan.energies)
    energy = abs(mem[plan.energies]) + abs(mem[plan.energies + 1])
    unit = floats_at(plan.units, size + 1)[size]
    error = abs(wrong) / (atol * unit + rtol * (energy + max(abs(z[size]), abs(znew[size]))))
    return 0.0 if error > 1.0 and violation(plan, mem, t, z) > OFF_CONSTRAINTS else error
