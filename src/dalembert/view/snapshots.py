"""A mechanism at a few instants of its motion, in one picture next to the curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import OptionError
from dalembert.motion.protocols import MotionLike
from dalembert.view.frames import Frames
from dalembert.view.overview import picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COUNT = 5  # instants, unless some are given
TURN, LIFT = np.radians(-50.0), np.radians(22.0)  # from where spatial mechanisms are seen
GROUND = "#9aa3ad"


def plot_snapshots(motion: MotionLike, times: Sequence[float] | None = None, *, axes: Axes | None = None) -> Axes:
    """Axes with the particles, bodies and lines of a motion at `times`, the later the darker.

    Without times, five from beginning to end. Lines that do not move are drawn once, in grey. Spatial mechanisms are
    seen in parallel projection, z upwards. It draws into `axes`, or into new ones.
    """
    import matplotlib as mpl

    from dalembert.view.plots import PALETTE, STYLE, new_axes

    chosen = np.linspace(motion.t[0], motion.t[-1], COUNT) if times is None else np.sort(np.asarray(times, dtype=float))
    if not chosen.size:
        raise OptionError("times=[] shows nothing; give some, or leave them out")
    scene = picture_of(motion, Frames(motion.resampled(chosen).segments, ()))
    with mpl.rc_context(STYLE if axes is None else {}):
        target = new_axes() if axes is None else axes
        unlabelled = not scene.tracks  # then the first line that moves says when
        for line in scene.lines:
            seen = _seen(line.points, planar=scene.planar)
            if np.ptp(line.points, axis=0).max() < 1e-9:
                target.plot(*seen[0].T, color=GROUND, linewidth=1.0, zorder=1)
                continue
            for k, (points, shade) in enumerate(zip(seen, _shades(len(seen)), strict=True)):
                label = f"t = {scene.t[k]:.3g} s" if unlabelled else None
                target.plot(*points.T, color=PALETTE[0], alpha=shade, linewidth=1.5, zorder=2, label=label)
            unlabelled = False
        for track in scene.tracks:
            seen = _seen(track.positions[:, None], planar=scene.planar)[:, 0]
            for k, (point, shade) in enumerate(zip(seen, _shades(len(seen)), strict=True)):
                label = f"t = {scene.t[k]:.3g} s" if track is scene.tracks[0] else None
                target.plot(*point, "o", color=PALETTE[1], alpha=shade, markersize=5, label=label, zorder=3)
        target.set_aspect("equal", adjustable="datalim")
        labels = ("x [m]", "y [m]") if scene.planar else ("across [m]", "up [m]")
        target.set(title=scene.title, xlabel=labels[0], ylabel=labels[1])
    return target


def _seen(points: np.ndarray, *, planar: bool) -> np.ndarray:
    """Points (nt, k, 3) as they are seen, (nt, k, 2)."""
    if planar:
        return points[..., :2]
    across = np.array([np.cos(TURN), np.sin(TURN), 0.0])
    up = np.array([np.sin(TURN) * np.sin(LIFT), -np.cos(TURN) * np.sin(LIFT), np.cos(LIFT)])
    return points @ np.stack([across, up], axis=1)


def _shades(count: int) -> np.ndarray:
    """Opacities of the instants, the last one full."""
    return np.linspace(0.25, 1.0, count) if count > 1 else np.ones(1)
