"""Blocks of runs: what is computed, handed back and stored at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from dalembert.analysis.sweep.native_runs import run_natively
from dalembert.analysis.sweep.study import OK, Record, Study

LOG = logging.getLogger("dalembert.sweep")  # a line at level INFO for every run that is not ok


@dataclass(frozen=True, eq=False)
class Block:
    """The records of runs from `start` on: values (n, ...), samples (n, nt, m), texts (n,)."""

    start: int
    values: np.ndarray
    samples: np.ndarray
    status: np.ndarray
    message: np.ndarray


def run_block(study: Study, start: int, rows: np.ndarray, stop: Any = None) -> Block | None:
    """The runs with these values, (n, number of names); None if `stop`, an event, is set meanwhile."""

    def look(_t: float) -> None:
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt

    made: list[Record] = []
    try:
        known = run_natively(study, rows, look)
        for k, row in enumerate(rows):
            look(0.0)
            found = known[k] if k in known else study.begin(row)
            made.append(study.run(row, found, look))
            if made[-1].status != OK:
                LOG.info("run %d: %s: %s", start + k, made[-1].status, made[-1].message)
    except KeyboardInterrupt:
        if stop is None:
            raise
        return None
    return Block(
        start,
        np.array([r.values for r in made]),
        np.array([r.samples for r in made]),
        np.array([r.status for r in made], dtype=object),
        np.array([r.message for r in made], dtype=object),
    )


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
