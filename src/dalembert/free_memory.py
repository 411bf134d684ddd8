"""Free memory, and the check before a task that it suffices."""

from __future__ import annotations

import os
from pathlib import Path

from dalembert.errors import OutOfMemoryError

NEGLIGIBLE = 2**24  # bytes that are not worth asking for: 0.1 ms, as long as a short run
_MEMINFO = Path("/proc/meminfo")
_LIMIT, _USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def free_memory() -> int | None:
    """Bytes that this process can still get, by the system and the limit of a container; None if unknown."""
    known = [value for value in (_free_in_machine(), _free_in_container()) if value is not None]
    return min(known, default=None)


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise `OutOfMemoryError` if `what` needs more bytes than are free."""
    if needed < NEGLIGIBLE:
        return
    available = free_memory()
    if available is not None and needed > available:
        raise OutOfMemoryError(what, needed, available, remedy)


def _free_in_machine() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None


def _free_in_container() -> int | None:
    try:
        return max(0, int(_LIMIT.read_text()) - int(_USED.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return None
