"""`RunFacts`: what a run leaves besides its samples, as data that tells of it and lets it be evaluated again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.run.drift.start import Start
from dalembert.run.formulations.choice import Choice
from dalembert.run.scales import Scales

Choices = tuple[tuple[float, Choice | None], ...]


class Fallbacks(NamedTuple):
    """Evaluations that the pivoted saddle solve did in the place of the formulation: how many, and between when."""

    evaluations: int = 0
    first: float = 0.0
    last: float = 0.0


NO_FALLBACKS = Fallbacks()


class RunFacts(NamedTuple):
    """What was seen and chosen on the way.

    `origin` is the time and the state (q, u) it began at. `started` is what the drift control was told, `step` the
    length of the last step, `mean_step` that of all.
    `scales` are the sizes its tolerances were relative to.
    `choices` are the static choices of the formulation, `partitions` those of a residual form, each with the time from
    which it served. `notes` say what else was chosen and why, `fallbacks` what the formulation did not solve
    itself.
    """

    started: Start | None = None
    step: float = 0.0
    mean_step: float = 0.0
    choices: Choices = ()
    partitions: Choices = ()
    notes: tuple[str, ...] = ()
    fallbacks: Fallbacks = NO_FALLBACKS
    origin: tuple[float, np.ndarray] = (0.0, np.zeros(0))
    scales: Scales | None = None

    def choice_at(self, t: float) -> Choices:
        """The choice that served at time t, with the time it was made; the first before that, nothing if none was."""
        served = [made for made in self.choices if made[0] <= t]
        return (served[-1],) if served else self.choices[:1]
