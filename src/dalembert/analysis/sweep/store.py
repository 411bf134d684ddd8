"""`Store`: the result of a sweep on disk, a Zarr directory that any process can fill block by block and open again.

A directory appears whole or not at all. Each block of runs is one chunk of every array. Chunks are written by renaming,
the status last, so that a run whose status is there is complete whenever a writer was killed. `facts` tell what was
asked for: a store of another model or of other settings is refused.
"""

from __future__ import annotations

import errno
import json
import secrets
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analysis.sweep.blocks import RunBlock, chunk_of, run_block, spans_of
from dalembert.analysis.sweep.layout import Layout, Variable, parts_of
from dalembert.analysis.sweep.study import Study
from dalembert.analysis.sweep.tables import import_xarray, import_zarr
from dalembert.dataclass import dataclass
from dalembert.errors import FileError
from dalembert.file_writing import STALE_SECONDS

FACTS, CHUNK = "dalembert_facts", "dalembert_chunk"  # attributes


@dataclass(frozen=True, eq=False)
class Store:
    """A directory for runs of this shape, cut into boxes `chunk`; small, so that every block can carry it."""

    path: str
    variables: tuple[Variable, ...]
    shape: tuple[int, ...]
    chunk: tuple[int, ...]

    def write(self, block: RunBlock) -> None:
        """Store the runs of a block, which is a whole chunk."""
        with writing(self.path):
            group = import_zarr().open_group(self.path, mode="r+")
            for variable, values in parts_of(self.variables, block):
                region, shape = self._region(block.start, len(values))
                more = values.shape[1:]
                group[variable.name][region] = values.reshape(*shape, *more)

    def _region(self, start: int, count: int) -> tuple[tuple[slice, ...], tuple[int, ...]]:
        """The box of runs from `start` on, and its shape."""
        shape = self.shape
        first = np.unravel_index(start, shape) if shape else ()
        last = np.unravel_index(start + count - 1, shape) if shape else ()
        box = tuple(slice(int(a), int(b) + 1) for a, b in zip(first, last, strict=True))
        return box, tuple(s.stop - s.start for s in box)

    def missing(self) -> Iterator[tuple[int, int]]:
        """The spans of runs that are not there yet."""
        status = np.asarray(import_zarr().open_group(self.path, mode="r")["status"][...]).reshape(-1)
        done = status != ""
        for start, stop in spans_of(self.shape, self.chunk):
            if not done[start:stop].all():
                yield start, stop

    def open(self) -> Any:
        """The result as a Dataset that loads data on demand."""
        return import_xarray().open_zarr(self.path, chunks=None)


def run_into(store: Store, study: Study, start: int, rows: np.ndarray, stop: Any = None) -> int:
    """Run a block and store it; how many runs were done."""
    block = run_block(study, start, rows, stop)
    if block is None:
        return 0
    store.write(block)
    return len(rows)


def find_store(path: str, layout: Layout, facts: Mapping[str, Any]) -> Store | None:
    """The store at this path, if it is for the same sweep. Raises `FileError` if it has other contents."""
    if not Path(path).exists():
        return None
    try:
        attrs = dict(import_zarr().open_group(path, mode="r").attrs)
        held, chunk = json.loads(attrs[FACTS]), tuple(attrs[CHUNK])
    except Exception as error:  # Zarr and its codecs raise many kinds
        raise FileError(f"{path} exists and is not the store of a sweep; choose another path or remove it") from error
    changed = [name for name in {**facts, **held} if held.get(name) != facts.get(name)]
    if changed:
        told = "; ".join(f"{name}: {_short(held.get(name))} there, {_short(facts.get(name))} here" for name in changed)
        raise FileError(
            f"{path} holds another sweep ({told}); continue it with the same model and settings, or choose another path"
        )
    return Store(path, layout.variables, layout.design.shape, chunk)


def create_store(path: str, layout: Layout, facts: Mapping[str, Any], size: int) -> Store:
    """A new store without runs, cut into chunks of about `size` runs."""
    zarr, target = import_zarr(), Path(path)
    shape = layout.design.shape
    store = Store(path, layout.variables, shape, chunk_of(shape, size))
    with writing(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Zarr warns that consolidated metadata is not in its specification
                group = zarr.create_group(str(partial), zarr_format=3)
                group.attrs.update({**layout.attrs, FACTS: json.dumps(facts), CHUNK: list(store.chunk)})
                for variable in layout.variables:
                    _create(group, layout, store.chunk, variable)
                for name, (dims, values, attrs) in layout.coords.items():
                    array = group.create_array(name, shape=values.shape, dtype=_dtype(values), dimension_names=dims)
                    array[...] = values
                    array.attrs.update(attrs)
                group.attrs["coordinates"] = " ".join(layout.coords)
                zarr.consolidate_metadata(str(partial))
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return store


def _create(group: Any, layout: Layout, chunk: tuple[int, ...], variable: Variable) -> None:
    shape = layout.shape(variable)
    chunks = (*chunk, *shape[len(chunk) :])
    kind = {str: "str", bool: "bool"}.get(type(variable.missing), "float64")
    made = group.create_array(
        variable.name, shape=shape, chunks=tuple(max(c, 1) for c in chunks) if shape else "auto", dtype=kind,
        fill_value=variable.missing, dimension_names=layout.dims(variable),
    )  # fmt: skip
    made.attrs.update(dict(variable.attrs))


def _dtype(values: np.ndarray) -> Any:
    return "str" if values.dtype.kind in "OUT" else values.dtype


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _remove_stale(target: Path) -> None:
    for left in target.parent.glob(f".{target.name}.*.partial"):
        if time.time() - left.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Context of a write: errors of the disk become `FileError`."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        full = "; make room and call sweep again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise FileError(
            f"{path} cannot be written: {error.strerror or error}; the runs stored before are kept{full}"
        ) from error
