"""Mechanisms of many parts to measure: N-four-bars, a rope and a net; positions at the end are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

import dalembert as da
from dalembert.problems.n_four_bar import exact, n_four_bar
from dalembert.problems.net import net
from dalembert.problems.rope import rope

FOUR_BAR, ROPE, NET = "N-four-bar", "rope", "net"
TIGHT = da.DOP853(rtol=1e-11, atol=1e-11)
Solve = Callable[[float], np.ndarray]  # setting -> positions (k, d) of all points of the case at its end


@cache
def made(family: str, size: int) -> tuple[da.System, da.State]:
    """The compiled system and the state it starts from."""
    problem = {FOUR_BAR: n_four_bar, ROPE: rope, NET: lambda n: net(n, n)}[family](size)
    system = problem.system()
    return system, problem.state(system)


@dataclass(frozen=True)
class LargeCase:
    """A mechanism of `size` parts over `t_end` seconds; the error is the largest one of its points' coordinates.

    Points are the joints of an N-four-bar, the centres of a rope's rods and the knots of a net.
    """

    family: str
    size: int  # four-bars; rods; knots across and along, of which the first row is pinned
    t_end: float
    note: str = ""

    @property
    def title(self) -> str:
        """For tables."""
        names = {FOUR_BAR: f"{self.size}-four-bar", ROPE: f"rope of {self.size} rods"}
        return names.get(self.family, f"net of {self.size} x {self.size} knots")

    @cached_property
    def reference(self) -> np.ndarray:
        """The exact answer of the N-four-bar; for the others a tight run of ours, which peers approach or not."""
        if self.family != FOUR_BAR:
            return self.simulate(TIGHT)
        values = exact(self.size, np.array([self.t_end]))
        return np.array([[values[f"{axis}{k}"][0] for axis in "xy"] for k in range(self.size + 1)])

    def simulate(self, integrator: da.DOP853) -> np.ndarray:
        """Our positions at the end."""
        system, state = made(self.family, self.size)
        q = system.simulate(state, self.t_end, t_eval=[self.t_end], integrator=integrator).q[-1]
        columns = {FOUR_BAR: 2, ROPE: 7, NET: 3}[self.family]  # x, y; position and quaternion; x, y, z
        return q.reshape(-1, columns)[:, :3]

    def error(self, positions: np.ndarray) -> float:
        """The largest error of a coordinate of a point; infinite if some are not finite."""
        gap = np.abs(positions - self.reference).max()
        return float(gap) if np.isfinite(gap) else np.inf
