"""How far a run has come: the largest value of each coordinate and speed so far, and sizes that grow with it.

The tolerance of an error is relative to what each coordinate has done so far, whatever others do, and never below
round-off: that of coordinates of its size, and of the time where equations depend on it. Sizes grow when a state leaves
them behind; they never shrink.
"""

from __future__ import annotations

import casadi as ca

from dalembert.equations.kinds import ANGLE
from dalembert.equations.system import System
from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move
from dalembert.run.measure import measure, measure_rows
from dalembert.run.sizing import sizing_at

ROUNDING = 2.0**-52  # least tolerance of an error of a step, relative to sizes
GROWN = 2.0  # times its size: a value beyond is left behind by it


def reads_time(system: System) -> bool:
    """Whether the equations of motion depend on time explicitly, found once."""
    m = system.mechanics
    terms = ca.vertcat(ca.vec(m.M), m.f, ca.vec(m.A), m.b)
    return bool(system.kept("equations depend on time", lambda: ca.depends_on(terms, m.t)))


@jit(i8(Plan, Floats, f8, Floats))
def set_off(plan, mem, t, z):
    """Begin to note how far a run comes, at its start; what an earlier part of it has reached counts."""
    late = plan.rounding * (1.0 + plan.late * abs(t) * mem[plan.row_sizes + 2 * plan.np + plan.nv])
    for i in range(plan.nq + plan.nu):
        mem[plan.reached + i] = max(mem[plan.reached + i], abs(z[i]), late * mem[plan.sizes + i])
    return 0


@jit(i8(Plan, Floats, f8, Floats))
def grow(plan, mem, t, z):
    """Let sizes grow to those in the state z, which has reached them."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    n, count = plan.nq + plan.nu, plan.x - plan.sizes
    move(mem, plan.former, mem, plan.sizes, count)
    measure(plan, mem, t, z, 1.0 / mem[plan.row_sizes + 2 * plan.np + plan.nv])
    for k in range(count):
        mem[plan.sizes + k] = max(mem[plan.sizes + k], mem[plan.former + k])
    for i in range(n):
        if i >= plan.nq or ints[s.kinds + i] != ANGLE:
            mem[plan.sizes + i] = max(mem[plan.sizes + i], abs(z[i]))
    measure_rows(plan, mem, t, z)
    return set_off(plan, mem, t, z)


@jit(i8(Plan, Floats, f8, Floats))
def reach(plan, mem, t, z):
    """Note how far the state z has come; let sizes grow if it has left them behind."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    beyond = 0
    for i in range(plan.nq + plan.nu):
        value = abs(z[i])
        if value > mem[plan.reached + i]:
            mem[plan.reached + i] = value
            if value > GROWN * mem[plan.sizes + i] and (i >= plan.nq or ints[s.kinds + i] != ANGLE):
                beyond = 1
    if beyond:
        grow(plan, mem, t, z)
    return beyond
