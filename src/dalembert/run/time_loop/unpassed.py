"""Singular positions on the way of an integrator that makes its steps elsewhere: seen, not passed.

The quality of the solve is evaluated after each step and judged as in `singular`; where it comes down to a zero the
position is located on the cubic through both ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.run.run_facts import Passage
from dalembert.run.time_loop.dependence import Path, cubic, find_dependences, rows_of
from dalembert.run.time_loop.singular import FLOOR, STEEP, judge_state

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

REACH = 2.0  # steps ahead within which the tangent of the quality reaches zero
SAME = 1.0  # steps between two sightings of one position


class Unpassed:
    """Follows the conditioning from step to step and notes singular positions as not passed."""

    def __init__(self, engine: Engine, name: str, t: float, z: np.ndarray) -> None:
        self.engine, self.name, self.t, self.z = engine, name, t, z
        self.zdot, self.length = engine.rates(t, z), 0.0
        self.before = self.now = self._quality()
        self.floor, self.rows = FLOOR, rows_of(engine)

    def _quality(self) -> float:
        """The quality at the state whose rates were the last."""
        return float(judge_state.call(*self.engine.work.numbers))

    def step(self, t: float, z: np.ndarray) -> None:
        """Look at the step that led to z at time t."""
        if self.engine.system.nc == 0 or not t > self.t:
            return
        zdot, h = self.engine.rates(t, z), t - self.t
        there = self._quality()
        falls = self.now * self.length < REACH * h * (self.before - self.now)
        rises = self.now * h < self.length * (there - self.now)
        low = not there > self.floor
        if falls or rises or low or there < STEEP * self.now:
            path = cubic(self.t, h, self.z, self.zdot, z, zdot)
            self._look(path, self.t - self.length, t + 0.5 * h, h)
            self.floor = 0.01 * there if low else self.floor
        self.engine.note_conditioning(there, t)
        self.t, self.z, self.zdot, self.length = t, z, zdot, h
        self.before, self.now = self.now, there

    def _look(self, path: Path, begin: float, end: float, h: float) -> None:
        names = self.engine.system.constraint_names
        for found in find_dependences(self.rows, path, begin, end):
            if not any(abs(passage.t - found.t) < SAME * h for passage in self.engine.passages[-2:]):
                why = f"{self.name} cannot pass it by a step of another method"
                self.engine.passages.append(Passage(found.t, found.names(names), np.nan, why))
