"""`jit`: Numba functions with explicit signatures, compiled once per installation and rebuilt when any source changes.

Numba's own cache looks only at the file of the function itself, but compiled code holds the constants and callees of
the modules it imports; with those changed it would run into the wrong memory. Here an entry is stamped with the
contents of the module and of all `dalembert.numerics` modules it imports, directly or not.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba as nb

_ROOT = Path(__file__).parent
_IMPORT = re.compile(r"^from dalembert\.numerics\.?([\w.]*) import \(?\s*(\w+)", re.MULTILINE)


@functools.cache
def _sources(path: Path) -> frozenset[Path]:
    """The file and every file of this package it imports, directly or not."""
    found = {path}
    for module, name in _IMPORT.findall(path.read_text(encoding="utf-8")):
        parts = module.split(".") if module else []
        for candidate in (_ROOT.joinpath(*parts).with_suffix(".py"), _ROOT.joinpath(*parts, f"{name}.py")):
            if candidate.is_file() and candidate != path:
                found |= _sources(candidate)
    return frozenset(found)


@functools.cache
def _stamp(path: Path) -> str:
    """Digest of the contents of all sources behind a file."""
    digest = hashlib.sha256(nb.__version__.encode())
    for source in sorted(_sources(path)):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def jit(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: native code for `signature`, cached on disk, GIL released, no Python inside."""

    def compile_or_load(function: Callable[..., Any]) -> Any:
        dispatcher = nb.njit(nogil=True, error_model="numpy", boundscheck=False)(function)
        dispatcher.enable_caching()
        # The one private attribute of Numba this project relies on; without it caching is merely per file.
        dispatcher._cache._cache_file._source_stamp = _stamp(Path(inspect.getfile(function)))  # noqa: SLF001
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compile_or_load
