"""Limits steps to the cells of functions that hide features, in native code.

A step may carry the argument of such a function over REACH times the shortest of the cells that it touches, and ends at
jumps, kinks and poles, across which estimates of errors hold by chance. For the time this is known before the step,
which ends in time. For arguments that follow from the state it is looked up after the step, from a cubic through both
ends and what that is off by inside, and a step that went too far is made again with a part of its length.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dalembert.equations.maps import SHELVES, SPARE, TINY
from dalembert.native.cells import FINEST, period_start
from dalembert.native.intrinsics import floats_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, ints_at, move
from dalembert.native.types import several
from dalembert.run.run_maps import Maps, RunMaps, mapped

if TYPE_CHECKING:
    from dalembert.run.time_loop.collocation import Arc

REACH = 4.0  # times the shortest cell that it touches: the longest way of a step that is looked at inside
SLIVER = 64.0 * FINEST  # of the line: steps are not made shorter, next to poles and where a jump lies beside its cell
MOMENT = 1e-11  # of a step: a feature so near one of its ends counts as at the end
STILL = 1e-10  # of its size: an argument that changes by less stands still, or errors alone move it
SHORTER, LONGER = 0.1, 0.5  # parts of a step that went too far, to be tried instead
SEEN, UNKNOWN = 1.0, -1.0
ARC_PIECES = 4  # of a collocation arc, over which cubics tell where arguments go; each has its share of the reach
# Parts of a step at which arguments are held against their cubics, each with the weights there of the values at both
# ends and of the slopes at both ends.
INSIDE = tuple(
    (s, (1.0 - s) ** 2 * (1.0 + 2.0 * s), s**2 * (3.0 - 2.0 * s), s * (1.0 - s) ** 2, s**2 * (s - 1.0))
    for s in (0.21, 0.52, 0.83)
)
CUBIC_MARGIN = 2.0  # times what a cubic is off by there: by what it may be off anywhere
GOLDEN = 0.6180339887498949
BISECTIONS = 52  # to the last bit of a part of the step
ROUND_OFF = 2.0**-49


@jit(i8(Floats, f8, i8))
def _cell(edges, s, guess):
    """The cell that contains s, searched from a guess."""
    low, high = 0, edges.size - 2
    guess = min(max(guess, low), high)
    if edges[guess] <= s < edges[guess + 1]:
        return guess
    while low < high:
        middle = (low + high + 1) // 2
        if edges[middle] <= s:
            low = middle
        else:
            high = middle - 1
    return low


@jit(f8(Floats, f8, f8, f8, f8, i8))
def _farthest(edges, period, s, goal, reach, first):
    """Largest value, up to `goal`, to which a step may raise an argument from s, which lies in the cell `first`."""
    base, cell = period_start(edges, period, s), first
    least, shortest = SLIVER * (edges[edges.size - 1] - edges[0]), edges[cell + 1] - edges[cell]
    end = max(min(base + edges[cell + 1], s + reach * shortest), s + least)
    if end < base + edges[cell + 1]:
        return min(end, goal)
    while goal - end > least:
        cell += 1
        if cell == edges.size - 1:
            if period == 0.0:
                return goal
            base, cell = base + period, 0
        length = edges[cell + 1] - edges[cell]
        if length == 0.0:  # a jump
            continue
        shortest = min(shortest, length)
        if s + reach * shortest <= end:
            return end
        end = max(end, base + edges[cell + 1])
        if s + reach * shortest < end:
            return min(s + reach * shortest, goal)
    return goal


@jit(f8(Floats, f8, f8, f8, i8))
def next_jump(edges, period, s, high, first):
    """The first jump beyond s, which lies in the cell `first`, up to `high`; infinity if there is none."""
    base, cell = period_start(edges, period, s), first
    while base + edges[cell + 1] <= high:
        cell += 1
        if cell == edges.size - 1:
            if period == 0.0:
                return math.inf
            base, cell = base + period, 0
        if edges[cell + 1] == edges[cell] and base + edges[cell] > s:
            return base + edges[cell]
    return math.inf


@jit(i8(Plan, Floats, Maps, i8, f8))
def find_cell(plan, mem, w, k, s):
    """The cell of function k that s lies in."""
    ints = ints_at(plan.ints, plan.n_ints)
    edges, period = floats_at(ints[w.edges + k], ints[w.counts + k]), floats_at(w.periods, w.n)[k]
    ints[w.cells + k] = _cell(edges, s - period_start(edges, period, s), ints[w.cells + k])
    return ints[w.cells + k]


@jit(i8(Plan, Floats, Maps, i8, f8, f8))
def reach_over(plan, mem, w, k, low, high):
    """Whether function k has edges over [low, high], from its shelf if an argument left those that it had.

    Those on the shelf reach to a power of two, 4 to 8 times as far as the argument that they were laid for.
    """
    ints = ints_at(plan.ints, plan.n_ints)
    if floats_at(w.periods, w.n)[k] != 0.0:
        return 1
    edges = floats_at(ints[w.edges + k], ints[w.counts + k])
    if edges.size > 0 and edges[0] <= low and high <= edges[edges.size - 1]:
        return 1
    shelf, farthest = ints_at(w.shelf, 2 * SHELVES * w.n), max(abs(low), abs(high), TINY)
    ints[w.counts + k] = 0
    for i in range(SHELVES * k, SHELVES * (k + 1)):
        count = shelf[2 * i + 1]
        if count == 0:
            return 0
        reach = floats_at(shelf[2 * i], count)[count - 1] / SPARE
        if 0.5 * reach < farthest <= reach:
            ints[w.edges + k], ints[w.counts + k], ints[w.cells + k] = shelf[2 * i], count, 0
            return 1
    return 0


@jit(f8(Plan, Floats, Maps, i8, f8, f8))
def _allowed(plan, mem, w, k, s, goal):
    """Like `_farthest`, for function k."""
    ints = ints_at(plan.ints, plan.n_ints)
    edges, cell = floats_at(ints[w.edges + k], ints[w.counts + k]), find_cell(plan, mem, w, k, s)
    return _farthest(edges, floats_at(w.periods, w.n)[k], s, goal, w.reach, cell)


@jit(f8(Plan, Floats, f8, f8, f8))
def time_limit(plan, mem, t, h, t_end):
    """Latest end of a step from t, set by functions of the time; t_end if none of them limits a step of 2 h."""
    w, far = mapped(plan.maps), min(t + 2.0 * h, t_end)
    for k in range(w.timed):
        seen = _allowed(plan, mem, w, k, t, far)
        if seen < far:
            far = t_end = seen
    return t_end


@jit(i8(Plan, Floats, Maps, f8, Floats, Floats, i8))
def take_arguments(plan, mem, w, t, z, zdot, target):
    """Arguments and their rates at (t, z) with rates zdot, into a block of mem."""
    size = w.n_rates
    mem[w.input] = t
    move(mem, w.input + 1, z, 0, size)
    move(mem, w.input + w.n_x, zdot, 0, size)
    call_kernel(w.kernel, mem, w.input, target)
    return 0


@jit(i8(Plan, Floats, Maps, f8, Floats, Floats))
def set_out(plan, mem, w, t, z, zdot):
    """Arguments at the start of a run, and their sizes, from those of coordinates and speeds.

    Sizes are made unlike: the difference of two coordinates has a size too.
    """
    ints, rates, size = ints_at(plan.ints, plan.n_ints), w.input + w.n_x, w.n_rates
    move(mem, w.input + 1 + size, mem, plan.xu + plan.nu, w.n_x - 1 - size)
    for i in range(w.n_rates):
        mem[rates + i] = mem[plan.sizes + i] * (0.5 + GOLDEN * i % 1.0)
    take_arguments(plan, mem, w, t, z, mem[rates : rates + w.n_rates], w.begins)
    for k in range(w.timed, w.n):
        at = w.begins + ints[w.arguments + k]
        size = max(abs(mem[at]), abs(mem[at + w.n_arguments]))
        mem[w.sizes + k] = size if math.isfinite(size) else 0.0
    return take_arguments(plan, mem, w, t, z, zdot, w.begins)


@jit(f8(f8, f8, f8, f8, f8))
def _cubic(theta, begin, end, slope, last):
    """The cubic with these values and slopes at 0 and 1."""
    rest = 1.0 - theta
    return rest * rest * ((1.0 + 2.0 * theta) * begin + theta * slope) + theta * theta * (
        (3.0 - 2.0 * theta) * end - rest * last
    )


@jit(several(f8, 2)(f8, f8, f8, f8))
def _turns(begin, end, slope, last):
    """The parts of the step at which that cubic turns; 1 for one outside [0, 1]."""
    a = 3.0 * (slope + last) - 6.0 * (end - begin)
    b = 6.0 * (end - begin) - 4.0 * slope - 2.0 * last
    root = b * b - 4.0 * a * slope
    if root <= 0.0:
        return 1.0, 1.0
    q = -0.5 * (b + math.copysign(math.sqrt(root), b))
    first, second = q / a if a != 0.0 else 1.0, slope / q if q != 0.0 else 1.0
    first, second = first if 0.0 < first < 1.0 else 1.0, second if 0.0 < second < 1.0 else 1.0
    return min(first, second), max(first, second)


@jit(several(f8, 2)(f8, f8, f8, f8))
def _range(begin, end, slope, last):
    """Bounds of that cubic over [0, 1]: it lies between its least and its largest Bernstein coefficient."""
    second, third = begin + slope / 3.0, end - last / 3.0
    return min(begin, end, second, third), max(begin, end, second, third)


@jit(i8(Plan, Floats, Maps, f8, f8, Floats, Floats, Floats, Floats))
def _measure_slacks(plan, mem, w, t, h, z, zdot, znew, zdotnew):
    """By what arguments that time moves may be off their cubics: a step of a mechanism at rest does not notice it."""
    ints, m = ints_at(plan.ints, plan.n_ints), w.n_arguments
    for k in range(w.timed, w.n):
        mem[w.slacks + k] = 0.0
    for theta, a, b, c, d in INSIDE:
        mem[w.input], first, last = t + theta * h, c * h, d * h
        for i in range(w.n_rates):
            mem[w.input + 1 + i] = a * z[i] + b * znew[i] + first * zdot[i] + last * zdotnew[i]
        call_kernel(w.moved, mem, w.input, w.middles)
        for k in range(w.timed, w.n):
            j = ints[w.arguments + k]
            if j < w.moving:
                begin, end = w.begins + j, w.ends + j
                cubic = a * mem[begin] + b * mem[end] + first * mem[begin + m] + last * mem[end + m]
                mem[w.slacks + k] = max(mem[w.slacks + k], CUBIC_MARGIN * abs(mem[w.middles + j] - cubic))
    return 0


@jit(i8(Plan, Floats, Maps, i8, f8, f8))
def _is_inside(plan, mem, w, k, low, high):
    """Whether [low, high] lies well inside the cell of function k that was met last, as it does in most steps."""
    ints, cell = ints_at(plan.ints, plan.n_ints), ints_at(plan.ints, plan.n_ints)[w.cells + k]
    edges = floats_at(ints[w.edges + k], ints[w.counts + k])
    begin, end, blur = edges[cell], edges[cell + 1], 2.0 * FINEST * (edges[edges.size - 1] - edges[0])
    return begin + blur < low and high < end - blur and high - low <= w.reach * (end - begin)


@jit(f8(f8, f8, f8, f8, f8, f8, f8))
def _arrival(at, begin, end, slope, last, low, latest):
    """The part of the step, from `low` to `latest`, at which that cubic first gets to `at`; else 1."""
    first, second = _turns(begin, end, slope, last)
    for top in (first, second, 1.0):
        high = min(top, latest)
        if high <= low:
            continue
        before = _cubic(low, begin, end, slope, last) - at
        if before * (_cubic(high, begin, end, slope, last) - at) < 0.0:
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                if before * (_cubic(middle, begin, end, slope, last) - at) > 0.0:
                    low = middle
                else:
                    high = middle
            return high
        low = high
    return SEEN


@jit(f8(Plan, Floats, Maps, i8, f8, f8))
def _part_to_jump(plan, mem, w, k, h, margin):
    """The part of a step of length h at which the argument of function k gets to a jump within it, off its ends.

    LONGER if the argument may get to one and its cubic does not, SEEN if there is none. Jumps are known to a FINEST
    part of the line: a step ends half of that before them, a short one half of it beyond. That one is made however
    near the jump is: the first stages of a longer one would be on the other side than the rest of it.
    """
    ints, m, part = ints_at(plan.ints, plan.n_ints), w.n_arguments, SEEN
    j, low, high = ints[w.arguments + k], mem[w.lows + k], mem[w.highs + k]
    begin, end = mem[w.begins + j], mem[w.ends + j]
    edges = floats_at(ints[w.edges + k], ints[w.counts + k])
    margin += ROUND_OFF * max(abs(low), abs(high)) / (high - low)
    blur = FINEST * (edges[edges.size - 1] - edges[0])
    jump = low - 2.0 * blur
    least, most = low + mem[w.slacks + k], high - mem[w.slacks + k]  # of the cubic itself
    slope, last, latest = h * mem[w.begins + m + j], h * mem[w.ends + m + j], 1.0 - margin
    while True:
        jump = next_jump(edges, floats_at(w.periods, w.n)[k], jump, high + blur, find_cell(plan, mem, w, k, jump))
        if jump == math.inf:
            return part
        if jump + 2.0 * blur < least or jump - blur > most:
            part = min(part, LONGER)  # the argument may get there, the cubic does not
        part = min(part, _arrival(jump - 0.5 * blur, begin, end, slope, last, margin, latest))
        part = min(part, max(margin, _arrival(jump + 1.5 * blur, begin, end, slope, last, 0.0, latest)))


@jit(f8(Plan, Floats, f8, f8, f8, Floats, Floats, Floats, Floats))
def seen_part(plan, mem, t, h, shortest, z, zdot, znew, zdotnew):
    """The part of a step of length h that keeps to the cells of all arguments: SEEN for all of it.

    UNKNOWN if an argument has left its map, which has to be extended. Jumps within twice the `shortest` time
    from either end count as at it.
    """
    w = mapped(plan.maps)
    if w.timed == w.n:
        return SEEN
    if w.t != t:
        set_out(plan, mem, w, t, z, zdot)
    take_arguments(plan, mem, w, t + h, znew, zdotnew, w.ends)
    if w.moving > 0:
        _measure_slacks(plan, mem, w, t, h, z, zdot, znew, zdotnew)
    ints, m, part, w.jumped = ints_at(plan.ints, plan.n_ints), w.n_arguments, SEEN, 0.0
    for k in range(w.timed, w.n):
        j = ints[w.arguments + k]
        low, high = _range(mem[w.begins + j], mem[w.ends + j], h * mem[w.begins + m + j], h * mem[w.ends + m + j])
        low, high = low - mem[w.slacks + k], high + mem[w.slacks + k]
        mem[w.lows + k], mem[w.highs + k] = low, high
        if high - low <= STILL * mem[w.sizes + k] or not (low < high and math.isfinite(high - low)):
            continue
        if not reach_over(plan, mem, w, k, low, high):
            part = UNKNOWN
        elif part != UNKNOWN and not _is_inside(plan, mem, w, k, low, high):
            seen = (_allowed(plan, mem, w, k, low, high) - low) / (high - low)
            if seen < SEEN and max(SHORTER, min(LONGER, seen)) < part:
                w.jumped, part = 0.0, max(SHORTER, min(LONGER, seen))
            jump = _part_to_jump(plan, mem, w, k, h, MOMENT + 2.0 * shortest / h)
            if jump < part:
                w.jumped, part = 1.0 if jump != LONGER else 0.0, jump
    return part


@jit(i8(Plan))
def forget(plan):
    """Begin at another state: discards all data on its arguments."""
    mapped(plan.maps).t = math.nan
    return 0


@jit(i8(Plan, Floats, f8))
def go_on(plan, mem, t):
    """Use the values at the end of a step, t, for the start of the next."""
    w = mapped(plan.maps)
    move(mem, w.begins, mem, w.ends, 2 * w.n_arguments)
    w.t = t
    return 0


def sees(arc: Arc, maps: RunMaps, limit: float, shortest: float) -> bool:
    """Whether a collocation arc, as far as `limit`, keeps to the cells of functions like any other step."""
    plan, mem, reach = maps.work.plan, maps.work.mem, maps.record.reach
    if not plan.maps:
        return True
    times = np.linspace(arc.t, min(arc.t + arc.length, limit), ARC_PIECES + 1)
    states, rates, ends = arc.at(times), arc.rates(times), maps.record.ends
    kept = mem[ends : ends + 2 * maps.record.n_arguments].copy()  # of the step at hand
    maps.start(REACH / ARC_PIECES)
    seen = True
    for k, (t, end) in enumerate(pairwise(times.tolist())):
        part = UNKNOWN if time_limit(plan, mem, t, end - t, end) >= end else LONGER
        while part == UNKNOWN:
            part = seen_part(plan, mem, t, end - t, shortest, states[k], rates[k], states[k + 1], rates[k + 1])
            if part == UNKNOWN:
                maps.extend()
        seen = seen and part >= SEEN
    mem[ends : ends + len(kept)] = kept
    maps.start(reach)
    return seen
