"""Frames of a motion: as many as its fastest quantity on the screen needs, each of them the motion at its time.

Curves are drawn through frames. They must be the motion to a `PIXEL` of the picture or the plot. So frames are chosen
from candidates several times as dense as the steps of the integrator, until the curves meet all other candidates.
Intervals where there would be too many frames are `coarse`: nothing may be drawn between their ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.distinct import distinct
from dalembert.equations.system_facts import Drawing
from dalembert.motion.motion import Motion
from dalembert.motion.protocols import MotionLike
from dalembert.motion.tables import columns_of, output_names
from dalembert.run.storage import IN_MEMORY

PIXEL = 1e-3  # of a picture or a plot
GRID, FRAMES = 500, 6_000  # frames at round times, about; and of all
FEW, DRAWN = 60, 3_000_000  # numbers that a page holds, of many parts in this many frames at least
DENSE = 2  # candidates for a step, and for a frame at most
BOX = 0.1  # of the picture is the box of a body, with its axes
NOISE = 1e-6  # of the size of a coordinate or speed: smaller moves are not followed

Curves = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Frames(NamedTuple):
    """A motion at the times of frames, one part per segment, and the indices of frames before `coarse` intervals."""

    parts: tuple[Motion, ...]
    coarse: tuple[int, ...]


def resolved(motion: Motion, times: np.ndarray, most: int, curves: Curves) -> tuple[Motion, np.ndarray]:
    """One segment at those of `times` within, its ends and at most `most` others; indices before coarse intervals."""
    if len(motion) < 2 or motion.t[0] == motion.t[-1]:
        return _chosen(motion, slice(-1, None)), np.zeros(0, int)
    if not motion.can_continue:
        return _sampled(_chosen(motion, np.diff(motion.t, prepend=-np.inf) > 0.0), curves)
    begin, end = motion.t[[0, -1]]
    wanted = distinct(np.concatenate([times[(times > begin) & (times < end)], [begin, end]]))
    known = motion.resampled(distinct(np.concatenate([wanted, _candidates(motion, DENSE * most)])))
    kept, values = np.isin(known.t, wanted), _shown(known)
    pixels = _pixels(known, values)
    while True:
        off = np.abs(curves(known.t[kept], values[kept], known.t) - values) > pixels
        bad = np.flatnonzero(off.any(axis=1))
        interval = np.cumsum(kept)[bad] - 1
        first = np.flatnonzero(np.diff(interval, prepend=-1))
        middle = bad[(first + np.append(first[1:], len(bad))) // 2]  # of those that are off in an interval
        if not len(bad) or kept.sum() + len(middle) > most + len(wanted):
            return _chosen(known, kept), interval[first]
        kept[middle] = True


def cubic(t: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (n, k) at times (n,) of Hermite curves through `values` (nt, k), with slopes of parabolas as in pages."""
    if len(t) < 3:
        return linear(t, values, at)
    slopes = np.gradient(values, t, axis=0, edge_order=2)
    i = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    h = (t[i + 1] - t[i])[:, None]
    s = (at - t[i])[:, None] / h
    a, b = values[i], values[i + 1]
    return a + s * s * (3 - 2 * s) * (b - a) + h * s * (1 - s) * ((1 - s) * slopes[i] - s * slopes[i + 1])


