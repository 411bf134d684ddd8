"""Kane's minimal equations: the independent accelerations alone, the dependent ones from the constraints.

Bajodah, Hodges, Chen, eq. (16)-(22) and (39): u = (u_I, u_D), A = -J2^-1 J1, u_D' = A u_I' + B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.equations.system import System
from dalembert.numerics.equations import Equations
from dalembert.numerics.formulations.choice import Choice
from dalembert.numerics.formulations.fall_back import native_accelerator
from dalembert.numerics.formulations.partition import Partition, check_names, choose_partition
from dalembert.numerics.linear.unrolled import LIMIT, unroll_saddle


@dataclass(frozen=True)
class MinimalKane:
    """A2 Q A2^T u_I' = A2 (P - Q c), with c the accelerations that the constraints alone prescribe.

    `u_ind` names the independent speeds; None chooses them by a pivoted factorisation, and again when they degrade.
    """

    u_ind: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "u_ind", check_names(self.u_ind))

    def choose(self, system: System, M: Any, A: Any) -> Choice:
        """The partition at a state."""
        return choose_partition(system, M, A, check_names(self.u_ind))

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and quality as a graph."""
        e, nu = equations, equations.M.shape[0]
        if nu**3 > LIMIT:
            return None
        p = Partition.of(e, choice)
        none = ca.SX(0, e.M.shape[0] - len(choice.rows)), ca.SX(0, 1)
        reduced = unroll_saddle(
            ca.mtimes([p.Z.T, e.M, p.Z]), ca.mtimes(p.Z.T, e.f - ca.mtimes(e.M, p.c)), *none, augment=False
        )
        if reduced is None:
            return None
        udot = ca.mtimes(p.Z, reduced[0]) + p.c
        return udot, p.multipliers(e, udot), ca.fmin(p.quality, reduced[2])

    def workspace(self, _nu: int, _nc: int) -> int:
        """Floats of workspace the native function needs."""
        return 0

    def accelerator(self, *, ideal: bool, unrolled: bool) -> Any:
        """The native function that finds the accelerations."""
        return native_accelerator(self, ideal=ideal, unrolled=unrolled)
