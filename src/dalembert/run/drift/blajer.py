"""Blajer's elimination of constraint violations: mass-orthogonal corrections of positions, then of velocities.

W. Blajer, "Elimination of constraint violation and accuracy aspects in numerical simulation of multibody systems",
Multibody System Dynamics 7 (2002) 265-284: after a step

    dq = -C M^-1 A^T (A M^-1 A^T)^-1 phi(q, t),     du = -M^-1 A^T (A M^-1 A^T)^-1 psi(q, u, t),

which are the shortest ways back in the metric of the kinetic energy, to first order in the violation. The paper treats
constraints linear in the speeds, for which the second correction is exact; here A = psi_u of nonlinear ones too. It
corrects until the violation is as small as wanted; here a number of times that is given, as compared in Bajodah, Hodges
and Chen. `Projection` is the same correction iterated to a tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.native.jit import jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.drift.projection import least_moves, move_positions, move_velocities, restore_invariants
from dalembert.run.drift.start import Start
from dalembert.run.evaluate import load_state
from dalembert.run.right_hand_side import Feedback


@dataclass(frozen=True)
class Blajer:
    """Corrects positions, then velocities, `corrections` times each after every step, however small the violation."""

    corrections: int = 1

    def __post_init__(self) -> None:
        check_corrections(self)

    def options(self, _system: System, _start: Start | None) -> np.ndarray:
        """Numbers for native code, (1,)."""
        return np.array([float(self.corrections)])

    def kernels(self, system: System) -> dict[str, Kernel | None]:
        """The least moves onto the constraints, unrolled, by their place in plan."""
        return least_moves(system)

    def workspace(self, _system: System) -> int:
        """Floats of workspace: none."""
        return 0

    def feedback(self, _system: System) -> Feedback | None:
        """Feedback into b: none, the equations stay as they are."""
        return None

    def corrector(self) -> Any:
        """Native correction of a state."""
        return eliminate

    def remark(self, _system: System, _start: Start | None) -> str:
        """Remark for the description of a run, beside the options: none."""
        return ""


def check_corrections(drift: Any) -> None:
    """Refuse a number of corrections per step that is not a positive integer."""
    count = drift.corrections
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"{type(drift).__name__}: corrections is {count!r}; it must be a positive integer")


@jit(i8(Plan, Floats, f8, Floats))
def eliminate(plan, mem, t, z):
    """Correct q, then u, at time t, in place. The certificate judges the remaining violation."""
    load_state(plan, mem, t, z)
    times = int(mem[plan.options])
    restore_invariants(plan, mem)
    for _ in range(times if plan.np > 0 else 0):
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        move_positions(plan, mem, 0)
    for _ in range(times if plan.np + plan.nv > 0 else 0):
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        move_velocities(plan, mem, 0)
    move(z, 0, mem, plan.xq, plan.nq + plan.nu)
    return 0
