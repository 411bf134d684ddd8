"""The cells of functions that hide features, laid over a run and shared with native code."""

from __future__ import annotations

import math

import numpy as np

from dalembert.equations.maps import CellMaps
from dalembert.equations.system import System
from dalembert.native.intrinsics import record_at
from dalembert.native.jit import address_of
from dalembert.native.types import Record, floats, ints
from dalembert.native.workspace import Workspace


class Maps(Record):
    """Record of the cells of functions during a run, shared with native code."""

    _fields_ = (
        # Number of functions of the time, and of all; the kernel of arguments (0 if all are of the time), sizes of what
        # it reads; how many arguments it gives.
        *ints("timed n kernel n_x n_rates n_arguments"),
        # Blocks of floats: input of the kernel; arguments and their rates at the start, at the end of and in a step.
        *ints("input begins ends middles"),
        # Blocks of floats, one entry per function: period and size of its argument, its range over the step at hand,
        # and how far its cubic may be off.
        *ints("periods sizes lows highs slacks"),
        # Blocks of integers, one entry per function: its argument; where its edges are and how many; the cell last met.
        *ints("arguments edges counts cells"),
        # The time that `begins` belong to; where the next step must end at the latest, and the time that was told at.
        *floats("t limit limited"),
        # Times the shortest cell that a step may go; whether the step at hand is to end at a jump (1, else 0).
        *floats("reach jumped"),
    )


mapped = record_at(Maps)


def lay_out_maps(system: System, work: Workspace) -> Maps | None:
    """The record of the features of a system, with room for them all in a workspace; None without features."""
    n = len(system.features)
    if not n:
        return None
    record, columns = Maps(), sum(not feature.of_time for feature in system.features)
    record.n_x, record.n_rates = 1 + system.nq + system.nu + len(system.parameters), system.nq + system.nu
    record.n_arguments = columns
    record.kernel = system.kernel("arguments").address if columns else 0
    blocks = {"input": record.n_x + record.n_rates} | dict.fromkeys(("begins", "ends", "middles"), 2 * columns)
    work.reserve(
        record, blocks | dict.fromkeys(("periods", "sizes", "lows", "highs", "slacks"), n),
        dict.fromkeys(("arguments", "edges", "counts", "cells"), n),
    )  # fmt: skip
    return record


class RunMaps:
    """The maps of a run, laid over its `span` in a workspace, and extended where arguments leave them."""

    def __init__(self, record: Maps, work: Workspace, known: CellMaps, span: tuple[float, float]) -> None:
        self.record, self.work, self.known, self.span = record, work, known, span
        record.n, record.timed = len(self.known.maps), self.known.timed
        work.ints[record.arguments :][: record.n] = self.known.places
        work.mem[record.periods :][: record.n] = self.known.periods
        self.edges: list[np.ndarray] = [np.zeros(0)] * record.n
        for k, made in enumerate(self.known.maps):
            if made.feature.of_time or made.period:
                self._show(k, made.over(*span))
        work.plan.maps = record.address if record.n else 0

    def start(self, reach: float) -> None:
        """Start a march whose steps go at most `reach` times over the shortest cell that they touch."""
        self.record.reach, self.record.t, self.record.limited = reach, math.nan, math.nan

    def _show(self, k: int, edges: np.ndarray) -> None:
        """Tell native code where the edges of a map are."""
        ints, record, self.edges[k] = self.work.ints, self.record, edges
        ints[record.edges + k], ints[record.counts + k], ints[record.cells + k] = address_of(edges), edges.size, 0

    def extend(self) -> None:
        """Extend the maps to the arguments reached by the step at hand."""
        mem, record = self.work.mem, self.record
        for k in range(record.timed, record.n):
            made, edges = self.known.maps[k], self.edges[k]
            low, high = float(mem[record.lows + k]), float(mem[record.highs + k])
            if low < high and not (made.period or (edges.size and edges[0] <= low and high <= edges[-1])):
                self._show(k, made.over(low, high))
