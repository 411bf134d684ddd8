"""The spread of many runs over time: the median and bands around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

BANDS = (1.0, 0.9, 0.5)  # parts of the runs that lie within each band


def plot_envelope(runs: xr.Dataset, name: str, *, bands: Sequence[float] = BANDS, axes: Axes | None = None) -> Axes:
    """Axes with the median of a sampled output over time and bands that hold these parts of the runs.

    `runs` is the result of a sweep; select some of its runs before, `runs.sel(...)`, to show these only. Failed runs
    are left out. It draws into `axes`, or into new ones.
    """
    import matplotlib as mpl

    from dalembert.view.plots import PALETTE, STYLE, new_axes

    t, values = _columns(runs, name)
    if not all(0.0 < part <= 1.0 for part in bands):
        raise OptionError(f"bands={bands!r} must be parts of the runs, above 0 and at most 1")
    with mpl.rc_context(STYLE):
        target = new_axes() if axes is None else axes
        for k, part in enumerate(sorted(bands, reverse=True)):
            low, high = np.quantile(values, [(1.0 - part) / 2, (1.0 + part) / 2], axis=0)
            label = "all runs" if part == 1.0 else f"{100 * part:g} % of the runs"
            target.fill_between(t, low, high, color=PALETTE[0], alpha=0.15 + 0.15 * k, linewidth=0.0, label=label)
        target.plot(t, np.median(values, axis=0), color=PALETTE[0], label="median")
        unit = runs[name].attrs.get("units")
        target.set_title(f"{name} of {len(values)} runs")
        target.set_ylabel(f"{name} [{unit}]" if unit else name)
        target.set_xlabel("t [s]")
        target.legend()
    return target


def _columns(runs: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times (nt,) and the values of all runs that have some, (n, nt)."""
    sampled = [str(key) for key in runs.data_vars if "t" in runs[key].dims]
    if name not in sampled:
        raise UnknownNameError(name, sampled, "the outputs that were sampled over time")
    array = runs[name].transpose(..., "t")
    values = np.asarray(array.to_numpy(), dtype=float).reshape(-1, array.sizes["t"])
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        raise OptionError(f"no run has values of `{name}` at all times; look at `status` and `message`")
    return np.asarray(runs["t"].to_numpy()), values
