"""`Assembly`: the equations of a system as a sum over the instances of its kinds, never written out.

Every function of a system is a list of blocks (`blocks`), and every block a sum: each instance of each kind adds its
own block where its variables and rows are. Patterns of matrices follow from the index tables alone. Only a feature that
needs the one graph has it `written_out`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.blocks import BY_ROWS, FLAT, LOWER, OF_STATE, Block, blocks_of
from dalembert.equations.kinds.kind import BlockPlaces, ElementKind, Sizes
from dalembert.equations.kinds.write_out import write_out
from dalembert.equations.laws import Row
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.symbols import Kinematics, Symbols
from dalembert.native.instance_loops import Term
from dalembert.scattered import Scattered
from dalembert.solve.elimination_order import SaddlePattern


class Sum(NamedTuple):
    """A function as the sum of terms; its argument has `n_in` entries, its result `n_out`."""

    terms: list[Term]
    n_in: int
    n_out: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The value at x (n_in,), without machine code."""
        out = np.zeros(self.n_out)
        for term in self.terms:
            np.add.at(out, term.writes.T, ca.DM(term.function(term.arguments(x))).full())
        return out


@dataclass(frozen=True, eq=False)
class Assembly:
    """The kinds of a system; `defaults` are the values of its parameters."""

    rows: tuple[Row, ...]
    invariants: tuple[str, ...]
    kinds: tuple[ElementKind, ...]
    sizes: Sizes
    defaults: tuple[float, ...]

    @cached_property
    def symbols(self) -> Symbols:
        """Variables of the whole system."""
        return Symbols.of_sizes(self.sizes.q, self.sizes.u, self.sizes.w)

    @cached_property
    def la(self) -> ca.SX:
        """The multipliers, (nc, 1)."""
        return ca.SX.sym("la", self.sizes.r)

    @cached_property
    def summary(self) -> tuple[tuple[int, str], ...]:
        """How many instances there are of each kind, and its name."""
        return tuple((kind.count, kind.name) for kind in self.kinds)

    @cached_property
    def digest(self) -> str:
        """A digest of the content."""
        parts = [part for kind in self.kinds for part in kind.content()]
        return hashlib.sha256(repr((self.invariants, self.defaults, parts)).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # the rest follows

    @property
    def x(self) -> ca.SX:
        """Argument of functions of the state, (t, q, u, p)."""
        return self.symbols.x

    @cached_property
    def y(self) -> ca.SX:
        """Argument of functions of the motion, (x, u', la)."""
        return ca.vertcat(self.x, self.symbols.ud, self.la)

    @property
    def works(self) -> bool:
        """True if something can change the energy."""
        return any(kind.works for kind in self.kinds)

    @cached_property
    def trivial_kinematics(self) -> bool:
        """Whether the speeds are the rates of the coordinates, in order: q' = u."""
        own = [kind for kind in self.kinds if (kind.rates >= 0).any()]
        return self.sizes.q == self.sizes.u and all(
            kind.mechanics.trivial_kinematics and np.array_equal(kind.q, kind.u) for kind in own
        )

    @cached_property
    def driven(self) -> bool:
        """Whether constraints of positions or velocities depend on time."""
        return any(kind.mechanics.driven for kind in self.kinds)

    # -- functions -------------------------------------------------------------------------------------------------

    def sum_of(self, name: str) -> Sum:
        """A function of `blocks` as a sum over the kinds."""
        layout, n_out = self._layout(name)
        terms = [kind.term(name, self.sizes, layout) for kind in self.kinds]
        count = np.bincount(np.concatenate([term.writes.ravel() for term in terms]), minlength=n_out)
        terms = [term._replace(alone=(count[term.writes] == 1).all(axis=0)) for term in terms]
        n_in = self.sizes.total("1quw" if name in OF_STATE else "1quwur")
        return Sum([term for term in terms if term.writes.size], n_in, n_out)

    def size_out(self, name: str) -> int:
        """Length of the result of a function."""
        return self._layout(name)[1]

    @cached_property
    def _layouts(self) -> dict[str, tuple[list[BlockPlaces], int]]:
        return {}

    def _layout(self, name: str) -> tuple[list[BlockPlaces], int]:
        """Places of the blocks of a function, and the length of its result."""
        if name not in self._layouts:
            self._layouts[name] = self._lay_out(name)
        return self._layouts[name]

    def _lay_out(self, name: str) -> tuple[list[BlockPlaces], int]:
        found, end = list[BlockPlaces](), 0
        for of_kinds in zip(*(blocks_of(kind.mechanics, name) for kind in self.kinds), strict=True):
            place, size = self._places(of_kinds, end)
            found.append(place)
            end += size
        return found, end

    def _places(self, blocks: Sequence[Block], first: int) -> tuple[BlockPlaces, int]:
        """Places of a block, given as each kind has it, from `first` on, and its size."""
        block = blocks[0]
        height, width = self.sizes.total(block.rows), self.sizes.total(block.columns)
        if block.form is FLAT:
            return BlockPlaces(first, width, by_columns=False, keys=None), height * width
        place = BlockPlaces(first, height if block.form is LOWER else width, block.form is LOWER, None)
        keys = []
        for kind, own in zip(self.kinds, blocks, strict=True):
            rows, columns, _ = kind.entries(own, self.sizes)
            kept = (rows >= 0) & (columns >= 0)
            keys.append(place.key(rows[kept], columns[kept]))
        if block.form is LOWER:
            keys.append(np.arange(height) * (height + 1))  # all of the diagonal
        place = place._replace(keys=np.unique(np.concatenate(keys)))
        return place, len(place.keys if place.keys is not None else ())

    # -- patterns --------------------------------------------------------------------------------------------------

    def pattern(self, graphs: Sequence[Block]) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
        """Rows and columns of the nonzeros of a block, in its order, and its shape; `graphs` as each kind has it."""
        place, _ = self._places(graphs, 0)
        block = graphs[0]
        keys = np.zeros(0, dtype=np.int64) if place.keys is None else place.keys
        first, second = np.divmod(keys, max(place.width, 1))
        rows, columns = (second, first) if place.by_columns else (first, second)
        return rows, columns, (self.sizes.total(block.rows), self.sizes.total(block.columns))

    @cached_property
    def saddle_pattern(self) -> SaddlePattern:
        """Patterns of M and A."""
        i, j, _ = self.pattern([Block(kind.mechanics.M, "u", "u", LOWER) for kind in self.kinds])
        k, l, _ = self.pattern([Block(kind.mechanics.A, "r", "u", BY_ROWS) for kind in self.kinds])
        return SaddlePattern(self.sizes.u, i, j, np.searchsorted(k, np.arange(self.sizes.r + 1)), l)

    @cached_property
    def position_pattern(self) -> ca.Sparsity:
        """Pattern of the gradients of phi and of the invariants in q, transposed: columns are rows."""
        return self._across([Block(kind.mechanics.position_gradients, "pi", "q", BY_ROWS) for kind in self.kinds])

    @cached_property
    def invariant_pattern(self) -> ca.Sparsity:
        """Pattern of the gradients of the invariants in q, transposed: columns are rows."""
        return self._across([Block(kind.mechanics.invariant_gradients, "i", "q", BY_ROWS) for kind in self.kinds])

    @cached_property
    def kinematic_pattern(self) -> ca.Sparsity:
        """Pattern of C, transposed: columns are rows."""
        return self._across([Block(kind.mechanics.C, "q", "u", BY_ROWS) for kind in self.kinds])

    def _across(self, blocks: Sequence[Block]) -> ca.Sparsity:
        rows, columns, (height, width) = self.pattern(blocks)
        starts = np.searchsorted(rows, np.arange(height + 1))
        return ca.Sparsity(width, height, starts.tolist(), columns.tolist())

    # -- values and graphs -----------------------------------------------------------------------------------------

    @cached_property
    def mass_samples(self) -> tuple[ca.Sparsity, np.ndarray]:
        """Pattern of the lower triangle of M, and its nonzeros by columns at three random states, (3, n)."""
        pattern, dynamics = self.saddle_pattern, self.sum_of("sparse_dynamics")
        rng, s = Scattered(1743), self.sizes
        values = []
        for _ in range(3):
            x = np.concatenate([rng.uniform(0.1, 1.2, 1 + s.q + s.u), self.defaults])
            values.append(dynamics(x)[s.q : s.q + len(pattern.mass_rows)])
        starts = np.searchsorted(pattern.mass_columns, np.arange(s.u + 1))
        return ca.Sparsity(s.u, s.u, starts.tolist(), pattern.mass_rows.tolist()), np.array(values)

    def samples(self) -> Iterator[tuple[Mechanics, np.ndarray, np.ndarray]]:
        """The graphs of each kind, parameters of its first instance, and coordinates of all instances, (n, nq)."""
        values = np.array(self.defaults)
        for kind in self.kinds:
            yield kind.mechanics, np.concatenate([values[kind.parameters[0]], kind.numbers[0]]), kind.q

    @cached_property
    def written_out(self) -> Mechanics:
        """The one graph of the system."""
        return write_out(self.kinds, self.symbols, self.la, self.rows, self.sizes)

    @property
    def written_out_kinematics(self) -> Kinematics:
        """q' = C u + D of the one graph."""
        m, s = self.written_out, self.symbols
        return Kinematics(s, m.qdot, m.C, ca.sparsify(ca.substitute(m.qdot, s.u, ca.SX.zeros(s.u.shape))))
