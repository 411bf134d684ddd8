"""Starts at positions with dependent constraints: recognised a little further on, and left by half an arc.

Accelerations at such a position are round-off, and so is the step that a method makes with them. Only the state is
known there and, a part of the time of the motion further on, the number of independent rows. A collocation arc with the
singular time in its middle has no stage close to it. It begins before the run does, where shooting finds its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from dalembert.run.time_loop.collocation import Arc
from dalembert.run.time_loop.dependence import Dependence, rank_of

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.time_loop.underway import Underway

START_OFFSET, ARC = 1e-2, 0.1  # of the time of the motion: how far to look beside a start, and the first arc from there
SHOTS = 20  # for the begin of an arc; each reduces the miss by the factor of about ARC
ACCEPTED_ERROR = 1e-6  # relative error allowed at last


class Passing(Protocol):
    """Interface of `Passages` to the start of a run: the run, an engine that evaluates stages, and arcs."""

    run: Underway
    engine: Engine
    tries: int

    @property
    def still(self) -> Engine: ...
    @property
    def allowed(self) -> float: ...
    def values(self, *places: tuple[float, np.ndarray]) -> np.ndarray: ...
    def dependence(self, t: float, z: np.ndarray, rank: int) -> Dependence: ...
    def arc(self, t: float, z: np.ndarray, length: float) -> tuple[Arc, float]: ...
    def sizes(self, z: np.ndarray) -> np.ndarray: ...


def find_singular_start(passages: Passing) -> Dependence | None:
    """Dependence of the rows at the start of the run, if more of them are independent a little further on; else None.

    The distance does not depend on the step at hand, whose length is determined by round-off.
    """
    run, still = passages.run, passages.still
    t, z, part = run.t, run.z.copy(), 0.5 * START_OFFSET * time_of_motion(passages)
    if any(passage.t == t for passage in passages.engine.passages):
        return None
    on, ahead = t, z
    for _ in range(2):  # from rest, the second one moves along the accelerations
        ahead, on = ahead + part * still.rates(on, ahead), on + part
    here, there = passages.values((t, z), (on, still.corrected(on, ahead)[0]))
    rank = rank_of(there[None])
    return passages.dependence(t, z, rank) if rank_of(here[None]) < rank else None


def leaving_arc(passages: Passing, tries: int) -> tuple[Arc | None, float]:
    """An arc from the singular position at hand and its relative error; None if no length makes it small."""
    length, found = 2.0 * ARC * time_of_motion(passages), None
    while found is None and passages.tries < tries:
        arc, error = _centred(passages, length)
        found = arc if error <= passages.allowed else None
        length *= 0.5
        passages.tries += 1
    passages.tries = 0
    return found, error


def time_of_motion(passages: Passing) -> float:
    """Time in which the motion changes by its own size, or the rest of the run if that is less."""
    scales, left = passages.engine.scales, passages.run.limit - passages.run.t
    return left if scales is None else min(1.0 / scales.rate, left)


def _centred(passages: Passing, length: float) -> tuple[Arc, float]:
    """The second half of an arc of this length with the state at hand in its middle, and the error of the whole.

    Where that begins is found by shooting: the state there moves by what the arc misses in the middle.
    """
    t, still, nq = passages.run.t, passages.still, passages.engine.system.nq
    z, begin = still.corrected(t, passages.run.z)[0], t - 0.5 * length
    start, sizes = z.copy(), passages.sizes(z)
    start[:nq] -= 0.5 * length * still.rates(t, z)[:nq]
    for _ in range(SHOTS):
        arc, error = passages.arc(begin, still.corrected(begin, start)[0], length)
        if not error <= ACCEPTED_ERROR:
            break
        missed = z - arc.at(np.array(t))
        off = float(np.abs(missed / sizes).max())
        if off <= passages.allowed:
            return arc.since(t), max(error, off)
        start = start + missed
    return arc, np.inf
