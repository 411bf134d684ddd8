"""Atomic file writes: files are written next to their target and renamed when complete."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dalembert.errors import FileError

TEMPORARY = ".partial"
STALE_SECONDS = 3600.0  # a writer that died left behind a temporary file, or the beginning of a store, this old
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write text or bytes to a file, which is the old or the new one at any time; returns its path."""
    with replacing(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a Matplotlib figure to a file, whose ending tells the format; returns its path."""
    target = Path(path)
    if not target.suffix:
        target = target.with_name(f"{target.name}.{figure.canvas.get_default_filetype()}")
    picture = io.BytesIO()
    figure.savefig(picture, format=target.suffix[1:].lower())
    return write_file(target, picture.getvalue())


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A file to be written, which takes the place of `path` when the block ends; the old file stays if it fails.

    A device or pipe is written itself. Raises `FileError` for what the system refuses.
    """
    with writing(path), _beside(Path(path).resolve()) as partial:
        yield partial


@contextlib.contextmanager
def writing(path: str | Path, kept: str = "what was there before is kept") -> Iterator[None]:
    """Context of a write to a file or folder: errors of the system become `FileError`, naming the file."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        remedy = f"; {kept}; make room, or choose a place on another disk" if error.errno in _FULL else ""
        raise FileError(f"{path} cannot be written: {reason}{remedy}") from error


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Context of a temporary file next to a target. It is renamed to the target at the end, or removed."""
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise FileError(f"{target} is not a regular file")
        yield target
        return
    _remove_stale(target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}{TEMPORARY}")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _remove_stale(target: Path) -> None:
    """Remove temporary files of writers of this file that were killed long ago."""
    for left in target.parent.glob(f".{_literal(target.name)}.*{TEMPORARY}"):
        with contextlib.suppress(OSError):  # another process may have removed it
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                left.unlink()


def _literal(name: str) -> str:
    """A pattern that matches this name only."""
    return re.sub(r"([*?[])", r"[\1]", name)


def _sync_directory(directory: Path) -> None:
    """Have the new name of a file reach the disk, where directories can be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
