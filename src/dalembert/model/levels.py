"""Orders of symbols and levels of constraints: how often coordinates are differentiated in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sympy as sp

from dalembert.model.instances import Instance
from dalembert.model.reading import content_key, nodes
from dalembert.model.statement import Level
from dalembert.model.time_symbols import is_undefined_function

_LEVELS = tuple(Level)


class SymbolOrders:
    """The order of each symbol: 0 of coordinates, 1 of speeds, or as given.

    A symbol is looked up by identity first: SymPy takes long to compare, and models of many bodies hold the very
    objects that were declared.
    """

    def __init__(self, coordinates: Sequence[sp.Basic] = (), speeds: Sequence[sp.Basic] = ()) -> None:
        self.objects: dict[int, int] = {}
        self._symbols: dict[int, list[sp.Basic]] = {}  # by order; keeps the objects alive
        self._equal: dict[sp.Basic, int] = {}  # all of them, made when a symbol is no object that was added
        self.add(coordinates, 0)
        self.add(speeds, 1)

    def add(self, symbols: Sequence[sp.Basic], order: int) -> None:
        """Symbols of an order."""
        self._symbols.setdefault(order, []).extend(symbols)
        for symbol in symbols:
            self.objects[id(symbol)] = order
        if self._equal:
            self._equal |= dict.fromkeys(symbols, order)

    def of(self, symbol: sp.Basic) -> int | None:
        """The order of a symbol, None if it has none."""
        own = self.objects.get(id(symbol))
        if own is not None:
            return own
        if not self._equal:
            self._equal = dict(self)
        return self._equal.get(symbol)

    def __iter__(self) -> Iterator[tuple[sp.Basic, int]]:
        return ((symbol, order) for order, symbols in self._symbols.items() for symbol in symbols)


def level_of(expression: sp.Expr, orders: SymbolOrders) -> Level | None:
    """The level of a constraint, by the highest derivative in it; None if it contains no coordinate or speed."""
    parts = expression.args if isinstance(expression, Instance) else (expression,)
    order = max(map(orders.objects.get, map(id, parts), [-1] * len(parts)), default=-1)
    rest = [part for part in parts if part.args and id(part) not in orders.objects]
    for node in nodes(*rest):
        differentiated = isinstance(node, sp.Derivative)
        if differentiated or is_undefined_function(node):
            own = orders.of(node.expr if differentiated else node)
            if own is not None:
                order = max(order, own + (node.derivative_count if differentiated else 0))
    return None if order < 0 else _LEVELS[min(order, 2)]


def levels_of(expressions: Sequence[sp.Expr], orders: SymbolOrders) -> list[Level | None]:
    """Level of each expression. Rows of one joint have the same symbols and are examined once."""
    found: dict[int, Level | None] = {}
    for expression in expressions:
        key = content_key(expression)
        if key not in found:
            found[key] = level_of(expression, orders)
    return [found[content_key(expression)] for expression in expressions]


def functions_in(expressions: Iterable[sp.Basic]) -> Iterator[Any]:
    """The undefined functions in expressions, but not those in derivatives; the same object once."""
    seen: set[int] = set()  # identities of expressions that the caller keeps alive
    stack = [*expressions]
    while stack:
        node = stack.pop()
        content = content_key(node)
        if content in seen:
            continue
        seen.add(content)
        if is_undefined_function(node):
            yield node
        elif not isinstance(node, sp.Derivative):
            stack.extend(node.args)
