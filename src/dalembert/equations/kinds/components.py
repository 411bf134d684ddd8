"""Components of the kinematics: coordinates and speeds that belong together, such as those of one free body.

The rate of a coordinate reads coordinates and speeds. What is tied together in this way, and the coordinates and speeds
that place one body, is a component: an element that touches one of its variables depends on all of them. Components
whose rates are the same expressions have the same shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import sympy as sp

from dalembert.model.instances import DIFFERENCE, Instance
from dalembert.model.reading import nodes
from dalembert.model.statement import Statement
from dalembert.model.time_symbols import is_undefined_function
from dalembert.model.vectors import base_of

LARGEST_COMPONENT = 32  # variables; what hangs together in larger numbers is no element of many


class Component(NamedTuple):
    """Indices of coordinates and speeds, and of the parameters in the rates; `shape` numbers equal expressions.

    `numbers` are those in the rates.
    """

    coordinates: tuple[int, ...]
    speeds: tuple[int, ...]
    parameters: tuple[int, ...]
    shape: int
    numbers: frozenset[float]


class Leaf(NamedTuple):
    """A coordinate or speed as part of its component: its place among the coordinates or among the speeds there."""

    component: int
    token: str  # "q3" or "u3"


class Components:
    """All components of a statement, `leaves` by identity of the symbol, and the equation of each coordinate."""

    def __init__(self, statement: Statement, rates: Sequence[sp.Expr]) -> None:
        self.time, self.rates = statement.time, rates
        self._parameters = {id(p): k for k, p in enumerate(statement.parameters)}
        self._variables = (*statement.coordinates, *statement.speeds)
        self._numbers = {id(v): k for k, v in enumerate(self._variables)}
        self._nq = len(statement.coordinates)
        labels = self._tied(statement, rates)
        self.all: list[Component] = []
        self.leaves: dict[int, Leaf] = {}
        self._leaf_of: list[Leaf] = [Leaf(0, "")] * len(labels)
        self._shapes: dict[tuple[object, ...], int] = {}
        order = np.argsort(labels, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else ():
            self._add(members.tolist(), rates)
        self.leaves = {id(symbol): leaf for symbol, leaf in zip(self._variables, self._leaf_of, strict=True)}

    @classmethod
    def of(cls, statement: Statement) -> Components | None:
        """The components, None if rates are not stated explicitly or hang together in large numbers."""
        rates = explicit_rates(statement)
        if rates is None:
            return None
        found = cls(statement, rates)
        largest = max((len(c.coordinates) + len(c.speeds) for c in found.all), default=0)
        return found if largest <= LARGEST_COMPONENT else None

    def leaf(self, node: sp.Basic) -> tuple[Leaf, int] | None:
        """The leaf that a symbol or a derivative of one is, and its order; None if it is neither."""
        base, order = base_of(node, self.time)
        number = self._number(base)
        return None if number < 0 else (self._leaf_of[number], order)

    @cached_property
    def _equal(self) -> dict[sp.Basic, int]:
        """Numbers of the variables by equality, made when one is met that is no object of the statement."""
        return {v: k for k, v in enumerate(self._variables)}

    def _number(self, node: sp.Basic) -> int:
        """The number of a variable, -1 of anything else."""
        number = self._numbers.get(id(node), -1)
        return self._equal.get(node, -1) if number < 0 and is_undefined_function(node) else number

    def _tied(self, statement: Statement, rates: Sequence[sp.Expr]) -> np.ndarray:
        """Number of the component of each coordinate, then of each speed."""
        first, second = list[int](), list[int]()
        for k, rate in enumerate(rates):
            for number in self._read(rate):
                first.append(k)
                second.append(number)
        placed = [p.position or () for p in statement.particles]
        placed += [(*(b.position or ()), *b.rotation, *(b.angular_velocity or ())) for b in statement.bodies]
        for place in placed:
            own = [number for number in (self._numbers.get(id(e), -1) for e in place) if number >= 0]
            first += own[:-1]
            second += own[1:]
        parent = list(range(len(self._numbers)))

        def root(k: int) -> int:
            while parent[k] != k:
                parent[k] = parent[parent[k]]
                k = parent[k]
            return k

        for one, other in zip(first, second, strict=True):
            parent[root(one)] = root(other)
        return np.array([root(k) for k in range(len(parent))], dtype=np.int64)

    def _read(self, rate: sp.Expr) -> Iterator[int]:
        """Numbers of the variables that a rate reads."""
        direct = self._numbers.get(id(rate))
        if direct is not None:
            yield direct
            return
        for node in nodes(rate):
            number = self._number(node)
            if number >= 0:
                yield number

    def _add(self, members: list[int], rates: Sequence[sp.Expr]) -> None:
        q = [k for k in members if k < self._nq]
        u = [k for k in members if k >= self._nq]
        places = {k: f"q{i}" for i, k in enumerate(q)} | {k: f"u{i}" for i, k in enumerate(u)}
        number = len(self.all)
        for k, token in places.items():
            self._leaf_of[k] = Leaf(number, token)
        parameters: dict[int, int] = {}
        tokens: list[object] = [len(q), len(u)]
        for k in q:
            self._describe(rates[k], places, parameters, tokens)
        shape = self._shapes.setdefault(tuple(tokens), len(self._shapes))
        numbers = frozenset(float(e) for e in tokens if isinstance(e, sp.Number))
        self.all.append(Component(tuple(q), tuple(k - self._nq for k in u), tuple(parameters), shape, numbers))

    def _describe(self, e: sp.Basic, places: dict[int, str], parameters: dict[int, int], tokens: list[object]) -> None:
        """Append the tokens of a rate: its variables by their places, its parameters numbered as they are met."""
        number = self._number(e)
        if number >= 0:
            tokens.append(places[number])
        elif id(e) in self._parameters:
            tokens.append(("p", parameters.setdefault(self._parameters[id(e)], len(parameters))))
        elif isinstance(e, Instance):
            tokens.append((e.template.label, e.index))
            for part in e.args:
                self._describe(part, places, parameters, tokens)
        elif not e.args:
            tokens.append(e)
        else:
            tokens.append((e.func, len(e.args)))
            for part in e.args:
                self._describe(part, places, parameters, tokens)


def explicit_rates(statement: Statement) -> list[sp.Expr] | None:
    """The rate of each coordinate, in order; None if an equation is not stated as q' = rate."""
    rates: dict[int, sp.Expr] = {}  # by identity of the coordinate
    number = {id(q): id(q) for q in statement.coordinates}
    equal: dict[sp.Basic, int] = {}  # by equality, for coordinates that are other objects
    for equation in statement.kinematics:
        if not isinstance(equation, Instance) or equation.template is not DIFFERENCE:
            return None
        rate, value = equation.args
        base, order = base_of(rate, statement.time)
        if id(base) not in number:
            equal = equal or {q: id(q) for q in statement.coordinates}
        own = number.get(id(base)) or equal.get(base, 0)
        if order != 1 or own in rates:
            return None
        rates[own] = value
    if len(rates) != len(statement.coordinates) or not rates.keys() <= number.keys():
        return None
    return [rates[id(q)] for q in statement.coordinates]
