"""Keeping the outputs of a run instead of its samples: blocks of samples are read, judged and forgotten as they come.

A block is read as a motion of its own, from the last sample of the one before it on: whole turns of angles are counted
on, and what happens between two samples is seen. The samples that came last wait until others come: the static choice
that served at them may be made after them. Blocks end at the same samples in every run, so that runs are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.errors import DalembertError, OptionError, SimulationInterrupt
from dalembert.model.reading import listed
from dalembert.motion.motion import Motion
from dalembert.motion.motion_outputs import MotionOutputs, identity_of
from dalembert.motion.outputs import is_expression, spelling, values_of
from dalembert.motion.state import State
from dalembert.motion.tally import Tally
from dalembert.motion.turns import join_turns
from dalembert.run.status import Status
from dalembert.run.storage import IN_MEMORY, MemoryTable, Part

BLOCK = 2**22  # bytes of a block of samples and of the values computed from them


class Sample(NamedTuple):
    """The last sample of a block, t (1,) and z (1, nz), and the outputs there, (1, ...) each."""

    t: np.ndarray
    z: np.ndarray
    values: tuple[np.ndarray, ...]


class Kept(NamedTuple):
    """Progress of an `OutputTable`: the number of samples read, their tally, and the last of them."""

    samples: int = 0
    tally: Tally | None = None
    last: Sample | None = None


class OutputTable:
    """Table that reads samples of a run in blocks: it stores their outputs and a tally, and drops the samples."""

    def __init__(self, outputs: KeptValues, part: Part) -> None:
        self._outputs, self._part, self._kept = outputs, part, Kept()
        self._waiting: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # samples not read yet, by number of the first
        self._values: dict[int, tuple[np.ndarray, ...]] = {}  # t and outputs, by number of the first sample

    def put(self, first: int, *blocks: np.ndarray) -> None:
        """Append a block of samples, t (n,) and z (n, nz). Reads the earlier ones first if they fill a block."""
        self._waiting = {number: block for number, block in self._waiting.items() if number < first}
        t, z = blocks
        if len(self) - self._kept.samples > (room := self._outputs.room(z.shape[1])):
            self._read(room)
        self._waiting[first] = t, z

    def joined(self) -> tuple[np.ndarray, ...]:
        """The samples not yet read, as views: changes made to them take effect."""
        known, waiting = self._kept.samples, sorted(self._waiting.items())
        if not waiting:
            return ()
        rest = [(t[max(known - number, 0) :], z[max(known - number, 0) :]) for number, (t, z) in waiting]
        joined = rest[0] if len(rest) == 1 else tuple(map(np.concatenate, zip(*rest, strict=True)))
        self._waiting = {known: (joined[0], joined[1])}
        return joined

    def __len__(self) -> int:
        return max((number + len(t) for number, (t, _) in self._waiting.items()), default=self._kept.samples)

    def _read(self, room: int) -> None:
        """Read waiting samples in blocks of `room`, as long as some are left."""
        waiting = self.joined()
        if not waiting:
            return
        t, z = waiting
        first, end = self._kept.samples, len(self)
        while end - self._kept.samples > room:
            self._read_block(t, z, first, self._kept.samples + room)
        self.joined()

    def _read_block(self, t: np.ndarray, z: np.ndarray, first: int, end: int) -> None:
        """Read samples up to number `end`, of t and z that begin with number `first`."""
        number, tally, last = self._kept
        rows = slice(number - first, end - first)
        t, z = t[rows], z[rows]
        before = 0 if last is None else 1
        part = self._part(t, z) if last is None else self._part(np.append(last.t, t), np.concatenate([last.z, z]))
        values = tuple(
            self._outputs.read(part, key, None if last is None else last.values[k])[before:].copy()  # not a view
            for k, key in enumerate(self._outputs.keys)
        )
        found = Tally.of(part, slice(before, before + len(t)), number)
        self._values[number] = t.copy(), *values
        # Ctrl-C before this has the block read again, after it the next one.
        self._kept = Kept(
            end,
            found if tally is None else tally.joined(found),
            Sample(t[-1:].copy(), z[-1:].copy(), tuple(value[-1:].copy() for value in values)),
        )

    def finished(self, motion: Motion) -> MotionOutputs:
        """The recorded outputs of a run. `motion` holds the samples that are not yet processed.

        Ctrl-C marks the run as interrupted. All its outputs are recorded nevertheless.
        """
        try:
            self._read_rest()
        except KeyboardInterrupt as interruption:
            self._read_rest()
            kept = self._whole(replace(motion, success=False, message=Status.INTERRUPTED.message))
            raise SimulationInterrupt(f"`{motion.system.name}`: {kept.message}", kept) from interruption
        return self._whole(motion)

    def _read_rest(self) -> None:
        """Read all samples that are not yet read."""
        waiting = self.joined()
        if not waiting or not len(waiting[0]):
            return
        t, z = waiting
        self._read(self._outputs.room(z.shape[1]))
        t, z = self.joined()
        self._read_block(t, z, self._kept.samples, len(self))

    def _whole(self, motion: Motion) -> MotionOutputs:
        """The outputs of all samples, and the tally."""
        arrays = [np.concatenate(column) for column in zip(*self._values.values(), strict=True)]
        t, *values = arrays or [np.zeros(0), *(np.zeros((0, *shape)) for shape in self._outputs.shapes)]
        end = replace(
            motion, t=motion.t[-1:], q=motion.q[-1:].copy(), u=motion.u[-1:].copy(), work=motion.work[-1:].copy(),
            storage=IN_MEMORY,
        )  # fmt: skip
        return MotionOutputs(t, self._outputs.keys, tuple(values), self._kept.tally, end)


@dataclass(frozen=True)
class KeptValues:
    """The outputs to record of a run: `keys`, names and expressions, and the `shapes` of their values at a sample.

    `width` numbers are evaluated at each sample; the size of a block follows from it.
    """

    keys: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]
    width: int

    @property
    def size(self) -> int:
        """Numbers recorded per sample, its time included."""
        return 1 + sum(int(np.prod(shape)) for shape in self.shapes)

    def room(self, width: int) -> int:
        """Samples of so many numbers that are read at once."""
        return max(2, BLOCK // (8 * (width + self.width)))

    def read(self, part: Motion, key: Any, last: np.ndarray | None) -> np.ndarray:
        """The values of a key along a part of a motion, whose first sample has the values `last` if they are known."""
        values, known = values_of(part, key), part.system.named_quantities
        name = "" if is_expression(key) else spelling(key)
        if last is not None and name in known and known[name][0].wrapped:
            return join_turns([last, values])[1]
        return values

    def table(self, *_names: str) -> MemoryTable:
        """A table in memory."""
        return MemoryTable()

    def begin(self, part: Part) -> OutputTable:
        """A table that keeps outputs."""
        return OutputTable(self, part)

    def end(self, table: OutputTable, motion: Motion) -> MotionOutputs:
        """The recorded outputs of the run."""
        return table.finished(motion)

    def slices(self, rows: int, _width: int) -> Iterator[slice]:
        """All rows at once."""
        yield slice(0, rows)


def read_outputs(state: State, asked: Any) -> KeptValues:
    """The outputs to record of a run from a state. Raises an error that names all outputs that cannot be recorded."""
    entries = listed(asked)
    if entries is None:
        example = repr(asked) if isinstance(asked, str | sp.Basic) else "'x', ..."
        raise OptionError(f"outputs= is a list of names and expressions, got {asked!r}; write outputs=[{example}]")
    keys = {identity_of(key): key for key in _flat(entries)}
    if not keys:
        raise OptionError("outputs= is empty; list what to keep, or leave it out to keep the whole motion")
    start = Motion(
        system=state.system, parameters=state.parameters, t=np.array([state.t]), q=state.q[None], u=state.u[None],
        work=np.zeros(1), success=False, message="", stats={},
    )  # fmt: skip
    shapes, faults = [], []
    for key in keys.values():
        try:
            shapes.append(values_of(start, key).shape[1:])
        except DalembertError as fault:
            faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        lines = "\n".join(f"  {k}. {fault}" for k, fault in enumerate(faults, 1))
        raise OptionError(f"{len(faults)} of the outputs= of `{state.system.name}` cannot be kept:\n{lines}")
    system = state.system
    return KeptValues(tuple(keys.values()), tuple(shapes), 2 * system.nu + 4 * system.nc + 8)


def _flat(entries: list[Any]) -> Iterator[Any]:
    """The names and expressions in lists of lists."""
    for entry in entries:
        inner = listed(entry)
        if inner is None:
            yield entry
        else:
            yield from _flat(inner)
