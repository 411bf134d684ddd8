"""The solutions that Newton's method for accelerations (`law_loops`) remembers: that of the last step, and a few more.

Where several accelerations satisfy constraints nonlinear in u', or laws, the motion stays on its branch as long as that
exists: every evaluation of a step begins with the solution at its start. Samples are evaluated again when the run is
over, each from the solution remembered next to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move

if TYPE_CHECKING:
    from dalembert.native.workspace import Workspace

ANCHORS = 256  # solutions remembered along a run, at the most
EITHER = -1  # `plan.kept_turned`: the sign of the determinant is not known
NONE_REMEMBERED = np.zeros((0, 0))
GIVEN = 2  # `plan.known`: a solution to begin the run with is given


@jit(i8(Plan, Floats))
def _thin(plan, mem):
    """Forget every second solution, and remember one in twice as many steps from now on."""
    width = 2 + plan.unknowns
    for k in range(ANCHORS // 2):
        move(mem, plan.anchors + k * width, mem, plan.anchors + 2 * k * width, width)
    plan.anchored = ANCHORS // 2
    plan.anchor_stride *= 2
    return 0


@jit(i8(Plan, Floats))
def keep(plan, mem):
    """Have the next evaluations begin with the solution last found."""
    move(mem, plan.iteration_kept, mem, plan.iteration_in + plan.step_length - plan.x, plan.unknowns)
    plan.kept_turned = plan.turned
    return 0


@jit(i8(Plan, Floats, f8))
def remember(plan, mem, t):
    """Remember the solution last found, at the end of a step at time t; count it if it is on another branch."""
    n = plan.unknowns
    if plan.iteration == 0:
        return 0
    keep(plan, mem)
    if plan.known == 1 and plan.leapt:
        plan.first_leap = t if plan.leaps == 0 else plan.first_leap
        plan.leaps += 1
    plan.known = 1
    plan.anchor_due -= 1
    if plan.anchor_due > 0:
        return 0
    if plan.anchored == ANCHORS:
        _thin(plan, mem)
    at = plan.anchors + plan.anchored * (2 + n)
    mem[at], mem[at + 1] = t, plan.turned
    move(mem, at + 2, mem, plan.iteration_kept, n)
    plan.anchored += 1
    plan.anchor_due = plan.anchor_stride
    return 0


@jit(i8(Plan, Floats, f8))
def begin_remembering(plan, mem, t):
    """Forget solutions at or after the start of a run at time t, except one given as initial guess."""
    while plan.anchored > 0 and mem[plan.anchors + (plan.anchored - 1) * (2 + plan.unknowns)] >= t:
        plan.anchored -= 1
    if plan.anchored == 0:
        plan.known = plan.known if plan.known == GIVEN else 0
        plan.leaps, plan.anchor_stride, plan.anchor_due = 0, 1, 0
    return 0


@jit(i8(Plan, Floats, f8))
def recall(plan, mem, t):
    """Begin the evaluation at time t with the solution remembered last before; without any, with the last one."""
    width, at = 2 + plan.unknowns, -1
    for k in range(plan.anchored):
        if at < 0 or mem[plan.anchors + k * width] <= t:
            at = plan.anchors + k * width
    if at >= 0:
        move(mem, plan.iteration_kept, mem, at + 2, plan.unknowns)
        plan.known, plan.kept_turned = 1, int(mem[at + 1])
    return 0


def give(work: Workspace, solution: np.ndarray) -> None:
    """Have a run begin with a solution (n,)."""
    plan = work.plan
    work.mem[plan.iteration_kept : plan.iteration_kept + plan.unknowns] = solution
    plan.known, plan.kept_turned, plan.anchored = GIVEN, EITHER, 0


def anchors_of(work: Workspace) -> np.ndarray:
    """Remembered solutions along a run, (k, 2 + n): time, sign of the determinant, solution (n,)."""
    plan = work.plan
    if not plan.anchored:
        return NONE_REMEMBERED
    width = 2 + plan.unknowns
    return work.mem[plan.anchors : plan.anchors + plan.anchored * width].copy().reshape(plan.anchored, width)


def take_anchors(work: Workspace, anchors: np.ndarray) -> None:
    """Take over the solutions remembered in another run, if the unknowns are the same."""
    plan = work.plan
    if anchors.size and plan.iteration and anchors.shape[1] == 2 + plan.unknowns:
        work.mem[plan.anchors : plan.anchors + anchors.size] = anchors.ravel()
        plan.anchored = len(anchors)
