"""A graph of elementary operations: equal operations are one node, products and powers take their shortest form."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

_LEAVES = frozenset({"const", "truth", "atom"})
TRUTHS = frozenset({"truth", "lt", "le", "eq", "ne", "and", "or", "xor", "not"})

# Operations that can be infinite, have an infinite slope or be undefined: which argument is replaced, and by what,
# while the operation is not in use.
HARMLESS = {
    "div": (1, 1.0),
    "sqrt": (0, 1.0),
    "log": (0, 1.0),
    "pow": (0, 1.0),
    "asin": (0, 0.0),
    "acos": (0, 0.0),
    "acosh": (0, 2.0),
    "atanh": (0, 0.0),
    "atan2": (1, 1.0),
    "exp": (0, 0.0),
    "sinh": (0, 0.0),
    "cosh": (0, 0.0),
}


class Graph:
    """Elementary operations in topological order, each distinct one once; a node is its position."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self.branches: list[bool] = []  # has a `select` at or below it
        self.wild: list[bool] = []  # has a `select`, or an operation that can be infinite, at or below it
        self.odd: set[int] = set()  # truth values and infinities: not to be calculated with
        self.tables: dict[str, Any] = {}  # leaf function and order of derivative of each operation that is a table
        self.instances: dict[str, Any] = {}  # template and index of each operation that is an instance of one
        self._index: dict[tuple[str, tuple[Any, ...]], int] = {}

    def put(self, op: str, *args: Any) -> int:
        """The node of this operation, made unless there is one. `select` takes condition, value, condition, value."""
        key = (op, args)
        node = self._index.get(key)
        if node is None:
            node = self._index[key] = len(self.ops)
            self.ops.append(op)
            self.args.append(args)
            self._mark(node, op)
        return node

    def _mark(self, node: int, op: str) -> None:
        if op == "atom":
            self.branches.append(False)
            self.wild.append(False)
            return
        below = self.children(node)
        branches, wild = op == "select", op == "select"
        for k in below:
            branches |= self.branches[k]
            wild |= self.wild[k]
        self.branches.append(branches)
        self.wild.append(wild or (op in HARMLESS and self.value(below[HARMLESS[op][0]]) is None))
        if op in TRUTHS or (op == "const" and math.isinf(self.args[node][0])):
            self.odd.add(node)

    def children(self, node: int) -> tuple[int, ...]:
        return () if self.ops[node] in _LEAVES else self.args[node]

    def value(self, node: int) -> float | None:
        """The number a constant node holds; None for any other node."""
        return self.args[node][0] if self.ops[node] == "const" else None

    def const(self, value: float) -> int:
        return self.put("const", value)

    def add(self, terms: Iterable[int]) -> int:
        """A sum, one term after the other in the order in which they first appeared.

        SymPy flattens sums; so a sum that goes on where another one ended, as the positions along a chain do, shares
        what they have in common.
        """
        numbers, rest = self._split(terms)
        number = sum(numbers, start=0.0)
        rest.sort()
        if number or not rest:
            rest.append(self.const(number))
        total = rest[0]
        for term in rest[1:]:
            total = self.put("add", total, term)
        return total

    def mul(self, factors: Iterable[int]) -> int:
        numbers, rest = self._split(factors)
        return self.scale(math.prod(numbers, start=1.0), rest)

    def scale(self, number: float, factors: Sequence[int]) -> int:
        """The product of a number and nodes that are not constant."""
        if not factors or number == 0:
            return self.const(number)
        # The number stays outside the product, so that 2*x*y and -x*y share x*y.
        product = factors[0] if len(factors) == 1 else self.put("mul", *factors)
        if number == 1:
            return product
        return self.put("neg", product) if number == -1 else self.put("mul", self.const(number), product)

    def quotient(self, factors: Sequence[int], divisors: Sequence[int]) -> int:
        """The product of `factors` over the product of `divisors`, by one division at most."""
        numbers, factors = self._split(factors)
        number = math.prod(numbers, start=1.0)
        if divisors:
            numbers, divisors = self._split(divisors)
            number /= math.prod(numbers, start=1.0)
        if not divisors or number == 0:
            return self.scale(number, factors)
        divisor = self.mul(divisors)
        if not factors:
            return self.put("div", self.const(number), divisor)
        return self.scale(number, [self.put("div", self.scale(1.0, factors), divisor)])

    def power(self, base: int, exponent: int) -> int:
        """The positive integer power, by repeated squaring."""
        if exponent == 1:
            return base
        if exponent % 2:
            return self.mul([self.power(base, exponent - 1), base])
        return self.put("sq", self.power(base, exponent // 2))

    def _split(self, nodes: Iterable[int]) -> tuple[list[float], list[int]]:
        """The numbers among the nodes, and the rest of the nodes."""
        ops, numbers, rest = self.ops, [], []
        for node in nodes:
            if ops[node] == "const":
                numbers.append(self.args[node][0])
            else:
                rest.append(node)
        return numbers, rest

    def reach(self, roots: Iterable[int], follow: Callable[[int], Iterable[int]], seen: Collection[int]) -> list[int]:
        """Nodes reachable from `roots` along `follow` and not in `seen`, arguments before their users."""
        met: set[int] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node not in met and node not in seen:
                met.add(node)
                stack.extend(follow(node))
        return sorted(met)
