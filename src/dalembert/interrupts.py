"""Ctrl-C during calls that may lose it.

Python's handler raises `KeyboardInterrupt` wherever bytecode runs next, and calls of CasADi lose it at times: of 60
interruptions of loops over `casadi.jacobian` 2 were lost, over `casadi.jtimes` 1. The reason is probably that the
wrapper takes an error, while it tries which type an argument has, for one that does not fit. Others come out of NumPy
as `SystemError`, with the interruption as its cause. A lost interruption is raised at the next check. An error that
follows an interruption counts as one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends: a package whose import was cut short cannot be imported again.

    NumPy loads once in a process, and SymPy is left with modules that import each other without end. In other threads
    nothing is held: Python handles signals in the main one.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[FrameType | None] = []
    handle = before
    signal.signal(signal.SIGINT, lambda _, frame: held.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            handle(signal.SIGINT, held[-1])


@contextmanager
def noticed_interrupts() -> Iterator[Callable[[], None]]:
    """Context with a check that raises a `KeyboardInterrupt` that was swallowed meanwhile. Only in the main thread.

    An error that leaves the block after an interruption is raised as `KeyboardInterrupt` too.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    raised = threading.Event()
    handle = before

    def notice(number: int, frame: FrameType | None) -> None:
        try:
            handle(number, frame)
        except KeyboardInterrupt:
            raised.set()
            raise

    def check() -> None:
        if raised.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, notice)
    try:
        yield check
    except Exception:
        check()
        raise
    finally:
        signal.signal(signal.SIGINT, before)
