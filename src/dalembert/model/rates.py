"""Kinematical equations: the coordinate rates that have one, and those that still need one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sympy as sp

from dalembert.model.instances import difference
from dalembert.model.reading import READ, Reader, listed
from dalembert.model.statement import Statement
from dalembert.model.vectors import derivative


class Rates:
    """Adds kinematical equations to a statement and keeps account of the coordinates that have none yet."""

    def __init__(self, statement: Statement, read: Reader) -> None:
        self._statement = statement
        self._read = read
        self._known: set[sp.Expr] = set()  # all coordinates
        self._free: Counter[sp.Expr] = Counter()  # coordinates whose rate has no equation yet, in order
        self._spare = 0  # equations in excess of the rates they contain

    def add(self, coordinates: tuple[sp.Expr, ...]) -> None:
        """New coordinates, without an equation so far."""
        self._known.update(coordinates)
        self._free.update(coordinates)  # one that was declared twice, a fault, counts twice

    def name(self, speeds: tuple[sp.Expr, ...]) -> None:
        """Make speeds the rates of the next coordinates that have no equation, in order."""
        t = self._statement.time
        for q, u in zip(list(self._free.elements()), speeds, strict=False):
            self._statement.kinematics.append(difference(derivative(q, t), u))
            self._remove(q)

    def equations(self, equations: Any) -> bool:
        """Take over equations that are zero; False after a fault."""
        entries = listed(equations)
        if entries is None:
            self._read.fault(f"kinematics must be a mapping {{coordinate: rate}} or a list, got {equations!r}")
            return False
        read = [e for k, v in enumerate(entries) if (e := self._read.expression(v, f"kinematics [{k}]")) is not None]
        if len(read) < len(entries):
            return False
        rates = set().union(*(e.atoms(sp.Derivative) for e in read))
        left = Counter({q: n for q, n in self._free.items() if derivative(q, self._statement.time) not in rates})
        self._spare += len(read) - (self._free.total() - left.total())
        self._statement.kinematics.extend(read)
        self._free = left
        return True

    def equate(self, q: sp.Expr, rate: Any) -> None:
        """Set the rate of one coordinate to an expression."""
        if q not in self._known:
            self._read.fault(f"kinematics: `{q}` is not a coordinate")
            return
        if q not in self._free:
            self._read.fault(f"kinematics: the rate of `{q}` is given twice")
            return
        if not isinstance(rate, READ):
            time = self._statement.time.name
            rate = self._read.scalar(rate, f"rate of `{q.func.__name__}({time})`")  # SymPy prints slowly
        self._statement.kinematics.append(difference(derivative(q, self._statement.time), rate))
        self._remove(q)

    def _remove(self, q: sp.Expr) -> None:
        count = self._free.pop(q)
        if count > 1:
            self._free[q] = count - 1

    def split(self) -> tuple[list[sp.Expr], list[sp.Expr]]:
        """Coordinates that equations in excess fail to determine, and those that get default speeds."""
        free, count = list(self._free.elements()), max(self._spare, 0)
        return free[:count], free[count:]
