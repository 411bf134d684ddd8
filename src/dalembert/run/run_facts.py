"""`RunFacts`: what a run leaves besides its samples, as data that tells of it and lets it be evaluated again."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.run.drift.start import Start
from dalembert.run.formulations.choice import Choice
from dalembert.run.scales import Scales

NAMED = 6  # rows of a passage told by name
Choices = tuple[tuple[float, Choice | None], ...]


class Fallbacks(NamedTuple):
    """Evaluations that the pivoted saddle solve did in the place of the formulation: how many, and between when."""

    evaluations: int = 0
    first: float = 0.0
    last: float = 0.0


class Passage(NamedTuple):
    """A position in which constraints became dependent: when, which rows, and how the run went on.

    `error` is the estimated error of the step over it, relative to the size of each variable; `obstacle` says why there
    was no such step, empty if there was.
    """

    t: float
    rows: tuple[str, ...]
    error: float
    obstacle: str = ""

    @property
    def passed(self) -> bool:
        """Whether the motion is known to have stayed on its branch."""
        return not self.obstacle

    def __str__(self) -> str:
        rows = ", ".join(f"`{name}`" for name in self.rows[:NAMED]) + (", ..." if len(self.rows) > NAMED else "")
        how = f"passed, error {self.error:.0e}" if self.passed else f"not passed: {self.obstacle}"
        return f"rows {rows} became dependent at t = {self.t:.6g}; {how}"


NO_FALLBACKS = Fallbacks()


class RunFacts(NamedTuple):
    """What was seen and chosen on the way.

    `origin` is the time and the state (q, u) it began at. `started` is what the drift control was told, `step` the
    length of the last step, `mean_step` that of all.
    `scales` are the sizes its tolerances were relative to.
    `choices` are the static choices of the formulation, `partitions` those of a residual form, each with the time from
    which it served. `notes` say what else was chosen and why, `fallbacks` what the formulation did not solve
    itself. `passages` are the singular positions met, `worst` is the lowest quality of a solve at an accepted step and
    its time.
    """

    started: Start | None = None
    step: float = 0.0
    mean_step: float = 0.0
    choices: Choices = ()
    partitions: Choices = ()
    notes: tuple[str, ...] = ()
    fallbacks: Fallbacks = NO_FALLBACKS
    origin: tuple[float, np.ndarray] = (0.0, np.zeros(0))
    passages: tuple[Passage, ...] = ()
    worst: tuple[float, float] = (math.inf, math.nan)
    scales: Scales | None = None

    def choice_at(self, t: float) -> Choices:
        """The choice that served at time t, with the time it was made; the first before that, nothing if none was."""
        served = [made for made in self.choices if made[0] <= t]
        return (served[-1],) if served else self.choices[:1]
