"""The native engine as one object: all native functions of the package, compiled once, loaded in milliseconds.

The object is kept in the object cache under a key made of the sources, the compiler and the machine, with its rules: a
file that is truncated, altered or of another owner is not used, no directory means that it is built again, never an
error. Nothing in it is unpickled. `DALEMBERT_CHECKED=1` builds and uses an engine that checks the bounds of arrays.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from llvmlite.binding import parse_bitcode

from dalembert.native.jit import CHECKED, Native, Place, find_by, made_of
from dalembert.native.kernel import create_machine, load_object, toolchain
from dalembert.native.object_cache import ObjectCache
from dalembert.native.process_lock import locked
from dalembert.native.shipped import find_object
from dalembert.native.translation import (
    PACKAGES,
    ROOT,
    are_sources_imported,
    find_compiler,
    is_own,
    own_functions,
    sources,
    translate,
)

_ONE_AT_A_TIME = threading.RLock()


class Library:
    """Machine code in memory, and the functions in it by symbol; it stays as long as the process."""

    def __init__(self, code: bytes) -> None:
        self._resources = load_object(code)

    def find(self, native: Native) -> Place | None:
        """Find a function in this library; None if it is not here."""
        internal = self._resources.get_function_address(native.symbol)
        if not internal:
            return None
        external = self._resources.get_function_address(f"c.{native.symbol}")
        return Place(internal, external, self._resources.get_global_value_address("native.failure"))


@find_by
def find(native: Native) -> Place:
    """Find a native function: in the engine, or in code compiled for it alone, as for an extension."""
    with _ONE_AT_A_TIME:
        found = engine().find(native) if is_own(native) else None
        if found is None:
            found = _extension(native).find(native)
    if found is None:
        raise RuntimeError(f"the compiler lost {native!r}")
    return found


@functools.cache
def engine() -> Library:
    """The engine of this installation: the one its wheel brought, from the cache, or built now."""
    with _ONE_AT_A_TIME:
        shipped = None if CHECKED else find_object(ROOT, PACKAGES)
        if shipped is not None:
            return Library(shipped)
        cache = ObjectCache()
        # Sources name the content, the content names the object: a change that touches no native code costs no build.
        # Files written since their import give no name: they do not describe the code in this process.
        name = source_key() if are_sources_imported() else None
        code = _kept(cache, name)
        if code is None:
            with locked(cache.directory, lambda: _tell("another process builds the native engine; waiting for it ...")):
                code = _kept(cache, name) or _made(cache, name)
        return Library(code)


def _kept(cache: ObjectCache, name: str | None) -> bytes | None:
    """The object in the cache that the sources of this name were made into."""
    content = None if name is None else cache.load(name)
    return None if content is None else cache.load(content.decode())


def _made(cache: ObjectCache, name: str | None) -> bytes:
    """The object of the functions in this process, from the cache or built now and kept there."""
    natives = own_functions()
    key = _content_key(natives)
    code = cache.load(key)
    if code is None:
        _tell("building the native engine, once per installation (about half a minute) ...")
        code = build(natives)
        if not cache.store(key, code):
            _tell(
                f"the native engine cannot be kept in {cache.directory or 'a home folder'}: every process will "
                "build it again; set DALEMBERT_CACHE_DIR to a folder that can be written"
            )
    if name is not None and are_sources_imported():
        cache.store(name, key.encode())
    return code


def build(natives: list[Native]) -> bytes:
    """Compile native functions into one object for this machine."""
    return _emit(translate(natives), create_machine(level=3))


def build_for(processors: Iterable[str]) -> dict[str, bytes]:
    """The engine as one object for each family of processors, such as a wheel brings them."""
    code = translate(own_functions()).as_bitcode()
    return {name: _emit(parse_bitcode(code), create_machine(3, name)) for name in processors}


def _emit(module: Any, machine: Any) -> bytes:
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    find_compiler().optimise(module, machine)
    return machine.emit_object(module)


@functools.cache
def _extension(native: Native) -> Library:
    return Library(build([native]))


def _tell(message: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"dalembert: {message}")


def source_key() -> str:
    """Digest of the toolchain and the sources of the engine."""
    digest = hashlib.sha256(_toolchain())
    for source in sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _content_key(natives: list[Native]) -> str:
    """Key of the object: the functions as they are in this process, and the compiler's own sources."""
    digest = hashlib.sha256(_toolchain())
    for name in ("compiler", "intrinsics", "types"):
        digest.update((Path(__file__).parent / f"{name}.py").read_bytes())
    for text in sorted(made_of(native) for native in natives):
        digest.update(text.encode())
    return digest.hexdigest()


def _toolchain() -> bytes:
    """The compilers, the machine, and whether bounds are checked."""
    return toolchain() + f"{_numba()} {sys.version} {CHECKED}".encode()


def _numba() -> str:
    """The version of the compiler; `importlib.metadata` would find it too, but takes as long to import as all this."""
    places = (Path(place) for place in sys.path if place.endswith("-packages"))
    return ", ".join(sorted(found.name for place in places for found in place.glob("numba-*.dist-info")))
