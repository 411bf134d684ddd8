"""Equations of the mechanics for implicit integrators: residuals and their exact derivatives.

    F(q, u, u', la, t) = (M u' - f - r;  A u' - b)         dynamics, all constraints at acceleration level
    phi(q, t), h(q), psi(q, u, t)                          positions, invariants of the kinematics, velocities
    q' = C u + D                                           kinematics

Reactions of every kind are in r. Functions read y = (x, u', la) with x = (t, q, u, p), or x alone; outputs are matrices
flattened by rows, of which kernels write the structural nonzeros only.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from dalembert.equations.functions import flat
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System
from dalembert.native.kernel import Kernel

Build = Callable[[Mechanics], tuple[ca.SX, list[ca.SX]]]


def kernel(system: System, name: str, build: Build) -> Kernel:
    """The machine code of columns and matrices (flattened by rows) that `build` makes of the equations of a system."""

    def make() -> ca.Function:
        argument, parts = build(system.mechanics)
        # Derivatives repeat themselves: for a chain of 20 links a third of the nodes stay.
        column = ca.cse(ca.sparsify(ca.vertcat(ca.SX(0, 1), *[flat(part) for part in parts])))
        return ca.Function(name.replace(" ", "_"), [argument], [column])

    return system.derived_kernel(f"implicit {name}", make)


def kinematics(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """q' (nq), q'_q (nq, nq), C (nq, nu) as functions of x."""
    return m.x, [m.qdot, ca.jacobian(m.qdot, m.q), ca.jacobian(m.qdot, m.u)]


def rates(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """q' (nq) as a function of x."""
    return m.x, [m.qdot]


def levels(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """phi (np), h (ni), psi (np + nv) as functions of x."""
    return m.x, [m.phi, m.h, m.psi]


def gradients(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """q'_q, C, (phi, h)_q, psi_q, psi_u as functions of x."""
    surface = ca.vertcat(m.phi, m.h)
    parts = [(m.qdot, m.q), (m.qdot, m.u), (surface, m.q), (m.psi, m.q), (m.psi, m.u)]
    return m.x, [ca.jacobian(value, variable) for value, variable in parts]


def sensitivity(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """dF/d(q, u), (nu + nc, nq + nu), as a function of y."""
    return m.y, [ca.jacobian(ca.vertcat(m.balance, m.acceleration), ca.vertcat(m.q, m.u))]


def balance(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """Dynamics (nu), phi (np), psi (np + nv), acceleration rows (na) as functions of y."""
    return m.y, [_balance(m)]


def balance_jacobian(m: Mechanics) -> tuple[ca.SX, list[ca.SX]]:
    """Derivative of `balance` in (q, u, u', la)."""
    residual, nu = _balance(m), m.u.shape[0]
    # M is known. Only the other terms in u', curved constraints and their reactions, must be differentiated.
    rest = residual[nu:, :]
    inertia = ca.vertcat(m.M - ca.jacobian(m.multiplier_forces, m.udot), ca.jacobian(rest, m.udot))
    multiplied = ca.vertcat(-ca.jacobian(m.multiplier_forces, m.la), ca.jacobian(rest, m.la))
    return m.y, [ca.horzcat(ca.jacobian(residual, ca.vertcat(m.q, m.u)), inertia, multiplied)]


def _balance(m: Mechanics) -> ca.SX:
    return ca.vertcat(m.balance, m.phi, m.constraints)
