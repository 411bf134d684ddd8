"""Progress of a run on the terminal."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

from dalembert.equations.compile_progress import QUIET_SECONDS


class Progress:
    """Progress bar that appears on a terminal when a run takes longer than a second. Call it with the time reached."""

    def __init__(self, title: str, span: tuple[float, float]) -> None:
        self.title, self.span = title, span
        self.begin = time.monotonic()
        self.bar: Any = None

    def __call__(self, t: float) -> None:
        """Show that the run is at time t."""
        if self.bar is None:
            if time.monotonic() - self.begin < QUIET_SECONDS or not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self.bar = Bar(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.bar.add_task(self.title, total=self.span[1] - self.span[0])
        self.bar.update(self.bar.task_ids[0], completed=t - self.span[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
