"""Animations of a motion as one self-contained HTML file: no network, no scripts from elsewhere.

A `Scene` is plain arrays, so that anything with positions in time can be shown, whether or not it came from this
library. The drawing itself is `pages/picture.js`; here the arrays are checked, rounded and embedded.
"""

from __future__ import annotations

import html
import pathlib
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.errors import ArrayError, OptionError
from dalembert.file_writing import write_file
from dalembert.view.page import embedded_json, fill_page

KINDS = ("point", "body")
DRAWN_DIGITS = 7  # significant digits of drawn numbers: a pixel is coarser, also after zooming in a hundred times
EXACT = 22  # powers of ten up to this one are floats
TIME_DIGITS = 12  # time also orders the samples, so it is kept finer


# Comparing arrays with == has no single truth value, hence eq=False: scenes compare by identity.
@dataclass(frozen=True, eq=False)
class Track:
    """A moving particle (`kind="point"`: a disc) or rigid body (`kind="body"`: a box with its axes), with its trail.

    `positions` (nt, 3) in metres; `rotations` (nt, 3, 3), the body axes as columns, for bodies only.
    """

    name: str
    kind: str
    positions: np.ndarray
    rotations: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Polyline:
    """A polyline, `points` (nt, k, 3) in metres: a link, a rod, a rail. It is drawn as ground if it never moves."""

    name: str
    points: np.ndarray


@dataclass(frozen=True, eq=False)
class Arrow:
    """A force, `vectors` (nt, 3) in newtons, drawn where it acts, `points` (nt, 3) in metres, when forces are shown."""

    name: str
    points: np.ndarray
    vectors: np.ndarray


@dataclass(frozen=True, eq=False)
class Trace:
    """A scalar, `values` (nt,), shown as a strip plot beneath the picture; values that are not finite leave a gap.

    Samples of a `noise`, such as a residual, are joined by straight lines, as noise has no smooth curve.
    """

    name: str
    values: np.ndarray
    noise: bool = False


@dataclass(frozen=True, eq=False)
class Scene:
    """Contents of an animation at the times `t` (nt,), strictly increasing, in seconds.

    Curves are drawn through the samples. `starts` are the samples at which a new piece of the curves begins, after a
    jump or a bend; it may begin at the time at which the last piece ends. Between a `coarse` sample and the next one,
    nothing is drawn.

    A `planar` scene is seen along z, x to the right and y upwards; a spatial one in perspective, z upwards.
    """

    title: str
    t: np.ndarray
    planar: bool
    tracks: tuple[Track, ...] = ()
    lines: tuple[Polyline, ...] = ()
    traces: tuple[Trace, ...] = ()
    caption: str = ""
    arrows: tuple[Arrow, ...] = ()
    starts: tuple[int, ...] = ()
    coarse: tuple[int, ...] = ()


def write_animation(path: str | pathlib.Path, scene: Scene) -> pathlib.Path:
    """The path of the HTML file written from `scene`.

    Open it with `#t=1.5` after its name to see it paused at that time. Times and geometry must be finite; traces may
    have gaps. Arrays that do not fit raise `ArrayError`, naming the item.
    """
    return write_file(path, animation_page(scene))


def animation_page(scene: Scene) -> str:
    """The HTML page that plays `scene`."""
    return fill_page(
        "animation.html", {"TITLE": html.escape(scene.title), "SCENE": embedded_json(scene_payload(scene))}
    )


def scene_payload(scene: Scene) -> dict[str, Any]:
    """The scene as JSON data for the page."""
    t = _times(scene.t, scene.starts)
    return {
        "title": scene.title,
        "caption": scene.caption,
        "planar": bool(scene.planar),
        "t": _rounded(t, TIME_DIGITS),
        "tracks": [_track_payload(track, t.size) for track in scene.tracks],
        "lines": [_line_payload(line, t.size) for line in scene.lines],
        "traces": [trace_payload(trace, t.size) for trace in scene.traces],
        "arrows": [_arrow_payload(arrow, t.size) for arrow in scene.arrows],
        "starts": scene.starts,
        "coarse": scene.coarse,
    }