def linear(t: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (n, k) at times (n,) of straight lines through `values` (nt, k)."""
    i = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    s = ((at - t[i]) / (t[i + 1] - t[i]))[:, None]
    return (1 - s) * values[i] + s * values[i + 1]


def frames_of(motion: MotionLike, extra: np.ndarray | tuple[float, ...] = (), curves: Curves = cubic) -> Frames:
    """The frames of a page, some at round times and at `extra` ones; where the motion changes, before and after it.

    A motion that cannot be continued between its samples has these as frames.
    """
    span = float(motion.t[-1] - motion.t[0])
    most = min(FRAMES, max(FEW, DRAWN // max(_numbers(motion.system.drawing), 1)))
    pace = round_step(span / min(GRID, most)) if span else 1.0
    grid = motion.t[0] + pace * np.arange(int(span / pace) + 1)
    parts, coarse = list[Motion](), list[int]()
    for part in motion.segments:
        share = int(most * (part.t[-1] - part.t[0]) / span) if span else 1
        found, open_ = resolved(part, np.concatenate([grid, extra]), share, curves)
        coarse += (sum(map(len, parts)) + open_).tolist()
        parts.append(found)
    return Frames(tuple(parts), tuple(coarse))


def round_step(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten that is not smaller."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9)))


def _candidates(motion: Motion, most: int) -> np.ndarray:
    """Times as dense as the steps of the integrator, or `DENSE` times that if there are not more than `most`."""
    ends, steps = motion.t[[0, -1]], max(motion.stats.get("steps", 0), 1)
    samples = motion.t[:: len(motion) // most + 1]
    dense = [samples[:-1] + k / DENSE * np.diff(samples) for k in range(DENSE)] if DENSE * len(samples) <= most else []
    return np.concatenate([samples, *dense, np.linspace(*ends, min(DENSE * steps, most) + 1)])


def _sampled(motion: Motion, curves: Curves) -> tuple[Motion, np.ndarray]:
    """The samples of a motion as its frames; coarse where the rates at two of them tell of another way between."""
    if len(motion) < 2:
        return motion, np.zeros(0, int)
    h, middle = np.diff(motion.t)[:, None], 0.5 * (motion.t[:-1] + motion.t[1:])
    rates = motion.system.coordinate_rates(motion.t, motion.q, motion.u, motion.parameters), motion.udot
    q, u = ((v[:-1] + v[1:]) / 2 + h / 8 * (r[:-1] - r[1:]) for v, r in zip((motion.q, motion.u), rates, strict=True))
    values = _shown(motion)
    between = _shown(replace(_chosen(motion, slice(1, None)), t=middle, q=q, u=u))
    off = np.abs(curves(motion.t, values, middle) - between) > _pixels(motion, values)
    return motion, np.flatnonzero(off.any(axis=1))


def _chosen(motion: Motion, samples: np.ndarray | slice) -> Motion:
    """The motion with some of its samples; what follows from them is evaluated again."""
    kept = {name: getattr(motion, name)[samples] for name in ("t", "q", "u", "work")}
    return replace(motion, known=None, derivatives=None, storage=IN_MEMORY, **kept)


def _shown(motion: Motion) -> np.ndarray:
    """What is drawn and plotted of a motion, (nt, k): the picture, coordinates, speeds and outputs."""
    picture = motion.system.evaluate("drawing", motion.t, motion.q, motion.u, motion.parameters)
    stated = [values[:, None] for values in columns_of(motion, output_names(motion)).values()]
    return np.hstack([picture, motion.q, motion.u, *stated])


def _pixels(motion: Motion, values: np.ndarray) -> np.ndarray:
    """The size of a pixel in each column of `_shown`, (k,)."""
    d, low, high = motion.system.drawing, np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    sizes, n = np.fmax(np.abs(low), np.abs(high)), _numbers(d)
    sizes[n : n + motion.q.shape[1] + motion.u.shape[1]] = np.concatenate([motion.sizes.q, motion.sizes.u])
    ranges = np.fmax(high - low, NOISE * sizes)
    turns = slice(3 * len(d.points), 3 * len(d.points) + 9 * len(d.bodies))
    places = np.delete(np.arange(n), turns).reshape(-1, 3)
    if len(places):
        sides = high[places].max(axis=0) - low[places].min(axis=0)
        ranges[places] = max(float(sides.max()), NOISE * float(sizes[places].max()))
    ranges[turns] = 1.0 / BOX
    return PIXEL * ranges


def _numbers(d: Drawing) -> int:
    """How many numbers a picture takes."""
    return 3 * len(d.points) + 9 * len(d.bodies) + 3 * sum(k for _, k in d.lines)
