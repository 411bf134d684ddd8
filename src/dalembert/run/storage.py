"""Storage of the samples of a run: in memory, or in files that grow while the run goes on.

A `SampleTable` takes blocks of rows and gives them back as arrays, one for each of its columns. A block is put where
its first row belongs: a block cut short by an interruption can be put there again. The arrays of `IN_MEMORY` are plain
ones. Those of a `Folder` are .npy files mapped into memory: the operating system loads pages on access and drops them
when it needs memory. The head of a file holds its number of rows. It is written after them, so that a file can be read
at any time, however the process that wrote it ended.
"""

from __future__ import annotations

import io
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.file_writing import writing

HEAD = 256  # bytes of a file before its rows
BLOCK = 2**25  # bytes of a block of rows that is worked on at once


class SampleTable(Protocol):
    """Rows that come in blocks, an array (n, ...) for each column."""

    def put(self, first: int, *blocks: np.ndarray) -> None:
        """Take a block whose first row is row `first` of the table; it replaces one that was put there before."""
        ...

    def joined(self) -> tuple[np.ndarray, ...]:
        """The rows that are there, an array for each column; nothing if there are none."""
        ...

    def __len__(self) -> int:
        """Rows that were put."""
        ...


Part = Callable[[np.ndarray, np.ndarray], Any]  # the motion at some samples, t (n,) and z (n, nz), of a run underway


class Storage(Protocol):
    """A place for tables."""

    def table(self, *names: str) -> SampleTable:
        """A new table. `names` are the names of its columns in files."""
        ...

    def begin(self, part: Part) -> SampleTable:
        """A table for the samples of a run, t (nt,) and z (nt, nz), of which `part` makes motions."""
        ...

    def end(self, table: Any, motion: Any) -> Any:
        """Result of a run whose samples went to `table`. `motion` is the motion at the rows still in the table."""
        ...

    def slices(self, rows: int, width: int) -> Iterator[slice]:
        """Slices of `rows` rows, `width` numbers each, of a size that is processed at once."""
        ...


class MemoryTable:
    """Rows in memory."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[np.ndarray, ...]] = {}  # by first row, in order

    def put(self, first: int, *blocks: np.ndarray) -> None:
        """Take a block of rows; the arrays are kept, not copied."""
        self._blocks[first] = blocks

    def joined(self) -> tuple[np.ndarray, ...]:
        """All rows."""
        if len(self._blocks) > 1:
            self._blocks = {0: tuple(np.concatenate(column) for column in zip(*self._blocks.values(), strict=True))}
        return next(iter(self._blocks.values()), ())

    def __len__(self) -> int:
        return sum(len(block[0]) for block in self._blocks.values())


class Continuation:
    """The rows of a run that goes on where another stopped at time `after`: behind those of its table."""

    def __init__(self, table: SampleTable, after: float) -> None:
        self._table, self._first, self._after = table, len(table), after
        self._known = 0  # first rows, which the table has already

    def put(self, first: int, *blocks: np.ndarray) -> None:
        """Take a block of rows, of which those up to where it began are left out."""
        later = blocks[0] > self._after
        if not first:
            self._known = len(later) - int(later.sum())
        self._table.put(self._first + max(first - self._known, 0), *(block[later] for block in blocks))

    def joined(self) -> tuple[np.ndarray, ...]:
        """The rows of both."""
        return self._table.joined()

    def __len__(self) -> int:
        return len(self._table)


@dataclass(frozen=True)
class Memory:
    """Arrays in memory, worked on as a whole."""

    def table(self, *_names: str) -> MemoryTable:
        """A table in memory."""
        return MemoryTable()

    def begin(self, _part: Part) -> MemoryTable:
        """A table in memory."""
        return MemoryTable()

    def end(self, _table: Any, motion: Any) -> Any:
        """The motion itself."""
        return motion

    def slices(self, rows: int, _width: int) -> Iterator[slice]:
        """All rows at once."""
        yield slice(0, rows)


IN_MEMORY = Memory()


def _close(file: BinaryIO) -> None:
    """Close a file. What could not be written to it was told when it was put there."""
    with suppress(OSError):
        file.close()


class GrowingFile:
    """One column in an open file: rows are appended, and read by memory mapping."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._shape = file, (0,)
        weakref.finalize(self, _close, file)  # mapped arrays stay valid

    def put(self, first: int, block: np.ndarray) -> None:
        """Write the rows of a block (n, ...) from row `first` on, then their number."""
        block = np.ascontiguousarray(block, dtype="<f8")
        if not first:
            self._write(0, _head((0, *block.shape[1:])))
        self._write(HEAD + first * block[:1].nbytes, block.data)
        self._shape = (first + len(block), *block.shape[1:])
        self._write(0, _head(self._shape))

    def __len__(self) -> int:
        return self._shape[0]

    def _write(self, place: int, content: bytes | memoryview) -> None:
        name = getattr(self._file, "name", 0)
        with writing(name if isinstance(name, str) else "a temporary file", "the samples before are kept"):
            self._file.seek(place)
            self._file.write(content)
            self._file.flush()

    def rows(self) -> np.ndarray:
        """All rows, mapped into memory; they may be changed."""
        if not self._shape[0] or 0 in self._shape:
            return np.zeros(self._shape)
        return np.asarray(np.memmap(self._file, dtype="<f8", mode="r+", offset=HEAD, shape=self._shape))


