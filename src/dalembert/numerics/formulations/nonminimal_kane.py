"""Nonminimal Kane equations of Bajodah, Hodges and Chen: T u' = V, without multipliers and with all speeds kept.

Eq. (44)-(50): T = [A1; A2 Q], V = [B; A2 P] with A1 = [-A I], A2 = [I A^T], Q the mass matrix and P the active and
remaining inertia forces. Constraints may be of any nonlinearity in the speeds.
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
from dalembert.numerics.linear.elimination import solve_in_order
from dalembert.numerics.linear.unrolled import LIMIT


@dataclass(frozen=True)
class NonminimalKane:
    """T u' = V; `u_ind` names the independent speeds, None chooses them and chooses again when J2 degrades."""

    u_ind: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "u_ind", check_names(self.u_ind))

    def choose(self, system: System, M: Any, A: Any) -> Choice:
        """The partition at a state."""
        return choose_partition(system, M, A, check_names(self.u_ind))

    def unroll(self, equations: Equations, choice: Choice) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """u', la and quality as a graph."""
        e, nu = equations, equations.M.shape[0]
        if 2 * nu**3 > LIMIT:
            return None
        p = Partition.of(e, choice)
        dep, ind = list(choice.dependent), list(choice.independent(nu))
        A2 = p.Z.T  # in the order of the speeds
        A2Q = ca.mtimes(A2, e.M)
        # Unknowns ordered (u_D', u_I'): the first rows, A1 u' = B, have the identity as their pivots, and what is left
        # is A2 Q A2^T, positive definite.
        T = ca.vertcat(ca.horzcat(ca.SX.eye(len(dep)), -p.A), ca.horzcat(A2Q[:, dep], A2Q[:, ind]))
        V = ca.vertcat(p.B, ca.mtimes(A2, e.f))
        solution, _ = solve_in_order(T, V)
        udot = ca.SX(nu, 1)
        for k, i in enumerate([*dep, *ind]):
            udot[i] = solution[k]
        return udot, p.multipliers(e, udot), p.quality

    def workspace(self, _nu: int, _nc: int) -> int:
        """Floats of workspace the native function needs."""
        return 0

    def accelerator(self, *, ideal: bool, unrolled: bool) -> Any:
        """The native function that finds the accelerations."""
        return native_accelerator(self, ideal=ideal, unrolled=unrolled)
