"""The packages that hold labelled results: imported when they are needed, named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dalembert.errors import DalembertError


def import_xarray() -> Any:
    """The module xarray."""
    return _imported("xarray", "tables", "results of sweeps are xarray Datasets")


def import_zarr() -> Any:
    """The module zarr."""
    return _imported("zarr", "sweeps", "stores of sweeps are Zarr directories")


def _imported(name: str, extra: str, why: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise DalembertError(f"{why}, and {name} is not installed; run pip install 'dalembert[{extra}]'") from error
