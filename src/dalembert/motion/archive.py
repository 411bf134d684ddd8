"""Archives of arrays on disk: .npz files that are complete or absent, and name their kind and version.

An archive is a zip file of arrays whose comment reads `dalembert KIND VERSION sha256 DIGEST`, the digest being that of
all bytes before it. It is checked before anything else is read, so that truncated and altered files never reach a
parser. NumPy reads archives as well: `np.load(path)`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, FileError, OutOfMemoryError
from dalembert.file_writing import write_file
from dalembert.free_memory import check_memory

VERSION = 1  # of the format; a change that older loaders would misread raises it
WRITERS = {"motion": "Motion", "sequence": "MotionSequence", "state": "State"}  # the class that saves each kind

_DIGITS = 64
_MARK = re.compile(rb"dalembert ([a-z]+) ([0-9]+) sha256 ([0-9a-f]{64})\Z")
_LONGEST_MARK = 128
# What NumPy and the zip library raise for bytes that are no archive.
_UNREADABLE = (ValueError, KeyError, EOFError, RuntimeError, MemoryError, OSError, zipfile.BadZipFile, zlib.error)


def write_archive(path: str | Path, kind: str, arrays: Mapping[str, Any]) -> Path:
    """Write arrays by name to a file, atomically: it is the old or the new file at any time. Returns the path."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    mark = f"dalembert {kind} {VERSION} sha256 "
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = mark.encode() + b"0" * _DIGITS
    content = buffer.getvalue()[:-_DIGITS]
    return write_file(path, content + hashlib.sha256(content).hexdigest().encode())


def read_archive(path: str | Path, kind: str) -> dict[str, np.ndarray]:
    """The arrays of a file by name; raises `FileError` unless it is an undamaged archive of this kind and version."""
    content = _content(Path(path))
    found = _MARK.search(content[-_LONGEST_MARK:])
    if found is None:
        raise FileError(_why_unmarked(path, content, kind))
    held, version, digest = (part.decode() for part in found.groups())
    if hashlib.sha256(content[:-_DIGITS]).hexdigest() != digest:
        raise FileError(f"{path} is damaged: its content does not match its SHA-256 checksum; restore it from a copy")
    if held != kind:
        reader = f"; read it by {WRITERS[held]}.load" if held in WRITERS else ""
        raise FileError(f"{path} holds a {held}, not a {kind}{reader}")
    if int(version) != VERSION:
        raise FileError(
            f"{path} has version {version} of the format, and this dalembert reads version {VERSION}; "
            "read it with the dalembert that wrote it"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        check_memory(unpacked, f"what {path} holds", "read it on a larger machine")
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            return dict(data)
    except OutOfMemoryError:
        raise
    except _UNREADABLE as error:
        raise FileError(f"{path} is not a file written by {WRITERS[kind]}.save: {error}") from error


@contextlib.contextmanager
def reading(path: str | Path, kind: str) -> Iterator[None]:
    """Context in which the arrays of an archive become an object: mismatches raise `FileError`."""
    try:
        yield
    except DalembertError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{path} is not a file written by {WRITERS[kind]}.save: {type(error).__name__}: {error}"
        ) from error


def facts_in(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, Any]:
    """The facts that an array holds as JSON."""
    facts = json.loads(str(arrays[name]))
    if not isinstance(facts, dict):
        raise TypeError(f"{name} must be a table of facts, got {type(facts).__name__}")
    return facts


def floats_in(arrays: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Arrays of floats by name; raises `ValueError` if one is missing or does not have its shape."""
    missing = [name for name in shapes if name not in arrays]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")
    found = {}
    for name, shape in shapes.items():
        array = np.asarray(arrays[name], dtype=float)
        if array.shape != tuple(shape):
            raise ValueError(f"{name} has shape {array.shape}; it must be {tuple(shape)}")
        found[name] = array
    return found


def check_times(t: np.ndarray) -> None:
    """Raise `ValueError` unless times (nt,) are finite and in order."""
    wrong = np.flatnonzero(~np.isfinite(t) | (t < np.concatenate([t[:1], t[:-1]])))
    if wrong.size:
        raise ValueError(f"its times are not finite or not in order, from sample {wrong[0]} on: t = {t[wrong[0]]}")


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is not a regular file")
        check_memory(path.stat().st_size, f"reading {path}", "read it on a larger machine")
        return path.read_bytes()
    except OSError as error:
        raise (
            error if isinstance(error, FileError) else FileError(f"{path} cannot be read: {error.strerror or error}")
        ) from error


def _why_unmarked(path: str | Path, content: bytes, kind: str) -> str:
    """Message for a file without the mark at the end of an archive: why it cannot be read, and the remedy."""
    writer = WRITERS[kind]
    if not content.startswith(b"PK"):
        return f"{path} is not a file written by {writer}.save"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return f"{path} is not a file written by {writer}.save, or only the beginning of one; restore it from a copy"
    if {"facts.npy", "sequence.npy"} & {*names}:
        return (
            f"{path} has no format version and no checksum: it was written by an early dalembert, or written again by "
            f"another program. It cannot be trusted; compute it again and save it by {writer}.save"
        )
    return f"{path} is not a file written by {writer}.save: it has no format version"
