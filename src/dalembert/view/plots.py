"""Figures of a motion with Matplotlib: functions of plain arrays that return Axes or a Figure and never show.

Figures are built without pyplot, so no window system is needed and the user's own figures and settings stay as they
are: the style lives in a context around each function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dalembert.errors import ArrayError
from dalembert.view.inline_figure import InlineFigure
from dalembert.view.panels import NamedCurves
from dalembert.view.stacked_layout import PlainPowers, StackedLayout, decade_labels

LEGEND_LIMIT = 16  # more curves than this cannot be told apart by colour and dashes; a note says which they are
CROWDED_CURVES = 60  # more curves than this hide each other: some of them are drawn, and a band that holds all
VIOLATION_FLOOR = 1e-18  # a logarithmic axis has no zero; this is far below rounding of anything of order one

PALETTE = ("#2f6db3", "#c8553d", "#3c8d6e", "#7a5ea8", "#b8862b", "#2a8c9c", "#b04a7e", "#6b7785")
MARKERS = ("o", "s", "^", "D")
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#8a95a1",
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": "#1f2933",
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.prop_cycle": cycler(linestyle=("-", "--")) * cycler(color=PALETTE),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.xmargin": 0.0,
    "figure.dpi": 110,
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "font.size": 9,
    "grid.color": "#e4e8ed",
    "grid.linewidth": 0.6,
    "legend.borderaxespad": 0.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.labelspacing": 0.25,
    "lines.linewidth": 1.3,
    "savefig.dpi": 150,
    "text.color": "#1f2933",
    "xtick.color": "#55616e",
    "xtick.labelsize": 8,
    "ytick.color": "#55616e",
    "ytick.labelsize": 8,
}


def plot_series(t: np.ndarray, columns: NamedCurves, *, title: str, ylabel: str = "", axes: Axes | None = None) -> Axes:
    """Axes with one curve per column (nt,) over the times `t` (nt,)."""
    with mpl.rc_context(STYLE):
        target = new_axes() if axes is None else axes
        names = _draw_series(target, t, columns, title, ylabel)
        _draw_legend(target, names, outside=axes is None)
        target.set_xlabel("t [s]")
    return target


def plot_work_precision(curves: NamedCurves, *, title: str, axes: Axes | None = None) -> Axes:
    """Axes with the error over the seconds taken, both logarithmic; each curve (n, 2) holds seconds and errors."""
    with mpl.rc_context(STYLE):
        target = new_axes() if axes is None else axes
        for k, (name, points) in enumerate(curves.items()):
            color, marker = PALETTE[k % len(PALETTE)], MARKERS[k // len(PALETTE) % len(MARKERS)]
            target.loglog(
                points[:, 0], np.maximum(points[:, 1], VIOLATION_FLOOR), color=color, marker=marker, label=name
            )
        target.set_title(title)
        target.set_xlabel("time taken [s]")
        target.set_ylabel("difference from the tightest run")
        target.margins(x=0.05)
        target.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return target


def plot_violation(t: np.ndarray, columns: NamedCurves, *, axes: Axes | None = None) -> Axes:
    """Axes with |violation| of each constraint (nt,) on a logarithmic scale; below `VIOLATION_FLOOR` counts as it."""
    with mpl.rc_context(STYLE):
        target = new_axes() if axes is None else axes
        _draw_legend(target, _draw_violation(target, t, columns), outside=axes is None)
        target.set_xlabel("t [s]")
    return target


def plot_energy(t: np.ndarray, energy: np.ndarray, balance: np.ndarray, *, axes: Axes | None = None) -> Axes:
    """Axes with the error of the energy balance (nt,), its maximum also as a part of the largest `energy` (nt,)."""
    with mpl.rc_context(STYLE):
        target = new_axes() if axes is None else axes
        _draw_balance(target, t, balance, energy)
        target.set_xlabel("t [s]")
    return target


def plot_motion(
    t: np.ndarray, groups: Mapping[str, NamedCurves], violation: NamedCurves, balance: np.ndarray | None, title: str
) -> Figure:
    """A figure with a panel per group of columns (nt,), then the violation and the energy-balance error, over time.

    Groups without columns, an empty `violation` and a `balance` of None get no panel.
    """
    shown = {name: columns for name, columns in groups.items() if columns}
    count = len(shown) + bool(violation) + (balance is not None)
    if count == 0:
        raise ArrayError("there is nothing to plot: all groups and `violation` are empty and `balance` is None.")
    with mpl.rc_context({**STYLE, "axes.titley": 1.0}):  # given, so that it is not moved away from what was measured
        figure = _new_figure(height=0.7 + 1.65 * count)
        figure.set_layout_engine(StackedLayout())
        panels = list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
        remaining = iter(panels)
        for panel in panels:
            panel.yaxis.set_major_formatter(PlainPowers(useMathText=False))
            panel.yaxis.get_offset_text().set(x=-0.01, ha="right")  # beside the title
        for name, columns in shown.items():
            _draw_panel(next(remaining), t, columns, name)
        if violation:
            panel = next(remaining)
            names = _draw_violation(panel, t, violation)
            panel.yaxis.set_major_formatter(decade_labels())
            _draw_legend(panel, names, outside=True)
        if balance is not None:
            _draw_balance(next(remaining), t, balance, None)
        panels[-1].set_xlabel("t [s]")
        figure.suptitle(title, x=0.01, y=1.0 - 0.07 / figure.get_figheight(), ha="left")
    return figure


def _new_figure(height: float = 3.2) -> Figure:
    figure = InlineFigure(figsize=(8.0, height), layout="constrained")
    FigureCanvasAgg(figure)  # attaches itself: the figure can be saved and never asks for a window
    return figure


def new_axes() -> Axes:
    return _new_figure().add_subplot()


def _draw_panel(axes: Axes, t: np.ndarray, columns: NamedCurves, title: str) -> None:
    _draw_legend(axes, _draw_series(axes, t, columns, title, ""), outside=True)


def _draw_series(
    axes: Axes,
    t: np.ndarray,
    columns: NamedCurves,
    title: str,
    ylabel: str,
    rank: Callable[..., np.ndarray] = np.ptp,
) -> list[str]:
    """Draw a curve per column, and return their names.

    For many series, a band that contains all of them is drawn, and a selection: evenly from the highest to the lowest
    `rank`.
    """
    times = _times(t)
    curves = {name: _column(name, values, times.size) for name, values in columns.items()}
    names = list(curves)
    if len(curves) > CROWDED_CURVES:
        values = np.stack([*curves.values()])
        order = np.argsort(-np.nan_to_num(rank(values, axis=1)), kind="stable")
        chosen = order[np.linspace(0, len(order) - 1, len(PALETTE) - 1).astype(int)]
        curves = {names[k]: curves[names[k]] for k in chosen.tolist()}
        band = f"all {len(names):,}"
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        axes.fill_between(times, low, high, color="#dfe3e8", linewidth=0.0, label=_plain(band))
        names = [band, *curves]
    many = len(curves) > len(PALETTE)
    for name, curve in curves.items():
        axes.plot(times, curve, label=_plain(name), linewidth=0.8 if many else None)
    axes.set_title(_plain(title))
    axes.set_ylabel(ylabel)
    return names


def _draw_violation(axes: Axes, t: np.ndarray, columns: NamedCurves) -> list[str]:
    nt = _times(t).size
    sizes = {name: np.maximum(np.abs(_column(name, v, nt)), VIOLATION_FLOOR) for name, v in columns.items()}
    axes.set_yscale("log")
    return _draw_series(axes, t, sizes, "constraint violation", "|residual|", np.max)


def _draw_balance(axes: Axes, t: np.ndarray, balance: np.ndarray, energy: np.ndarray | None) -> None:
    nt = _times(t).size
    worst = _largest(_column("balance", balance, nt))
    note = f"max {worst:.1e} J"
    if energy is not None and (scale := _largest(_column("energy", energy, nt))) > 0:
        note += f", {worst / scale:.1e} of the largest energy"
    _draw_series(axes, t, {"balance": balance}, "energy-balance error", "error [J]")
    axes.set_title(note, loc="right", fontsize=8, fontweight="normal", color="#55616e")


def _draw_legend(axes: Axes, names: list[str], *, outside: bool) -> None:
    """A legend beside axes of our own figure, inside axes given by the caller, or a note where there are too many."""
    if len(names) > LEGEND_LIMIT:
        note = _plain(f"{len(names)} curves: {names[0]} … {names[-1]}")
        axes.set_title(note, loc="right", fontsize=8, fontweight="normal", color="#55616e")
    elif names and outside:
        columns = 1 if len(names) <= len(PALETTE) else 2
        axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.0), ncols=columns, columnspacing=1.0)
    elif names:
        axes.legend(loc="upper right", ncols=1 if len(names) < 4 else 2)


def _largest(values: np.ndarray) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def _times(t: np.ndarray) -> np.ndarray:
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or times.size == 0:
        raise ArrayError(f"times `t` have shape {times.shape}; expected (nt,) with at least one sample.")
    return times


def _column(name: str, values: np.ndarray, nt: int) -> np.ndarray:
    column = np.asarray(values, dtype=float)
    if column.shape != (nt,):
        raise ArrayError(f"column `{name}` has shape {column.shape}; expected ({nt},), one value per time sample.")
    return column


def _plain(text: str) -> str:
    """Text that Matplotlib shows as it is: a dollar sign starts mathematics, a leading underscore hides a label."""
    escaped = text.replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped
