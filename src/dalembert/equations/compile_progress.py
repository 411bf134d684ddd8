"""What compiling a large model needs and how far it has come."""

from __future__ import annotations

import sys
import time
from typing import Any

from dalembert.free_memory import check_memory
from dalembert.model.statement import Statement

PATIENCE = 1.0  # seconds before anything is shown
STEPS = ("checks", "kinematics", "dynamics", "constraints", "checks of the equations", "energies", "outputs")
# Bytes for each coordinate, speed and constraint until the first result: 20,000 were measured on chains of planar
# bodies, 50,000 on chains of spatial ones.
PER_UNKNOWN = 50_000


def check_room(statement: Statement) -> None:
    """Raise `OutOfMemoryError` if there is not enough memory for a model of this size."""
    size = len(statement.coordinates) + len(statement.speeds) + len(statement.constraints)
    check_memory(
        PER_UNKNOWN * size,
        f"model `{statement.name}` with {len(statement.coordinates)} coordinates and {len(statement.constraints)} "
        "constraints",
        "state fewer parts, or compile it on a larger machine",
    )


class CompileProgress:
    """A bar that appears when compiling takes longer than a second and somebody is looking; tell it each step."""

    def __init__(self, title: str) -> None:
        self._title, self._begin, self._done = title, time.monotonic(), 0
        self._bar: Any = None

    def __call__(self, step: str) -> None:
        """Show that one of `STEPS` begins."""
        self._done = STEPS.index(step)
        if self._bar is None:
            if time.monotonic() - self._begin < PATIENCE or not sys.stderr.isatty():
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
