"""The linear equations a formulation solves, and the right-hand side it makes of them, feedback included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System


@dataclass(frozen=True)
class Equations:
    """Linear equations of a formulation, M u' = f + A^T la with A u' = b, as graphs. All reactions are ideal.

    A view of the mechanics: M (nu, nu), f (nu, 1) including the prescribed reaction, A (nc, nu), and b (nc, 1), which
    may include feedback. `singular_mass` says that M alone may be singular.
    """

    M: ca.SX
    f: ca.SX
    A: ca.SX
    b: ca.SX
    singular_mass: bool

    @classmethod
    def of(cls, system: System) -> Equations:
        """The linear equations of a system, to be solved for u' and la."""
        m = system.mechanics
        return cls(M=m.M, f=m.f + m.c, A=m.A, b=m.b, singular_mass=system.singular_mass)


Unroll = Callable[[Equations, Any], tuple[ca.SX, ca.SX, ca.SX] | None]


@dataclass(frozen=True)
class Feedback:
    """A change of b (nc, 1) as a graph: `change(mechanics, h, options)`, h the step being made, options (`size`, 1).

    `name` tells one graph from another; numbers belong in `options`, so that one kernel serves all of them.
    """

    name: str
    size: int
    change: Callable[[Mechanics, ca.SX, ca.SX], ca.SX]

    def tail(self) -> ca.SX:
        """The inputs after x: h and the options."""
        return ca.SX.sym("tail", 1 + self.size)


def motion_function(system: System, unroll: Unroll, choice: Any, feedback: Feedback | None) -> ca.Function | None:
    """The whole right-hand side as one function: q', u', power, la, quality; None if it cannot be unrolled.

    Its argument is x, and what stands behind it if there is feedback into b.
    """
    m, e = system.mechanics, Equations.of(system)
    inputs = m.x
    if feedback is not None:
        tail = feedback.tail()
        inputs = ca.vertcat(m.x, tail)
        e = replace(e, b=e.b + feedback.change(m, tail[0], tail[1:]))
    solved = unroll(e, choice)
    if solved is None:
        return None
    udot, la, quality = solved
    parts = [ca.densify(part) for part in (m.qdot, udot, m.ideal_power(udot, la), la, quality)]
    return ca.Function("motion", [inputs], [ca.vertcat(*parts)])


def feedback_function(system: System, feedback: Feedback) -> ca.Function:
    """b with feedback, for solves that are not unrolled; reads x, h, options."""
    m, tail = system.mechanics, feedback.tail()
    b = ca.densify(m.b + feedback.change(m, tail[0], tail[1:]))
    return ca.Function("feedback", [ca.vertcat(m.x, tail)], [b])
