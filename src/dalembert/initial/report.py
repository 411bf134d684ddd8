"""`Report`: how a consistent state was found, and the numbers of values that may be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.initial.request import Wishes
from dalembert.motion.state import State
from dalembert.solve.tolerances import SAME

if TYPE_CHECKING:
    from dalembert.initial.diagnosis import Diagnosis

PRINTED_MOVES = 8


@dataclass(frozen=True, eq=False)
class Report:
    """Report on an initial `state`: `steps` by level, the `guess` (q, u) before the solve, the `wishes` that were met.

    `moved` maps names to how far they went from the guess, given values included. `n_p` positions and `n_v` velocities
    may be chosen: n_p = n - s_p, n_v = n - s_p - s_v, from the ranks s_p, s_v, s_a of the levels in this state.
    """

    state: State
    steps: Mapping[str, int]
    guess: np.ndarray
    wishes: Wishes = field(default_factory=Wishes)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the coordinates, speeds and rates "x'" that were asked for."""
        s, w = self.state.system, self.wishes
        rates = (f"{s.coordinates[k]}'" for k in w.rates)
        return (*(s.coordinates[k] for k in w.q), *(s.speeds[k] for k in w.u), *rates)

    @property
    def iterations(self) -> int:
        """Steps of all levels together."""
        return sum(self.steps.values())

    @cached_property
    def moved(self) -> dict[str, float]:
        """Nonzero changes against the guess, by name."""
        s, now = self.state.system, self.state.z
        change = now - self.guess
        names = (*s.coordinates, *s.speeds)
        return {names[k]: float(change[k]) for k in np.flatnonzero(np.abs(change) > SAME * (1.0 + np.abs(now)))}

    @property
    def residuals(self) -> dict[str, dict[str, float]]:
        """Residual of every constraint, by level and name."""
        return self.state.residuals

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Ranks and redundancies in this state."""
        from dalembert.initial.diagnosis import diagnose  # a start that is found needs none

        return diagnose(self.state.system, self.state)

    @property
    def n_p(self) -> int:
        """Number of positions that may be chosen, n - s_p."""
        return self.diagnosis.position_dof

    @property
    def n_v(self) -> int:
        """Number of velocities that may be chosen, n - s_p - s_v."""
        return self.diagnosis.dof

    @property
    def s_p(self) -> int:
        """Number of independent position constraints."""
        return self.diagnosis.ranks["position"]

    @property
    def s_v(self) -> int:
        """Number of velocity constraints independent of those."""
        return self.diagnosis.ranks["velocity"]

    @property
    def s_a(self) -> int:
        """Number of acceleration constraints independent of those."""
        return self.diagnosis.ranks["acceleration"]

    def __str__(self) -> str:
        s = self.state.system
        steps = ", ".join(f"{count} {level}" for level, count in self.steps.items())
        moves = sorted(self.moved.items(), key=lambda item: -abs(item[1]))
        shown = [f"{name} {change:+.4g}" for name, change in moves[:PRINTED_MOVES]]
        more = [f"and {len(moves) - PRINTED_MOVES} more"] if len(moves) > PRINTED_MOVES else []
        lines = [
            f"report of `{s.name}` at t = {self.state.t:g}",
            f"  may be chosen  n_p = {self.n_p} positions, n_v = {self.n_v} velocities of {s.nu}",
            f"  independent    s_p = {self.s_p}, s_v = {self.s_v}, s_a = {self.s_a} constraints of {s.nc}",
            f"  steps          {steps}",
            f"  moved          {', '.join(shown + more) or 'nothing'}",
        ]
        for level, values in self.residuals.items():
            worst = max(values, key=lambda name: abs(values[name]))
            lines.append(f"  {level:<15}worst residual {abs(values[worst]):.1e} of {len(values)} (`{worst}`)")
        return "\n".join(lines)

    __repr__ = __str__
