"""Meaning of the symbols of expressions: entries of columns, so that many of them are selected at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import casadi
import sympy

from dalembert.model.vectors import base_of, derivative

Column = casadi.SX | Callable[[], casadi.SX]
Place = tuple[int, int]  # number of a column, number of an entry in it


class NumberedColumns:
    """Columns by number; one may be a function without arguments that returns it, called when it is first needed."""

    def __init__(self) -> None:
        self._columns: list[Column] = []
        self._entries: dict[int, list[casadi.SX]] = {}

    def append(self, *columns: Column) -> int:
        """Add columns (n, 1); the number of the first comes back."""
        self._columns += columns
        return len(self._columns) - len(columns)

    def __getitem__(self, number: int) -> casadi.SX:
        column = self._columns[number]
        if not isinstance(column, casadi.SX):
            column = self._columns[number] = column()
        return column

    def value(self, place: Place) -> casadi.SX:
        """The scalar (1, 1) at a place."""
        number, entry = place
        if number not in self._entries:  # all of them: CasADi takes long to hand out single ones
            self._entries[number] = casadi.vertsplit(self[number])
        return self._entries[number][entry]


class Atoms(Mapping[sympy.Basic, casadi.SX]):
    """Symbols and functions of time, with the entries of `columns` that they and their time derivatives stand for."""

    def __init__(self, time: sympy.Symbol, slots: Mapping[float, sympy.Symbol] | None = None) -> None:
        self.slots = slots or {}  # symbols that stand for numbers
        self.columns = NumberedColumns()
        self._time = time
        self._added: list[tuple[Sequence[sympy.Basic], int, int]] = []  # symbols, their first column, how many follow
        self.objects: dict[int, Place] = {}  # places by identity, of objects that `_added` keeps alive
        self._equal: dict[sympy.Basic, tuple[int, int, int]] = {}  # first column, how many follow, entry

    def add(self, symbols: Sequence[sympy.Basic], *columns: Column) -> None:
        """Map symbols to the entries of a column, and their time derivatives to those of the columns that follow it."""
        first = self.columns.append(*columns)
        self._added.append((tuple(symbols), first, len(columns)))
        self.objects |= {id(symbol): (first, k) for k, symbol in enumerate(symbols)}
        self._equal = {}

    @property
    def _places(self) -> dict[sympy.Basic, tuple[int, int, int]]:
        """Places of all symbols that are equal, made when one is met that is no object that was added."""
        if not self._equal:
            for symbols, first, orders in self._added:
                self._equal |= {symbol: (first, orders, k) for k, symbol in enumerate(symbols)}
        return self._equal

    def place(self, node: sympy.Basic) -> Place | None:
        """Column and entry of a symbol or a derivative; None if it has none."""
        found, order = self._places.get(node), 0
        if found is None:
            base, order = base_of(node, self._time)
            found = self._places.get(base, (0, 0, 0))
        first, orders, entry = found
        return (first + order, entry) if order < orders else None

    def __contains__(self, node: object) -> bool:
        return isinstance(node, sympy.Basic) and self.place(node) is not None

    def __getitem__(self, node: sympy.Basic) -> casadi.SX:
        place = self.place(node)
        if place is None:
            raise KeyError(node)
        return self.columns.value(place)

    def __iter__(self) -> Iterator[sympy.Basic]:
        for symbol, (_, orders, _) in self._places.items():
            yield symbol
            yield from (derivative(symbol, self._time, order) for order in range(1, orders))

    def __len__(self) -> int:
        return sum(orders for _, orders, _ in self._places.values())
