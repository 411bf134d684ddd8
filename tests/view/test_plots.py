"""Figures: the right curves, and nothing left behind in Matplotlib's global state."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from dalembert.errors import ArrayError
from dalembert.view.plots import (
    CROWDED_CURVES,
    LEGEND_LIMIT,
    PALETTE,
    VIOLATION_FLOOR,
    plot_energy,
    plot_motion,
    plot_series,
    plot_violation,
)

NT = 50
T = np.linspace(0.0, 2.0, NT)


def columns(count):
    return {f"q{k}": np.sin((k + 1) * T) for k in range(count)}


def legend_names(axes):
    return [] if axes.get_legend() is None else [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.fixture(autouse=True)
def global_state_stays():
    settings, figures = dict(mpl.rcParams), plt.get_fignums()
    yield
    assert dict(mpl.rcParams) == settings
    assert plt.get_fignums() == figures


def test_series_has_a_curve_per_column_and_names_them():
    axes = plot_series(T, columns(3), title="coordinates", ylabel="q [m]")
    assert len(axes.lines) == 3
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), np.sin(2 * T))
    assert legend_names(axes) == ["q0", "q1", "q2"]
    assert (axes.get_title(loc="left"), axes.get_ylabel()) == ("coordinates", "q [m]")


def test_many_curves_get_a_note_instead_of_a_legend():
    axes = plot_series(T, columns(LEGEND_LIMIT + 1), title="speeds")
    assert len(axes.lines) == LEGEND_LIMIT + 1
    assert legend_names(axes) == []
    assert axes.get_title(loc="right") == "17 curves: q0 … q16"


def test_the_curves_of_four_bodies_are_named_and_told_apart():
    axes = plot_series(T, columns(12), title="coordinates")
    assert legend_names(axes) == [f"q{k}" for k in range(12)]
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 12


def test_axes_given_are_the_axes_drawn_on():
    given = Figure().add_subplot()
    assert plot_series(T, columns(1), title="x", axes=given) is given
    assert plot_violation(T, columns(2), axes=given) is given
    assert plot_energy(T, T, T, axes=given) is given
    assert len(given.lines) == 4


def test_violation_is_logarithmic_absolute_and_floored():
    axes = plot_violation(T, {"loop_x": np.full(NT, -1e-9), "loop_y": np.zeros(NT)})
    assert axes.get_yscale() == "log"
    assert axes.lines[0].get_ydata() == pytest.approx(1e-9)
    assert axes.lines[1].get_ydata() == pytest.approx(VIOLATION_FLOOR)


def test_energy_shows_the_error_and_its_relative_size():
    axes = plot_energy(T, np.full(NT, -4.0), 2e-9 * T)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), 2e-9 * T)
    assert axes.get_title(loc="right") == "max 4.0e-09 J, 1.0e-09 of the largest energy"


def test_motion_has_a_panel_per_group_then_violation_and_balance(tmp_path):
    groups = {"coordinates": columns(2), "speeds": columns(12), "unknowns": {}}
    figure = plot_motion(T, groups, {"track": 1e-12 * T, "_a $b": 0 * T}, 1e-9 * T, "sliding particle")
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "coordinates",
        "speeds",
        "constraint violation",
        "energy-balance error",
    ]
    assert [len(panel.lines) for panel in figure.axes] == [2, 12, 2, 1]
    assert len({panel.get_xlim() for panel in figure.axes}) == 1
    assert len(legend_names(figure.axes[2])) == 2
    assert figure.get_suptitle() == "sliding particle"
    np.testing.assert_array_equal(figure.axes[1].lines[11].get_ydata(), np.sin(12 * T))
    np.testing.assert_array_equal(figure.axes[3].lines[0].get_ydata(), 1e-9 * T)
    figure.savefig(tmp_path / "motion.png", dpi=100)
    picture = mpl.image.imread(tmp_path / "motion.png")
    assert picture.shape[:2] == tuple(int(100 * side) for side in figure.get_size_inches()[::-1])
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 12  # a colour per curve of a panel at least


def test_motion_leaves_out_what_is_not_there():
    assert len(plot_motion(T, {"coordinates": columns(1)}, {}, None, "free").axes) == 1
    with pytest.raises(ArrayError, match="nothing to plot"):
        plot_motion(T, {"coordinates": {}}, {}, None, "free")


def test_values_that_are_not_finite_are_gaps():
    holes = np.where(T > 1.0, np.nan, 1.0)
    plot_violation(T, {"loop": holes}).figure.canvas.draw()
    assert plot_energy(T, holes, holes).get_title(loc="right").startswith("max 1.0e+00 J")
    plot_energy(T, holes * np.nan, holes * np.nan).figure.canvas.draw()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_series(T, {"x": np.zeros(3)}, title=""), r"column `x` has shape \(3,\); expected \(50,\)"),
        (lambda: plot_violation(T, {"loop": np.zeros((NT, 1))}), r"column `loop` has shape \(50, 1\)"),
        (lambda: plot_energy(T, T, np.zeros(3)), r"column `balance`"),
        (lambda: plot_energy(T, np.zeros(3), T), r"column `energy`"),
        (lambda: plot_series(np.zeros((2, 2)), {}, title=""), r"times `t` have shape \(2, 2\)"),
    ],
)
def test_arrays_that_do_not_fit_are_named(draw, message):
    with pytest.raises(ArrayError, match=message):
        draw()


def test_of_a_crowd_a_band_and_some_curves_are_drawn():
    t = np.linspace(0.0, 1.0, 50)
    axes = plot_series(t, {f"x{k}": k * np.sin(t) for k in range(CROWDED_CURVES + 1)}, title="many")
    labels = legend_names(axes)
    assert labels[0] == f"all {CROWDED_CURVES + 1}"
    assert labels[1] == f"x{CROWDED_CURVES}"  # moves most
    assert labels[-1] == "x0"  # does not move
    assert len(axes.lines) == len(labels) - 1 == len(PALETTE) - 1
    (band,) = axes.collections
    assert band.get_paths()[0].get_extents().y1 == pytest.approx(CROWDED_CURVES * np.sin(1.0))
