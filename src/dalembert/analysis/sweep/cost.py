"""Measured cost of a run, from which the size of blocks follows: long enough to hand out, short enough to lose."""

from __future__ import annotations

import time

from dalembert.analysis.sweep.blocks import run_block
from dalembert.analysis.sweep.design import Design
from dalembert.analysis.sweep.study import Study

MEASURING_TIME = 0.02  # seconds spent on measuring
MEASURED_RUNS = 4  # runs that are measured at most; the first may have to compile
MOST_RUNS_PER_BLOCK = 4096


def measured_size(study: Study, design: Design, seconds: float) -> int:
    """Number of runs that take about `seconds`, measured on runs spread over the design."""
    count, least, begin = design.count, float("inf"), time.perf_counter()
    for tried in range(MEASURED_RUNS):
        k = tried * (count // MEASURED_RUNS) % count
        together = max(
            1, min(int(MEASURING_TIME / MEASURED_RUNS / least), count - k)
        )  # the overhead of a block is shared by its runs
        start, worked = time.perf_counter(), time.thread_time()
        run_block(study, k, design.rows(k, k + together))
        now, worked = time.perf_counter(), time.thread_time() - worked
        taken = min(now - start, worked or now - start)  # a busy machine takes longer; some clocks are too coarse
        least = min(least, taken / together)
        if now - begin > MEASURING_TIME and (tried or least > seconds):
            break
    return max(1, min(int(seconds / max(least, 1e-6)), MOST_RUNS_PER_BLOCK, count))
