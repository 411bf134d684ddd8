"""From a motion to its overview figure and its animation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.motion import Motion
from dalembert.view.animation import Line, Scene, Trace, Track, write_animation
from dalembert.view.plots import plot_motion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMOOTH = 400  # samples that make a smooth curve
FRAMES_PER_SECOND, FRAMES = 30, 1500


def plot_overview(motion: Motion) -> Figure:
    """Coordinates, speeds, multipliers, violation and energy balance over time."""
    s, fine = motion.system, _refined(motion)
    groups = {
        "coordinates": dict(zip(s.coordinates, fine.q.T, strict=True)),
        "speeds": dict(zip(s.speeds, fine.u.T, strict=True)),
        "multipliers": dict(zip(s.constraint_names, fine.multipliers.T, strict=True)),
    }
    held = {
        f"{name} ({level})": values
        for level, columns in fine.violation.items()
        for name, values in columns.items()
        if level != "acceleration"
    }
    return plot_motion(fine.t, groups, held, fine.energy_balance, motion.system.name)


def animate_motion(motion: Motion, path: str | Path) -> Path:
    """Write the HTML animation of a motion."""
    return write_animation(path, scene_of(motion))


def scene_of(motion: Motion) -> Scene:
    """Points, bodies and lines of a motion at frame times, with energy balance and violation as traces."""
    s = motion.system
    count = int(np.clip((motion.t[-1] - motion.t[0]) * FRAMES_PER_SECOND, 200, FRAMES))
    times = np.linspace(motion.t[0], motion.t[-1], count)
    frames = motion.resampled(times) if motion.engine is not None else motion
    data = s.evaluate("drawing", frames.t, frames.q, frames.u, motion.parameters)
    d, n = s.drawing, len(frames.t)
    ends = np.cumsum([3] * len(d.points) + [9] * len(d.bodies) + [3 * k for _, k in d.lines])
    blocks = np.split(data, ends[:-1], axis=1) if len(ends) else []
    first, second = len(d.points), len(d.points) + len(d.bodies)
    turned = {name: b.reshape(n, 3, 3) for name, b in zip(d.bodies, blocks[first:second], strict=True)}
    tracks = [
        Track(name, "body" if name in turned else "point", block, turned.get(name))
        for name, block in zip(d.points, blocks[:first], strict=True)
    ]
    lines = [Line(name, b.reshape(n, k, 3)) for (name, k), b in zip(d.lines, blocks[second:], strict=True)]
    traces = [Trace("energy balance", frames.energy_balance)]
    if frames.evaluation.phi.shape[1] + frames.evaluation.psi.shape[1]:
        held = np.abs(np.hstack([frames.evaluation.phi, frames.evaluation.psi])).max(axis=1)
        traces.append(Trace("violation", held))
    return Scene(
        title=s.name, t=frames.t, planar=d.planar, tracks=tuple(tracks), lines=tuple(lines), traces=tuple(traces),
        caption=motion.certificate.verdict,
    )  # fmt: skip


def _refined(motion: Motion) -> Motion:
    """The motion with enough samples for smooth curves."""
    if motion.engine is None or len(motion) >= SMOOTH:
        return motion
    return motion.resampled(np.union1d(motion.t, np.linspace(motion.t[0], motion.t[-1], SMOOTH)))
