"""Layout of panels one above the other, from one measurement of their texts.

Matplotlib's constrained layout measures every text several times and places panels of any arrangement; a column of
panels over one time axis needs the widest tick label and the widest legend only.
"""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, ScalarFormatter

FIGURE_EDGE, GAP = 0.06, 0.09  # inches: around the figure; between an axis, its tick labels, its label and a legend
LINE = 0.17  # inches that a line of text takes
FACTOR = 0.34  # inches for the common factor of tick labels, above them
TOP, BOTTOM = 0.28, 0.46  # inches for the title of the figure; for the labels of the time axis
ABOVE, BELOW = 0.25, 0.08  # inches over a panel for its title; under it for the ticks
SUPERSCRIPTS = str.maketrans("-\u22120123456789", "\u207b\u207b⁰¹²³⁴⁵⁶⁷⁸⁹")


class StackedLayout(LayoutEngine):
    """Panels of equal height in one column, their y labels in one line, legends on the right, a title on top."""

    _adjust_compatible = True
    _colorbar_gridspec = True

    def execute(self, fig: Figure) -> None:
        """Place the axes of a figure."""
        width, height = fig.get_size_inches()
        panels = fig.axes
        ticks = max([FACTOR, *_widths(fig, _tick_labels(panels))])
        legends = max(_widths(fig, [legend for axes in panels if (legend := axes.get_legend())]), default=0.0)
        named = any(axes.get_ylabel() for axes in panels)
        left = FIGURE_EDGE + named * (LINE + GAP) + ticks + GAP
        right = FIGURE_EDGE + (GAP + legends if legends else 2 * GAP)
        top = height - (TOP if fig.get_suptitle() else FIGURE_EDGE) - ABOVE
        between = ABOVE + BELOW
        each = max((top - BOTTOM - (len(panels) - 1) * between) / len(panels), LINE)
        fig.subplots_adjust(
            left=left / width,
            right=max(1.0 - right / width, 1.1 * left / width),
            bottom=BOTTOM / height,
            top=max(top, BOTTOM + LINE) / height,
            hspace=between / each,
        )
        across = width - left - right
        for axes in panels:  # given places: Matplotlib would measure all panels again for each of these labels
            axes.yaxis.set_label_coords(-(ticks + 2 * GAP) / across, 0.5)
            axes.xaxis.set_label_coords(0.5, -(LINE + GAP) / each)


def _tick_labels(panels: list[Axes]) -> list[Text]:
    return [label for axes in panels for label in axes.get_yticklabels(which="both") if label.get_text()]


def _widths(figure: Figure, artists: list[Any]) -> list[float]:
    """Widths in inches."""
    return [artist.get_window_extent().width / figure.dpi for artist in artists]


class PlainPowers(ScalarFormatter):
    """Numbers on an axis whose common power of ten is plain text, such as ×10⁻⁶: a formula takes longer to set."""

    def get_offset(self) -> str:
        """The common factor of all tick labels; empty if it is one."""
        _, _, exponent = super().get_offset().partition("1e")
        return f"\u00d710{exponent.translate(SUPERSCRIPTS)}" if exponent else ""


def decade_labels() -> FuncFormatter:
    """Tick labels 10⁻⁶ at the powers of ten of a logarithmic axis."""
    return FuncFormatter(lambda value, _: _decade(value))


def _decade(value: float) -> str:
    exponent = math.log10(value)
    whole = abs(exponent - round(exponent)) < 1e-9
    return "10" + f"{round(exponent)}".translate(SUPERSCRIPTS) if whole else f"{value:.3g}"
