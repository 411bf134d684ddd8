"""What the benchmarks share: best times of several things measured in turns, and the figure that comes out."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dalembert.native import engine_object
from dalembert.native.object_cache import ObjectCache

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Figure:
    """One measured number: what, its value and unit, the target (None: there is none), and what it was made from."""

    benchmark: str
    case: str
    value: float | None  # None: it could not be measured here, `detail` says why
    unit: str
    target: str | None = None
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target, a text such as "<= 2", is met; None without value or target."""
        if self.value is None or self.target is None:
            return None
        relation, bound = self.target.split()
        return {"<=": self.value <= float(bound), "<": self.value < float(bound), ">=": self.value >= float(bound)}[
            relation
        ]


REGRESSION = 1.5  # a figure worse than before by more than this is shown


def slowdown(before: Figure, now: Figure) -> float | None:
    """By what factor a figure is worse than the one before, for the same case; None if they cannot be compared."""
    if not (before.value and now.value) or before.unit != now.unit:
        return None
    more_is_better = "faster" in now.unit or (now.target or "").startswith(">")
    return before.value / now.value if more_is_better else now.value / before.value


def best_in_turns(
    actions: Sequence[Callable[[], object]],
    repeats: int,
    least: float = 0.01,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Best seconds of each action; they take turns, so that a busy machine slows all of them alike.

    An action shorter than `least` seconds is timed in a row of calls that lasts as long. `time.process_time` as `clock`
    tells what one thread computed, whoever else was on the machine.
    """
    counts = []
    for action in actions:
        action()
        counts.append(max(1, round(least / max(_seconds(action, 1, clock), 1e-9))))
    best = [float("inf")] * len(actions)
    for _ in range(repeats):
        for k, (action, count) in enumerate(zip(actions, counts, strict=True)):
            best[k] = min(best[k], _seconds(action, count, clock))
    return best


def _seconds(action: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    begin = clock()
    for _ in range(count):
        action()
    return (clock() - begin) / count


def run_apart(module: str, *arguments: str, environment: dict[str, str]) -> str:
    """What `python -m benchmarks.MODULE ARGUMENTS` prints in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"benchmarks.{module} {' '.join(arguments)} ended with {done.returncode}: {said[0]}")
    return done.stdout


def machine() -> dict[str, str]:
    """What the figures were measured on: `machine` and `python`."""
    where = f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return {"machine": where, "python": platform.python_version()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


@contextmanager
def empty_cache() -> Iterator[dict[str, str]]:
    """The environment of a process that finds the native engine, and no machine code of models."""
    engine_object.engine()
    with tempfile.TemporaryDirectory() as directory:
        own, new = ObjectCache(), ObjectCache(directory)
        sources = engine_object.source_key()
        content = own.load(sources) or b""
        new.store(sources, content)
        new.store(content.decode(), own.load(content.decode()) or b"")
        yield {**os.environ, "DALEMBERT_CACHE_DIR": directory}
