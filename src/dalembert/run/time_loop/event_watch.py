"""The event functions a run looks out for, in native code: where their values lie, and what has occurred.

`event_location` finds their zeros within accepted steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.intrinsics import record_at
from dalembert.native.jit import jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Plan, i8
from dalembert.native.types import Record, ints

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

ROOM = 256  # occurrences kept before the loop hands them over
# Ends of the pieces of a step. Those before NEAR are looked at in a first step only: they find the sign of functions
# that start at zero, however soon they come back to it.
NEAR = 14
PIECES = np.array([*(0.25 ** (NEAR + 1 - k) for k in range(NEAR)), 0.25, 0.5, 0.75, 1.0])


class Watched(Record):
    """Event functions that a run looks out for, and what has occurred."""

    _fields_ = (
        # Number of functions and their kernel; occurrences kept; whether one ended the run; whether functions read the
        # rates; whether no step was made yet; sizes of x and of the rates.
        *ints("n kernel kept stopped reads_rates first n_x n_rates"),
        # Blocks of floats, one entry per function: sign, values at the start and the end of a step, at the state last
        # looked at and at both ends of a piece, and where in the step the zero is. Then the input of the kernel, a
        # state, and the occurrences: time and state.
        *ints("signs starts ends values left right roots input place records"),
        # Further blocks of floats: values at the start of a step and at the ends of its pieces, one after the other;
        # per function, the value BETWEEN them, time of the first doubtful step and length of the longest, and the first
        # sign it had, and up to which values it is zero where it starts.
        *ints("pieces between doubted longest firsts slacks"),
        # Blocks of integers, per function: its direction, whether it ends the run, whether it has just occurred, how
        # many steps were doubtful; then which functions occurred.
        *ints("direction stops fresh doubts which"),
    )


watched = record_at(Watched)
PER_FUNCTION = (
    "signs", "starts", "ends", "values", "left", "right", "roots", "between", "doubted", "longest", "firsts", "slacks",
)  # fmt: skip


@dataclass(frozen=True)
class Watch:
    """Event functions for a run: their kernel, and per function direction, whether it ends the run, just occurred.

    `signs` are those that a run before left the functions with, 0 where there was none; values up to `slacks` are zero
    for a function that starts there. The kernel reads (t, q, u, p,
    q', u', power, la); `reads_rates` says whether it needs more than (t, q, u, p).
    """

    kernel: Kernel
    directions: tuple[int, ...]
    stops: tuple[bool, ...]
    fresh: tuple[bool, ...]
    signs: tuple[float, ...]
    slacks: tuple[float, ...]
    reads_rates: bool

    @contextmanager
    def over(self, engine: Engine) -> Iterator[None]:
        """Let an engine that has not run yet watch these functions for as long as the context lasts."""
        self._lay_out(engine)
        try:
            yield
        finally:
            engine.plan.watch = 0

    def _lay_out(self, engine: Engine) -> None:
        n, nz = len(self.directions), engine.nz
        n_x, n_rates = 1 + engine.size + len(engine.parameters), engine.size + 1 + engine.system.nc
        capacity = ROOM + len(PIECES) * n
        blocks = dict.fromkeys(PER_FUNCTION, n)
        blocks |= {"input": n_x + n_rates, "place": nz, "records": capacity * (1 + nz), "pieces": 5 * n}
        w, _ = engine.work.part(
            "watch", Watched, blocks, dict.fromkeys(("direction", "stops", "fresh", "doubts"), n) | {"which": capacity}
        )
        w.n, w.kernel, w.reads_rates, w.first, w.n_x, w.n_rates = (
            n,
            self.kernel.address,
            self.reads_rates,
            1,
            n_x,
            n_rates,
        )
        for name, values in (("direction", self.directions), ("stops", self.stops), ("fresh", self.fresh)):
            engine.work.ints[getattr(w, name) :][:n] = values
        engine.mem[w.signs :][:n], engine.mem[w.slacks :][:n] = self.signs, self.slacks


def occurrences(engine: Engine) -> list[tuple[int, float, np.ndarray]]:
    """Those kept since `kept` was last set to zero, in order: function, time, state (nz,)."""
    if not engine.plan.watch:
        return []
    w, nz = engine.work.parts["watch"], engine.nz
    rows = engine.mem[w.records : w.records + w.kept * (1 + nz)].reshape(w.kept, 1 + nz).copy()
    which = engine.work.ints[w.which : w.which + w.kept].tolist()
    return [(function, float(row[0]), row[1:]) for function, row in zip(which, rows, strict=True)]


def signs(engine: Engine) -> list[float]:
    """The signs of the functions where a run has come to; 0 for one that has none yet."""
    w = engine.work.parts["watch"]
    return engine.mem[w.signs :][: w.n].tolist()


def first_signs(engine: Engine) -> list[float]:
    """The first signs that the functions had in a run; 0 for one that had none."""
    w = engine.work.parts["watch"]
    return engine.mem[w.firsts :][: w.n].tolist()


def doubts(engine: Engine) -> list[tuple[int, float, float]]:
    """The doubtful steps of each function: how many, the first one's time, the length of the longest."""
    w = engine.work.parts["watch"]
    counts, times, lengths = engine.work.ints[w.doubts :], engine.mem[w.doubted :], engine.mem[w.longest :]
    return [(int(counts[k]), float(times[k]), float(lengths[k])) for k in range(w.n)]


@jit(i8(Plan))
def is_crowded(plan):
    """Whether occurrences should be handed over before the next step."""
    return plan.watch != 0 and watched(plan.watch).kept >= ROOM
