"""`RunFacts`: data of a run besides its samples, by which it is described and can be evaluated again."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.run.branch_memory import NONE_REMEMBERED
from dalembert.run.drift.start import Start
from dalembert.run.formulations.choice import Choice
from dalembert.run.scales import Scales

REST = 1e-7  # least energy turnover of a system at rest, relative to its potential energy and to forces along sizes
REST_ENERGY = 1e-6  # of that: kinetic energies below it are round-off
NAMED = 6  # rows of a passage told by name
Choices = tuple[tuple[float, Choice | None], ...]


class Fallbacks(NamedTuple):
    """Evaluations that the pivoted saddle solve did in the place of the formulation: how many, and between when."""

    evaluations: int = 0
    first: float = 0.0
    last: float = 0.0


# Why a position is not passed.
AVOIDED = (
    "constraints come close to being dependent without becoming so, and steps are too long to tell where the motion "
    "turns; use a smaller tolerance"
)
MISSED = "a step went over it before it was seen; use a smaller tolerance or step"
APPROACHED = "steps became so short next to it that accelerations are round-off"
STARTED = "the motion starts there, and more than one may go on from it"
NO_MOTION = "velocity or acceleration constraints are among them, and no motion meets them there, or more than one does"


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


class Energies(NamedTuple):
    """Energies along a run, independent of its samples: kinetic, potential, and the work done.

    `start` is kinetic plus potential energy, less work done before, at the time `begin` of its start. `off` is the
    largest |E - E0 - W| and `t` when it was met. The ranges are (least, most) each.
    """

    begin: float
    start: float
    off: float
    t: float
    kinetic: tuple[float, float]
    potential: tuple[float, float]
    work: tuple[float, float]

    @staticmethod
    def at(times: np.ndarray, energies: tuple[np.ndarray, np.ndarray, np.ndarray], balance: np.ndarray) -> Energies:
        """Energies at samples: from kinetic energy, potential energy and work, (nt,) each, and balance errors (nt,)."""
        k, off = int(np.argmax(np.nan_to_num(np.abs(balance), nan=np.inf))), np.abs(balance)
        ranges = [(float(part.min()), float(part.max())) for part in energies]
        start = float(energies[0][0] + energies[1][0] - energies[2][0] - balance[0])
        return Energies(float(times[0]), start, float(off[k]), float(times[k]), *ranges)

    @property
    def size(self) -> float:
        """Energy turned over, or the largest kinetic energy; for a system at rest, a part of the potential energy.

        That part is far above round-off. The largest of the three counts.
        """
        turned = sum(most - least for least, most in (self.kinetic, self.potential, self.work))
        largest = max(map(abs, self.kinetic)), REST * max(map(abs, self.potential))
        return max(turned, *largest, float(np.finfo(float).tiny))

    def size_beside(self, scales: Scales, end: float) -> float:
        """Reference for energy imbalances up to the time `end`: the energy turned over, or what forces can hide.

        Constraints are held to about 1e-13 (`Projection`), a millionth of `REST`. Within this error of the positions,
        forces of the order of the sizes do unseen work, a part of the energy of the sizes. In a system at rest, which
        moves only by the errors of the speeds, this work accumulates as long as the run lasts.
        """
        least = REST * scales.energy
        at_rest = max(map(abs, self.kinetic)) <= REST_ENERGY * least
        return max(self.size, least * (1.0 + scales.rate * (end - self.begin)) if at_rest else least)

    def joined(self, other: Energies, *, done: float = 0.0, off: float = 0.0) -> Energies:
        """These and other energies of the same motion, which begin at work `done` and balance error `off`.

        Imbalances add up as if they had one sign.
        """
        added = (other.kinetic, other.potential, (other.work[0] + done, other.work[1] + done))
        ranges = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(self[4:], added, strict=True)]
        theirs = other.off + abs(off)
        worse = theirs > self.off or theirs != theirs  # noqa: PLR0124 - not a number
        off_t = (theirs, other.t) if worse else (self.off, self.t)
        return Energies(min(self.begin, other.begin), self.start, *off_t, *ranges)


NO_FALLBACKS = Fallbacks()


class RunFacts(NamedTuple):
    """Observations and choices along a run.

    `origin` is the time and the state (q, u) at its start. `started` is the data that the drift control received,
    `step` the length of the last step. `scales` are the sizes that its tolerances were relative to.
    `choices` are the static choices of the formulation, `partitions` those of a residual form, each with the time from
    which it served. `notes` explain all other choices. `fallbacks` are the evaluations that the formulation left to
    the pivoted solve. `anchors` are solutions that Newton's method for accelerations has found along the run.
    `passages` are the singular positions met. `worst` is the lowest quality of a solve at an accepted step, and its
    time.
    """

    started: Start | None = None
    step: float = 0.0
    choices: Choices = ()
    partitions: Choices = ()
    notes: tuple[str, ...] = ()
    fallbacks: Fallbacks = NO_FALLBACKS
    origin: tuple[float, np.ndarray] = (0.0, np.zeros(0))
    passages: tuple[Passage, ...] = ()
    worst: tuple[float, float] = (math.inf, math.nan)
    scales: Scales | None = None
    anchors: np.ndarray = NONE_REMEMBERED

    def choice_at(self, t: float) -> Choices:
        """The choice that served at time t, with the time it was made. Before the first choice: the first, if any."""
        served = [made for made in self.choices if made[0] <= t]
        return (served[-1],) if served else self.choices[:1]
