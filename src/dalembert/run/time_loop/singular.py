"""Conditioning of the constraints over every accepted step: it shows where rows may become dependent.

An evaluation leaves the quality of its solve, 0 where rows are dependent, in mem. Towards a singular position it falls
like the distance or its square. A step is suspect if the quality, as it fell over the last step, would reach zero
within `reach` steps; if it falls steeply; if it rises as if it came from a zero in the step before; if some stage met
one far below both ends; or if it is below all that the run has met. A formulation's choice of speeds can wear out
without anything singular, so a suspect step is looked at again: the pivoted saddle matrix is factorised along the cubic
through both ends, continued beyond the step. Only if that dips too, or cannot tell, the time loop stops and hands the
step to `passage`. All of this costs a regular run a few comparisons per step.

The quality is that of the solve times the square of the shortest row (`solve.row_lengths`). Where the lengths alone are
the reason to look, only they are evaluated again: the gradients, without a factorisation.
"""

from __future__ import annotations

import functools
import math

from dalembert.native.intrinsics import record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8
from dalembert.native.types import Record, floats, ints
from dalembert.run.evaluate import rates
from dalembert.solve.solver import call_factor, call_judge

STEEP = 0.4  # a quality that falls to this part within one step may have landed next to a zero
REMEMBERED, FORGET = 0.7, 0.9  # of the longest step: next to a singular position round-off makes steps shorter
DIP = 0.02
DEPTH = 0.1  # within its reach, the square of the distance to a zero varies by more than this factor
PIECES = 7  # of the reach: at their ends a step that was noticed is looked at
BACK = 1e-5  # of a step: how far back the quality is evaluated where no step was made yet
# A step is suspect in any case below SUSPECT_QUALITY; or below LOWER times the quality at the start, if that is less
# and the solver can still tell it from zero: long chains are that weak everywhere, by the inverse square of their
# length.
SUSPECT_QUALITY, LOWER = 1e-6, 1e-2
# Steps of order p are as long as the p-th root of the tolerance; those over singular positions have order 16.
COLLOCATION, LEAST_REACH, MOST_REACH = 16, 1.5, 20.0


class Conditioning(Record):
    """The quality of the solve at the start of a step and at that before it, and the worst of all accepted steps."""

    _fields_ = (
        # Quality at the state reached and one step before, the length of that step and the longest of late, the quality
        # below which a step is suspect in any case, the worst one met and when.
        *floats("now before length longest floor worst worst_t"),
        # From how many steps ahead a singular position can be passed; until when a look ahead has found none.
        *floats("reach clear"),
        # What lengths of rows contribute to the quality, at the state reached and one step before.
        *floats("shortest shortest_before"),
        # Whether the step at hand was looked at and goes on as it is; steps looked at again.
        *ints("judged looks"),
    )


conditioning = record_at(Conditioning)


def new_conditioning(order: int, tolerance: float) -> Conditioning:
    """The conditioning at the start of a run by a method of this order."""
    return Conditioning.from_buffer_copy(_first_conditioning(order, tolerance))


@functools.lru_cache(maxsize=64)
def _first_conditioning(order: int, tolerance: float) -> Conditioning:
    reach = 0.7 * tolerance ** (1.0 / COLLOCATION - 1.0 / order)
    return Conditioning(
        now=1.0, before=1.0, length=1.0, floor=SUSPECT_QUALITY, worst=math.inf,
        reach=min(max(reach, LEAST_REACH), MOST_REACH), clear=-math.inf, shortest=1.0, shortest_before=1.0,
    )  # fmt: skip


@jit(f8(Plan, Floats, i8, f8, f8, f8, Floats, Floats, Floats, Floats))
def _quality_at(plan, mem, lengths, s, t, h, z, zdot, znew, zdotnew):
    """The quality of the pivoted saddle matrix at t + s h, on the cubic through both ends of a step; or of its lengths.

    `lengths` says that what the lengths of rows contribute is enough.
    """
    mem[plan.x] = t + s * h
    r = 1.0 - s
    for i in range(plan.nq + plan.nu):
        rise = znew[i] - z[i]
        bent = r * (h * zdot[i] - rise) - s * (h * zdotnew[i] - rise)
        mem[plan.xq + i] = z[i] + s * (rise + r * bent)
    if lengths:
        call_kernel(plan.row_lengths, mem, plan.sizes, plan.shortest)
        return mem[plan.shortest]
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_factor(plan.factor_metric, (plan, mem, plan.nc))
    call_judge(plan.judge, (plan, mem, plan.nc))
    return mem[plan.quality]


@jit(i8(Plan, Floats, i8, f8, f8, f8, f8, f8, Floats, Floats, Floats, Floats))
def _dips(plan, mem, lengths, first, last, apart, t, h, z, zdot, znew, zdotnew):
    """Whether the saddle matrix, or rows alone, are much worse between t + first and t + last than elsewhere.

    It is looked at in equal distances of `apart` at the most, from the end on: where it dips, it mostly does so there.
    """
    least, most, pieces = math.inf, 0.0, max(math.ceil((last - first) / apart - 1e-9), 1)
    for k in range(pieces + 1):
        s = (last - (last - first) * k / pieces) / h
        quality = _quality_at(plan, mem, lengths, s, t, h, z, zdot, znew, zdotnew)
        least, most = min(least, quality), max(most, quality)
        if not least > DEPTH * most:
            return 1
    return 0


