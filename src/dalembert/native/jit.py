"""`jit`: functions of native code, written in Python, compiled ahead of time into one object.

A native function is called from other native functions by name, from native code that does not know it by its address
(`Native.address`), and from Python like any function. None of that needs the compiler: the machine code comes from the
engine object (`engine_object`), which is built once. Functions that are not in it, such as those of an extension, are
compiled when they are first used.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from dalembert.native.intrinsics import Intrinsic
from dalembert.native.types import Floats, Ints, Places, Record, Signature, Type, f8, i8, u8

CHECKED = os.environ.get("DALEMBERT_CHECKED", "") not in ("", "0")  # native code that minds the bounds of arrays
_SCALARS: dict[Any, Any] = {f8: ctypes.c_double, i8: ctypes.c_int64, u8: ctypes.c_uint64}
ENGINE = "dalembert.native.engine_object"  # brings the machine code; it is loaded when first needed
_FOREIGN = itertools.count()
_DTYPES: dict[Any, np.dtype] = {
    Floats: np.dtype(np.float64), Ints: np.dtype(np.int64), Places: np.dtype(np.uint32),
}  # fmt: skip

NATIVE: dict[str, Native] = {}  # every native function by its symbol, in the order of definition


def jit(signature: Signature, *, fastmath: tuple[str, ...] = ()) -> Callable[[Callable[..., Any]], Native]:
    """A decorator: native code for `signature`, the GIL released, nothing allocated, no Python inside.

    `fastmath` names the liberties the compiler may take with the order of operations.
    """

    def declare(function: Callable[..., Any]) -> Native:
        return Native(function, signature, fastmath)

    return declare


class Place(NamedTuple):
    """Addresses of a native function, for native callers and for C and Python, and of the failure mark of its library.

    The mark is an int32; not zero after a function has left the bounds of an array, which checked builds notice.
    """

    internal: int
    external: int
    failure: int


_FINDERS: list[Callable[[Native], Place]] = []


def find_by(finder: Callable[[Native], Place]) -> Callable[[Native], Place]:
    """A decorator: the function that finds machine code; `engine_object` brings it."""
    _FINDERS[:] = [finder]
    return finder


def find(native: Native) -> Place:
    """Addresses of the machine code of a native function."""
    if not _FINDERS:
        import_module(ENGINE)
    return _FINDERS[0](native)


class Native:
    """A function with machine code; `symbol` is its name there."""

    def __init__(self, function: Any, signature: Signature, fastmath: tuple[str, ...]) -> None:
        self.function, self.signature, self.fastmath = function, signature, fastmath
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.symbol = _symbol(function)
        NATIVE[self.symbol] = self

    def __repr__(self) -> str:
        return f"<native {self.symbol}>"

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return _named, (self.function.__module__, self.function.__qualname__)

    @cached_property
    def address(self) -> int:
        """Address of the function for native code."""
        return find(self).internal

    @cached_property
    def c_address(self) -> int:
        """Address for C: arrays are a pointer and a size, records a pointer, an int64_t may be an int."""
        return find(self).external

    @cached_property
    def call(self) -> Any:
        """The function for Python, of plain numbers: an array is its address and its size, a record its address."""
        kinds: list[Any] = []
        for kind in self.signature.arguments:
            kinds += [_SCALARS[kind]] if kind in _SCALARS else [ctypes.c_int64]
            kinds += [ctypes.c_int64] if kind in _DTYPES else []
        place = find(self)
        call = ctypes.CFUNCTYPE(_SCALARS[self.signature.result], *kinds)(place.external)
        return self._checked(call, ctypes.c_int32.from_address(place.failure)) if CHECKED else call

    def _checked(self, call: Any, failure: ctypes.c_int32) -> Any:
        def checked(*numbers: Any) -> Any:
            value = call(*numbers)
            if failure.value:
                failure.value = 0
                raise IndexError(f"{self!r}, or a function it calls, left the bounds of an array")
            return value

        return checked

    @cached_property
    def dtypes(self) -> tuple[np.dtype | None, ...]:
        """NumPy type of the entries of each argument; None for scalars and records."""
        return tuple(_DTYPES.get(kind) for kind in self.signature.arguments)

    def numbers(self, *arguments: Any) -> list[Any]:
        """The first arguments as plain numbers for `call`: address and size of an array, address of a record."""
        numbers: list[Any] = []
        for dtype, value in zip(self.dtypes, arguments, strict=False):
            if dtype is None:
                numbers.append(ctypes.addressof(value) if isinstance(value, Record) else value)
            elif value.dtype is dtype and value.flags.c_contiguous:
                numbers += (address_of(value), value.size)
            else:
                raise TypeError(f"native code takes contiguous arrays of {dtype}, got {value.dtype}")
        return numbers

    def __call__(self, *arguments: Any) -> Any:
        """Call it with NumPy arrays, records and numbers."""
        return self.call(*self.numbers(*arguments))


def _named(module: str, name: str) -> Any:
    """The native function of this name, for pickles."""
    return getattr(import_module(module), name)


def _symbol(function: Any) -> str:
    """Name of a function, unique, and for functions of this package the same in every process.

    Functions that close over values, such as those made from a tableau, are told apart by the values.
    """
    name = f"{function.__module__}.{function.__qualname__}".replace(".<locals>", "").replace("<", "").replace(">", "")
    if not name.startswith("dalembert."):
        return f"{name}${next(_FOREIGN)}"
    if function.__closure__ is None:
        return name
    content = repr([(k, content_of(cell.cell_contents)) for k, cell in enumerate(function.__closure__)])
    return f"{name}.{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def content_of(value: Any) -> str:
    """Text of a value that native code refers to. Texts are equal if and only if the values are."""
    if isinstance(value, Native):
        return value.symbol
    if isinstance(value, Intrinsic):
        return f"{value.key} {_source(value.define.__module__)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return getattr(value, "__name__", None) or repr(value)


@functools.cache
def _source(module: str) -> str:
    """Digest of the source of a module. The code of an intrinsic depends on all of it."""
    path = sys.modules[module].__file__
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else module


def _code(code: CodeType) -> str:
    """The instructions and constants of a code object and of those inside it."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def made_of(native: Native) -> str:
    """All that the machine code of a function depends on besides that of the native functions it calls."""
    function = native.function
    cells = [content_of(cell.cell_contents) for cell in function.__closure__ or ()]
    names = sorted(set(function.__code__.co_names) & set(function.__globals__))
    meanings = [(name, content_of(function.__globals__[name])) for name in names]
    kinds = [native.signature.result, *native.signature.arguments]
    fields = [kind if isinstance(kind, Type) else kind.every_field() for kind in kinds]
    return f"{native.symbol} {fields} {native.fastmath} {_code(function.__code__)} {cells} {meanings}"


def address_of(array: np.ndarray) -> int:
    """Address of the entries of an array; 0 if there are none."""
    if not array.size:
        return 0
    return _number_at(id(array) + _HEAD).value if _IS_LAID_OUT else array.ctypes.data


# An array of NumPy begins, behind the head of any object, with the pointer to its entries (`PyArrayObject` of its C
# interface). To read it takes a tenth of the time of array.ctypes.data. Other Pythons may lay it out in other ways.
_HEAD, _number_at = object.__basicsize__, ctypes.c_int64.from_address
_SAMPLE = np.ones(2)
_IS_LAID_OUT = sys.implementation.name == "cpython" and _number_at(id(_SAMPLE) + _HEAD).value == _SAMPLE.ctypes.data
