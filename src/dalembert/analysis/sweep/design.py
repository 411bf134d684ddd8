"""`Design`: values that vary from run to run, along named dimensions, from a dict, a Dataset or a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.errors import ArrayError, OptionError

RUN = "run"  # the dimension of samples and data frames without an index of their own


@dataclass(frozen=True, eq=False)
class Design:
    """The runs of a sweep: `dims` with their sizes, and `columns` by name, each with its dimensions and values.

    Names that share a dimension go together, different dimensions multiply. Runs are numbered in row-major order.
    `index` holds labels of dimensions that have some but do not vary anything, `attrs` what is known of the origin.
    """

    dims: Mapping[str, int]
    columns: Mapping[str, tuple[tuple[str, ...], np.ndarray]]
    index: Mapping[str, np.ndarray] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return tuple(self.dims.values())

    @property
    def count(self) -> int:
        """Number of runs."""
        return prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the varied values."""
        return tuple(self.columns)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """The values of runs `start` to `stop`, (stop - start, number of names)."""
        places = np.unravel_index(np.arange(start, stop), self.shape) if self.dims else ()
        where = dict(zip(self.dims, places, strict=True))
        picked = [values[tuple(where[d] for d in dims)] for dims, values in self.columns.values()]
        return np.stack([np.broadcast_to(p, (stop - start,)) for p in picked], axis=1)


def read_design(values: Any) -> Design:
    """The runs described by a dict, an `xarray.Dataset` (such as a sample) or a pandas frame."""
    if hasattr(values, "data_vars"):
        return _of_dataset(values)
    if hasattr(values, "columns") and hasattr(values, "index"):
        dim = str(values.index.name or RUN)
        made = _joined({str(key): ((dim,), values[key].to_numpy()) for key in values.columns}, {})
        labels = np.asarray(values.index)
        return made if dim in made.columns else Design(made.dims, made.columns, {dim: labels})
    if isinstance(values, Mapping):
        return _joined({name_of(key): _entry(name_of(key), value) for key, value in values.items()}, {})
    raise OptionError(
        f"`values` is a {type(values).__name__}; pass a dict such as {{'m': [1.0, 2.0]}}, an xarray.Dataset, a pandas "
        "DataFrame, or a sample by latin_hypercube or monte_carlo"
    )


def _of_dataset(values: Any) -> Design:
    held = {str(name): (tuple(map(str, array.dims)), array.to_numpy()) for name, array in values.variables.items()}
    labels = {name: array for name, (_, array) in held.items() if name in values.dims and array.dtype.kind not in "fiu"}
    labels |= {RUN: held[RUN][1]} if RUN in held else {}
    return _joined({name: entry for name, entry in held.items() if name not in labels}, dict(values.attrs), labels)


def _entry(name: str, value: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Dimensions and values: a list is a dimension of its own, a number none, (dimension, list) is along that one."""
    if hasattr(value, "dims") and hasattr(value, "to_numpy"):
        return tuple(map(str, value.dims)), value.to_numpy()
    if isinstance(value, tuple) and len(value) == 2 and _names_dims(value[0]):
        dims = (value[0],) if isinstance(value[0], str) else tuple(map(str, value[0]))
        return dims, np.asarray(value[1])
    array = np.asarray(value)
    if array.ndim > 1:
        raise ArrayError(
            f"values of `{name}` have shape {array.shape}; pass a list, or ((names of dimensions), array) if it "
            "has several"
        )
    return (name,) * array.ndim, array


def _names_dims(value: Any) -> bool:
    several = isinstance(value, tuple | list) and bool(value) and all(isinstance(d, str) for d in value)
    return isinstance(value, str) or several


def _joined(
    entries: Mapping[str, tuple[tuple[str, ...], np.ndarray]],
    attrs: Mapping[str, Any],
    index: Mapping[str, np.ndarray] | None = None,
) -> Design:
    """The design, its lengths and numbers checked."""
    dims: dict[str, int] = {}
    owners: dict[str, str] = {}
    columns = {}
    for name, (along, array) in entries.items():
        columns[name] = along, _numbers(name, array)
        if array.ndim != len(along):
            raise ArrayError(f"values of `{name}` have shape {array.shape} but the dimensions {', '.join(along)}")
        for dim, size in zip(along, array.shape, strict=True):
            if dims.setdefault(dim, size) != size:
                raise ArrayError(
                    f"`{owners[dim]}` has {dims[dim]} values along `{dim}` and `{name}` has {size}; names that share "
                    "a dimension go together and need equally many values"
                )
            owners.setdefault(dim, name)
    if not columns:
        raise OptionError("`values` is empty; say what varies, such as {'m': [1.0, 2.0]}")
    empty = [dim for dim, size in dims.items() if not size]
    if empty:
        raise ArrayError(f"`{owners[empty[0]]}` has no values; a sweep needs at least one run")
    return Design(dims, columns, index or {}, attrs)


def _numbers(name: str, array: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        raise ArrayError(f"values of `{name}` must be numbers, got {array.dtype}") from None
