"""The equations of a system as graph pieces, the right-hand side a formulation makes of them, feedback included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from dalembert.equations.system import System


@dataclass(frozen=True)
class Equations:
    """M (nu, nu), f (nu, 1), A (nc, nu), b (nc, 1) as graphs of x = (t, q, u, p); all reactions ideal."""

    x: ca.SX
    qdot: ca.SX
    u: ca.SX
    M: ca.SX
    f: ca.SX
    A: ca.SX
    b: ca.SX
    power: ca.SX
    transport: ca.SX
    singular_mass: bool

    @classmethod
    def of(cls, system: System) -> Equations:
        """The pieces of the "dynamics" function of a system."""
        function = system.functions["dynamics"]
        x = ca.SX.sym("x", function.size1_in(0))
        out = function(x)
        part = {name: out[where] for name, (where, _) in system.parts.items()}
        nq, nu, nc = system.nq, system.nu, system.nc
        return cls(
            x=x,
            qdot=part["coordinate_rates"],
            u=x[1 + nq : 1 + nq + nu],
            M=ca.reshape(part["mass_matrix"], nu, nu).T,
            f=part["forces"],
            A=ca.reshape(part["constraint_jacobian"], nu, nc).T,
            b=part["constraint_bias"],
            power=part["power"],
            transport=part["transport"],
            singular_mass=system.singular_mass,
        )


Unroll = Callable[[Equations, Any], tuple[ca.SX, ca.SX, ca.SX] | None]


@dataclass(frozen=True)
class Feedback:
    """A change of b (nc, 1) as a graph: `change(x, h, options)`, h the step being made, options (`size`, 1).

    `name` tells one graph from another; numbers belong into `options`, so that one kernel serves all of them.
    """

    name: str
    size: int
    change: Callable[[ca.SX, ca.SX, ca.SX], ca.SX]

    def tail(self) -> ca.SX:
        """The inputs behind x: h and the options."""
        return ca.SX.sym("tail", 1 + self.size)


def motion_function(system: System, unroll: Unroll, choice: Any, feedback: Feedback | None) -> ca.Function | None:
    """The whole right-hand side as one function: q', u', power, la, quality; None if it cannot be unrolled.

    Its argument is x, and what stands behind it if there is feedback into b.
    """
    e = Equations.of(system)
    inputs = e.x
    if feedback is not None:
        tail = feedback.tail()
        inputs = ca.vertcat(e.x, tail)
        e = replace(e, b=e.b + feedback.change(e.x, tail[0], tail[1:]))
    solved = unroll(e, choice)
    if solved is None:
        return None
    udot, la, quality = solved
    power = e.power + ca.dot(e.transport, udot) + ca.dot(la, ca.mtimes(e.A, e.u))
    parts = [ca.densify(part) for part in (e.qdot, udot, power, la, quality)]
    return ca.Function("motion", [inputs], [ca.vertcat(*parts)])


def feedback_function(system: System, feedback: Feedback) -> ca.Function:
    """b with feedback, for solves that are not unrolled; reads x, an estimate of u' if there is one, h, options."""
    e, tail = Equations.of(system), feedback.tail()
    between = ca.SX.sym("estimate", system.nu + system.curved if system.curved else 0)
    b = ca.densify(e.b + feedback.change(e.x, tail[0], tail[1:]))
    return ca.Function("feedback", [ca.vertcat(e.x, between, tail)], [b])
