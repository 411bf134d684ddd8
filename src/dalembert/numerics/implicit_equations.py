"""What implicit integrators need of a system: residuals and their exact derivatives, as graphs.

    F(q, u, a, la, t) = (M a - f - W^T la;  A a - b)       dynamics, all constraints at acceleration level
    phi(q, t), h(q), psi(q, u, t)                          positions, invariants of the kinematics, velocities
    q' = C u + D                                           kinematics

Reactions of every kind are in F: servo constraints act along their own W, friction adds F^T |la|, and rows that are not
linear in the accelerations a stand in it as they are. Functions read y = (x, a, la) with x = (t, q, u, p), or x alone;
outputs are matrices flattened by rows, of which kernels write the structural nonzeros only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from dalembert.equations.native import Kernel
from dalembert.equations.system import System


@dataclass(frozen=True)
class ImplicitEquations:
    """Graphs of y = (x, a, la): `dynamics` (nu, 1), `acceleration` (nc, 1), `levels` by name, `qdot` (nq, 1)."""

    x: ca.SX
    a: ca.SX
    la: ca.SX
    q: ca.SX
    u: ca.SX
    qdot: ca.SX
    mass: ca.SX
    reaction: ca.SX
    dynamics: ca.SX
    acceleration: ca.SX
    phi: ca.SX
    h: ca.SX
    psi: ca.SX

    @classmethod
    def of(cls, system: System) -> ImplicitEquations:
        """The residuals of a system."""
        nq, nu, nc, n = system.nq, system.nu, system.nc, system.count("position")
        function = system.functions["dynamics"]
        x, a, la = ca.SX.sym("x", function.size1_in(0)), ca.SX.sym("a", nu), ca.SX.sym("la", nc)
        out = function(x)
        part = {name: out[where] for name, (where, _) in system.parts.items()}

        def matrix(name: str, rows: int) -> ca.SX:
            return ca.reshape(part[name], nu, rows).T

        M, A = matrix("mass_matrix", nu), matrix("constraint_jacobian", nc)
        W = A if system.ideal else matrix("directions", nc)
        acceleration = ca.mtimes(A, a) - part["constraint_bias"]
        if system.curved:
            bent = system.curved
            rows = system.functions["newton"](ca.vertcat(x, a, la[nc - bent :]))
            W = ca.vertcat(W[: nc - bent, :], ca.reshape(rows[bent * nu : 2 * bent * nu], nu, bent).T)
            acceleration = ca.vertcat(_column(acceleration[: nc - bent]), rows[2 * bent * nu : 2 * bent * nu + bent])
        reaction = ca.mtimes(W.T, la)
        if system.friction:
            reaction -= ca.mtimes(matrix("friction", nc).T, ca.fabs(la))
        residual = system.functions["residual"](x)
        return cls(
            x=x, a=a, la=la, q=x[1 : 1 + nq], u=x[1 + nq : 1 + nq + nu], qdot=part["coordinate_rates"],
            mass=M, reaction=reaction, dynamics=ca.mtimes(M, a) - part["forces"] - reaction,
            acceleration=acceleration, phi=_column(residual[:n]), psi=_column(residual[n:]),
            h=_column(system.functions["invariant"](x)[: len(system.invariants)]),
        )  # fmt: skip

    @property
    def y(self) -> ca.SX:
        """What functions of accelerations and multipliers read."""
        return ca.vertcat(self.x, self.a, self.la)


def _column(values: ca.SX) -> ca.SX:
    """The same values, (n, 1): CasADi makes an empty slice of a single value a row."""
    return ca.reshape(values, values.numel(), 1)


Build = Callable[[ImplicitEquations], tuple[ca.SX, list[ca.SX]]]


def kernel(system: System, name: str, build: Build) -> Kernel:
    """The machine code of columns and matrices (flattened by rows) that `build` makes of the equations of a system."""

    def make() -> ca.Function:
        argument, parts = build(ImplicitEquations.of(system))
        # Derivatives repeat themselves: for a chain of 20 links a third of the nodes stay.
        column = ca.cse(ca.sparsify(ca.vertcat(ca.SX(0, 1), *[ca.vec(part.T) for part in parts])))
        return ca.Function(name.replace(" ", "_"), [argument], [column])

    return system.derived_kernel(f"implicit {name}", make)


def trivial_kinematics(system: System) -> bool:
    """Whether the speeds are the rates of the coordinates, in order."""
    e = ImplicitEquations.of(system)
    return system.nq == system.nu and all(ca.is_equal(e.qdot[i], e.u[i], 1) for i in range(system.nq))


def kinematics(e: ImplicitEquations) -> tuple[ca.SX, list[ca.SX]]:
    """q' (nq), q'_q (nq, nq), C (nq, nu) as functions of x."""
    return e.x, [e.qdot, ca.jacobian(e.qdot, e.q), ca.jacobian(e.qdot, e.u)]


def levels(e: ImplicitEquations) -> tuple[ca.SX, list[ca.SX]]:
    """phi (np), h (ni), psi (np + nv) as functions of x."""
    return e.x, [e.phi, e.h, e.psi]


def gradients(e: ImplicitEquations) -> tuple[ca.SX, list[ca.SX]]:
    """q'_q, C, (phi, h)_q, psi_q, psi_u as functions of x."""
    surface = ca.vertcat(e.phi, e.h)
    parts = [(e.qdot, e.q), (e.qdot, e.u), (surface, e.q), (e.psi, e.q), (e.psi, e.u)]
    return e.x, [ca.jacobian(value, variable) for value, variable in parts]


def sensitivity(e: ImplicitEquations) -> tuple[ca.SX, list[ca.SX]]:
    """dF/d(q, u), (nu + nc, nq + nu), as a function of y."""
    return e.y, [ca.jacobian(ca.vertcat(e.dynamics, e.acceleration), ca.vertcat(e.q, e.u))]


def balance(e: ImplicitEquations) -> tuple[ca.SX, list[ca.SX]]:
    """Dynamics (nu), phi (np), psi (np + nv), acceleration rows (na) as functions of y."""
    return e.y, [_balance(e)]


def balance_jacobian(e: ImplicitEquations) -> tuple[ca.SX, list[ca.SX]]:
    """Derivative of `balance` in (q, u, a, la)."""
    residual, nu = _balance(e), e.u.shape[0]
    # M is known; only what else depends on a, curved constraints and their reactions, is left to differentiate.
    rest = _column(residual[nu:])
    inertia = ca.vertcat(e.mass - ca.jacobian(e.reaction, e.a), ca.jacobian(rest, e.a))
    multiplied = ca.vertcat(-ca.jacobian(e.reaction, e.la), ca.jacobian(rest, e.la))
    return e.y, [ca.horzcat(ca.jacobian(residual, ca.vertcat(e.q, e.u)), inertia, multiplied)]


def _balance(e: ImplicitEquations) -> ca.SX:
    return ca.vertcat(e.dynamics, e.phi, e.psi, _column(e.acceleration[e.psi.shape[0] :]))
