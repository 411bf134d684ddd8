"""Progress of a sweep on the terminal: runs done, runs per second, time left."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

from dalembert.equations.compile_progress import QUIET_SECONDS


class SweepProgress:
    """Progress bar that appears on a terminal when a sweep takes longer than a second."""

    def __init__(self, title: str, count: int, done: int = 0) -> None:
        self.title, self.count, self.done = title, count, done
        self.begin, self.before = time.monotonic(), done
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, runs: int) -> None:
        """So many more runs are done."""
        self.done += runs
        if self.bar is None:
            if time.monotonic() - self.begin < QUIET_SECONDS or not sys.stderr.isatty():
                return
            self._show()
        rate = (self.done - self.before) / max(time.monotonic() - self.begin, 1e-9)
        self.bar.update(self.bar.task_ids[0], completed=self.done, rate=f"{rate:,.0f} runs/s")

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.bar.start()
        self.bar.add_task(self.title, total=self.count, rate="")
