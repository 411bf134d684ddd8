"""Event functions watched during a run, in native code: the layout of their values, and the occurrences.

`event_location` finds their zeros within accepted steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.native.enclosures import WIDTH
from dalembert.native.intrinsics import record_at
from dalembert.native.jit import address_of, jit
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Plan, i8
from dalembert.native.series_tape import SeriesTape
from dalembert.native.types import Record, ints

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

ROOM = 2**11  # numbers in the occurrences kept before the loop hands them over, at least of 16 occurrences
# A step is seen as a polynomial of this degree, exactly that of the dense output: no method has one of a higher degree.
DEGREE = 8
CUBIC = 4  # coefficients of the cubic through both ends of a step, by which it is looked at first


class Watched(Record):
    """Event functions watched during a run, and their occurrences."""

    _fields_ = (
        # Number of functions and their kernel; occurrences kept, and how many before they are handed over; whether one
        # ended the run; whether functions read the rates; whether no step was made yet; sizes of x and of the rates.
        *ints("n kernel kept room stopped reads_rates n_x n_rates"),
        # Number of the columns that functions read and that change with time; address and length of the tape that
        # bounds the functions, and the length of its numbers.
        *ints("n_reads code n_code n_numbers"),
        # Blocks of floats, one entry per function: sign, values at the start and the end of a step, at the state last
        # looked at and at both ends of a piece, and where in the step the zero is. Then the input of the kernel, a
        # state, and the occurrences: time and state.
        *ints("signs starts ends values left right roots input place records"),
        # Per function, the time of the first step in doubt and the length of the longest, the first sign it had, and up
        # to which values it is zero where it starts, whether values at the ends of
        # a piece do not tell of its zeros, and the time of the last step in doubt.
        *ints("doubted longest firsts slacks open last"),
        # The columns read, less their values at the start of the step, as polynomials in Bernstein form: in the step
        # and in a piece of it; per column its value at both ends of the step and how far the cubic may be off; then the
        # numbers of the tape, whose first are bounds of columns, and its series; bounds of functions, and a copy.
        *ints("step piece begins reaches off numbers series bounds copy"),
        # Blocks of integers, per function: its direction, whether it ends the run, whether it has just occurred, how
        # many steps were in doubt; then which functions occurred, and which columns of the kernel's input are read.
        *ints("direction stops fresh doubts which reads"),
    )


watched = record_at(Watched)
PER_FUNCTION = (
    "signs", "starts", "ends", "values", "left", "right", "roots", "doubted", "longest", "firsts", "slacks",
    "open", "last",
)  # fmt: skip


@dataclass(frozen=True)
class Watch:
    """Event functions for a run: their kernel, and per function direction, whether it ends the run, just occurred.

    `signs` are those that a run before left the functions with, 0 where there was none; values up to `slacks` are zero
    for a function that starts there. The kernel reads (t, q, u, p, q', u', power, la); `reads_rates` says whether it
    needs more than (t, q, u, p). The `tape` bounds the functions by bounds of the columns that they read.
    """

    kernel: Kernel
    tape: SeriesTape
    directions: tuple[int, ...]
    stops: tuple[bool, ...]
    fresh: tuple[bool, ...]
    signs: tuple[float, ...]
    slacks: tuple[float, ...]
    reads_rates: bool

    @contextmanager
    def over(self, engine: Engine) -> Iterator[None]:
        """Context in which an engine that has not run yet watches these functions."""
        self._lay_out(engine)
        try:
            yield
        finally:
            engine.plan.watch = 0

    def _lay_out(self, engine: Engine) -> None:
        n, m, nz, p = len(self.directions), len(self.tape.columns), engine.nz, engine.parameters
        n_x, n_rates = 1 + engine.size + len(p), engine.size + 1 + engine.system.nc
        tape = self.tape.at(np.concatenate([np.zeros(1 + engine.size), p, np.zeros(n_rates)]))
        room = max(16, ROOM // nz)
        capacity = 2 * room + n + 1
        blocks = dict.fromkeys(PER_FUNCTION, n)
        blocks |= {"input": n_x + n_rates, "place": nz, "records": capacity * (1 + nz)}
        blocks |= {"step": (DEGREE + 1) * m, "piece": (DEGREE + 1) * m, "begins": m, "reaches": m, "off": m}
        blocks |= {"numbers": tape.numbers.size, "series": tape.size * WIDTH, "bounds": 4 * n, "copy": 4 * n}
        whole = dict.fromkeys(("direction", "stops", "fresh", "doubts"), n) | {"which": capacity, "reads": m}
        w, _ = engine.work.part("watch", Watched, blocks, whole)
        w.n, w.kernel, w.n_reads, w.room = n, self.kernel.address, m, room
        w.code, w.n_code, w.n_numbers = address_of(tape.code), tape.code.size, tape.numbers.size
        w.reads_rates, w.n_x, w.n_rates = self.reads_rates, n_x, n_rates
        for name, values in (
            ("direction", self.directions), ("stops", self.stops), ("fresh", self.fresh), ("reads", tape.columns),
        ):  # fmt: skip
            engine.work.ints[getattr(w, name) :][: len(values)] = values
        engine.mem[w.signs :][:n], engine.mem[w.slacks :][:n] = self.signs, self.slacks
        engine.mem[w.numbers :][: tape.numbers.size] = tape.numbers


def occurrences(engine: Engine) -> list[tuple[int, float, np.ndarray]]:
    """Occurrences recorded since `kept` was last set to zero, in order: function, time, state (nz,)."""
    if not engine.plan.watch:
        return []
    w, nz = engine.work.parts["watch"], engine.nz
    rows = engine.mem[w.records : w.records + w.kept * (1 + nz)].reshape(w.kept, 1 + nz).copy()
    which = engine.work.ints[w.which : w.which + w.kept].tolist()
    return [(function, float(row[0]), row[1:]) for function, row in zip(which, rows, strict=True)]


def signs(engine: Engine) -> list[float]:
    """Signs of the functions at the current time of a run; 0 for a function that has none yet."""
    w = engine.work.parts["watch"]
    return engine.mem[w.signs :][: w.n].tolist()


def first_signs(engine: Engine) -> list[float]:
    """The first signs that the functions had in a run; 0 for one that had none."""
    w = engine.work.parts["watch"]
    return engine.mem[w.firsts :][: w.n].tolist()


def doubts(engine: Engine) -> list[tuple[int, float, float]]:
    """The steps of each function in doubt: how many, the first one's time, the length of the longest."""
    w = engine.work.parts["watch"]
    counts, times, lengths = engine.work.ints[w.doubts :], engine.mem[w.doubted :], engine.mem[w.longest :]
    return [(int(counts[k]), float(times[k]), float(lengths[k])) for k in range(w.n)]


@jit(i8(Plan))
def is_crowded(plan):
    """Whether occurrences should be handed over before the next step."""
    return plan.watch != 0 and watched(plan.watch).kept >= watched(plan.watch).room
