"""The native engine as one object: all native functions of the package, compiled once, loaded in milliseconds.

The object is kept in the object cache under a key made of the sources, the compiler and the machine, with its rules: a
file that is truncated, altered or of another owner is not used, no directory means that it is built again, never an
error. Nothing in it is unpickled. `DALEMBERT_CHECKED=1` builds and uses an engine that checks the bounds of arrays.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import pkgutil
import threading
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dalembert.equations.native import create_machine, load_object, toolchain
from dalembert.equations.object_cache import ObjectCache
from dalembert.native.jit import NATIVE, Native

CHECKED = os.environ.get("DALEMBERT_CHECKED", "") not in ("", "0")
PACKAGES = ("numerics", "native")  # folders whose sources make up the engine
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class Place:
    """Where a native function lies: for native callers, and for C and Python."""

    internal: int
    external: int


class Library:
    """Machine code in memory, and the functions in it by symbol; it stays as long as the process."""

    def __init__(self, code: bytes) -> None:
        self._resources = load_object(code)

    def find(self, native: Native) -> Place | None:
        """Where a function lies; None if it is not here."""
        internal = self._resources.get_function_address(native.symbol)
        return Place(internal, self._resources.get_function_address(f"c.{native.symbol}")) if internal else None

    @property
    def failure(self) -> ctypes.c_int32:
        """Not zero after a function has left the bounds of an array (checked builds)."""
        return ctypes.c_int32.from_address(self._resources.get_global_value_address("native.failure"))


def find(native: Native) -> Place:
    """Where a native function lies: in the engine, or in code compiled for it alone, as for an extension."""
    with _ONE_AT_A_TIME:
        found = engine().find(native)
        if found is None:
            found = _extension(native).find(native)
    if found is None:
        raise RuntimeError(f"the compiler lost {native!r}")
    return found


@functools.cache
def engine() -> Library:
    """The engine of this installation, from the cache or built now."""
    with _ONE_AT_A_TIME:
        cache, key = ObjectCache(), _key()
        code = cache.load(key)
        if code is None:
            _announce()
            code = build()
            cache.store(key, code)
        return Library(code)


def build() -> bytes:
    """Compile all native functions of the package into one object."""
    import dalembert

    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(Path(dalembert.__file__).parent / package)], f"dalembert.{package}."):
            import_module(module.name)
    own = [native for native in NATIVE.values() if native.function.__module__.startswith("dalembert.")]
    return _compile(own)


@functools.cache
def _extension(native: Native) -> Library:
    return Library(_compile([native]))


def _compile(natives: list[Native]) -> bytes:
    from dalembert.native import compiler

    module, machine = compiler.compile_module(natives, checked=CHECKED), create_machine(level=3)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    compiler.optimise(module, machine)
    return machine.emit_object(module)


def _announce() -> None:
    from rich.console import Console

    Console(stderr=True).print("dalembert: building the native engine, once per installation (about half a minute) ...")


def _key() -> str:
    """Key of the engine in the object cache: its sources, the compiler, the machine, and whether it is checked."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(toolchain() + f"{_numba()} {CHECKED}".encode())
    for package in PACKAGES:
        for source in sorted((root / package).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _numba() -> str:
    try:
        return version("numba")
    except PackageNotFoundError:
        return ""
