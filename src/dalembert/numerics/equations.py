"""The equations of a system as graph pieces, and the right-hand side a formulation makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


def motion_function(system: System, unroll: Unroll, choice: Any) -> ca.Function | None:
    """The whole right-hand side in one function of x: q', u', power, la, quality; None if it cannot be unrolled."""
    e = Equations.of(system)
    solved = unroll(e, choice)
    if solved is None:
        return None
    udot, la, quality = solved
    power = e.power + ca.dot(e.transport, udot) + ca.dot(la, ca.mtimes(e.A, e.u))
    parts = [ca.densify(part) for part in (e.qdot, udot, power, la, quality)]
    return ca.Function("motion", [e.x], [ca.vertcat(*parts)])
