"""`Residual`: equations of motion with their constraints as F(t, y, y') = 0, the form that DAE solvers take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.numerics.formulations.choice import Choice

if TYPE_CHECKING:
    from dalembert.numerics.engine import Engine

POOR = 1e-2  # quality below which static choices are made anew


@dataclass(frozen=True)
class Residual:
    """F (ny, 1) as a graph of t, y (ny, 1), y' (ny, 1) and the parameters p.

    `state` is z = (q, u, and the work done if anything does work) as a graph of t, y, p. `differential` (ny,) says
    whose rate occurs; `tested` (ny,) which variables an error test should look at: not multipliers, whose errors are
    larger by the index of the equations and do not feed back; `vanishing` (ny,) which are zero in every solution
    (empty: none). `quality` is 1 where the static choices of the form are good and falls towards 0 where they fail;
    None if it makes none that could. `stages` may name intermediate values, (symbols, graph of what comes before), and
    `staged` be F in terms of them: derivatives then follow by the chain rule, with far fewer operations than those of F
    at once.
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
    quality: ca.SX | None = None
    stages: tuple[tuple[ca.SX, ca.SX], ...] = ()
    staged: ca.SX | None = None

    @property
    def size(self) -> int:
        """Number of equations."""
        return int(self.y.shape[0])

    def jacobian(self, cj: ca.SX | float) -> ca.SX:
        """dF/dy + cj dF/dy', (ny, ny)."""
        found: list[ca.SX] = []

        def derivative(graph: ca.SX) -> ca.SX:
            out = ca.jacobian(graph, self.y) + cj * ca.jacobian(graph, self.ydot)
            for (symbols, _), inner in zip(self.stages, found, strict=False):
                out += ca.mtimes(ca.jacobian(graph, symbols), inner)
            return out

        for _, graph in self.stages:
            found.append(derivative(graph))
        return resolve(derivative(self.F if self.staged is None else self.staged), self.stages)


def resolve(graph: ca.SX, stages: tuple[tuple[ca.SX, ca.SX], ...]) -> ca.SX:
    """The graph with the values of the stages put in, the last first."""
    for symbols, value in reversed(stages):
        graph = ca.substitute(graph, symbols, value)
    return graph


class SettledForm(Protocol):
    """F(t, y, y') = 0 with every static choice made: the graph, and y, y' at a consistent state.

    Forms with equal `key` have the same graph; what differs is in `parameters`, the values of `Residual.p`. `choices`
    are equal if and only if the choices are, `fixed` if the user made them; `partition` names the dependent speeds.
    """

    @property
    def key(self) -> str: ...

    @property
    def choices(self) -> tuple[Any, ...]: ...

    @property
    def fixed(self) -> bool: ...

    @property
    def partition(self) -> Choice | None: ...

    def residual(self, system: System) -> Residual: ...

    def parameters(self, engine: Engine) -> np.ndarray: ...

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


class ResidualForm(Protocol):
    """A way of writing F(t, y, y') = 0, which makes its static choices - constraints, partitions - at a state."""

    def settled(self, engine: Engine, t: float, z: np.ndarray) -> SettledForm: ...


@dataclass(frozen=True)
class Mechanics:
    """Graphs of t, q, u, p that every form is made of, and of u', la where these enter.

    la, phi, A, b and the constraints are those of the kept rows. `balance` (nu, 1) is M u' - f - W^T la + F^T |la|;
    `constraints` (nc, 1) are psi - the rates of the position constraints and the velocity constraints - then the
    acceleration constraints; `power` (1, 1) changes the energy.
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
    b: ca.SX
    balance: ca.SX
    constraints: ca.SX
    power: ca.SX
    invariants: ca.SX

    @classmethod
    def of(cls, system: System, kept: Sequence[int] | None = None) -> Mechanics:
        """The pieces of a system, from its functions; with the constraints `kept` only, if some repeat others."""
        nq, nu, nc, ni = system.nq, system.nu, system.nc, len(system.invariants)
        rows = list(range(nc)) if kept is None else list(kept)
        n_p, n_v, n_a = system.count("position"), system.count("velocity"), system.count("acceleration")
        t, q, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("q", nq), ("u", nu), ("p", len(system.parameters))))
        udot, carried, la = ca.SX.sym("udot", nu), ca.SX.sym("la", len(rows)), ca.SX(nc, 1)
        la[rows] = carried
        x = ca.vertcat(t, q, u, p)
        out = system.functions["dynamics"](x)
        part = {name: out[where] for name, (where, _) in system.parts.items()}
        residual = system.functions["residual"](x)
        A = ca.reshape(part["constraint_jacobian"], nu, nc).T
        W = A if system.ideal else ca.reshape(part["directions"], nu, nc).T
        # [k:, :], not [k:]: CasADi takes a slice beyond the end of a 1x1 matrix for a row
        bent = (ca.mtimes(A, udot) - part["constraint_bias"])[n_p + n_v :, :]
        if system.curved:
            newton = system.functions["newton"](ca.vertcat(x, udot, la[nc - n_a :, :]))
            A = ca.vertcat(A[: nc - n_a, :], ca.reshape(newton[: n_a * nu], nu, n_a).T)
            W = ca.vertcat(W[: nc - n_a, :], ca.reshape(newton[n_a * nu : 2 * n_a * nu], nu, n_a).T)
            bent = newton[2 * n_a * nu : 2 * n_a * nu + n_a]
        reaction = ca.mtimes(W.T, la)
        if system.friction:
            reaction -= ca.mtimes(ca.reshape(part["friction"], nu, nc), ca.fabs(la))
        M = ca.reshape(part["mass_matrix"], nu, nu).T
        return cls(
            t=t, q=q, u=u, udot=udot, la=carried, p=p,
            qdot=part["coordinate_rates"],
            phi=_rows(residual, [row for row in rows if row < n_p]),
            A=_rows(A, rows),
            b=_rows(part["constraint_bias"], rows),
            balance=ca.mtimes(M, udot) - part["forces"] - reaction,
            constraints=_rows(ca.vertcat(residual[n_p:, :], bent), rows),
            power=part["power"] + ca.dot(part["transport"], udot) + ca.dot(reaction, u),
            invariants=system.functions["invariant"](x)[:ni, :],
        )  # fmt: skip

    def displacement(self, system: System, s: ca.SX) -> ca.SX:
        """C s (nq, 1): the change of q that goes with a change s of the integrated speeds."""
        return system.functions["displacement"](ca.vertcat(self.t, self.q, s, self.p))

    def shift(self, system: System, mu: ca.SX, nu: ca.SX) -> ca.SX:
        """C A_p^T mu + (gradients of the invariants)^T nu, (nq, 1): keeps both levels, zero in exact motion."""
        out = ca.SX(system.nq, 1)
        if mu.shape[0]:
            out += self.displacement(system, ca.mtimes(self.A[: mu.shape[0], :].T, mu))
        if nu.shape[0]:
            out += ca.mtimes(ca.jacobian(self.invariants, self.q).T, nu)
        return out


def _rows(matrix: ca.SX, rows: list[int]) -> ca.SX:
    """Rows of a matrix; without any, CasADi would lose its width."""
    return matrix[rows, :] if rows else ca.SX(0, matrix.shape[1])
