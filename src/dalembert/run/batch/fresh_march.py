"""One run after the other in the same memory: before each, everything is as a new engine would have it.

A run that needs more than steps - a look at singular positions, another choice, an implicit method, an end that is not
its last time - is handed back (`status` other than OK) to be made by itself.
"""

from __future__ import annotations

from dalembert.native.intrinsics import floats_at, ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, move
from dalembert.native.precision import EPSILON, RESOLVED
from dalembert.native.types import Record, floats, ints
from dalembert.run.integrators.automatic import FIRST_LOOK
from dalembert.run.measure import measure
from dalembert.run.status import MORE, OK, TOO_MANY_STEPS
from dalembert.run.time_loop.advance import launch, proceed
from dalembert.run.time_loop.argument_maps import forget
from dalembert.run.time_loop.clock import Clock
from dalembert.run.time_loop.step_budget import MANY_STEPS, WINDOW

UNSURE = 100  # the run has to be made by itself


class Batch(Record):
    """Data shared by the runs of a batch: copies of the initial contents of memory, work arrays, and bounds."""

    _fields_ = (
        # Plan, clock and conditioning in use; copies of them, of mem and of the integers before any run; their sizes in
        # words of eight bytes.
        *ints("plan clock conditioning new_plan new_mem new_ints new_clock new_conditioning"),
        *ints("n_plan n_mem n_ints n_clock n_conditioning"),
        # States, rates and stages of the march in one piece, and how many floats.
        *ints("room n_room"),
        # The interval, the longest step, the largest violation of a start, and the number of steps ahead from which an
        # implicit method would be tried; whether a run that makes no progress should end.
        *floats("t_start t_end max_step consistent ahead"),
        *ints("watches"),
        # Times asked for, their number; where samples go at these and at every step, and how many.
        *ints("times n_times ts zs capacity at_ts at_zs"),
        # Values of one quantity along a run, guesses at its summits, and which samples they are; values at the Gauss
        # points of its steps; what level each output passes.
        *ints("values guesses summits gauss levels"),
        # A stretch looked at more closely: times, values, samples.
        *ints("fine_t fine_y fine_ts fine_zs"),
        # The floats that the certificate reads of one sample, and their number; largest allowed residuals.
        *ints("row n_row"),
        *floats("position velocity acceleration solve energy"),
        # Inputs of expressions followed by their values, and the number of floats; the outputs recorded of every run,
        # and their numbers.
        *ints("w n_w outputs n_reduced n_sampled n_parameters"),
    )


@jit(i8(Plan, Floats, Batch, Floats))
def renew(plan, mem, batch, parameters):
    """Plan, mem and integers as those of a new engine with these parameter values, and the sizes last measured."""
    move(floats_at(batch.plan, batch.n_plan), 0, floats_at(batch.new_plan, batch.n_plan), 0, batch.n_plan)
    move(mem, 0, floats_at(batch.new_mem, batch.n_mem), 0, batch.n_mem)
    target, source = ints_at(plan.ints, batch.n_ints), ints_at(batch.new_ints, batch.n_ints)
    for k in range(batch.n_ints):
        target[k] = source[k]
    move(mem, plan.xu + plan.nu, parameters, 0, parameters.size)
    return forget(plan) if plan.maps != 0 else 0


@jit(i8(Clock, Batch, f8, f8, Floats))
def rewind(clock, batch, t0, t1, start):
    """Clock, conditioning and states of a march from `start` = (q, u) at t0 to t1."""
    move(floats_at(batch.clock, batch.n_clock), 0, floats_at(batch.new_clock, batch.n_clock), 0, batch.n_clock)
    n = batch.n_conditioning
    move(floats_at(batch.conditioning, n), 0, floats_at(batch.new_conditioning, n), 0, n)
    room = floats_at(batch.room, batch.n_room)
    for k in range(room.size):
        room[k] = 0.0
    move(room, 0, start, 0, start.size)
    far = max(abs(t0), abs(t1))
    clock.t, clock.t_start, clock.t_end = t0, t0, t1
    clock.h_max, clock.h_min, clock.gap = min(batch.max_step, t1 - t0), RESOLVED * far, 4.0 * EPSILON * far
    return 0


