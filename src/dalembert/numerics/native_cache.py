"""`jit`: Numba functions with explicit signatures, compiled once per installation and rebuilt when anything changes.

Numba's own cache looks only at the file of the function itself, but compiled code holds the constants and callees it
refers to; with those changed it would run into the wrong memory. Here an entry is stamped with what the function is
made of in this very process: its code, the constants it names, and the stamps of the functions it calls.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba as nb
import numpy as np
from numba.core.compiler_lock import global_compiler_lock

_STAMPS: dict[int, tuple[str, Any]] = {}  # by id of a compiled function, which is kept so that the id stays its own
_WAITING: list[Callable[[Any], Any]] = []  # to be loaded when needed


def _code(code: CodeType) -> str:
    """The instructions and constants of a code object and of those inside it."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _names(code: CodeType) -> set[str]:
    """The names used by a code object and by those inside it."""
    inner = (_names(c) for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*inner)


def _made_of(function: FunctionType) -> str:
    """The code of a function, the values it closes over, and the meaning of every global name it uses."""
    cells = [_meaning(cell.cell_contents) for cell in function.__closure__ or ()]
    names = sorted(name for name in _names(function.__code__) if name in function.__globals__)
    return f"{_code(function.__code__)} {cells} {[(name, _meaning(function.__globals__[name])) for name in names]}"


def _meaning(value: Any) -> str:
    if id(value) in _STAMPS:
        return _STAMPS[id(value)][0]
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, ModuleType):  # what is used of it stands in the code; its name may depend on who imported it
        return "module"
    if isinstance(value, FunctionType):  # such as those an intrinsic is written with
        foreign = value.__module__.partition(".")[0] in ("numba", "llvmlite")
        return value.__qualname__ if foreign else _made_of(value)
    definition = getattr(value, "_defn", None)  # an intrinsic of Numba
    if isinstance(definition, FunctionType):
        return _made_of(definition)
    return getattr(value, "__name__", None) or repr(value)


def jit(signature: Any, *, fastmath: tuple[str, ...] = ()) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: native code for `signature`, cached on disk, GIL released, no Python inside.

    `fastmath` names the liberties LLVM may take with the order of operations. The code is compiled, or loaded from the
    cache, when it is first called, or a function that calls it is compiled: callers hold a copy of it, so that most
    functions need not be loaded at all (4 ms each).
    """

    def compile_or_load(function: Any) -> Any:
        made_of = f"{nb.__version__} {sys.version} {signature} {fastmath} {_made_of(function)}"
        stamp = hashlib.sha256(made_of.encode()).hexdigest()
        if function.__closure__:  # made by one line of code for several tables: a name, and so a file, for each
            function.__qualname__ += f"_{stamp[:16]}"
        # Without Numba's runtime nothing can be allocated and no reference is counted: 5% of a run.
        options = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
        dispatcher = nb.njit(**options, fastmath=set(fastmath))(function)
        dispatcher.enable_caching()
        # Private attributes of Numba; without the first caching is merely per file. Its own key holds what a function
        # closes over as a pickle, which differs from process to process.
        dispatcher._cache._cache_file._source_stamp = stamp  # noqa: SLF001
        dispatcher._cache._index_key = lambda types, codegen: (types, codegen.magic_tuple(), stamp)  # noqa: SLF001
        _STAMPS[id(dispatcher)] = stamp, dispatcher

        def load(_types: Any) -> Any:
            with global_compiler_lock:
                if not dispatcher.overloads:
                    type(dispatcher).compile(dispatcher, signature)
                    dispatcher.disable_compile()
            return dispatcher.get_overload(signature)

        dispatcher.compile = load  # whatever types Numba asks for, there is the one signature
        _WAITING.append(load)
        return dispatcher

    return compile_or_load


def load_all() -> None:
    """Compile, or load, every function made so far."""
    for load in tuple(_WAITING):
        load(None)
    _WAITING.clear()
