"""One process at a time: a lock on a file, which the operating system takes away from processes that end.

Where files cannot be locked, as in folders that are read-only or on some network disks, there is no lock.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LONGEST_WAIT = 600.0  # s; then a process continues without the lock: its holder may be stopped
PAUSE = 0.05  # s between two attempts
_NAME = "engine.lock"


@contextlib.contextmanager
def locked(directory: Path | None, wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a directory while the block lasts; `wait` is called once if another process has it."""
    descriptor = _opened(directory)
    if descriptor is None:
        yield
        return
    try:
        _acquire(descriptor, wait)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _opened(directory: Path | None) -> int | None:
    """The file to lock, which stays in the directory."""
    if directory is None:
        return None
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(directory / _NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:
        return None


def _acquire(descriptor: int, wait: Callable[[], None]) -> None:
    """Lock an open file once it is free. Gives up after `LONGEST_WAIT`, or if files cannot be locked."""
    end = 0.0
    while not _try_lock(descriptor):
        if not end:
            wait()
            end = time.monotonic() + LONGEST_WAIT
        elif time.monotonic() > end:
            return
        time.sleep(PAUSE)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        """False if another process has the lock."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:
            return True
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        """False if another process has the lock."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # locks are not known here
            return True
        return True