@jit(i8(Clock, i8, i8, i8, i8, i8))
def store_in(clock, times, n_times, ts, zs, capacity):
    """Store the samples of a march at `times` (none: at every step) in these arrays; the start too, if it is one."""
    clock.t_eval, clock.n_times, clock.ts, clock.zs, clock.capacity = times, n_times, ts, zs, capacity
    asked = 0
    if n_times > 0 and floats_at(times, n_times)[0] <= clock.t:
        asked = 1
    clock.stored, clock.next = 0, asked
    if asked or n_times == 0:
        floats_at(ts, 1)[0] = clock.t
        move(floats_at(zs, clock.nz), 0, floats_at(clock.z, clock.nz), 0, clock.nz)
        clock.stored = 1
    return 0


@jit(i8(Plan, Floats, Clock, Batch))
def finish(plan, mem, clock, batch):
    """March to the end; UNSURE where Python has to look or to decide, else a status.

    Looks are those of the step budget and of `Automatic`, on the safe side: a run that one of them might end or hand
    over is made by itself.
    """
    due, reviewed, since = FIRST_LOOK, 0, clock.t
    looked, looked_t = 0, clock.t
    status = launch(plan, mem, clock, due)
    while status in (MORE, TOO_MANY_STEPS):
        t, accepted = clock.t, clock.accepted
        if plan.stale > 0 or (clock.n_times == 0 and clock.stored >= clock.capacity):
            return UNSURE
        if status == TOO_MANY_STEPS:
            step = (t - looked_t) / max(accepted - looked, 1)
            if not batch.watches or not clock.t_end - t < MANY_STEPS * step:
                return UNSURE
            looked, looked_t, clock.allowed = accepted, t, accepted + WINDOW
        if accepted >= due:
            step = (t - since) / max(accepted - reviewed, 1)
            if not clock.t_end - t < batch.ahead * step:
                return UNSURE
            reviewed, since, due = accepted, t, 2 * accepted
        status = proceed(plan, mem, clock, max(due - accepted, 1))
    return status


@jit(f8(Plan, Floats, Clock, Batch))
def _measure_start(plan, mem, clock, batch):
    """Measure sizes at the start of a run, for the whole run. Returns the violation there."""
    span = batch.t_end - batch.t_start
    violation = measure(plan, mem, batch.t_start, floats_at(clock.z, clock.nz), span)
    count = plan.row_sizes + 2 * plan.np + plan.nv + 1 - plan.sizes
    move(floats_at(batch.new_mem, batch.n_mem), plan.sizes, mem, plan.sizes, count)
    return violation


@jit(i8(Plan, Floats, Clock, Batch, Floats, Floats, i8))
def march_whole(plan, mem, clock, batch, start, parameters, sampled):
    """A run from a start (q, u) to the end, its samples at the times asked for (`sampled`) or at every step."""
    renew(plan, mem, batch, parameters)
    rewind(clock, batch, batch.t_start, batch.t_end, start)
    if not _measure_start(plan, mem, clock, batch) <= batch.consistent:
        return UNSURE
    if sampled:
        store_in(clock, batch.times, batch.n_times, batch.at_ts, batch.at_zs, batch.n_times + 1)
    else:
        store_in(clock, 0, 0, batch.ts, batch.zs, batch.capacity)
    return finish(plan, mem, clock, batch)


@jit(i8(Plan, Floats, Clock, Batch, Floats, i8, i8, i8))
def march_between(plan, mem, clock, batch, parameters, sample, start, count):
    """The run integrated once more from a sample, at `count` of the fine times from `start` on; into `fine_zs`."""
    size, times = plan.nq + plan.nu, floats_at(batch.fine_t, start + count)
    t, z = floats_at(batch.ts, sample + 1)[sample], floats_at(batch.zs + 8 * sample * plan.nz, size)
    renew(plan, mem, batch, parameters)
    rewind(clock, batch, t, times[start + count - 1], z)
    clock.recalled = 0
    store_in(clock, batch.fine_t + 8 * start, count, batch.fine_ts, batch.fine_zs, count + 1)
    status = finish(plan, mem, clock, batch)
    return OK if status == OK and clock.stored == count else UNSURE
