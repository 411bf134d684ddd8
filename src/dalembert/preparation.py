"""The native engine is compiled once per installation; this says so, instead of leaving the user to wonder."""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from dalembert.equations.object_cache import default_directory

CORE = (  # what a simulation with default settings needs
    "dalembert.numerics.engine",
    "dalembert.numerics.formulations.lagrange_multipliers",
    "dalembert.numerics.drift.projection",
    "dalembert.numerics.accelerations",
    "dalembert.numerics.nearest",
    "dalembert.numerics.integrators.dop853",
    "dalembert.numerics.integrators.automatic",
)
_ONE_AT_A_TIME = threading.RLock()
_LOADED: set[str] = set()


@functools.cache
def prepare() -> None:
    """Import the core of the native engine, once; if it was never compiled here, announce that it is being compiled."""
    _load(CORE, "the engine", "about a minute")


@functools.cache
def load(module: str) -> ModuleType:
    """A module of an ingredient, and the core; announced if native code is compiled for the first time."""
    prepare()
    if module not in CORE:
        _load((module,), f"`{module.rpartition('.')[2]}`", "some seconds")
    return import_module(module)


def prepare_everything(modules: Iterable[str]) -> None:
    """Import, and where needed compile, the core and the modules of all ingredients."""
    prepare()
    for module in modules:
        load(module)


def _load(modules: tuple[str, ...], what: str, how_long: str) -> None:
    with _ONE_AT_A_TIME:
        if not _LOADED.issuperset(modules):
            _load_or_compile(modules, what, how_long)
            _LOADED.update(modules)


def _load_or_compile(modules: tuple[str, ...], what: str, how_long: str) -> None:
    directory = default_directory()
    digest = hashlib.sha256(" ".join((_stamp(), *modules)).encode()).hexdigest()[:24]
    marker = None if directory is None else directory / f"engine-{digest}"
    known = marker is not None and _is_there(marker)
    if not known:
        from rich.console import Console

        Console(stderr=True).print(f"dalembert: preparing {what}, once per installation ({how_long}) ...")
        load_all()
    if marker is not None:
        with suppress(OSError):  # a read-only home: the announcement comes again, nothing else
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()


def _is_there(path: Path) -> bool:
    """Whether a file exists; not if its directory cannot be read."""
    try:
        return path.exists()
    except OSError:
        return False


@functools.cache
def _stamp() -> str:
    """Digest of the installation: where it is, what it contains, and the compiler's version."""
    root = Path(__file__).parent / "numerics"
    digest = hashlib.sha256(f"{root} {version('numba')} {sys.version}".encode())
    for source in sorted(root.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:24]
