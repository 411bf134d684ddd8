"""Memory needed to compile a large model, and the progress of its compilation."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dalembert.free_memory import check_memory
from dalembert.model.statement import Statement

QUIET_SECONDS = 1.0  # before a bar appears on the terminal
STEPS = ("checks", "kinematics", "dynamics", "constraints", "checks of the equations", "energies", "outputs")
# Bytes until the first result, fitted to the peaks of chains of 1,000 planar and of 200 and 400 spatial bodies (70, 170
# and 304 MB): for each coordinate, speed and constraint 7,000, for each operation in M, f, A and b 500; rounded up.
PER_UNKNOWN, PER_OPERATION = 10_000, 600


def check_room(statement: Statement, operations: int = 0) -> None:
    """Raise `OutOfMemoryError` if there is not enough memory for a model of this size, and of so many operations."""
    size = len(statement.coordinates) + len(statement.speeds) + len(statement.constraints)
    check_memory(
        PER_UNKNOWN * size + PER_OPERATION * operations,
        f"model `{statement.name}` with {len(statement.coordinates)} coordinates and {len(statement.constraints)} "
        "constraints",
        "state fewer parts, or compile it on a larger machine",
    )


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the search for cyclic garbage: large graphs are millions of objects without any cycle."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class CompileProgress:
    """Progress bar that appears on a terminal when compiling takes longer than a second. Call it at each step."""

    def __init__(self, title: str, check_interrupted: Callable[[], None]) -> None:
        self._check = check_interrupted
        self._title, self._begin, self._done = title, time.monotonic(), 0
        self._bar: Any = None

    def __call__(self, step: str) -> None:
        """Show that one of `STEPS` begins; raise `KeyboardInterrupt` if one was lost in the step before."""
        self._check()
        self._done = STEPS.index(step)
        if self._bar is None:
            if time.monotonic() - self._begin < QUIET_SECONDS or not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task("", total=len(STEPS))
        words = f"compiling {self._title}: {step}"
        self._bar.update(self._bar.task_ids[0], completed=self._done, description=words)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
