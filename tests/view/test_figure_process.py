"""Figures drawn by another process: the same picture, and no figure without an answer."""

import subprocess
import sys

import numpy as np
import pytest

from dalembert.view import figure_process
from dalembert.view.figure_process import FigureProcess
from dalembert.view.panels import Panels
from dalembert.view.plots import plot_motion

T = np.linspace(0.0, 2.0, 50)
PANELS = Panels(T, {"coordinates": {"x": np.sin(T)}}, {"track": 1e-12 * np.cos(T)}, 1e-9 * T, "one")


@pytest.fixture
def figures(monkeypatch):
    """Another process that draws, though this one has imported Matplotlib."""
    monkeypatch.delitem(sys.modules, "matplotlib.figure")
    with figure_process.figure_process(needed=True) as process:
        yield process


def test_other_process_draws_the_same_figures(figures, tmp_path):
    for k, panels in enumerate((PANELS, PANELS._replace(title="two", balance=None))):
        there, here = tmp_path / f"there{k}.png", tmp_path / f"here{k}.png"
        assert figures.send(panels, there)
        plot_motion(*panels).savefig(here)
        assert figures.has_drawn()
        assert there.read_bytes() == here.read_bytes()


def test_figure_that_cannot_be_written_is_not_drawn_and_the_next_one_is(figures, tmp_path):
    assert figures.send(PANELS, tmp_path / "nowhere" / "figure.png")
    assert not figures.has_drawn()
    assert figures.send(PANELS, tmp_path / "figure.png")
    assert figures.has_drawn()


def test_process_that_is_gone_has_drawn_nothing(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    gone.wait()
    figures = FigureProcess(gone)
    assert not figures.send(PANELS, tmp_path / "figure.png")
    assert not figures.has_drawn()
    figures.end()


def test_figure_asked_for_is_there_at_the_end(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "matplotlib.figure")
    with figure_process.figure_process(needed=True) as figures:
        figures.send(PANELS, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").is_file()


def test_no_process_where_this_one_draws_as_soon(tmp_path):
    with figure_process.figure_process(needed=True) as figures:  # Matplotlib is imported already
        assert not figures.send(PANELS, tmp_path / "figure.png")
        assert not figures.has_drawn()


def test_process_started_ahead_is_the_one_that_draws(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "matplotlib.figure")
    with figure_process.figure_process_ahead(likely=True):
        (ahead,) = figure_process._AHEAD
        with figure_process.figure_process(needed=True) as figures:
            assert figures is ahead
            assert figures.send(PANELS, tmp_path / "figure.png")
            assert figures.has_drawn()


@pytest.mark.parametrize("likely", [True, False])
def test_process_that_nobody_needed_ends_with_the_context(monkeypatch, likely):
    monkeypatch.delitem(sys.modules, "matplotlib.figure")
    with figure_process.figure_process_ahead(likely=likely):
        started = [figures._process for figures in figure_process._AHEAD]
        with figure_process.figure_process(needed=False) as figures:
            assert figures._process is None
    assert len(started) == likely
    assert all(process.returncode is not None for process in started)
    assert figure_process._AHEAD == []