class FileTable:
    """Rows in files, one for each column: `begin` finds their place when the first row comes, and returns an opener."""

    def __init__(self, begin: Callable[[], Callable[[int], BinaryIO]]) -> None:
        self._begin, self._columns = begin, list[GrowingFile]()

    @cached_property
    def _open(self) -> Callable[[int], BinaryIO]:
        return self._begin()

    def put(self, first: int, *blocks: np.ndarray) -> None:
        """Write a block of rows."""
        while len(self._columns) < len(blocks):
            self._columns.append(GrowingFile(self._open(len(self._columns))))
        for column, block in zip(self._columns, blocks, strict=True):
            column.put(first, block)

    def joined(self) -> tuple[np.ndarray, ...]:
        """All rows, mapped into memory."""
        return tuple(column.rows() for column in self._columns)

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0


@dataclass(frozen=True)
class Folder:
    """Files in an existing folder. Tables without names leave no files there."""

    path: Path

    def table(self, *names: str) -> FileTable:
        """A table in files of its own, numbered in the order of tables: `0.t.npy`, ..."""
        return FileTable(lambda: self._named(names) if names else self._nameless())

    def begin(self, _part: Part) -> FileTable:
        """A table in files `0.t.npy` and `0.z.npy`."""
        return self.table("t", "z")

    def end(self, _table: Any, motion: Any) -> Any:
        """The motion itself."""
        return motion

    def _named(self, names: tuple[str, ...]) -> Callable[[int], BinaryIO]:
        number = len(list(self.path.glob(f"*.{names[0]}.npy")))
        return lambda column: (self.path / f"{number}.{names[column]}.npy").open("wb+")

    def _nameless(self) -> Callable[[int], BinaryIO]:
        place = self.path if os.access(self.path, os.W_OK) else None
        return lambda _: tempfile.TemporaryFile(dir=place)

    def slices(self, rows: int, width: int) -> Iterator[slice]:
        """Blocks of about `BLOCK` bytes."""
        step = max(1, BLOCK // (8 * max(width, 1)))
        yield from (slice(first, min(first + step, rows)) for first in range(0, max(rows, 1), step))


def _head(shape: tuple[int, ...]) -> bytes:
    """The head of a .npy file of floats of this shape, `HEAD` bytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    text = head.getvalue()
    # The length of the head is in bytes 8 and 9; blanks before its last character fill it up.
    return text[:8] + (HEAD - 10).to_bytes(2, "little") + text[10:-1].ljust(HEAD - 11) + b"\n"
