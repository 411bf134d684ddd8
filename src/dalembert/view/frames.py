"""Frames of a motion: as many as its fastest quantity on the screen needs, each of them the motion at its time.

Curves are drawn through frames. They must be the motion to a `PIXEL` of the picture or the plot. The rates of all that
is shown are known at frames, so an interval whose curve sets out at another rate is halved, until none does. Where
there would be too many frames intervals stay `coarse`: nothing may be drawn between their ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.distinct import distinct
from dalembert.equations.system import System
from dalembert.equations.system_facts import Drawing
from dalembert.motion.motion import Motion
from dalembert.motion.protocols import MotionLike
from dalembert.run.storage import IN_MEMORY

PIXEL = 1e-3  # of a picture or a plot
GRID, FRAMES_PER_PAGE = 500, 6_000  # frames at round times, about; and others
FEWEST_FRAMES, NUMBERS_PER_PAGE = 60, 3_000_000  # numbers that a page holds, of many parts in this many frames at least
BOX = 0.1  # of the picture is the box of a body, with its axes
TINY = PIXEL**2  # of a size: smaller moves are not followed; of the time: rates are taken over it


class Curves(NamedTuple):
    """Interpolation of curves through frames: values at other times, and rates at the ends of intervals.

    A curve that sets out at another rate goes off by `lever` times that and the length of the interval, at most.
    """

    values: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    rates: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    lever: float


class Frames(NamedTuple):
    """A motion at the times of frames, one part per segment, and the indices of frames before `coarse` intervals."""

    parts: tuple[Motion, ...]
    coarse: tuple[int, ...]


def _parabolas(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Slopes (nt, k) of the parabolas through three of `values` (nt, k) each, of lines if there are but two."""
    return np.gradient(values, t, axis=0, edge_order=2 if len(t) > 2 else 1)