@jit(f8(Conditioning, f8))
def _reach(c, h):
    """The time within which a singular position behind a step of length h can be passed."""
    return c.reach * max(h, REMEMBERED * c.longest)


@jit(i8(Plan, Conditioning, f8, f8, f8, f8, f8, f8))
def _stands_out(plan, c, before, now, there, t, h, left):
    """Whether qualities before, at the start t and at the end of a step of length h are as next to a zero.

    The run ends `left` after the start of the step: nothing behind that is looked for.
    """
    near = t >= c.clear and now * c.length < min(_reach(c, h), left) * (before - now)
    rises = now * h < c.length * (there - now)
    return near or there < STEEP * now or rises or plan.least_quality < DIP * min(now, there)


@jit(i8(Plan, Floats, i8, f8, f8, f8))
def is_noticed(plan, mem, where, t, h, left):
    """Whether the qualities met in an accepted step, judged at its end, are a reason to look at it again."""
    c, there = conditioning(where), mem[plan.quality]
    return not min(c.now, there) > c.floor or _stands_out(plan, c, c.before, c.now, there, t, h, left)


@jit(i8(Plan, Floats, Conditioning, f8, f8, f8))
def _is_by_lengths(plan, mem, c, t, h, left):
    """Whether the lengths of rows are the reason to look at a step, and the solve without them is none."""
    if not plan.row_lengths or not min(c.shortest, c.shortest_before, mem[plan.shortest]) > 0.0:
        return 0
    before, now, there = c.before / c.shortest_before, c.now / c.shortest, mem[plan.quality] / mem[plan.shortest]
    return not _stands_out(plan, c, before, now, there, t, h, left)


@jit(i8(Plan, Floats, i8, f8, f8, f8, f8, Floats, Floats, Floats, Floats))
def is_suspect(plan, mem, where, t, h, left, t_new, z, zdot, znew, zdotnew):
    """Whether constraints may become dependent in or behind a step that was noticed; rates at its end were the last."""
    c, there = conditioning(where), mem[plan.quality]
    c.looks += 1
    if not min(c.now, there) > c.floor or plan.chosen != plan.nc or not plan.ideal:
        return 1  # redundant rows are independent off the constraints, and friction has no part in the matrix below
    first = -c.length if c.now * h < c.length * (there - c.now) else 0.0
    reach, alone = _reach(c, h), _is_by_lengths(plan, mem, c, t, h, left)
    apart = (reach - first) / PIECES
    if _dips(plan, mem, alone, first, min(reach, left), apart, t, h, z, zdot, znew, zdotnew):
        return 1
    c.clear = t + apart
    rates(plan, mem, t_new, znew, zdotnew)
    call_judge(plan.judge, (plan, mem, plan.nc))
    plan.nfev -= 1
    return 0


@jit(f8(Plan, Floats))
def judge_state(plan, mem):
    """The quality at the state whose rates were the last."""
    call_judge(plan.judge, (plan, mem, plan.nc))
    return mem[plan.quality]


@jit(i8(i8, f8, f8, f8, f8))
def follow(where, quality, shortest, h, t_new):
    """Record the quality at the end of an accepted step."""
    c = conditioning(where)
    c.shortest_before, c.shortest = c.shortest, shortest
    c.before, c.now, c.length, c.judged = c.now, quality, h, 0
    c.longest = max(h, FORGET * c.longest)
    if not quality > c.worst:
        c.worst, c.worst_t = quality, t_new
    return 0


@jit(i8(Plan, Floats, i8, f8))
def begin_following(plan, mem, where, t):
    """Begin to follow the quality at the state whose rates, at time t, were the last."""
    c = conditioning(where)
    call_judge(plan.judge, (plan, mem, plan.nc))
    c.now, c.shortest, c.clear = mem[plan.quality], mem[plan.shortest], -math.inf
    if LOWER * c.now > plan.weakest:
        c.floor = min(c.floor, LOWER * c.now)
    if not c.now > c.worst:
        c.worst, c.worst_t = c.now, t
    return 0


@jit(i8(Plan, Floats, i8, f8, f8, Floats, Floats, Floats, Floats))
def look_back(plan, mem, where, t, h, z, zdot, spare, unused):
    """The quality a little before a state z with rates zdot, as if a short step had led there."""
    c, back = conditioning(where), BACK * h
    for i in range(z.size):
        spare[i] = z[i] - back * zdot[i]
    rates(plan, mem, t - back, spare, unused)
    call_judge(plan.judge, (plan, mem, plan.nc))
    plan.nfev -= 1
    c.before, c.shortest_before, c.length, c.judged = mem[plan.quality], mem[plan.shortest], back, 0
    return 0


@jit(i8(Plan, Floats, i8, f8, f8, Floats, Floats, Floats, Floats))
def gauge(plan, mem, where, t, h, z, zdot, spare, unused):
    """Begin to follow the quality anew at a state z with rates zdot, with a next step of length h."""
    look_back(plan, mem, where, t, h, z, zdot, spare, unused)
    rates(plan, mem, t, z, unused)
    plan.nfev -= 1
    return begin_following(plan, mem, where, t)