def _track_payload(track: Track, nt: int) -> dict[str, Any]:
    label = f"track `{track.name}`"
    if track.kind not in KINDS:
        raise OptionError(f'{label} is of kind "{track.kind}"; use one of {", ".join(KINDS)}.')
    if track.kind == "point" and track.rotations is not None:
        raise OptionError(f'{label} is a point but has rotations; use kind="body", or leave the rotations out.')
    rotations = None
    if track.rotations is not None:
        rotations = _rounded(_geometry(f"rotations of {label}", track.rotations, (nt, 3, 3)))
    positions = _rounded(_geometry(f"positions of {label}", track.positions, (nt, 3)))
    return {"name": track.name, "kind": track.kind, "positions": positions, "rotations": rotations}


def _line_payload(line: Polyline, nt: int) -> dict[str, Any]:
    points = _geometry(f"points of line `{line.name}`", line.points, (nt, None, 3))
    if points.shape[1] < 2:
        raise ArrayError(f"line `{line.name}` has {points.shape[1]} points per frame; give at least 2.")
    fixed = bool((points == points[0]).all())
    return {"name": line.name, "fixed": fixed, "points": _rounded(points[:1] if fixed else points)}


def _arrow_payload(arrow: Arrow, nt: int) -> dict[str, Any]:
    points = _geometry(f"points of arrow `{arrow.name}`", arrow.points, (nt, 3))
    vectors = _geometry(f"vectors of arrow `{arrow.name}`", arrow.vectors, (nt, 3))
    largest = float(np.linalg.norm(vectors, axis=1).max())
    return {"name": arrow.name, "points": _rounded(points), "vectors": _rounded(vectors), "largest": largest}


def trace_payload(trace: Trace, nt: int, digits: int = DRAWN_DIGITS) -> dict[str, Any]:
    """Name and values of a trace as JSON: None where a value is not finite."""
    values = _array(f"values of trace `{trace.name}`", trace.values, (nt,))
    finite = np.isfinite(values)
    rounded = _rounded(np.where(finite, values, 0.0), digits)
    shown = [v if ok else None for v, ok in zip(rounded, finite, strict=True)]
    return {"name": trace.name, "values": shown, "noise": trace.noise}


def _times(values: np.ndarray, starts: tuple[int, ...]) -> np.ndarray:
    t = _geometry("times `t` of the scene", values, (None,))
    if t.size == 0:
        raise ArrayError("times `t` of the scene are empty; give at least one sample.")
    steps = np.diff(t)
    again = np.isin(np.arange(1, t.size), starts) & (steps == 0.0)
    backward = np.flatnonzero((steps <= 0) & ~again)
    if backward.size:
        k = int(backward[0])
        raise ArrayError(f"times `t` of the scene do not increase after sample {k} ({t[k]:g} s then {t[k + 1]:g} s).")
    return t


def _geometry(label: str, values: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    array = _array(label, values, shape)
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        raise ArrayError(f"{label} hold {len(bad)} values that are not finite (first in sample {bad[0][0]}); cut them.")
    return array


def _array(label: str, values: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    """`values` as floats, of a shape in which None stands for any length; raises `ArrayError` otherwise."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ArrayError(f"{label} are not an array of real numbers: {error}") from error
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("k" if n is None else str(n) for n in shape)
        raise ArrayError(f"{label} have shape {array.shape}; expected ({wanted}), one row per time sample.")
    return array


def _rounded(array: np.ndarray, digits: int = DRAWN_DIGITS) -> list[Any]:
    """Nested lists of `array` at so many significant digits; the text of the file gets three times shorter."""
    sizes = np.abs(array)
    with np.errstate(divide="ignore"):
        places = digits - 1 - np.floor(np.log10(sizes))
    exact = (sizes == 0.0) | (np.abs(places) <= EXACT)
    powers = 10.0 ** np.where(exact & (sizes > 0.0), np.abs(places), 0.0)
    # A whole number over or times an exact power of ten is the number that these digits stand for.
    short = np.where(places < 0, np.rint(array / powers) * powers, np.rint(array * powers) / powers) + 0.0  # no -0.0
    for k in np.argwhere(~exact):
        short[tuple(k)] = float(format(array[tuple(k)], f".{digits}g"))
    return short.tolist()
