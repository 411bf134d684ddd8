"""Variables that expressions read, of time, coordinates and speeds, found in their graphs."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.symbols import Symbols

OF_TIME = frozenset({0})  # the indices of an expression that reads the time alone


class Readings:
    """Indices of the variables (t, q, u) that expressions read besides parameters. Each expression is read once."""

    def __init__(self, low: Lowering, s: Symbols) -> None:
        self.low, self.s = low, s
        self.moving = ca.vertsplit(ca.vertcat(s.t, s.q, s.u))
        self._places = {x.element_hash(): k for k, x in enumerate(self.moving)}
        self._fixed = {p.element_hash() for p in ca.vertsplit(s.p)}
        self._known: dict[int, tuple[frozenset[int] | None, Any]] = {}  # by identity, and kept alive

    def of(self, expression: Any) -> frozenset[int] | None:
        """The indices of what an expression reads; None if it reads anything else that moves."""
        known = self._known.get(id(expression))
        if known is None:
            known = self._known[id(expression)] = self.of_graph(self.low(expression)), expression
        return known[0]

    def of_graph(self, graph: ca.SX) -> frozenset[int] | None:
        """The same of a graph."""
        read = {x.element_hash() for x in ca.symvar(graph)} - self._fixed
        return frozenset(self._places[x] for x in read) if read <= self._places.keys() else None
