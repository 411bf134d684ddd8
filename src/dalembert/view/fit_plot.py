"""Figure of a fit: data and motion of every output, and the residuals below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_fit(
    t: np.ndarray, labels: Sequence[str], data: np.ndarray, model: np.ndarray, curves: tuple[np.ndarray, np.ndarray]
) -> Figure:
    """Data and model (nt, n) over times (nt,), a column of two axes for each of n outputs.

    `curves` are more times (k,) and the model then (k, n), between which straight lines may be drawn.
    """
    from matplotlib.figure import Figure

    n = len(labels)
    figure = Figure(figsize=(4.0 * n + 1.0, 4.5), layout="constrained")
    axes = figure.subplots(2, n, squeeze=False, sharex=True, height_ratios=[3, 1])
    for k, name in enumerate(labels):
        axes[0, k].plot(t, data[:, k], ".", ms=3, color="0.5", label="data")
        axes[0, k].plot(curves[0], curves[1][:, k], "-", color="C0", label="fit")
        axes[0, k].set_title(name)
        axes[1, k].axhline(0.0, color="0.8", lw=0.8)
        axes[1, k].plot(t, data[:, k] - model[:, k], ".", ms=3, color="C3")
        axes[1, k].set_xlabel("t [s]")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))  # beside the data, not over them
    axes[1, 0].set_ylabel("data - fit,\nsame units")
    return figure
