"""The memory a run works in: one record of sizes, places and addresses, one array of floats, one of integers.

`Plan` names everything every part knows; what one part alone works with is a record of its own, whose address stands in
the plan. Both say where blocks of floats start in `mem` and blocks of integers in `ints`. `Workspace` is the only
allocator. Native functions take `plan` and `mem`; they see the integers by `ints_at(plan.ints, plan.n_ints)`. Matrices
are flat and row-major.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeVar

import numpy as np

from dalembert.native import engine_object  # noqa: F401 - brings the machine code of native functions
from dalembert.native.jit import CHECKED, address_of
from dalembert.native.types import Record

GUARD = 8 if CHECKED else 0  # floats between blocks, which must not be written
_UNTOUCHED = np.frombuffer(b"guarded!", dtype=float)[0]

NOTHING, NO_INTS = np.zeros(0), np.zeros(0, dtype=np.int64)

Kind = TypeVar("Kind", bound=Record)


class Workspace:
    """A `plan` of some kind with its floats `mem`, its integers `ints` and the records of its parts."""

    _guards: tuple[int, ...] = ()
    _numbers: tuple[int, int, int] | None = None

    def __init__(self, plan: Any, mem: np.ndarray = NOTHING, ints: np.ndarray = NO_INTS) -> None:
        self.plan, self.mem, self.ints = plan, mem, ints
        plan.ints, plan.n_ints = address_of(ints), len(ints)
        self.parts: dict[str, Any] = {}
        self._sizes: dict[str, Any] = {}
        self._inner: dict[tuple[str, type[Record]], Any] = {}

    def reserve(self, owner: Record, floats: dict[str, int] | None = None, ints: dict[str, int] | None = None) -> None:
        """Reserve blocks of floats and integers of these sizes, zeroed. Fields of `owner` receive their offsets."""
        if floats:
            self.mem, self._numbers = self._grown(self.mem, owner, floats, GUARD), None
        if ints:
            self.ints = self._grown(self.ints, owner, ints, 0)
            self.plan.ints, self.plan.n_ints = address_of(self.ints), len(self.ints)

    def _grown(self, array: np.ndarray, owner: Record, blocks: dict[str, int], gap: int) -> np.ndarray:
        size = len(array)
        for name, count in blocks.items():
            setattr(owner, name, size)
            size += count + gap
            if gap:
                self._guards += (size - gap,)
        grown = np.zeros(size, dtype=array.dtype)
        grown[: len(array)] = array
        for at in self._guards if gap else ():
            grown[at : at + gap] = _UNTOUCHED
        return grown

    def part(self, name: str, kind: type[Kind], floats: dict[str, int], ints: dict[str, int]) -> tuple[Kind, bool]:
        """The record of a part with its blocks, all zero, and whether it is a new one; plan.name becomes its address.

        Asked for again with the same sizes, the same memory is used anew.
        """
        sizes = (kind, tuple(floats.items()), tuple(ints.items()))
        fresh = self._sizes.get(name) != sizes
        if fresh:
            made = kind()
            self.parts[name], self._sizes[name] = made, sizes
            self.reserve(made, floats, ints)
        else:
            made, places = self.parts[name], {key: getattr(self.parts[name], key) for key in (*floats, *ints)}
            ctypes.memset(made.address, 0, ctypes.sizeof(made))
            for key, at in places.items():
                setattr(made, key, at)
            for array, blocks in ((self.mem, floats), (self.ints, ints)):
                for key, count in blocks.items():
                    array[places[key] : places[key] + count] = 0
        setattr(self.plan, name, made.address)
        return made, fresh

    def inner(self, name: str, kind: type[Kind]) -> Kind:
        """The record of this kind inside the part `name`, the same one each time."""
        return self._inner.setdefault((name, kind), kind())

    def copied(self) -> Workspace:
        """Another workspace with the same numbers; only before it has parts."""
        other = Workspace(self.plan.copied(), self.mem.copy(), self.ints.copy())
        other._guards = self._guards
        return other

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Arguments for plan and mem in calls of machine code (`Native.call`): two addresses and a size."""
        if self._numbers is None:
            self._numbers = self.plan.address, address_of(self.mem), self.mem.size
        return self._numbers

    def check_guards(self) -> None:
        """Raise IndexError if something wrote between blocks (checked builds only)."""
        for at in self._guards:
            if not (self.mem[at : at + GUARD].view(np.int64) == _UNTOUCHED.view(np.int64)).all():
                raise IndexError(f"native code wrote beyond a block that ends at {at}")
