"""The cells of functions that hide features, laid over a run and shared with native code."""

from __future__ import annotations

import math

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
        # The kernel of the arguments that time moves, and their number: they come first.
        *ints("moved moving"),
        # Blocks of floats: input of the kernel; arguments and their rates at the start and at the end of a step; those
        # that time moves, in it.
        *ints("input begins ends middles"),
        # Blocks of floats, one entry per function: the size of its argument, its range over the step at hand, and how
        # far its cubic may be off.
        *ints("sizes lows highs slacks"),
        # Blocks of integers, one entry per function: its argument; where its edges are and how many; the cell last met.
        *ints("arguments edges counts cells"),
        # Addresses of what runs share: periods; edges for arguments that have left their own, see `CellMaps.shelf`.
        *ints("periods shelf"),
        # The time that `begins` belong to; times the shortest cell that a step may go; whether the step at hand is to
        # end at a jump (1, else 0).
        *floats("t reach jumped"),
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
    if "moving" in system.functions:
        record.moved, record.moving = (moving := system.kernel("moving")).address, moving.n_out
    blocks = {"input": record.n_x + record.n_rates} | dict.fromkeys(("begins", "ends"), 2 * columns)
    work.reserve(
        record,
        blocks | {"middles": record.moving} | dict.fromkeys(("sizes", "lows", "highs", "slacks"), n),
        dict.fromkeys(("arguments", "edges", "counts", "cells"), n),
    )
    return record


class RunMaps:
    """The maps of a run, laid over its `span` in a workspace, and extended where arguments leave them."""

    def __init__(self, record: Maps, work: Workspace, known: CellMaps, span: tuple[float, float]) -> None:
        self.record, self.work, self.known, self.span = record, work, known, span
        n = record.n = len(known.maps)
        if n:
            self.laid = known.laid_over(span)
            work.ints[record.arguments : record.cells] = self.laid.table
            record.timed, record.periods = known.timed, address_of(known.periods)
            self._read_shelf()
            work.plan.maps = record.address

    def _read_shelf(self) -> None:
        self.shelf = self.known.shelf
        self.record.shelf = address_of(self.shelf)

    def start(self, reach: float) -> None:
        """Start a march whose steps go at most `reach` times over the shortest cell that they touch."""
        self.record.reach, self.record.t = reach, math.nan

    def extend(self) -> None:
        """Lay maps over the arguments reached by the step at hand."""
        mem, ints, record = self.work.mem, self.work.ints, self.record
        for k in range(record.timed, record.n):
            low, high = float(mem[record.lows + k]), float(mem[record.highs + k])
            if low < high < math.inf and not ints[record.counts + k]:
                self.known.shelve(k, low, high)
        self._read_shelf()
