"""The types native functions are declared with: scalars, flat arrays, and records with named fields.

They are plain values, so that modules with native functions can be imported without the compiler; `compiler` gives them
their meaning. A signature reads `f8(Plan, Floats, i8)`: the type that comes back, called with those of the arguments.
"""

from __future__ import annotations

import ctypes
from typing import Self

from dalembert.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Type:
    """A scalar or a flat, contiguous array of scalars; `name` tells one from another."""

    name: str

    def __call__(self, *arguments: Type | type[Record]) -> Signature:
        """The signature of a function of these arguments that returns this type."""
        return Signature(self, arguments)


@dataclass(frozen=True, eq=False)
class Several(Type):
    """So many scalars of one type, returned by value."""

    kind: Type
    count: int


def several(kind: Type, count: int) -> Several:
    """The type of a result made of `count` scalars."""
    return Several(f"{count} {kind.name}", kind, count)


class Record(ctypes.Structure):
    """Named numbers in one piece of memory, read and written as attributes by Python and by native code alike.

    A kind of record is a subclass with `_fields_`, written with `ints` and `floats`; arrays of records do not occur.
    """

    @classmethod
    def every_field(cls) -> list[tuple[str, type]]:
        """Names and types of all fields, those of the records it is derived from first."""
        return [field for base in reversed(cls.__mro__) for field in vars(base).get("_fields_", ())]

    address = property(ctypes.addressof, doc="Where it lies; good as long as the record lives.")

    def copied(self) -> Self:
        """Another record with the same numbers."""
        return type(self).from_buffer_copy(self)


def ints(names: str) -> tuple[tuple[str, type], ...]:
    """Fields for integers: sizes, offsets, addresses, counters."""
    return tuple((name, ctypes.c_int64) for name in names.split())


def floats(names: str) -> tuple[tuple[str, type], ...]:
    """Fields for real numbers."""
    return tuple((name, ctypes.c_double) for name in names.split())


@dataclass(frozen=True)
class Signature:
    """Signature of a native function: types of its result and arguments."""

    result: Type
    arguments: tuple[Type | type[Record], ...]


f8, i8, u8 = Type("float64"), Type("int64"), Type("uint64")
Floats, Ints = Type("float64[]"), Type("int64[]")
Places = Type("uint32[]")  # tables of indices: unsigned, they need no test for counting from the end; 32 bits, as they
# are read as often as the numbers they point to
