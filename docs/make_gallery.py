"""Moving pictures of the mechanisms in `models/`: small SVG files in `images/mechanisms/`, which any browser plays.

python docs/make_gallery.py [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.view.animation import Scene
from dalembert.view.frames import Frames
from dalembert.view.overview import picture_of

HERE = Path(__file__).parent
FAR = 8.0  # sizes of a mechanism: one that travels farther is followed
FRAMES, FINE = 120, 480  # pictures, and points of a trail
WIDTH, HEIGHT, MARGIN = 320, 220, 16
SHORTEST, LONGEST, USUAL = 2.0, 8.0, 5.0  # seconds: shorter motions are shown slower, of longer ones the beginning
TURN, LIFT = np.radians(-50.0), np.radians(22.0)  # from where spatial mechanisms are seen
LINE, GROUND, POINT, TRAIL = "#2563a8", "#9aa3ad", "#d1495b", "#d1495b"


def picture(path: Path) -> str:
    """The SVG of a model file."""
    file = da.from_toml(path)
    system = file.model.compile()
    state = system.initial(file.given, guess=file.guess)
    motion = system.simulate(state, file.t_end, **file.options)
    if not motion.certificate.ok:
        raise SystemExit(f"{path.name}: {motion.certificate.verdict}")
    span = min(float(motion.t[-1] - motion.t[0]), LONGEST)
    scene, fine = (
        picture_of(motion, Frames(motion.resampled(np.linspace(motion.t[0], motion.t[0] + span, count)).segments, ()))
        for count in (FRAMES, FINE)
    )
    return drawn(followed(scene), followed(fine), span)


def followed(scene: Scene) -> Scene:
    """The scene seen from beside a mechanism that travels far, or as it is; trails go with the mechanism."""
    places = np.stack([track.positions for track in scene.tracks])  # (k, nt, 3)
    size = np.ptp(places, axis=0).max()
    way = places.mean(axis=0) - places.mean(axis=0)[0]
    way[:, 2] = 0.0
    if size == 0.0 or np.abs(way).max() < FAR * size:  # of a single body nothing would seem to move
        return scene
    tracks = tuple(replace(track, positions=track.positions - way) for track in scene.tracks)
    lines = tuple(replace(line, points=line.points - way[:, None]) for line in scene.lines)
    return replace(scene, tracks=tracks, lines=lines)


def drawn(scene: Scene, fine: Scene, span: float) -> str:
    """The SVG of a scene that lasts `span` seconds; `fine` is the same with more samples."""
    tracks, trails = ([flat(t.positions[:, None], planar=scene.planar) for t in s.tracks] for s in (scene, fine))
    lines = [flat(line.points, planar=scene.planar) for line in scene.lines]
    place = window([*trails, *lines])
    seconds = span if span >= SHORTEST else USUAL
    parts = [*_trails([place(points)[:, 0] for points in trails])]
    parts += _lines([place(points) for points in lines], seconds)
    parts += _points([place(points)[:, 0] for points in tracks], seconds)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"<title>{escape(scene.title)}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fbfbfd"/>{"".join(parts)}</svg>\n'
    )


def flat(points: np.ndarray, *, planar: bool) -> np.ndarray:
    """Points (nt, k, 3) as they are seen, (nt, k, 2), y upwards."""
    if planar:
        return points[..., :2]
    x, y, z = np.moveaxis(points, -1, 0)
    across, depth = x * np.cos(TURN) - y * np.sin(TURN), x * np.sin(TURN) + y * np.cos(TURN)
    return np.stack([across, z * np.cos(LIFT) + depth * np.sin(LIFT)], axis=-1)


def window(seen: list[np.ndarray]):  # noqa: ANN201 - a function of points
    """A function from points to pixels such that all of them are in the picture."""
    every = np.concatenate([points.reshape(-1, 2) for points in seen])
    low, high = every.min(axis=0), every.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    middle = (low + high) / 2
    return lambda points: np.array([WIDTH, HEIGHT]) / 2 + (points - middle) * scale * np.array([1.0, -1.0])


def _lines(lines: list[np.ndarray], seconds: float) -> Iterator[str]:
    for points in lines:
        moves = np.ptp(points, axis=0).max() > 0.05
        style = f'fill="none" stroke="{LINE if moves else GROUND}" stroke-width="{3 if moves else 2}"'
        style += ' stroke-linecap="round" stroke-linejoin="round"'
        values = [" ".join(f"{x:.1f},{y:.1f}" for x, y in frame) for frame in points]
        inside = _animate("points", values, seconds) if moves else ""
        yield f'<polyline points="{values[0]}" {style}>{inside}</polyline>'


def _trails(tracks: list[np.ndarray]) -> Iterator[str]:
    for at in tracks:
        if np.ptp(at, axis=0).max() <= 0.05:
            continue
        trail = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        yield f'<polyline points="{trail}" fill="none" stroke="{TRAIL}" stroke-width="0.7" opacity="0.35"/>'


def _points(tracks: list[np.ndarray], seconds: float) -> Iterator[str]:
    for at in tracks:
        (x, y), columns = at[0], [[f"{value:.1f}" for value in column] for column in at.T]
        moves = "".join(_animate(key, values, seconds) for key, values in zip(("cx", "cy"), columns, strict=True))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{POINT}">{moves}</circle>'


def _animate(attribute: str, values: list[str], seconds: float) -> str:
    """An animation that goes on for ever, with a rest at the end."""
    rest = values + [values[-1]] * (len(values) // 12)
    return (
        f'<animate attributeName="{attribute}" dur="{seconds * len(rest) / len(values):.2f}s" repeatCount="indefinite" '
        f'values="{";".join(rest)}"/>'
    )


def main() -> None:
    """Write the pictures of all models, or of those named."""
    names = sys.argv[1:] or [path.stem for path in sorted((HERE / "models").glob("*.toml"))]
    folder = HERE / "images" / "mechanisms"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.svg").write_text(picture(HERE / "models" / f"{name}.toml"), encoding="utf-8")


if __name__ == "__main__":
    main()
