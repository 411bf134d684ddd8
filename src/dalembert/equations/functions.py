"""Functions of a system, from which its kernels are made: each is built from its mechanics on demand.

Every function takes one column and returns one; matrices lie in it row by row. `blocks` lists them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.equations.blocks import OF_MOTION, OF_STATE, blocks_of
from dalembert.equations.laws import Row
from dalembert.equations.mechanics import Mechanics
from dalembert.solve.elimination_order import SaddlePattern

_MAKING = threading.RLock()
Stated = ca.Function | Callable[[], ca.Function]


class Summed(Protocol):
    """Mechanics as a sum over kinds of elements (`kinds.assembly`)."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The constraint rows."""

    @property
    def la(self) -> ca.SX:
        """The multipliers, (nc, 1)."""

    @property
    def y(self) -> ca.SX:
        """As `Mechanics.y`."""

    @property
    def trivial_kinematics(self) -> bool:
        """As `Mechanics.trivial_kinematics`."""

    @property
    def summary(self) -> tuple[tuple[int, str], ...]:
        """How many instances there are of each kind, and its name."""

    @property
    def digest(self) -> str:
        """A digest of the content."""

    @property
    def written_out(self) -> Mechanics:
        """The one graph."""

    @property
    def saddle_pattern(self) -> SaddlePattern:
        """As `Mechanics.saddle_pattern`, like those that follow."""

    @property
    def kinematic_pattern(self) -> ca.Sparsity: ...
    @property
    def position_pattern(self) -> ca.Sparsity: ...
    @property
    def invariant_pattern(self) -> ca.Sparsity: ...
    @property
    def driven(self) -> bool: ...

    def size_out(self, name: str) -> int:
        """Length of the result of a function."""

    def samples(self) -> Iterator[tuple[Mechanics, np.ndarray, np.ndarray]]:
        """The graphs of each kind, parameters of its first instance, and coordinates of all instances, (n, nq)."""

    def sum_of(self, name: str) -> Any:
        """A function as a sum of terms (`kinds.assembly.Sum`)."""


class Functions(Mapping[str, ca.Function]):
    """Functions of a system by name: those above, and the `stated` ones, such as inertias, drawing and outputs.

    A system pickles its graphs in this form: the mechanics, recorded as one function, and the stated functions as they
    are. A stated function may be given as a callable, called at the first access or when pickled. After unpickling,
    functions stay text until the first access.
    """

    def __init__(self, mechanics: Mechanics | Summed, stated: Mapping[str, Stated]) -> None:
        self._rows = mechanics.rows
        self._stated = tuple(stated)
        self._kept: dict[str, Stated | str] = {**stated}
        self._texts: dict[str, str] = {}
        self._made: dict[str, ca.Function] = {}
        self.kinds: Summed | None = None if isinstance(mechanics, Mechanics) else mechanics
        self._mechanics: Mechanics | None = None
        if isinstance(mechanics, Mechanics):
            self._mechanics, self._kept["mechanics"] = mechanics, mechanics.to_function

    @property
    def mechanics(self) -> Mechanics:
        """The graphs. After unpickling, they are rebuilt from the recorded function on demand."""
        if self._mechanics is None:
            with _MAKING:  # a second thread must find the same variables
                if self._mechanics is None and self.kinds is not None:
                    self._mechanics = self.kinds.written_out
                elif self._mechanics is None:
                    self._mechanics = Mechanics.from_function(self._restored("mechanics"), self._rows)
        return self._mechanics

    @property
    def structure(self) -> Mechanics | Summed:
        """The kinds, or the one graph: either has the patterns of the matrices."""
        return self.kinds or self.mechanics

    def size_out(self, name: str) -> int:
        """Length of the result of a function."""
        if self.kinds is None or name in self._stated:
            return int(self[name].size1_out(0))
        return self.kinds.size_out(name)

    def is_summed(self, name: str) -> bool:
        """True if a function is a sum over kinds of elements, and not one graph."""
        return self.kinds is not None and name not in self._stated

    def sum_of(self, name: str) -> Any:
        """A function that `is_summed`, as `kinds.assembly.Sum`."""
        return None if self.kinds is None else self.kinds.sum_of(name)

    def __getitem__(self, name: str) -> ca.Function:
        if name in self._stated:
            return self._restored(name)
        if name not in self._made:
            self._made[name] = make_function(self.mechanics, name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*OF_STATE, *OF_MOTION, *self._stated))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def texts(self) -> dict[str, str]:
        """The functions serialised as text, by name, and a digest of the kinds. Each is made once."""
        if self.kinds is not None:
            self._texts["kinds"] = self.kinds.digest
        for name, kept in list(self._kept.items()):
            if name not in self._texts:
                self._texts[name] = kept if isinstance(kept, str) else self._restored(name).serialize()
        return self._texts

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: text for name, text in self.texts().items() if name in self._kept}
        return {**self.__dict__, "_kept": kept, "_texts": {}, "_made": {}, "_mechanics": None}

    def _restored(self, name: str) -> ca.Function:
        kept = self._kept[name]
        if isinstance(kept, str):
            self._texts[name] = kept
            kept = self._kept[name] = ca.Function.deserialize(kept)
        if not isinstance(kept, ca.Function):
            with _MAKING:  # its graphs are shared with the others that are still to be made
                kept = self._kept[name] = kept()
        return kept


def make_function(m: Mechanics, name: str) -> ca.Function:
    """The function of this name, made of the mechanics."""
    return function_of(name, m.x if name in OF_STATE else m.y, [block.column for block in blocks_of(m, name)])


def function_of(name: str, x: ca.SX, columns: Sequence[ca.SX]) -> ca.Function:
    """The function that maps x to columns, one below the other."""
    return ca.Function(name, [x], [ca.sparsify(ca.vertcat(ca.SX(0, 1), *columns))])


def flat(matrix: ca.SX) -> ca.SX:
    """Row-major column of a matrix (CasADi is column-major)."""
    return ca.vec(matrix.T)
