"""From a motion to its overview figure and its animation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system_facts import Drawing
from dalembert.errors import DalembertError
from dalembert.motion.motion import Motion
from dalembert.motion.protocols import MotionLike
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.tables import check_sampled, columns_of, output_names
from dalembert.notebook_page import Page
from dalembert.view.animation import Arrow, Polyline, Scene, Trace, Track, animation_page, write_animation
from dalembert.view.frames import LINEAR, Frames, curves_of, frames_of
from dalembert.view.panels import Panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_overview(motion: MotionLike, names: Sequence[Any] = ()) -> Figure:
    """Coordinates, speeds, multipliers, outputs, violation and energy balance over time, or some of these by name."""
    from dalembert.view.plots import plot_motion

    return plot_motion(*panels_of(motion, names))


def panels_of(motion: MotionLike, names: Sequence[Any] = ()) -> Panels:
    """Curves of the overview figure of a motion, with enough samples to be smooth."""
    check_sampled(motion)
    s, fine = motion.system, refined(motion)
    if names:
        return Panels(fine.t, {"": columns_of(fine, names)}, {}, None, s.name)
    groups = {
        "coordinates": dict(zip(s.coordinates, fine.q.T, strict=True)),
        "speeds": dict(zip(s.speeds, fine.u.T, strict=True)),
        "multipliers": dict(zip(fine.constraint_names, fine.multipliers.T, strict=True)),
        "outputs": columns_of(fine, output_names(fine)),
    }
    held = {
        f"{name} ({level})": values
        for level, columns in fine.violation.items()
        for name, values in columns.items()
        if level != "acceleration"
    }
    return Panels(fine.t, groups, held, fine.energy_balance, s.name)


def animate_motion(motion: MotionLike, path: str | Path | None = None) -> Path | Page:
    """Write the animation of a motion; without a path, the HTML page as an object that notebooks show."""
    if path is not None and Path(path).suffix.lower() in (".gif", ".mp4"):
        from dalembert.view.video import video_times, write_video

        return write_video(path, picture_of(motion, frames_of(motion, video_times(*motion.t[[0, -1]])[0], LINEAR)))
    scene = scene_of(motion)
    return Page(animation_page(scene), scene.title) if path is None else write_animation(path, scene)


def scene_of(motion: MotionLike) -> Scene:
    """Points, bodies and lines of a motion at frame times, with energy balance, violation and outputs as traces."""
    frames = frames_of(motion)
    return replace(picture_of(motion, frames), traces=tuple(_traces(frames.parts)))


def picture_of(motion: MotionLike, frames: Frames) -> Scene:
    """The scene of a motion at its frames, without traces."""
    parts, d = frames.parts, frames.parts[0].system.drawing
    if any(part.system.drawing != d for part in parts):
        raise DalembertError("the systems of this sequence draw different things; animate its segments one by one")
    data = np.concatenate([p.system.evaluate("drawing", p.t, p.q, p.u, p.parameters) for p in parts])
    tracks, lines = drawn(d, data)
    return Scene(
        title=motion.system.name, t=np.concatenate([part.t for part in parts]), planar=d.planar, tracks=tracks,
        lines=lines, arrows=tuple(_arrows(parts)), caption=motion.certificate.verdict,
        starts=tuple(np.cumsum([len(part) for part in parts[:-1]]).tolist()), coarse=frames.coarse,
    )  # fmt: skip


def _traces(parts: tuple[Motion, ...]) -> list[Trace]:
    traces = [Trace("energy balance", np.concatenate([part.energy_balance for part in parts]), noise=True)]
    held = [np.hstack([part.evaluation.phi, part.evaluation.psi]) for part in parts]
    if any(values.shape[1] for values in held):
        worst = np.concatenate([np.abs(values).max(axis=1, initial=0.0) for values in held])
        traces.append(Trace("violation", worst, noise=True))
    named = [columns_of(part, output_names(part)) for part in parts]
    for name in dict.fromkeys(name for columns in named for name in columns):
        pieces = [columns.get(name, np.full(len(p), np.nan)) for columns, p in zip(named, parts, strict=True)]
        traces.append(Trace(name, np.concatenate(pieces)))
    return traces


def _arrows(parts: tuple[Motion, ...]) -> list[Arrow]:
    """The forces of joints on their second bodies, where the joints are; none if a part has no symbols any more."""
    statement = parts[0].system.statement
    if statement is None or any(part.system.joints != parts[0].system.joints for part in parts):
        return []
    arrows = []
    for joint in statement.joints:
        if joint.second.position is None:
            continue
        points = np.concatenate([part.position(joint.second) for part in parts])
        forces = np.concatenate([part.joint_reaction(joint.name).force for part in parts])
        if np.isfinite(forces).all() and forces.any():
            arrows.append(Arrow(joint.name, points, forces))
    return arrows


def drawn(d: Drawing, data: np.ndarray) -> tuple[tuple[Track, ...], tuple[Polyline, ...]]:
    """Points, bodies and lines from values of the function "drawing" over time, (nt, n)."""
    n = len(data)
    ends = np.cumsum([3] * len(d.points) + [9] * len(d.bodies) + [3 * k for _, k in d.lines])
    blocks = np.split(data, ends[:-1], axis=1) if len(ends) else []
    first, second = len(d.points), len(d.points) + len(d.bodies)
    turned = {name: b.reshape(n, 3, 3) for name, b in zip(d.bodies, blocks[first:second], strict=True)}
    tracks = tuple(
        Track(name, "body" if name in turned else "point", block, turned.get(name))
        for name, block in zip(d.points, blocks[:first], strict=True)
    )
    lines = (Polyline(name, b.reshape(n, k, 3)) for (name, k), b in zip(d.lines, blocks[second:], strict=True))
    return tracks, tuple(lines)


def refined(motion: MotionLike) -> MotionLike:
    """The motion with enough samples for smooth curves; a sequence keeps both states at every change."""
    parts = curves_of(motion)
    return replace(motion, segments=parts) if isinstance(motion, MotionSequence) else parts[0]
