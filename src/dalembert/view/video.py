"""Animations of a motion as a moving image, for slides and messages: GIF by Pillow, MP4 where there is ffmpeg.

An HTML page shows more: these files hold points, lines and trails of a scene seen from one side.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from dalembert.errors import DalembertError, OptionError
from dalembert.file_writing import replacing
from dalembert.view.animation import Scene

FEWEST_FRAMES, VIDEO_FRAMES = 60, 300  # frames: shorter motions are shown slower than they are, very long ones faster
SHORTEST_FRAME, LONGEST_FRAME = 4, 20  # hundredths of a second that a frame is shown, the unit of GIF files
SIZE, DPI = (6.4, 4.8), 100  # inches, pixels per inch
COLOURS_OF_GIF = 64
TRAIL = 0.25  # of the whole motion
TURN, LIFT = np.radians(-60.0), np.radians(24.0)  # from where spatial scenes are seen
COLOURS = ("#2f6db3", "#c8553d", "#3c8d6e", "#7a5ea8", "#b8862b", "#2a8c9c", "#b04a7e", "#6b7785")
BAR, GROUND, MUTED = "#566270", "#8a95a1", "#66717e"


def write_video(path: str | Path, scene: Scene) -> Path:
    """The path of the moving image written from `scene`; its kind follows from the ending of the name."""
    target = Path(path)
    if not scene.tracks and not scene.lines:
        raise DalembertError(f"`{scene.title}` has nothing to draw: no particle or body has a position; add model.line")
    write = _write_gif if target.suffix.lower() == ".gif" else _write_mp4
    if write is _write_mp4 and not FFMpegWriter.isAvailable():
        raise OptionError(
            f"{target.name} needs the program ffmpeg, which is not installed here; write "
            f"motion.animate('{target.stem}.gif'), or motion.animate('{target.stem}.html'), which plays in any browser"
        )
    drawing = _Drawing(scene, *_frames(scene))
    with replacing(target) as partial:
        write(partial, drawing)
    return target


def video_times(begin: float, end: float) -> tuple[np.ndarray, int]:
    """Times of the frames of a moving image, and how many hundredths of a second each is shown."""
    span = float(end - begin)
    wait = int(np.clip(np.ceil(100.0 * span / VIDEO_FRAMES), SHORTEST_FRAME, LONGEST_FRAME))
    count = int(np.clip(np.round(100.0 * span / wait), FEWEST_FRAMES, VIDEO_FRAMES)) if span > 0.0 else 1
    return np.linspace(begin, end, count), wait


def _frames(scene: Scene) -> tuple[np.ndarray, int]:
    """The samples of a scene that are shown, those nearest to the times of frames, and how long each is shown."""
    times, wait = video_times(scene.t[0], scene.t[-1])
    after = np.minimum(np.searchsorted(scene.t, times), len(scene.t) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(times - scene.t[before] < scene.t[after] - times, before, after), wait


def _write_gif(target: Path, drawing: _Drawing) -> None:
    """Pillow writes it; the frames share the colours of a middle one, which would take longest to find for each."""
    frames = [Image.fromarray(picture) for picture in drawing.pictures()]
    palette = frames[len(frames) // 2].quantize(COLOURS_OF_GIF)
    first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(target, format="GIF", save_all=True, append_images=others, duration=10 * drawing.wait, loop=0)


def _write_mp4(target: Path, drawing: _Drawing) -> None:
    writer = FFMpegWriter(fps=100 / drawing.wait, extra_args=["-pix_fmt", "yuv420p", "-f", "mp4"])  # type: ignore[arg-type]
    with writer.saving(drawing.figure, str(target), DPI):
        for k in drawing.samples:
            drawing.show(k)
            writer.grab_frame()


class _Drawing:
    """The artists of a scene, of which these `samples` are shown for `wait` hundredths of a second each."""

    def __init__(self, scene: Scene, samples: np.ndarray, wait: int) -> None:
        self.times, self.samples, self.wait = scene.t, samples, wait
        self.coarse = np.array(scene.coarse, dtype=int)
        figure = self.figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
        self.canvas = FigureCanvasAgg(figure)
        self.tracks = [_seen(track.positions, planar=scene.planar) for track in scene.tracks]
        self.lines = [_seen(line.points, planar=scene.planar) for line in scene.lines]
        axes = figure.add_subplot(aspect="equal")
        every = np.concatenate([points.reshape(-1, 2) for points in (*self.tracks, *self.lines)])
        low, high = every.min(axis=0), every.max(axis=0)
        room = 0.08 * max(float((high - low).max()), 1e-9)
        axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
        axes.set_title(scene.title, loc="left", fontsize=11)
        axes.tick_params(labelsize=8, colors=MUTED)
        axes.set(xlabel="x [m]", ylabel="y [m]") if scene.planar else axes.set_axis_off()
        self.clock = axes.set_title("", loc="right", fontsize=10, color=MUTED)
        fixed = [bool((line.points == line.points[0]).all()) for line in scene.lines]
        self.bars = [
            axes.plot([], [], "-", color=GROUND if still else BAR, lw=1.5 if still else 2.5, solid_capstyle="round")[0]
            for still in fixed
        ]
        colours = [COLOURS[k % len(COLOURS)] for k in range(len(self.tracks))]
        self.trails = [axes.plot([], [], "-", color=colour, lw=1.2, alpha=0.5)[0] for colour in colours]
        self.marks = [axes.plot([], [], "o", color=colour, ms=7, mec="white")[0] for colour in colours]
        self.moving: list[Artist] = [*self.bars, *self.trails, *self.marks, self.clock]
        for artist in self.moving:
            artist.set_animated(True)  # drawn over the static background

    def pictures(self) -> Iterator[np.ndarray]:
        """Each frame as pixels (height, width, 3)."""
        self.canvas.draw()
        still = self.canvas.copy_from_bbox(self.figure.bbox)
        for k in self.samples:
            self.show(k)
            self.canvas.restore_region(still)
            for artist in self.moving:
                self.figure.draw_artist(artist)
            yield np.asarray(self.canvas.buffer_rgba())[..., :3].copy()

    def show(self, k: int) -> None:
        """Move everything to sample k."""
        first = int(np.searchsorted(self.times, self.times[k] - TRAIL * (self.times[-1] - self.times[0])))
        gaps = self.coarse[(self.coarse >= first) & (self.coarse < k)] - first + 1
        for artists, curves in (
            (self.bars, [points[k] for points in self.lines]),
            (self.trails, [np.insert(points[first : k + 1], gaps, np.nan, axis=0) for points in self.tracks]),
            (self.marks, [points[k : k + 1] for points in self.tracks]),
        ):
            for artist, curve in zip(artists, curves, strict=True):
                artist.set_data(*curve.T)
        self.clock.set_text(f"t = {self.times[k]:.4g} s")


def _seen(points: np.ndarray, *, planar: bool) -> np.ndarray:
    """Points (nt, ..., 3) as they are seen, (nt, ..., 2)."""
    x, y, z = np.moveaxis(np.asarray(points, dtype=float), -1, 0)
    if planar:
        return np.stack([x, y], axis=-1)
    across, depth = x * np.cos(TURN) - y * np.sin(TURN), x * np.sin(TURN) + y * np.cos(TURN)
    return np.stack([across, z * np.cos(LIFT) + depth * np.sin(LIFT)], axis=-1)
