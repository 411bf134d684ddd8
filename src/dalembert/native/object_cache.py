"""Object code on disk, by the digest of its sources.

An entry is one file: magic, key, SHA-256 of the payload, payload. Machine code that is not exactly what was stored must
never run. An entry that is truncated, altered, stored under another key, owned or writable by another user, or not a
regular file therefore counts as missing and is written anew. Files appear by `os.replace`, so processes can share a
directory. Without a usable directory nothing is cached; that is never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from pathlib import Path

from dalembert.file_writing import STALE_SECONDS

LIMIT = 256 * 2**20  # bytes
ROOM = 0.25  # part of the limit that pruning frees: a full directory is not to be looked through at every entry
_MAGIC = b"dalembert-object-1\n"
_SUFFIX = ".object"
_TEMPORARY = ".partial"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def default_directory() -> Path | None:
    """Directory of cached kernels: $DALEMBERT_CACHE_DIR, else the user's cache directory; None without a home."""
    chosen = os.environ.get("DALEMBERT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "dalembert" / "kernels"


_SIZES: dict[str, int] = {}  # bytes in a directory, as this process knows it


class ObjectCache:
    """A directory of byte strings under 64-digit hexadecimal keys.

    Above `limit` bytes the least recently used go, until a part `ROOM` of it is free.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, limit: int = LIMIT) -> None:
        """`directory` None means `default_directory()`; it is created when something is first stored."""
        self.directory = default_directory() if directory is None else Path(directory)
        self.limit = limit

    def load(self, key: str) -> bytes | None:
        """The payload stored under `key`, or None if there is none that can be trusted."""
        if self.directory is None:
            return None
        path = self.directory / (key + _SUFFIX)
        try:
            data = _read_own_file(path)
        except OSError:
            return None
        payload = None if data is None else _unpack(data, key)
        if payload is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # pruning goes by the time of last use
        return payload

    def store(self, key: str, payload: bytes) -> bool:
        """True if `payload` is now on disk under `key`."""
        if self.directory is None:
            return False
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            packed = _pack(payload, key)
            _write_atomically(self.directory / (key + _SUFFIX), packed)
            self._keep_small(key + _SUFFIX, len(packed))
        except OSError:
            return False
        return True

    def _keep_small(self, keep: str, added: int) -> None:
        """Prune at the first entry of a process and whenever its entries may have led beyond the limit.

        To look at every file after every entry takes longer than to compile small kernels, if there are thousands.
        """
        place = str(self.directory)
        known = _SIZES.get(place)
        _SIZES[place] = self._prune(keep) if known is None or known + added > self.limit else known + added

    def _prune(self, keep: str) -> int:
        """Remove stale temporary files and, above the limit, the entries used longest ago, never `keep`.

        Returns the bytes that are left.
        """
        now = time.time()
        entries = []
        for item in os.scandir(self.directory):
            # Another process may prune at the same time, so any of these files may be gone.
            with contextlib.suppress(OSError):
                status = item.stat(follow_symlinks=False)
                if item.name.endswith(_TEMPORARY) and now - status.st_mtime > STALE_SECONDS:
                    Path(item.path).unlink()
                elif item.name.endswith(_SUFFIX):
                    entries.append((status.st_mtime_ns, item.name, status.st_size, item.path))
        total = sum(size for _, _, size, _ in entries)
        least = self.limit if total <= self.limit else (1.0 - ROOM) * self.limit
        for _, name, size, path in sorted(entries):
            if total <= least:
                break
            if name != keep:
                with contextlib.suppress(OSError):
                    Path(path).unlink()
                total -= size
        return total


def _pack(payload: bytes, key: str) -> bytes:
    return _MAGIC + bytes.fromhex(key) + hashlib.sha256(payload).digest() + payload


def _unpack(data: bytes, key: str) -> bytes | None:
    """The payload of an entry; None unless magic, key and digest all agree."""
    head = _MAGIC + bytes.fromhex(key)
    start = len(head) + hashlib.sha256().digest_size
    payload = data[start:]
    whole = data.startswith(head) and data[len(head) : start] == hashlib.sha256(payload).digest()
    return payload if whole else None


def _read_own_file(path: Path) -> bytes | None:
    """Content of a regular file that this user owns and nobody else may write; None for other files."""
    # Without O_NONBLOCK a FIFO of that name would block; O_NOFOLLOW refuses links out of the directory.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        # The checksum is no secret: anyone who may write the file could plant code under a valid one.
        owned = sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE)
        return file.read() if owned and stat.S_ISREG(status.st_mode) else None


def _write_atomically(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
