"""Given values of joints: a level extended by rows for angles, displacements and their rates."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.equations.blocks import all_levels
from dalembert.equations.functions import flat, function_of
from dalembert.equations.system import System
from dalembert.native.kernel import Kernel

GROUP = "joint_motion"
COORDINATES, RATES = ("angle", "displacement"), ("rate", "speed")


def joint_coordinates(system: System) -> list[str]:
    """Names of the angles and displacements of joints, such as "hinge.angle"."""
    return [q.name for q in system.quantities if q.group == GROUP and q.name.endswith(COORDINATES)]


def joint_rates(system: System) -> list[str]:
    """Names of their rates, in the same order."""
    return [q.name for q in system.quantities if q.group == GROUP and q.name.endswith(RATES)]


def wrapped_value(system: System, name: str, value: float) -> float:
    """The value between -pi and pi of an angle that is only known there; any other value as it is."""
    wrapped = system.named_quantities[name][0].wrapped
    return float(np.arctan2(np.sin(value), np.cos(value))) if wrapped else value


def position_kernel(system: System, *, parameters: bool) -> Kernel:
    """phi, invariants and the coordinates of joints, and their gradients in q, or in (q, p)."""
    m = system.mechanics

    def build() -> ca.Function:
        rows = ca.vertcat(m.phi, m.h, read_joints(system, joint_coordinates(system)))
        return _with_gradient(rows, ca.vertcat(m.q, m.p) if parameters else m.q, m.x)

    return system.derived_kernel(f"positions with joints, {parameters}", build)


def velocity_kernel(system: System, *, parameters: bool) -> Kernel:
    """psi, q' and the rates of joints, and their gradients in u, or in (u, p)."""
    m = system.mechanics

    def build() -> ca.Function:
        rows = ca.vertcat(m.psi, m.qdot, read_joints(system, joint_rates(system)))
        return _with_gradient(rows, ca.vertcat(m.u, m.p) if parameters else m.u, m.x)

    return system.derived_kernel(f"velocities with joints, {parameters}", build)


def all_levels_kernel(system: System) -> Kernel:
    """The rows of `all_levels`, then coordinates and rates of joints, and their gradients in (q, u, u', la)."""
    m = system.mechanics

    def build() -> ca.Function:
        rows = ca.vertcat(all_levels(m)[0].graph, read_joints(system, joint_coordinates(system) + joint_rates(system)))
        return _with_gradient(rows, ca.vertcat(m.q, m.u, m.udot, m.la), m.y)

    return system.derived_kernel("all levels with joints", build)


def read_joints(system: System, names: list[str]) -> ca.SX:
    """Quantities of joints in the variables of the mechanics, (n, 1)."""
    column = system.functions[GROUP](system.mechanics.y)
    return column[[system.named_quantities[name][0].start for name in names]]


def _with_gradient(rows: ca.SX, variables: ca.SX, x: ca.SX) -> ca.Function:
    return function_of("joints", x, [rows, flat(ca.jacobian(rows, variables))])
