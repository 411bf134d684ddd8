"""Workers for blocks of runs: threads of this process, or any executor. Blocks of lost workers run again."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from dalembert.errors import DalembertError, PairingError

BLOCKS_PER_WORKER = 3  # blocks that are handed out per worker before the first is back
MOST_LOST_WORKERS = 5  # how often a block may lose its worker


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers_of(executor: Any, threads: int | None) -> Iterator[tuple[Executor, int, threading.Event | None]]:
    """An executor, how many blocks it may hold, and the event that stops its runs if they are threads of ours."""
    if executor is None:
        count, stop = threads or cores(), threading.Event()
        pool = ThreadPoolExecutor(count, thread_name_prefix="dalembert-sweep")
        try:
            yield pool, BLOCKS_PER_WORKER * count, stop
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        return
    if hasattr(executor, "get_executor"):  # a Dask client
        wrapped = executor.get_executor(pure=False)
        try:
            yield wrapped, BLOCKS_PER_WORKER * max(sum(executor.ncores().values()), 1), None
        finally:
            wrapped.shutdown(wait=False)
        return
    if not callable(getattr(executor, "submit", None)):
        raise PairingError(
            f"executor={executor!r} has no `submit`; pass a concurrent.futures.Executor or a Dask client"
        )
    yield executor, BLOCKS_PER_WORKER * getattr(executor, "_max_workers", cores()), None


def run_all(executor: Executor, ahead: int, tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """The results of tasks (function, *arguments) as they come; at most `ahead` of them are under way at a time."""
    source, running = iter(tasks), {}
    tries: dict[int, int] = {}
    try:
        for task in source:
            running[executor.submit(*task)] = task
            if len(running) >= ahead:
                yield from _finished(executor, running, tries)
        while running:
            yield from _finished(executor, running, tries)
    finally:
        for future in running:
            future.cancel()


def _finished(executor: Executor, running: dict[Future[Any], tuple[Any, ...]], tries: dict[int, int]) -> Iterator[Any]:
    """Results of the futures that are done. Tasks whose worker was lost are submitted again."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        task = running.pop(future)
        try:
            result = future.result()
        except Exception as error:
            if not _lost(error):
                raise
            tries[id(task)] = tries.get(id(task), 0) + 1
            if tries[id(task)] >= MOST_LOST_WORKERS:
                raise DalembertError(f"a block of runs lost its worker {MOST_LOST_WORKERS} times: {error}") from error
            try:
                running[executor.submit(*task)] = task
            except BrokenExecutor as broken:
                raise DalembertError(
                    f"the executor is broken and takes no more work ({error}); with `store` what was done is kept: "
                    "call sweep again with a new executor"
                ) from broken
            continue
        yield result


def _lost(error: BaseException) -> bool:
    """Whether a worker is to blame, not the task."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"BrokenExecutor", "KilledWorker", "CommClosedError", "CancelledError", "LostRun"})
