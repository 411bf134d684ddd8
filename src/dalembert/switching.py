"""A motion in segments: each ends at an event that changes something, the next goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.changes import changed
from dalembert.equations.system import System
from dalembert.errors import DalembertError
from dalembert.events import Event, Occurrence, Occurrences
from dalembert.motion import Motion
from dalembert.numerics.status import Status
from dalembert.segment import Ingredients, run_segment
from dalembert.sequence import MotionSequence

# When changes accumulate: an event whose last waits were each shorter than the one before, and the last of them this
# small beside the longest; or so many changes in so small a part of the interval.
SHRINKING, FASTER = 4, 1e-5
CROWD, MOMENT = 200, 1e-6


def follow_events(
    made_with: Ingredients,
    system: System,
    p: np.ndarray,
    z: np.ndarray,
    span: tuple[float, float],
    t_eval: np.ndarray | None,
    events: Sequence[Event],
) -> Motion | MotionSequence:
    """The motion over `span`, in as many segments as changes make of it; a plain Motion if nothing changed."""
    by_name = {event.name: event for event in events}
    segments: list[Motion] = []
    happened: list[Occurrence] = []
    start, left = span[0], t_eval
    fresh: tuple[str, ...] = ()
    while True:
        motion, status = run_segment(made_with, system, p, z, (start, span[1]), left, events, fresh)
        segments.append(motion)
        if status != Status.EVENT:
            happened += motion.events
            break
        at = motion.events[-1].t
        ending = [o for o in motion.events if o.t == at]
        happened += motion.events[: len(motion.events) - len(ending)]
        terminal = [o for o in ending if by_name[o.name].terminal]
        if terminal:
            happened += ending
            segments[-1] = replace(motion, success=True, message=f"ended by event `{terminal[0].name}` at t = {at:.9g}")
            break
        state = ending[0].state
        for o in ending:
            try:
                happened.append(changed(by_name[o.name], state))
            except DalembertError as error:
                segments[-1] = replace(motion, message=f"event `{o.name}` at t = {at:.9g}: {error}")
                return _whole(segments, [*happened, o], tuple(by_name))
            state = happened[-1].after or state
        if at >= span[1] or _accumulate(happened, span):
            over = at >= span[1]
            message = Status.OK.message if over else f"`{ending[0].name}`: {Status.ZENO.message} (t = {at:.9g})"
            segments[-1] = replace(motion, success=over, message=message)
            break
        system, p, z, start = state.system, state.parameters, state.z, at
        fresh = tuple(o.name for o in ending)
        left = None if t_eval is None else np.concatenate([[at], t_eval[t_eval > at]])
    return _whole(segments, happened, tuple(by_name))


def _whole(segments: list[Motion], happened: list[Occurrence], names: tuple[str, ...]) -> Motion | MotionSequence:
    """One segment is a Motion, several are a sequence; all occurrences go with it."""
    events = Occurrences(tuple(happened), names)
    if len(segments) == 1:
        return replace(segments[0], events=events)
    return MotionSequence(tuple(segments), events)


def _accumulate(happened: list[Occurrence], span: tuple[float, float]) -> bool:
    """Whether changes come ever faster, so that they would never end."""
    changes = [o for o in happened if o.after is not None]
    times = np.array([o.t for o in changes])
    if len(times) > CROWD and times[-1] - times[-CROWD] < MOMENT * (span[1] - span[0]):
        return True
    own = np.diff([span[0], *(o.t for o in changes if o.name == changes[-1].name)])
    if len(own) <= SHRINKING:
        return False
    recent = own[-SHRINKING - 1 :]
    return bool((np.diff(recent) < 0.0).all() and own[-1] < FASTER * own.max())
