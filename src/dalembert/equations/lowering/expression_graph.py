"""A graph of elementary operations: equal operations are one node, products and powers take their shortest form."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import reduce
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
_EXPONENTIAL = frozenset({"exp", "sinh", "cosh"})
_HALF_EXPONENTIAL = 20.0  # beyond it sinh and cosh are half an exponential in doubles
_GROWING = frozenset({"add", "mul", "neg", "sq", "sqrt", "div"})  # exponentials grow through these and through powers


class Graph:
    """Elementary operations in topological order, each distinct one once; a node is its position."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self.branches: list[bool] = []  # has a `select` at or below it
        self.wild: list[bool] = []  # has a `select`, or an operation that can be infinite, at or below it
        self.steep: list[bool] = []  # grows or falls like an exponential
        self.odd: set[int] = set()  # truth values and infinities: not to be calculated with
        self.tables: dict[str, Any] = {}  # leaf function and order of derivative of each operation that is a table
        self.instances: dict[str, Any] = {}  # template and index of each operation that is an instance of one
        self._index: dict[tuple[str, tuple[Any, ...]], int] = {}
        self._pairs: dict[int, tuple[int, int]] = {}  # mantissa and exponent of steep nodes

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
            self.steep.append(False)
            return
        below = self.children(node)
        branches, wild = op == "select", op == "select"
        for k in below:
            branches |= self.branches[k]
            wild |= self.wild[k]
        self.branches.append(branches)
        self.wild.append(wild or (op in HARMLESS and self.value(below[HARMLESS[op][0]]) is None))
        steep = below[:1] if op == "pow" or op in _EXPONENTIAL else below if op in _GROWING else ()
        self.steep.append(any(self.steep[k] or (op in _EXPONENTIAL and self.value(k) is None) for k in steep))
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
        """The product of `factors` over the product of `divisors`; see `_bounded` for exponentials among these."""
        node = self._divide(factors, divisors)
        return self._bounded(node) if any(self.steep[k] for k in divisors) else node

    def real_power(self, base: int, exponent: int) -> int:
        """The power with any exponent; see `_bounded`."""
        node = self.put("pow", base, exponent)
        return self._bounded(node) if self.steep[base] else node

    def log(self, x: int) -> int:
        """The logarithm; of m exp(e) it is e + log m."""
        node = self.put("log", x)
        if not self.steep[x]:
            return node
        mantissa, exponent = self._factorize(x)
        return self.put("bounded", node, self.add([exponent, self.put("log", mantissa)]))

    def _bounded(self, node: int) -> int:
        """A node beside m exp(e), the same value, which overflows only where this is too large.

        1/(1 + exp(x)) has the derivative 0*inf beyond x = 709, and cosh(x)/cosh(x - 1) is inf/inf there.
        """
        mantissa, exponent = self._factorize(node)
        return self.put("bounded", node, self.mul([mantissa, self.put("exp", exponent)]))

    def _factorize(self, node: int) -> tuple[int, int]:
        """Mantissa m and exponent e of a node m exp(e). Each sum is divided by the largest exponential in it."""
        for k in self.reach([node], self._parts, self._pairs):
            self._pairs[k] = self._pair(k)
        return self._pairs[node]

    def _parts(self, node: int) -> Sequence[int]:
        """The nodes whose mantissas and exponents give those of a node: the terms of a sum, else its arguments."""
        if not self.steep[node] or self.ops[node] in _EXPONENTIAL:
            return ()
        terms: list[int] = []
        while self.ops[node] == "add" and self.steep[node]:
            node, term = self.args[node]
            terms.append(term)
        return [*terms, node] if terms else self.args[node]

    def _pair(self, node: int) -> tuple[int, int]:
        """Mantissa and exponent of a node, from those of its parts."""
        op, args = self.ops[node], self.args[node]
        if not self.steep[node]:
            return node, self.const(0.0)
        if op == "exp":
            return self.const(1.0), args[0]
        if op in _EXPONENTIAL:
            return self._pair_of_hyperbolic(op, args[0])
        mantissas, exponents = zip(*(self._pairs[k] for k in self._parts(node)), strict=True)
        if op == "add":
            return self._pair_of_sum(mantissas, exponents)
        if op == "mul":
            return self.mul(mantissas), self.add(exponents)
        if op == "neg":
            return self._negative(mantissas[0]), exponents[0]
        if op == "div":
            return self._divide(mantissas[:1], mantissas[1:]), self.add([exponents[0], self._negative(exponents[1])])
        power = args[1] if op == "pow" else self.const(2.0 if op == "sq" else 0.5)
        return self.put(op, mantissas[0], *args[1:]), self.mul([power, exponents[0]])

    def _pair_of_hyperbolic(self, op: str, x: int) -> tuple[int, int]:
        # Near zero it is left alone: differences of exponentials cancel there.
        beyond = self.put("max", self.const(0.0), self.add([self.put("abs", x), self.const(-_HALF_EXPONENTIAL)]))
        return self.put(op, self.add([x, self._negative(self.mul([self.put("sign", x), beyond]))])), beyond

    def _pair_of_sum(self, mantissas: Sequence[int], exponents: Sequence[int]) -> tuple[int, int]:
        alike: dict[int, list[int]] = {}
        for mantissa, exponent in zip(mantissas, exponents, strict=True):
            alike.setdefault(exponent, []).append(mantissa)
        terms = {exponent: self.add(alike[exponent]) for exponent in sorted(alike)}
        largest = reduce(lambda a, b: self.put("max", a, b), (self._exponent_of(m, e) for e, m in terms.items()))
        rest = self._negative(largest)
        return self.add([self.mul([m, self.put("exp", self.add([e, rest]))]) for e, m in terms.items()]), largest

    def _exponent_of(self, mantissa: int, exponent: int) -> int:
        """The exponent of a term, with that of its mantissa if this is a number."""
        number = self.value(mantissa)
        return self.add([exponent, self.const(math.log(abs(number)))]) if number else exponent

    def _negative(self, node: int) -> int:
        return self.mul([self.const(-1.0), node])

    def _divide(self, factors: Sequence[int], divisors: Sequence[int]) -> int:
        """The quotient as it is, by one division at most."""
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
