"""Envelopes: the median and the bands of the runs that have values."""

import numpy as np
import pytest
import xarray as xr

import dalembert as da

T = np.linspace(0.0, 1.0, 5)


@pytest.fixture
def runs():
    """Runs k t for k = 0 ... 100, and one that failed."""
    values = np.arange(102.0)[:, None] * T
    values[101] = np.nan
    data = {"x": (("run", "t"), values, {"units": "m"}), "x_final": ("run", values[:, -1])}
    return xr.Dataset(data, coords={"t": T})


def test_bands_hold_their_parts_of_the_runs(runs):
    axes = da.plot_envelope(runs, "x", bands=(0.5, 1.0))
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 50.0 * T)
    for band, (low, high) in zip(axes.collections, ((0.0, 100.0), (25.0, 75.0)), strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == (0.0, high)
        at_end = band.get_paths()[0].vertices[:, 0] == 1.0
        assert heights[at_end].min() == low
    assert axes.get_ylabel() == "x [m]"
    assert "101 runs" in axes.get_title(loc="left")


def test_what_cannot_be_drawn_is_refused(runs):
    with pytest.raises(da.UnknownNameError, match="sampled over time"):
        da.plot_envelope(runs, "x_final")
    with pytest.raises(da.OptionError, match="bands"):
        da.plot_envelope(runs, "x", bands=(2.0,))
    with pytest.raises(da.OptionError, match="no run has values"):
        da.plot_envelope(runs.isel(run=[101]), "x")
