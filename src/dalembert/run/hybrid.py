"""A motion in segments: each ends at an event that changes something, the next goes on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.run.events import Doubt, Event, Occurrence, Occurrences
from dalembert.run.every import Every, Schedule
from dalembert.run.recipe import Recipe
from dalembert.run.saltation import after_change
from dalembert.run.scales import Scales
from dalembert.run.segment import NO_PAST, Past, Progress, carried_columns, run_segment, states_of
from dalembert.run.state_changes import changed
from dalembert.run.status import Status
from dalembert.run.storage import IN_MEMORY, Storage
from dalembert.run.turning_back import forbidden_sides

# When changes accumulate: an event whose last waits were each shorter than the one before, and the last of them this
# small beside the longest; or so many changes in so small a part of the interval.
SHRINKING, FASTER = 4, 1e-5
CROWDED_EVENTS, CROWDED_TIME = 200, 1e-6


def follow_events(
    recipe: Recipe,
    state: State,
    span: tuple[float, float],
    t_eval: np.ndarray | None,
    events: Sequence[Event | Every],
    progress: Progress | None = None,
    derivatives: Derivatives | None = None,
    storage: Storage = IN_MEMORY,
) -> tuple[Motion | MotionSequence, Status]:
    """Motion from `state` over `span`, with the status of its last segment; a Motion if no event changed it.

    `derivatives` are those at the start, if any are to be carried along. Samples are kept in `storage`.
    """
    schedule = Schedule([event for event in events if isinstance(event, Every)], span)
    named = {event.name: event for event in events}
    course = _Course(recipe, span, t_eval, named, schedule, progress, derivatives, storage)
    try:
        going: State | None = replace(state, t=span[0])
        while going is not None:
            going = course.go_on(going)
    except KeyboardInterrupt:
        if not course.segments:
            raise
        course.end(Status.INTERRUPTED.message)
        course.status = Status.INTERRUPTED
    return course.whole(), course.status


@dataclass
class _Course:
    """Segments and occurrences so far, and the data needed to continue."""

    recipe: Recipe
    span: tuple[float, float]
    t_eval: np.ndarray | None
    events: dict[str, Event | Every]
    schedule: Schedule
    progress: Progress | None = None
    derivatives: Derivatives | None = None  # at the state to go on from
    storage: Storage = IN_MEMORY
    segments: list[Motion] = field(default_factory=list)
    happened: list[Occurrence] = field(default_factory=list)
    status: Status = Status.OK  # of the last segment
    doubts: dict[str, Doubt] = field(default_factory=dict)
    past: Past = NO_PAST  # memory of the events at the state to continue from
    turned: tuple[Event, ...] = ()  # those that may have stopped their expressions or turned them back, not yet judged
    turn: tuple[State, State] | None = None  # before and after that
    slacks: dict[System, tuple[float, ...]] = field(default_factory=dict)  # as the scales
    scales: dict[System, Scales | None] = field(default_factory=dict)  # found where a system first moves
    pace: dict[str, list[float]] = field(default_factory=dict)  # times of changes, by event; all of them under ""

    def go_on(self, state: State) -> State | None:
        """Move on from a state, with the ticks due there, to the next change; the state there, or None at the end."""
        if state.t >= self.schedule.next:
            ticked = self._change([Occurrence(c.name, state.t, state) for c in self.schedule.due(state.t)])
            if ticked is None:
                return None
            state = ticked
        end = min(self.schedule.next, self.span[1])
        columns = carried_columns(self.recipe, self.derivatives)
        engine, times = self.recipe.engine(state.system, state.parameters, columns), self._times(state.t, end)
        z0 = state.z
        if state.system in self.scales:
            engine.take_scales(self.scales[state.system])
        else:
            engine.measure((state.t, self.span[1]), z0)
            self.scales[state.system] = engine.scales
        segment = run_segment(
            self.recipe, engine, state, z0, (state.t, end), times, self.progress, self._zeros(),
            self.past._replace(slacks=self.slacks.get(state.system, ())), self.derivatives, self.storage,
        )  # fmt: skip
        self.slacks[state.system] = segment.slacks
        if self._went_through(segment.first_signs, state.t):
            return None
        self.segments.append(segment.motion)
        self.derivatives = segment.motion.derivatives
        self.status = segment.status
        self._count(segment.motion.events.doubts)
        if segment.status == Status.EVENT:
            return self._occur(segment.motion.events.items)
        self.happened += segment.motion.events
        if segment.status != Status.OK or end == self.span[1]:
            return None
        self.past = Past((), segment.signs)
        m, z = segment.motion, np.zeros((1, engine.nz))
        z[0, : engine.plain] = np.concatenate([m.q[-1], m.u[-1], m.work[-1:]])[: engine.plain]
        return states_of(engine, m.t[-1:], z)[0]

    def _zeros(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events.values() if isinstance(event, Event))

    def _times(self, t: float, end: float) -> np.ndarray | None:
        """The times to sample from t to `end`: the requested ones, and t or `end` where a change happens."""
        if self.t_eval is None:
            return None
        asked = self.t_eval[(self.t_eval >= t) & (self.t_eval <= end)]
        begin = [t] if self.segments and not (asked.size and asked[0] == t) else []
        tick = [end] if end < self.span[1] and not (asked.size and asked[-1] == end) else []
        return np.concatenate([begin, asked, tick])

    def _count(self, doubts: Mapping[str, Doubt]) -> None:
        """Add the doubtful steps of a segment."""
        for name, (steps, t, longest) in doubts.items():
            before = self.doubts.get(name, Doubt(0, t, 0.0))
            self.doubts[name] = Doubt(before.steps + steps, before.t, max(before.longest, longest))

    def _occur(self, events: Sequence[Occurrence]) -> State | None:
        """Carry out the events that ended a segment; returns the state after them, or None."""
        at = events[-1].t
        ending = [o for o in events if o.t == at]
        self.happened += events[: len(events) - len(ending)]
        terminal = [o.name for o in ending if isinstance(e := self.events[o.name], Event) and e.terminal]
        if terminal:
            self.happened += ending
            self.end(f"ended by event `{terminal[0]}` at t = {at:.9g}", success=True)
            return None
        self.past = Past(tuple(o.name for o in ending))
        after = self._change(ending)
        if after is not None:
            occurred = [self.events[o.name] for o in ending]
            self.turned = tuple(e for e in occurred if isinstance(e, Event) and e.then is not None)
            self.turn = ending[0].state, after
        return after

    def _went_through(self, first_signs: Mapping[str, float], t: float) -> bool:
        """Whether an expression that was turned back at time t went on through zero unseen; the motion ends there."""
        signs = {event: first_signs.get(event.name, np.nan) for event in self.turned}
        self.turned = tuple(event for event, sign in signs.items() if sign == 0.0)
        onwards = [event for event, sign in signs.items() if sign in (-1.0, 1.0) and event.direction in (0, sign)]
        if not onwards or self.turn is None:
            return False
        forbidden = forbidden_sides(onwards, *self.turn)
        missed = [event.name for event in onwards if forbidden.get(event.name) == signs[event]]
        if missed:
            self.end(f"`{missed[0]}`: {Status.ZENO.message} (t = {t:.9g})")
        return bool(missed)

    def _change(self, ending: list[Occurrence]) -> State | None:
        """Carry out all changes at the end of a segment, in order; returns the state after them, or None."""
        at, state = ending[0].t, ending[0].state
        for k, o in enumerate(ending):
            if self.events[o.name].then is None:
                self.happened.append(o)
                continue
            try:
                happened = changed(self.events[o.name], state)
                self._differentiate(self.events[o.name], state, happened, alone=k == 0)
            except DalembertError as error:
                if not self.segments:
                    raise
                self.happened += ending[k:]
                self.end(f"event `{o.name}` at t = {at:.9g}: {error}")
                return None
            self.happened.append(happened)
            state = happened.after or state
            if isinstance(self.events[o.name], Event) and self._accumulates(o.name, at):
                self.end(f"`{o.name}`: {Status.ZENO.message} (t = {at:.9g})")
                return None
        if at < self.span[1]:
            return state
        self.end(Status.OK.message, success=True)
        return None

    def _differentiate(self, event: Event | Every, before: State, happened: Occurrence, *, alone: bool) -> None:
        """Carry the derivatives over a change."""
        if self.derivatives is None or happened.after is None:
            return
        if isinstance(event, Event) and not alone:
            raise DalembertError(
                f"two events at once: the motion has no derivative there, because either may come first; "
                f"leave `{event.name}` or the sensitivities out"
            )
        self.derivatives = after_change(event, before, happened.after, self.derivatives)

    def _accumulates(self, name: str, at: float) -> bool:
        """Whether changes come ever faster, so that they would never end."""
        for key in ("", name):
            self.pace.setdefault(key, [self.span[0]]).append(at)
        crowd = self.pace[""][-CROWDED_EVENTS:]
        if len(crowd) == CROWDED_EVENTS and at - crowd[0] < CROWDED_TIME * (self.span[1] - self.span[0]):
            return True
        recent = np.diff(self.pace[name][-SHRINKING - 2 :])
        if len(recent) <= SHRINKING or not (np.diff(recent) < 0.0).all():
            return False
        return bool(recent[-1] < FASTER * np.diff(self.pace[name]).max())

    def end(self, message: str, *, success: bool = False) -> None:
        """Say how the motion ended."""
        self.segments[-1] = self.segments[-1].with_facts(success=success, message=message)

    def whole(self) -> Motion | MotionSequence:
        """One segment is a Motion, several are a sequence; all occurrences go with it."""
        events = Occurrences(tuple(self.happened), tuple(self.events), self.doubts, tuple(self.events.values()))
        if len(self.segments) == 1:
            return self.segments[0].with_facts(events=events)
        return MotionSequence(tuple(self.segments), events)
