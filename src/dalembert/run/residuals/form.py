"""`Residual`: equations of motion with their constraints as F(t, y, y') = 0, the form that DAE solvers take."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.run.formulations.choice import Choice

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

# Quality below which static choices are made anew. What is eliminated outruns what is kept by up to its reciprocal, and
# the error test does not see it: chains of 4 and 5 links lose 10 to 40 times more energy with 1e-2, at the same cost.
POOR = 0.3


@dataclass(frozen=True)
class Residual:
    """F (ny, 1) as a graph of t, y (ny, 1), y' (ny, 1) and the parameters p.

    `state` is z = (q, u, and the work done if anything does work) as a graph of t, y, p. `differential` (ny,) says
    whose rate occurs; `tested` (ny,) which variables an error test should look at: not multipliers, whose errors are
    larger by the index of the equations and do not feed back; `vanishing` (ny,) which are zero in every solution
    (empty: none). `power` is the rate of the work, (1, 1), or (0, 1) if nothing does work. `quality` is 1 where the
    static choices of the form are good and falls towards 0 where they fail; None if it makes none that could. `stages`
    may name intermediate values, (symbols, graph of what comes before), and `staged` be F in terms of them: derivatives
    then follow by the chain rule, with far fewer operations than those of F at once.
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
    power: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
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
    y begins with entries of z = (q, u, work), `order` says which.
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

    def order(self, engine: Engine) -> list[int]: ...

    def parameters(self, engine: Engine) -> np.ndarray: ...

    def start(self, engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


class ResidualForm(Protocol):
    """A way of writing F(t, y, y') = 0, which makes its static choices - constraints, partitions - at a state."""

    def settled(self, engine: Engine, t: float, z: np.ndarray) -> SettledForm: ...
