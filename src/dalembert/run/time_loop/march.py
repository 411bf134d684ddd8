"""Marching through time: native slices, output in chunks, Ctrl-C heard, choices made anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.instants import instants
from dalembert.errors import OptionError
from dalembert.native.jit import Native, address_of
from dalembert.native.workspace import NOTHING
from dalembert.run.run_facts import Energies
from dalembert.run.status import MORE, PAUSED, SUSPECT, TOO_MANY_STEPS, UNMAPPED, UNSOUND, Status, status_of
from dalembert.run.storage import MemoryTable, SampleTable
from dalembert.run.time_loop import advance as loop
from dalembert.run.time_loop.argument_maps import REACH
from dalembert.run.time_loop.clock import PART, new_clock, set_stops
from dalembert.run.time_loop.columns import allocate, divided, padded
from dalembert.run.time_loop.energy import Weighed, energies_of
from dalembert.run.time_loop.event_watch import occurrences
from dalembert.run.time_loop.method import Method
from dalembert.run.time_loop.singular import gauge, new_conditioning
from dalembert.run.time_loop.step_budget import WINDOW, StepBudget

if TYPE_CHECKING:
    from dalembert.run.engine import Engine
    from dalembert.run.time_loop.passage import Passages

SAMPLES_PER_BUFFER, NUMBERS_PER_BUFFER = 4096, 2**21  # samples per buffer, and numbers in it, but 16 samples
STEPS_PER_SLICE = 10_000_000  # per slice, however fast they are
REFINED_TO = 1e-2  # of the tolerance: accuracy to which accelerations are refined where the solve is sparse
SLICE = 0.05  # seconds of native work between two looks at the clock and at Ctrl-C


@dataclass
class Samples:
    """Result of a run: times (nt,), states z = (q, u, work) (nt, nz), the status at its end, and its cost.

    `events` are the occurrences of event functions in their order: which, when, and the state (nz,) there.
    """

    t: np.ndarray
    z: np.ndarray
    status: Status
    stats: dict[str, int]
    events: list[tuple[int, float, np.ndarray]] = field(default_factory=list)
    begin: float = 0.0
    end: tuple[float, np.ndarray] = (0.0, np.zeros(0))  # time and state where it stopped, stored or not
    energies: Energies | None = None  # along it


class Reviewer(Protocol):
    """Looks at a march when `due` steps were accepted, and may stop it (status PAUSED)."""

    due: int

    def __call__(self, run: March) -> bool: ...


def march(
    engine: Engine,
    method: Method,
    z0: np.ndarray,
    span: tuple[float, float],
    t_eval: np.ndarray | None = None,
    progress: Callable[[float], None] | None = None,
    review: Reviewer | None = None,
    table: SampleTable | None = None,
) -> Samples:
    """Integrate from z0 over `span`; stores `t_eval`, or every step, in `table`. Ctrl-C keeps what is there.

    Event functions the engine watches are recorded; one that ends the run leaves the status EVENT and a last sample.
    """
    recalled = set_out(engine, method, z0, span)
    run = March(engine, method, z0, span, t_eval, MemoryTable() if table is None else table)
    run.clock.recalled = recalled
    advance, status = loop.launch, MORE
    watches = method.max_steps is None and method.adaptive
    if watches and engine.budget is None:
        engine.budget = StepBudget(*span)
    elif watches:  # another method has begun this run
        run.clock.allowed = WINDOW
    try:
        while status == MORE:
            status = run.slice(advance, STEPS_PER_SLICE if review is None else max(review.due - run.accepted, 1))
            advance = loop.proceed
            if status == UNSOUND:
                engine.choose_anew(span[0], z0)
                run.clock.recalled, advance, status = 0, loop.launch, MORE
                continue
            if status == SUSPECT:
                status = run.passages.treat()
            if status == TOO_MANY_STEPS and watches:
                status = run.look(engine.budget)
            if run.clock.filling:  # the step at hand has more samples than the buffer holds
                continue
            if engine.plan.stale > 0:
                # A partition given by the user may fail on the way: the pivoted solve carries on.
                with suppress(OptionError):
                    engine.choose(run.t, run.z)
                run.regauge()
            if progress is not None and status == MORE:
                progress(run.t)
            if review is not None and status == MORE and run.accepted >= review.due and review(run):
                status = PAUSED
    except KeyboardInterrupt:
        run.collect()
        status = Status.INTERRUPTED
    if status == Status.NOT_FINITE and engine.unsolved:
        status = engine.unsolved
    return run.finish(status)


def set_out(engine: Engine, method: Method, z0: np.ndarray, span: tuple[float, float]) -> bool:
    """Have an engine march by a method from z0 over `span`; whether its static choice is recalled, not made there."""
    t0 = span[0]
    engine.begin(span, z0, method.stepping)
    if engine.maps is not None:
        engine.maps.start(REACH if method.inside else PART)
    engine.set_units(absolute=method.absolute, follow=method.follows)
    recalled = engine.recall(t0)
    if not engine.choices:
        engine.choose(t0, z0)
    plan = engine.plan
    plan.accuracy = REFINED_TO * min(method.rtol, method.atol) if method.adaptive else 0.0
    plan.step, plan.stride, plan.prepare, plan.interpolate, plan.estimate = method.addresses
    return recalled


class March:
    """The explicit state of one integration."""

    _passages: Passages | None = None
    collected = 0  # samples that are in the table
    budget = 64  # steps of the next slice
    looked = 0  # accepted steps when the step budget was last looked at

    def __init__(
        self,
        engine: Engine,
        method: Method,
        z0: np.ndarray,
        span: tuple[float, float],
        t_eval: np.ndarray | None,
        table: SampleTable,
    ) -> None:
        self.engine, self.method = engine, method
        (t0, t1), nz = span, engine.nz
        self.t_eval = NOTHING if t_eval is None else np.ascontiguousarray(t_eval, dtype=float)
        capacity = max(16, min(SAMPLES_PER_BUFFER, NUMBERS_PER_BUFFER // nz))
        if t_eval is not None:
            capacity = min(capacity, len(self.t_eval) + 1)  # an event may add one
        self.room, self.capacity = allocate(nz, method.columns), capacity
        self.room[: z0.size] = z0  # of q and u only, if the work done starts at zero and there are no derivatives
        self.z = self.room[:nz]
        self.samples = np.empty(capacity * (1 + nz))  # times, then states
        self.clock = new_clock(t0, t1, method)
        self.conditioning = new_conditioning(method.order, (method.rtol if method.adaptive else 0.0) or 1e-9)
        self.weighed = Weighed()
        self.clock.conditioning, self.clock.energy = self.conditioning.address, self.weighed.address
        self.first, self.begin = z0, t0
        self.table = table
        self.events: list[tuple[int, float, np.ndarray]] = []
        asked = len(self.t_eval) > 0 and self.t_eval[0] <= t0
        if asked or t_eval is None:  # the first sample is the given state itself
            self.samples[0], self.samples[capacity : capacity + nz] = t0, self.z
            self.clock.stored, self.clock.next = 1, int(asked)
        self.stops = instants(engine.system, engine.parameters, span)  # native code reads it where it is
        if self.stops.size:
            set_stops(self.clock, self.stops)
        clock, width = self.clock, padded(nz)
        z, ts = address_of(self.room), address_of(self.samples)
        clock.nz, clock.z, clock.znew, clock.zdot = nz, z, z + 8 * width, z + 16 * width
        clock.stages, clock.n_stages = z + 24 * width, method.columns * width
        clock.t_eval, clock.n_times = address_of(self.t_eval), self.t_eval.size
        clock.ts, clock.zs, clock.capacity = ts, ts + 8 * capacity, capacity

    @property
    def znew(self) -> np.ndarray:
        """The state at the end of the step at hand, (nz,)."""
        return divided(self.room, self.engine.nz)[1]

    @property
    def zdot(self) -> np.ndarray:
        """The rates at the end of the step at hand, (nz,)."""
        return divided(self.room, self.engine.nz)[2]

    @property
    def stages(self) -> np.ndarray:
        """Workspace of the method, flat: see `columns`."""
        return divided(self.room, self.engine.nz)[3]

    @property
    def t(self) -> float:
        """The current time."""
        return self.clock.t

    @property
    def t_start(self) -> float:
        """The time of the start."""
        return self.begin

    @property
    def t_end(self) -> float:
        """The time at which it should end."""
        return self.clock.t_end

    @property
    def limit(self) -> float:
        """Latest end of the next step: the end of the run, or an instant at which an expression of time bends."""
        return min(self.t_end, self.clock.stop - self.clock.gap)

    @property
    def accepted(self) -> int:
        """Steps accepted so far."""
        return self.clock.accepted

    def slice(self, advance: Native, most: int) -> int:
        """Advance for about `SLICE` seconds, `most` steps, or until the buffer is full; collects what was stored."""
        begin = time.perf_counter()
        status = advance.call(*self.engine.work.numbers, self.clock.address, min(self.budget, most))
        while status == UNMAPPED and self.engine.maps is not None:
            self.engine.maps.extend()
            again = loop.proceed if self.clock.unmapped else advance  # which may not have got to its first step
            status = again.call(*self.engine.work.numbers, self.clock.address, min(self.budget, most))
        if status == MORE:
            seconds = time.perf_counter() - begin
            self.budget = max(16, min(int(self.budget * SLICE / max(seconds, 1e-6)), 4 * self.budget, STEPS_PER_SLICE))
        self.collect()
        return status

    @property
    def passages(self) -> Passages:
        """Treatment of singular positions; made at the first suspect step."""
        if self._passages is None:
            from dalembert.run.time_loop.passage import Passages  # few runs need it

            self._passages = Passages(self)
        return self._passages

    def regauge(self) -> None:
        """Begin to follow the conditioning anew, at the state reached."""
        spare = np.zeros((2, self.engine.nz))
        gauge(
            self.engine.plan, self.engine.mem, self.clock.conditioning, self.t, float(self.clock.h), self.z,
            self.stages, *spare,
        )  # fmt: skip

    def look(self, budget: StepBudget | None) -> int:
        """MORE if the run makes progress, with more steps allowed; COLLAPSED if its steps have become too short."""
        if budget is not None and budget.is_spent(self.t, self.accepted - self.looked):
            return Status.COLLAPSED
        self.looked = self.accepted
        self.clock.allowed = self.accepted + WINDOW
        return MORE

    def collect(self) -> None:
        """Copy stored samples and occurrences out of their buffers; one that Ctrl-C cuts short is done again."""
        found, n, nz = occurrences(self.engine), self.clock.stored, self.engine.nz
        if n:
            z = self.samples[self.capacity : self.capacity + n * nz]
            self.table.put(self.collected, self.samples[:n].copy(), z.copy().reshape(n, nz))
            self.collected += n  # nothing is called from here on: Python notices Ctrl-C at calls
            self.clock.stored = 0
        if found:
            self.events += found
            self.engine.work.parts["watch"].kept = 0

    def finish(self, status: int) -> Samples:
        """All samples and the cost."""
        if self._passages is not None:
            self._passages.settle()
        self.engine.work.check_guards()
        self.engine.plan.accuracy = 0.0
        self.engine.note_conditioning(self.conditioning.worst, self.conditioning.worst_t)
        if self.clock.stored:  # it ended before the first slice
            self.collect()
        clock, nfev = self.clock, self.engine.plan.nfev
        stats = {"steps": clock.accepted, "rejected": clock.rejected, "nfev": nfev}
        t, z = self.table.joined() or (np.zeros(0), np.zeros((0, self.engine.nz)))
        end = (clock.t, self.z.copy())
        return Samples(t, z, status_of(status), stats, self.events, self.begin, end, energies_of(self.weighed))
