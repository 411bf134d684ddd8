"""`Clock`: how far an integration is, in a record that native code and Python share."""

from __future__ import annotations

import functools
import math

import numpy as np

from dalembert.native.jit import address_of
from dalembert.native.precision import EPSILON
from dalembert.native.types import Record, floats, ints
from dalembert.run.time_loop.method import Method
from dalembert.run.time_loop.step_budget import FIRST_LOOK


class Clock(Record):
    """State of an integration: times, step lengths, tolerances, counts."""

    _fields_ = (
        # Time, next step, start, end, tolerances, bounds on the step, exponent of the controller, logarithm of
        # the error and length of the last step.
        *floats("t h t_start t_end rtol atol h_max h_min exponent last_level taken"),
        # The next instant at which an expression of time bends or jumps (infinity: none); a step ends `gap` before it
        # and the next one begins `gap` after it, so that each sees one side of it only. That one goes at most a `part`
        # of the way to the next instant.
        *floats("stop gap part"),
        # Accepted and rejected steps, allowed steps, next index of t_eval, samples stored, whether steps are adapted.
        *ints("accepted rejected allowed next stored adaptive"),
        # Order of the error estimate; size of a state; whether the static choice was recalled, not made at the start.
        *ints("order nz recalled"),
        # Where the arrays of the march are, and the sizes of some: states and rates, stages, times asked for, samples.
        *ints("z znew zdot stages n_stages t_eval n_times ts zs capacity"),
        # Such instants, their number, and which is next.
        *ints("stops n_stops next_stop"),
        # The addresses of the records that follow the conditioning and the energy, and how many steps will be accepted
        # when the energy is looked at next.
        *ints("conditioning energy weigh_at"),
        # Whether the buffer was full before all samples of the step at hand were stored; then the time of an event that
        # ends the run in it (infinity: none), and the quality and shortest row of the solve at its end.
        *ints("filling"),
        *floats("until quality shortest"),
        # Where the step at hand must end, as a longer one went over features of functions (infinity: none did), and
        # for any reason; whether it waits for cells of arguments.
        *floats("near limit"),
        *ints("unmapped"),
    )


# Of a cell or of the way between instants: a method that looks at the ends of steps alone sees a bump there.
PART = 0.25
UNBOUNDED = 2**62
SAME_TIME = 6.0 * EPSILON  # of a time: more than it is rounded by, less than the gap over an instant (8 of the last)


def new_clock(t0: float, t1: float, method: Method) -> Clock:
    """The clock at the start of an interval."""
    clock, unit = Clock.from_buffer_copy(_clock(method)), EPSILON * max(abs(t0), abs(t1))
    clock.t = clock.t_start = t0
    clock.t_end = t1
    clock.h_max, clock.h_min, clock.gap = min(method.max_step, t1 - t0), 16.0 * unit, 4.0 * unit
    return clock


def set_stops(clock: Clock, stops: np.ndarray) -> None:
    """Make steps end on instants (n,), given in order and within the interval. The array must stay alive."""
    clock.stops, clock.n_stops = address_of(stops), stops.size
    clock.next_stop = int(stops.size > 0 and stops[0] <= clock.t + clock.gap)
    if clock.next_stop:
        clock.t = stops[0] + clock.gap
    if clock.next_stop < stops.size:
        clock.stop = stops[clock.next_stop]


def _allowed(method: Method) -> int:
    """Steps until the run is reviewed: those given, else a small number if steps can collapse."""
    if method.max_steps is not None:
        return method.max_steps
    return FIRST_LOOK if method.adaptive else UNBOUNDED


@functools.lru_cache(maxsize=64)
def _clock(method: Method) -> Clock:
    """Clock with the settings of a method, to be copied for an interval."""
    return Clock(
        h=method.first_step, rtol=method.rtol, atol=method.atol, exponent=1.0 / method.order, last_level=0.0,
        allowed=_allowed(method), adaptive=int(method.adaptive), order=method.order, stop=math.inf, near=math.inf,
        part=1.0 if method.inside or not method.adaptive else PART,
    )  # fmt: skip