def _hermite(t: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    i = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    slopes, h = _parabolas(t, values), (t[i + 1] - t[i])[:, None]
    s, a, b = (at - t[i])[:, None] / h, values[i], values[i + 1]
    return a + s * s * (3 - 2 * s) * (b - a) + h * s * (1 - s) * ((1 - s) * slopes[i] - s * slopes[i + 1])


def _smooth_rates(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    slopes = _parabolas(t, values)
    return slopes[:-1], slopes[1:]


def _straight(t: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    i = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    s = ((at - t[i]) / (t[i + 1] - t[i]))[:, None]
    return (1 - s) * values[i] + s * values[i + 1]


def _constant_rates(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    slopes = np.diff(values, axis=0) / np.diff(t)[:, None]
    return slopes, slopes


CUBIC = Curves(_hermite, _smooth_rates, 4 / 27)  # those of pages; s (1 - s)^2 is 4 / 27 at most
LINEAR = Curves(_straight, _constant_rates, 1 / 4)  # those of figures


def frames_of(motion: MotionLike, extra: np.ndarray | tuple[float, ...] = (), curves: Curves = CUBIC) -> Frames:
    """The frames of a page, some at round times and at `extra` ones; where the motion changes, before and after it.

    A motion that cannot be continued between its samples has these as frames.
    """
    span = float(motion.t[-1] - motion.t[0])
    most = min(FRAMES_PER_PAGE, max(FEWEST_FRAMES, NUMBERS_PER_PAGE // max(_numbers(motion.system.drawing), 1)))
    pace = round_step(span / min(GRID, most)) if span else 1.0
    grid = motion.t[0] + pace * np.arange(int(span / pace) + 1)
    parts, coarse = list[Motion](), list[int]()
    for part in (part for part in motion.segments if len(part)):
        share = int(most * (part.t[-1] - part.t[0]) / span) if span else 1
        found, open_ = resolved(part, np.concatenate([grid, extra]), share, curves)
        coarse += (sum(map(len, parts)) + open_).tolist()
        parts.append(found)
    return Frames(tuple(parts), tuple(coarse))


def curves_of(motion: MotionLike) -> tuple[Motion, ...]:
    """One part per segment, with samples between those of the motion until straight lines are its curves in figures."""
    span = float(motion.t[-1] - motion.t[0]) or 1.0
    system = motion.system
    most = min(FRAMES_PER_PAGE, NUMBERS_PER_PAGE // max(system.nq + system.nu, 1))
    return tuple(
        resolved(part, part.t, int(most * (part.t[-1] - part.t[0]) / span), LINEAR, picture=False)[0]
        if part.can_continue and len(part) > 1
        else part
        for part in motion.segments
    )


def resolved(
    motion: Motion, times: np.ndarray, most: int, curves: Curves, *, picture: bool = True
) -> tuple[Motion, np.ndarray]:
    """One segment at those of `times` within, its ends and at most `most` others; indices before coarse intervals.

    One that cannot be continued between its samples has these. Without `picture` only what is plotted counts.
    """
    if len(motion) < 2 or motion.t[0] == motion.t[-1]:
        return _chosen(motion, slice(-1, None)), np.zeros(0, int)
    begin, end = motion.t[[0, -1]].tolist()
    found = _begun(motion, times)
    most = most + len(found) if motion.can_continue else 0
    shown = _Shown.of(found, end - begin, picture=picture)
    while True:
        t, pixels = shown.t, _pixels(motion, shown.values, picture=picture)
        off = np.max([np.abs(a - b) for a, b in shown.rates_at_ends(curves)], axis=0) * np.diff(t)[:, None]
        bad = curves.lever * off > pixels
        halved = bad.any(axis=1) & (np.diff(t) > 10 * TINY * (end - begin))
        if not halved.any() or len(t) + halved.sum() > most:
            break
        middle = motion.resampled(0.5 * (t[:-1] + t[1:])[halved])
        shown = shown.joined(_Shown.of(middle, end - begin, picture=picture))
    coarse = np.flatnonzero(bad[:, : shown.state].any(axis=1))
    return found if len(found) == len(t) else motion.resampled(t), coarse


def _begun(motion: Motion, times: np.ndarray) -> Motion:
    """A segment at its ends and those of `times` within, or at its samples."""
    if times is motion.t or not motion.can_continue:
        once = np.diff(motion.t, prepend=-np.inf) > 0.0
        return motion if once.all() else _chosen(motion, once)
    begin, end = motion.t[[0, -1]]
    return motion.resampled(distinct(np.concatenate([times[(times > begin) & (times < end)], [begin, end]])))


def round_step(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten that is not smaller."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9)))


class _Shown(NamedTuple):
    """Drawn and plotted quantities at times (nt,), and their rates, (nt, k). Columns from `state` on are outputs."""

    t: np.ndarray
    values: np.ndarray
    rates: np.ndarray
    state: int

    @classmethod
    def of(cls, motion: Motion, span: float, *, picture: bool) -> _Shown:
        """Quantities and rates at the samples of a motion; rates by central differences over a tiny part of `span`."""
        s, moment = motion.system, TINY * span
        qdot = s.coordinate_rates(motion.t, motion.q, motion.u, motion.parameters)
        here, before, after = (
            _values(_chosen(motion, slice(None)), step * qdot, step * motion.udot, step, picture=picture)
            for step in (0.0, -moment, moment)
        )
        return cls(motion.t, here, (after - before) / (2 * moment), here.shape[1] - len(_stated(s)))

    def rates_at_ends(self, curves: Curves) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Rates of the curves and of the motion where intervals begin, and where they end."""
        first, last = curves.rates(self.t, self.values)
        return (first, self.rates[:-1]), (last, self.rates[1:])

    def joined(self, more: _Shown) -> _Shown:
        """The quantities of both, in order of time."""
        order = np.argsort(np.concatenate([self.t, more.t]), kind="stable")
        t, values, rates = (np.concatenate(pair)[order] for pair in zip(self[:3], more[:3], strict=True))
        return _Shown(t, values, rates, self.state)


def _chosen(motion: Motion, samples: np.ndarray | slice) -> Motion:
    """The motion with some of its samples only; its evaluation is computed again."""
    kept = {name: getattr(motion, name)[samples] for name in ("t", "q", "u", "work")}
    return replace(motion, known=None, derivatives=None, storage=IN_MEMORY, **kept)


def _stated(system: System) -> list[str]:
    """The columns of the outputs that do not read accelerations or multipliers."""
    return [column for output in system.outputs if not output.reads_rates for column in output.columns]


def _values(motion: Motion, dq: np.ndarray, du: np.ndarray, dt: float, *, picture: bool = True) -> np.ndarray:
    """The picture, coordinates, speeds and outputs at states somewhat aside, (nt, k)."""
    aside = replace(motion, t=motion.t + dt, q=motion.q + dq, u=motion.u + du)
    drawn = [aside.system.evaluate("drawing", aside.t, aside.q, aside.u, aside.parameters)] if picture else []
    stated = [aside[name][:, None] for name in _stated(aside.system)]
    return np.hstack([*drawn, aside.q, aside.u, *stated])


def _pixels(motion: Motion, values: np.ndarray, *, picture: bool = True) -> np.ndarray:
    """The size of a pixel in each column of `_values`, (k,)."""
    d, low, high = motion.system.drawing, np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    sizes, n = np.fmax(np.abs(low), np.abs(high)), _numbers(d) if picture else 0
    sizes[n : n + motion.q.shape[1] + motion.u.shape[1]] = np.concatenate([motion.sizes.q, motion.sizes.u])
    ranges = np.fmax(high - low, TINY * sizes)
    if not picture:
        return PIXEL * ranges
    turns = slice(3 * len(d.points), 3 * len(d.points) + 9 * len(d.bodies))
    places = np.delete(np.arange(n), turns).reshape(-1, 3)
    if len(places):
        sides = high[places].max(axis=0) - low[places].min(axis=0)
        ranges[places] = max(float(sides.max()), TINY * float(sizes[places].max()))
    ranges[turns] = 1.0 / BOX
    return PIXEL * ranges


def _numbers(d: Drawing) -> int:
    """Number of floats in a picture."""
    return 3 * len(d.points) + 9 * len(d.bodies) + 3 * sum(k for _, k in d.lines)
