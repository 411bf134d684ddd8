"""`ElementKind`: the equations of one element in its own variables, and tables of its instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.blocks import LOWER, OF_STATE, Block, blocks_of
from dalembert.equations.mechanics import Mechanics
from dalembert.native.instance_loops import Term


class BlockPlaces(NamedTuple):
    """Where the entries of a block stand in a function's result: all of them, or the nonzeros in the order of `keys`.

    The key of an entry is the place that it would have if all of the block were written, by rows, or by columns.
    """

    first: int
    width: int
    by_columns: bool
    keys: np.ndarray | None

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Places of entries in these rows and columns."""
        keys = self.key(rows, columns)
        return self.first + (keys if self.keys is None else np.searchsorted(self.keys, keys))

    def key(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Keys of entries in these rows and columns."""
        return columns * self.width + rows if self.by_columns else rows * self.width + columns


class Sizes(NamedTuple):
    """Lengths of the ranges of a system, by their letters in `Block`, without 1."""

    q: int
    u: int
    w: int
    p: int
    v: int
    r: int
    i: int
    n: int

    def of(self, letter: str) -> int:
        """The length of a range."""
        return 1 if letter == "1" else int(getattr(self, letter))

    def total(self, letters: str) -> int:
        """The length of several ranges together."""
        return sum(map(self.of, letters))


@dataclass(frozen=True, eq=False)
class ElementKind:
    """The `mechanics` of one element, and for its n instances: what its variables and rows are in the system.

    `q` (n, nq), `u`, `parameters`, `rows`, `invariants` and `velocities` are indices; the last parameters of the
    element are `numbers` (n, nn) of its own. An index -1 is nothing in the system. `rates` (n, nq) are the coordinates
    whose rates the kind adds, -1 for others: every element has a copy of q' = C u + D, and one of them counts.
    """

    name: str
    mechanics: Mechanics
    q: np.ndarray
    u: np.ndarray
    parameters: np.ndarray
    numbers: np.ndarray
    rows: np.ndarray
    invariants: np.ndarray
    velocities: np.ndarray
    rates: np.ndarray
    works: bool

    @property
    def count(self) -> int:
        """Number of instances."""
        return len(self.q)

    def content(self) -> list[Any]:
        """All that it consists of, as plain values."""
        return [f.name for f in fields(self)] + [
            value.tobytes() if isinstance(value, np.ndarray) else value for value in self.__getstate__().values()
        ]

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return state | {"mechanics": (self.mechanics.to_function().serialize(), self.mechanics.rows)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        text, rows = state["mechanics"]
        mechanics = Mechanics.from_function(ca.Function.deserialize(text), rows)
        self.__dict__.update(state, mechanics=mechanics)

    def term(self, name: str, sizes: Sizes, places: Sequence[BlockPlaces]) -> Term:
        """The term of this kind in a function of the system whose blocks have these places."""
        columns, places_of = [ca.SX(0, 1)], [np.zeros((self.count, 0), dtype=np.int64)]
        for block, place in zip(blocks_of(self.mechanics, name), places, strict=True):
            rows, across, entries = self.entries(block, sizes)
            kept = np.flatnonzero((rows >= 0).all(axis=0) & (across >= 0).all(axis=0))
            columns.append(entries[kept.tolist()] if len(kept) else ca.SX(0, 1))
            places_of.append(place.at(rows[:, kept], across[:, kept]))
        m = self.mechanics
        argument, ranges = (m.x, "1quw") if name in OF_STATE else (m.y, "1quwur")
        function = ca.Function(name, [argument], [ca.densify(ca.vertcat(*columns))])
        writes = np.concatenate(places_of, axis=1)
        alone = np.zeros(writes.shape[1], dtype=bool)
        return Term(function, self.reads(sizes, ranges), self.numbers, self.first_number, writes, alone)

    def entries(self, block: Block, sizes: Sizes) -> tuple[np.ndarray, np.ndarray, ca.SX]:
        """Rows and columns in the system of the nonzeros of a block, (n, nnz) each, and these as a graph (nnz, 1)."""
        graph = ca.tril(block.graph) if block.form is LOWER else block.graph
        pattern = graph.sparsity()
        own = np.array(pattern.row(), dtype=np.int64), np.array(pattern.get_col(), dtype=np.int64)
        rows = self.places(block.rows, sizes, of_rows=True)[:, own[0]]
        columns = self.places(block.columns, sizes)[:, own[1]]
        if block.form is LOWER:
            rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
        return rows, columns, ca.reshape(graph.nz[:], pattern.nnz(), 1)

    def places(self, letters: str, sizes: Sizes, *, of_rows: bool = False) -> np.ndarray:
        """Indices in the system of the rows or columns of a block, (n, m); -1 for none."""
        parts, first = [], 0
        for letter in letters:
            own = self.rates if letter == "q" and of_rows else self._range(letter)
            parts.append(np.where(own >= 0, own + first, -1))
            first += sizes.of(letter)
        return np.concatenate(parts, axis=1)

    @cached_property
    def _levels(self) -> tuple[int, int]:
        """Number of position rows, and of position and velocity rows."""
        return self.mechanics.phi.shape[0], self.mechanics.psi.shape[0]

    def _range(self, letter: str) -> np.ndarray:
        if letter == "w":
            return np.concatenate([self.parameters, np.full(self.numbers.shape, -1)], axis=1)
        n_p, n_pv = self._levels
        ranges: dict[str, Any] = {
            "1": np.zeros((self.count, 1), dtype=np.int64), "q": self.q, "u": self.u, "p": self.rows[:, :n_p],
            "v": self.rows[:, :n_pv], "r": self.rows, "i": self.invariants, "n": self.velocities,
        }  # fmt: skip
        return np.asarray(ranges[letter])

    @property
    def first_number(self) -> int:
        """The argument of an instance that is the first of its numbers."""
        return 1 + self.q.shape[1] + self.u.shape[1] + self.parameters.shape[1]

    def reads(self, sizes: Sizes, ranges: str) -> np.ndarray:
        """Where the arguments are in those of the system, (n, m); numbers are left out."""
        parts, first = [], 0
        for letter in ranges:
            parts.append((self.parameters if letter == "w" else self._range(letter)) + first)
            first += sizes.of(letter)
        return np.concatenate(parts, axis=1)
