"""Panels over one time axis: nothing is cut off and no texts lie over each other; powers of ten are plain text."""

import numpy as np
import pytest

from dalembert.view.plots import plot_motion

T = np.linspace(0.0, 1.0, 50)
GROUPS = {
    "coordinates": {"the angle of the first link": 1e-7 * T, "y": -1e-7 * T},
    "speeds": {"u": 1234567.0 * T},
    "multipliers": {f"row {k}": -0.00125 * k * T for k in range(3)},
}


@pytest.fixture(scope="module")
def figure():
    violation = {"loop (position)": 1e-12 * T, "loop (velocity)": 1e-15 * T}
    drawn = plot_motion(T, GROUPS, violation, 1e-9 * T, "a title")
    drawn.draw_without_rendering()
    return drawn


def texts_of(figure):
    """All texts that are seen, with their boxes in pixels."""
    seen = [figure._suptitle]
    for axes in figure.axes:
        seen += [axes.title, axes.xaxis.label, axes.yaxis.label, axes.yaxis.get_offset_text()]
        low, high = axes.get_ylim()
        seen += [label for label in axes.get_yticklabels() if low <= label.get_position()[1] <= high]
        seen += axes.get_legend().get_texts() if axes.get_legend() else []
    seen += figure.axes[-1].get_xticklabels()
    return [(text.get_text(), text.get_window_extent()) for text in seen if text.get_text()]


def test_no_text_is_cut_off(figure):
    for name, box in texts_of(figure):
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1, name
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.y1, name


def test_titles_labels_and_factors_do_not_lie_over_each_other(figure):
    titles = [figure._suptitle.get_window_extent(), *(axes.title.get_window_extent() for axes in figure.axes)]
    for axes in figure.axes:
        factor = axes.yaxis.get_offset_text()
        if factor.get_text():
            assert not any(factor.get_window_extent().overlaps(title) for title in titles)
        label = axes.yaxis.label.get_window_extent()
        assert not any(label.overlaps(tick.get_window_extent()) for tick in axes.get_yticklabels() if tick.get_text())
    for k, title in enumerate(titles):
        assert not any(title.overlaps(other) for other in titles[:k])
    assert (
        not figure.axes[-1]
        .xaxis.label.get_window_extent()
        .overlaps(figure.axes[-1].get_xticklabels()[0].get_window_extent())
    )


def test_panels_are_equal_and_leave_room_for_the_widest_legend(figure):
    boxes = [axes.get_window_extent() for axes in figure.axes]
    np.testing.assert_allclose([box.height for box in boxes], boxes[0].height)
    np.testing.assert_allclose([box.x1 for box in boxes], boxes[0].x1)
    assert boxes[0].x1 < min(axes.get_legend().get_window_extent().x0 for axes in figure.axes if axes.get_legend())


def test_powers_of_ten_are_plain_text(figure):
    factors = [axes.yaxis.get_offset_text().get_text() for axes in figure.axes]
    assert factors[:2] == ["\u00d710⁻⁷", "\u00d710⁶"]
    decades = [label.get_text() for label in figure.axes[3].get_yticklabels()]
    assert "10⁻¹⁸" in decades
    assert not any("$" in text for text in decades)
