"""`Tally`: the statistics of a motion's samples that its certificate needs, block by block.

A motion in memory is tallied as a whole, a larger one in blocks, and one whose samples are not recorded during its run.
All three give the same result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.motion.certificate import DEPENDENT_AMONG_MANY, DEPENDENT_CONDITION, Finding
from dalembert.motion.control import LostControl, lost_controls
from dalembert.motion.prescribed_jumps import prescribed_jumps
from dalembert.motion.protocols import EvaluatedMotion
from dalembert.run.run_facts import Energies

TALLIED_SAMPLES = 200  # samples at most that rows, their powers and their sizes are looked at, besides the last one


class Worst(NamedTuple):
    """The largest absolute values of n residuals (n,), and when each was met first (n,); NaN is larger than any."""

    values: np.ndarray
    t: np.ndarray

    @staticmethod
    def of(t: np.ndarray, residuals: np.ndarray) -> Worst:
        """Largest absolute values of residuals (nt, n) at samples t (nt,), nt >= 1."""
        found = np.abs(residuals)
        at = _order(found).argmax(axis=0)
        return Worst(found[at, np.arange(found.shape[1])], t[at])

    def joined(self, later: Worst) -> Worst:
        """Largest absolute values over these samples and later ones."""
        more = _order(later.values) > _order(self.values)
        return Worst(np.where(more, later.values, self.values), np.where(more, later.t, self.t))


def _order(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), np.inf, values)


class EnergyTally(NamedTuple):
    """Energies at samples: kinetic, potential and work done, (least, most) each.

    `first`, `least` and `largest` are values, with their times, of kinetic plus potential energy less the work done,
    which is constant for an exact motion.
    """

    first: tuple[float, float]
    least: tuple[float, float]
    largest: tuple[float, float]
    kinetic: tuple[float, float]
    potential: tuple[float, float]
    work: tuple[float, float]

    @staticmethod
    def of(t: np.ndarray, kinetic: np.ndarray, potential: np.ndarray, work: np.ndarray) -> EnergyTally:
        """Ranges of the energies (nt,) at samples t (nt,), nt >= 1."""
        excess = kinetic + potential - work
        least, largest = ((float(excess[k]), float(t[k])) for k in (excess.argmin(), excess.argmax()))
        ranges = [(float(part.min()), float(part.max())) for part in (kinetic, potential, work)]
        return EnergyTally((float(excess[0]), float(t[0])), least, largest, *ranges)

    def joined(self, later: EnergyTally) -> EnergyTally:
        """Ranges of the energies over these samples and later ones. NaN propagates."""
        less = _is_lower(later.least[0], self.least[0])
        more = _is_lower(-later.largest[0], -self.largest[0])
        ranges = [
            (float(np.minimum(a[0], b[0])), float(np.maximum(a[1], b[1])))
            for a, b in zip(self[3:], later[3:], strict=True)
        ]
        extremes = later.least if less else self.least, later.largest if more else self.largest
        return EnergyTally(self.first, *extremes, *ranges)

    def met(self, run: Energies | None) -> Energies:
        """Energies for the certificate: at the samples and, if known, along the `run` between them."""
        start = self.first[0] if run is None else run.start
        off, at = min(((-abs(value - start), t) for value, t in (self.least, self.largest)), key=_nan_first)
        met = Energies(self.first[1], start, -off, at, self.kinetic, self.potential, self.work)
        return met if run is None else met.joined(run)


def _is_lower(value: float, known: float) -> bool:
    """True if `value` is below `known`. NaN is below all numbers."""
    return value < known or (math.isnan(value) and not math.isnan(known))


def _nan_first(value: tuple[float, float]) -> tuple[float, float]:
    return (-math.inf if math.isnan(value[0]) else value[0]), value[1]


class Spread(NamedTuple):
    """Samples spread over a motion: each `stride`-th of so many `samples`, and the last, as they are.

    `stride` is the least power of two that leaves no more than `TALLIED_SAMPLES`, so that it can grow with the motion.
    """

    system: System
    parameters: np.ndarray
    samples: int
    stride: int
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    multipliers: np.ndarray

    @staticmethod
    def of(motion: EvaluatedMotion, rows: slice, first: int) -> Spread:
        """Selection from some samples of a motion. The first of them is sample number `first` of a longer motion."""
        count, stride = rows.stop - rows.start, 1
        while -(-(first + count) // stride) > TALLIED_SAMPLES:
            stride *= 2
        chosen = [*range(rows.start + -first % stride, rows.stop, stride)]
        if not chosen or chosen[-1] != rows.stop - 1:
            chosen.append(rows.stop - 1)
        e = motion.evaluation
        arrays = (motion.t, motion.q, motion.u, e.udot, e.multipliers)
        return Spread(motion.system, motion.parameters, first + count, stride, *(a[chosen] for a in arrays))

    def joined(self, later: Spread) -> Spread:
        """Selection from these samples and the later ones, which begin where these end."""
        regular = -(-self.samples // self.stride)  # without the last, if that is not one of them
        arrays = [
            np.concatenate([mine[: regular : later.stride // self.stride], theirs])
            for mine, theirs in zip(self[4:], later[4:], strict=True)
        ]
        return Spread(self.system, self.parameters, later.samples, later.stride, *arrays)


class Tally(NamedTuple):
    """Statistics of one or more samples, as a certificate needs them.

    `worst` holds the largest residuals by name: "position" (phi), "velocity" (psi), "acceleration", "independent" (the
    acceleration residuals where constraints were independent) and "solve" (the balance). `condition` is the smallest
    reciprocal condition of a solve and its time. `dependent` are the times at which it was practically zero. `jumps`
    are the jumps of constraints at instants known beforehand.
    """

    samples: int
    span: tuple[float, float]
    worst: Mapping[str, Worst]
    condition: tuple[float, float]
    dependent: np.ndarray
    energy: EnergyTally
    spread: Spread
    lost_controls: tuple[LostControl, ...]
    jumps: tuple[Finding, ...]

    @property
    def is_dependent(self) -> bool:
        """Whether constraints were dependent at every sample."""
        return len(self.dependent) == self.samples

    @staticmethod
    def of(motion: EvaluatedMotion, rows: slice, first: int = 0) -> Tally:
        """Tally of some samples of a motion, which are the samples from number `first` on of a longer motion.

        The sample before them is read too: an occurrence between two samples belongs to the later one.
        """
        system, e, t = motion.system, motion.evaluation, motion.t[rows]
        condition = e.condition[rows]
        dependent = condition < (DEPENDENT_AMONG_MANY if system.is_large else DEPENDENT_CONDITION)
        residuals = {"position": e.phi[rows], "velocity": e.psi[rows], "acceleration": e.acceleration[rows]}
        residuals["independent"] = np.where(dependent[:, None], 0.0, residuals["acceleration"])
        residuals["solve"] = e.balance[rows, None]
        k = int(np.argmin(condition))
        onwards = slice(max(rows.start - 1, 0), rows.stop)
        path = motion.t[onwards], motion.q[onwards], motion.u[onwards]
        return Tally(
            samples=len(t),
            span=(float(t[0]), float(t[-1])),
            worst={name: Worst.of(t, values) for name, values in residuals.items()},
            condition=(float(condition[k]), float(t[k])),
            dependent=t[dependent],
            energy=EnergyTally.of(t, e.kinetic[rows], e.potential[rows], motion.work[rows]),
            spread=Spread.of(motion, rows, first),
            lost_controls=lost_controls(system, *path, motion.parameters),
            jumps=_jumps(motion, *path, is_first=not rows.start),
        )

    def joined(self, later: Tally) -> Tally:
        """Tally of these samples and the later ones, which begin where these end."""
        lower = _is_lower(later.condition[0], self.condition[0])
        return Tally(
            samples=self.samples + later.samples,
            span=(self.span[0], later.span[1]),
            worst={name: worst.joined(later.worst[name]) for name, worst in self.worst.items()},
            condition=later.condition if lower else self.condition,
            dependent=np.concatenate([self.dependent, later.dependent]),
            energy=self.energy.joined(later.energy),
            spread=self.spread.joined(later.spread),
            lost_controls=self.lost_controls + later.lost_controls,
            jumps=_largest(self.jumps, later.jumps),
        )


def tally_of(motion: EvaluatedMotion) -> Tally:
    """Tally of a motion in memory with samples, in blocks if it is large."""
    e = motion.evaluation
    blocks = motion.storage.slices(len(motion), e.phi.shape[1] + e.psi.shape[1] + 2 * e.acceleration.shape[1])
    tallies = (Tally.of(motion, rows, rows.start) for rows in blocks)
    whole = next(tallies)
    for tally in tallies:
        whole = whole.joined(tally)
    return whole


def _jumps(
    motion: EvaluatedMotion, t: np.ndarray, q: np.ndarray, u: np.ndarray, *, is_first: bool
) -> tuple[Finding, ...]:
    """Jumps of constraints from the first of samples on to before the last; those of a run, from its start on."""
    begin = None
    if is_first:
        begin = motion.energies.begin if motion.energies else motion.facts.origin[0] if motion.facts else float(t[0])
        begin = min(begin, float(t[0]))
    found = prescribed_jumps(motion.system, begin, t, (q, u), motion.parameters, motion.sizes.rows, motion.tolerances)
    return tuple(found)


def _largest(some: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of both, the worst of each name."""
    found = {(f.level, f.name): f for f in some}
    for f in others:
        known = found.get((f.level, f.name))
        if known is None or f.worst > known.worst:
            found[f.level, f.name] = f
    return tuple(found.values())
