"""`Residual`: equations of motion with their constraints as F(t, y, y') = 0, the form that DAE solvers take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import casadi as ca
import numpy as np

from dalembert.equations.system import System

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine


@dataclass(frozen=True)
class Residual:
    """F (ny, 1) as a graph of t, y (ny, 1), y' (ny, 1) and the parameters p.

    `state` is z = (q, u, and the work done if anything does work) as a graph of t, y, p. `differential` (ny,) says
    whose rate occurs; `tested` (ny,) which variables an error test should look at: not multipliers, whose errors are
    larger by the index of the equations and do not feed back; `vanishing` (ny,) which are zero in every solution
    (empty: none).
    """

    t: ca.SX
    y: ca.SX
    ydot: ca.SX
    p: ca.SX
    F: ca.SX
    state: ca.SX
    differential: np.ndarray
    tested: np.ndarray
    vanishing: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def size(self) -> int:
        """Number of equations."""
        return int(self.y.shape[0])


class ResidualForm(Protocol):
    """A way of writing F(t, y, y') = 0: the graph, and y, y' at a consistent state."""

    def residual(self, system: System) -> Residual: ...

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


@dataclass(frozen=True)
class Mechanics:
    """Graphs of t, q, u, p that every form is made of, and of u', la where these enter.

    `balance` (nu, 1) is M u' - f - W^T la + F^T |la|; `constraints` (nc, 1) are psi - the rates of the position
    constraints and the velocity constraints - then the acceleration constraints; `power` (1, 1) changes the energy.
    """

    t: ca.SX
    q: ca.SX
    u: ca.SX
    udot: ca.SX
    la: ca.SX
    p: ca.SX
    qdot: ca.SX
    phi: ca.SX
    A: ca.SX
    balance: ca.SX
    constraints: ca.SX
    power: ca.SX
    invariants: ca.SX

    @classmethod
    def of(cls, system: System) -> Mechanics:
        """The pieces of a system, from its functions."""
        nq, nu, nc, ni = system.nq, system.nu, system.nc, len(system.invariants)
        n_p, n_v, n_a = system.count("position"), system.count("velocity"), system.count("acceleration")
        t, q, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("q", nq), ("u", nu), ("p", len(system.parameters))))
        udot, la = ca.SX.sym("udot", nu), ca.SX.sym("la", nc)
        x = ca.vertcat(t, q, u, p)
        out = system.functions["dynamics"](x)
        part = {name: out[where] for name, (where, _) in system.parts.items()}
        residual = system.functions["residual"](x)
        A = ca.reshape(part["constraint_jacobian"], nu, nc).T
        W = A if system.ideal else ca.reshape(part["directions"], nu, nc).T
        # [k:, 0], not [k:]: CasADi takes a slice beyond the end of a 1x1 matrix for a row
        bent = (ca.mtimes(A, udot) - part["constraint_bias"])[n_p + n_v :, 0]
        if system.curved:
            newton = system.functions["newton"](ca.vertcat(x, udot, la[nc - n_a :, 0]))
            rows = ca.reshape(newton[: n_a * nu], nu, n_a).T
            A = ca.vertcat(A[: nc - n_a, :], rows)
            W = ca.vertcat(W[: nc - n_a, :], ca.reshape(newton[n_a * nu : 2 * n_a * nu], nu, n_a).T)
            bent = newton[2 * n_a * nu : 2 * n_a * nu + n_a]
        reaction = ca.mtimes(W.T, la)
        if system.friction:
            reaction -= ca.mtimes(ca.reshape(part["friction"], nu, nc), ca.fabs(la))
        M = ca.reshape(part["mass_matrix"], nu, nu).T
        return cls(
            t=t, q=q, u=u, udot=udot, la=la, p=p,
            qdot=part["coordinate_rates"],
            phi=residual[:n_p, 0],
            A=A,
            balance=ca.mtimes(M, udot) - part["forces"] - reaction,
            constraints=ca.vertcat(residual[n_p:, 0], bent),
            power=part["power"] + ca.dot(part["transport"], udot) + ca.dot(reaction, u),
            invariants=system.functions["invariant"](x)[:ni, 0],
        )  # fmt: skip

    def displacement(self, system: System, s: ca.SX) -> ca.SX:
        """C s (nq, 1): the change of q that goes with a change s of the integrated speeds."""
        return system.functions["displacement"](ca.vertcat(self.t, self.q, s, self.p))
