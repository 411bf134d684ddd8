"""Another process that draws figures: it imports Matplotlib while this one imports SymPy, compiles and runs.

Both take about as long, and neither needs the other. `python -m dalembert.view.figure_process` reads pairs of `Panels`
and a path from standard input, draws each, and answers with a line when the file is there. Where it does not, the
caller draws: a figure is there or the caller's own error says why not.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from dalembert.file_writing import write_file
from dalembert.loading import collection_paused

if TYPE_CHECKING:
    import subprocess

    from dalembert.view.panels import Panels

DRAWN = b"drawn\n"


class FigureProcess:
    """A process that draws figures one after the other. Without one, the caller draws."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process
        self._asked = False  # whether a figure was requested whose answer is still outstanding

    def send(self, panels: Panels, path: Path) -> bool:
        """Request a figure. Returns False if there is no process to draw it."""
        requests = self._process.stdin if self._process else None
        if requests is None:
            return False
        try:
            pickle.dump((panels, str(path)), requests)
            requests.flush()
        except OSError:
            return False
        self._asked = True
        return True

    def has_drawn(self) -> bool:
        """Whether the figure asked for last is drawn; waits until that is known. False if none was asked for."""
        answers = self._process.stdout if self._process and self._asked else None
        self._asked = False
        return answers is not None and answers.readline() == DRAWN

    def end(self) -> None:
        """End the process, in the middle of its imports too, but not in the middle of a figure."""
        if self._process is not None:
            if not self._asked:
                self._process.kill()
            self._process.communicate()


_AHEAD: list[FigureProcess] = []  # started before anybody asked for one


@contextmanager
def figure_process_ahead(*, likely: bool) -> Iterator[None]:
    """Context that starts a figure process early if it is `likely` to be needed. It ends if it was not used."""
    if likely:
        _AHEAD.append(FigureProcess(_started()))
    try:
        yield
    finally:
        while _AHEAD:
            _AHEAD.pop().end()


@contextmanager
def figure_process(*, needed: bool) -> Iterator[FigureProcess]:
    """A process that draws until the context ends, if figures are `needed` and this process would draw them later."""
    ahead = _AHEAD.pop() if needed and _AHEAD else None
    figures = ahead or FigureProcess(_started() if needed else None)
    try:
        yield figures
    finally:
        figures.end()


def _started() -> subprocess.Popen[bytes] | None:
    """The process, with the modules of this one; None if this one draws as soon, or the machine has none to give."""
    if "matplotlib.figure" in sys.modules or not sys.executable or (os.cpu_count() or 1) < 2:
        return None
    import subprocess  # takes as long to import as a small model to run

    path = os.pathsep.join(place or str(Path.cwd()) for place in sys.path)
    try:
        return subprocess.Popen(  # noqa: S603 - this Python, this module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the caller, who may still have a figure to ask for
        )
    except OSError:
        return None


def draw_all(requests: BinaryIO, answers: BinaryIO) -> None:
    """Draw the requested figures until the requests end."""
    with collection_paused():
        _draw(_small_panels(), None)  # fonts and marks are read while there is nothing else to do
    while True:
        try:
            panels, path = pickle.load(requests)  # noqa: S301 - written by the process that started this one
        except EOFError:
            return
        try:
            _draw(panels, path)
        except OSError:  # the caller reports why the file cannot be written
            answers.write(b"not drawn\n")
        else:
            answers.write(DRAWN)
        answers.flush()


def _small_panels() -> Panels:
    """A small example with one panel of each kind."""
    import numpy as np

    from dalembert.view.panels import Panels

    t = np.linspace(0.0, 1.0, 3)
    return Panels(t, {"coordinates": {"x": t}}, {"x": 1e-14 * t}, 1e-14 * t, "small")


def _draw(panels: Panels, target: str | None) -> None:
    """Draw a figure, and write it if there is a place for it.

    `savefig` would draw it twice, first for its layout, which is done while drawing.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from dalembert.view.plots import plot_motion

    picture = io.BytesIO()
    FigureCanvasAgg(plot_motion(*panels)).print_png(picture)
    if target is not None:
        write_file(target, picture.getvalue())


if __name__ == "__main__":
    draw_all(sys.stdin.buffer, sys.stdout.buffer)
