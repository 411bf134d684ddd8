"""Blocks of runs: the units that are computed, returned and stored together."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from dalembert.analysis.sweep.native_runs import run_natively
from dalembert.analysis.sweep.study import OK, Study
from dalembert.dataclass import dataclass

LOG = logging.getLogger("dalembert.sweep")  # a line at level INFO for every run that is not ok


@dataclass(frozen=True, eq=False)
class RunBlock:
    """The records of runs from `start` on: values (n, ...), samples (n, nt, m), texts (n,)."""

    start: int
    values: np.ndarray
    samples: np.ndarray
    status: np.ndarray
    message: np.ndarray


def run_block(study: Study, start: int, rows: np.ndarray, stop: Any = None) -> RunBlock | None:
    """The runs with these values, (n, number of names); None if `stop`, an event, is set meanwhile."""

    def look(_t: float) -> None:
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt

    try:
        made = run_natively(study, rows, look)
        status, message = _texts(len(rows), OK), _texts(len(rows), "")
        for k in np.flatnonzero(~made.done).tolist():
            look(0.0)
            state = made.begun[k] if k in made.begun else study.begin(rows[k])
            made.values[k], made.samples[k], status[k], message[k] = record = study.run(rows[k], state, look)
            if record.status != OK:
                LOG.info("run %d: %s: %s", start + k, record.status, record.message)
    except KeyboardInterrupt:
        if stop is None:
            raise
        return None
    return RunBlock(start, made.values, made.samples, status, message)


def _texts(n: int, text: str) -> np.ndarray:
    """One text n times: the same object, where `np.full` would make a new one for each run."""
    texts = np.empty(n, dtype=object)
    texts.fill(text)
    return texts


def chunk_of(shape: Sequence[int], most: int) -> tuple[int, ...]:
    """The largest box of at most `most` runs whose runs follow each other in row-major order."""
    chunk, held = [1] * len(shape), 1
    for axis in reversed(range(len(shape))):
        chunk[axis] = min(shape[axis], max(most // held, 1))
        held *= chunk[axis]
        if chunk[axis] < shape[axis]:
            break
    return tuple(chunk)


def spans_of(shape: Sequence[int], chunk: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last but one of the runs in each box of a shape; boxes as `chunk_of` makes them."""
    cut = next((axis for axis in range(len(shape)) if chunk[axis] > 1), max(len(shape) - 1, 0))
    size, inner = (shape[cut], prod(shape[cut + 1 :])) if len(shape) else (1, 1)
    step = chunk[cut] if len(shape) else 1
    for outer in range(prod(shape[:cut])):
        for k in range(ceil(size / step)):
            first = outer * size + k * step
            yield first * inner, (outer * size + min((k + 1) * step, size)) * inner
