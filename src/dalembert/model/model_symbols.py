"""Symbols of a model: time, coordinates, speeds, parameters, unknowns, tables; and their readers and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.bodies import BodyReader
from dalembert.model.constraints import ConstraintReader
from dalembert.model.declarations import Declarations
from dalembert.model.journal import Journal, said
from dalembert.model.names import Names
from dalembert.model.nonideal import NonidealReader
from dalembert.model.outputs import OutputReader
from dalembert.model.quaternion import Quaternion
from dalembert.model.rates import Rates
from dalembert.model.reading import Reader
from dalembert.model.statement import Statement
from dalembert.model.tables import Table, TableReader
from dalembert.model.time_symbols import time_symbol

Expression = Any  # a SymPy expression or a number


class ModelSymbols:
    """The symbols a model is written in, each declared once."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.statement = Statement(name=name, time=time_symbol())
        self.journal = Journal()
        self._read = Reader(self.statement.faults)
        self._names = Names(self._read.fault)
        self._rates = Rates(self.statement, self._read)
        self._declare = Declarations(self.statement, self._read, self._names, self._rates)
        self._constraints = ConstraintReader(self.statement, self._read, self._names, self._declare)
        self._bodies = BodyReader(self.statement, self._read, self._names, self._declare, self._constraints)
        self._nonideal = NonidealReader(self.statement, self._read, self._names)
        self._outputs = OutputReader(self.statement, self._read, self._names)
        self._tables = TableReader(name, self._names)

    @property
    def t(self) -> sp.Symbol:
        """Time, as it appears in expressions."""
        return self.statement.time

    @said()
    def coordinates(self, names: str | Sequence[sp.Expr]) -> tuple[sp.Expr, ...]:
        """New coordinates q, as functions of time; `names` are separated by blanks or commas, or a range `q1:4`.

        Instead of names you can give a list of existing functions of time (`dynamicsymbols`), as for speeds.
        """
        return self._declare.coordinates(names)

    @said()
    def speeds(
        self,
        names: str | Sequence[sp.Expr],
        *,
        kinematics: Mapping[sp.Expr, Expression] | Sequence[Expression] | None = None,
    ) -> tuple[sp.Expr, ...]:
        """New speeds u, as functions of time.

        Without `kinematics` they name the rates of the coordinates, in order. With it, either `{q: rate}` gives the
        rate of each coordinate in terms of speeds, or a list holds expressions that are zero and linear in the
        rates `q.diff()`: q' = C(q,t) u + D(q,t). Write a speed that is not declared yet as `dynamicsymbols(name)`.
        """
        return self._declare.speeds(names, kinematics)

    @said()
    def parameters(
        self, symbols: Mapping[sp.Symbol, Expression] | None = None, /, **defaults: Expression
    ) -> tuple[sp.Symbol, ...]:
        """New constants with their default values, in the given order; a mapping uses existing `symbols`.

        A value may be an expression of other parameters: `(l,) = model.parameters(l=3 * r)` follows r wherever that
        changes, unless it is given a value of its own.
        """
        if not isinstance(symbols, Mapping | None):
            names = str(symbols).replace(",", " ").split() or ["m"]
            example = ", ".join(f"{name}=1.0" for name in names)
            raise ModelError(self.name, [f"parameters come with their values: model.parameters({example})"])
        return self._declare.parameters({**(symbols or {}), **{sp.Symbol(name): v for name, v in defaults.items()}})

    @said()
    def unknowns(self, names: str = "", /, **starts: float) -> tuple[sp.Expr, ...]:
        """New algebraic unknowns without inertia (control forces, moments), as functions of time.

        Each is determined by a servo constraint or a law. Laws are solved by Newton's method, which looks for an
        unknown near its start: `model.unknowns("T", N=100.0)` starts at T = 0 and N = 100.
        """
        return self._declare.unknowns(names, starts)

    @said()
    def quaternion(self, name: str, *, speeds: str) -> Quaternion:
        """A unit quaternion `name`0..3 (scalar first) driven by three new speeds: the angular velocity in body axes.

        Its norm is kept automatically. Pass it as `rotation=` of a body.
        """
        return self._declare.quaternion(name, speeds)

    @said()
    def table(self, name: str, times: Any, values: Any, *, kind: str = "linear", ends: str = "held") -> type[Table]:
        """A function by data: `tau = model.table("tau", times, values)`, then `tau(t)`, `tau(x)`, `tau(x.diff())`.

        `times` (n,) increase, whatever they are times of; `values` (n,) are what the function is there. `kind` is
        "linear" (straight between the points) or "cubic" (a spline, twice continuously differentiable). Outside the
        data the first and last value hold, or the data repeat with `ends="periodic"`. Steps end on the points of
        tables of time.
        """
        return self._tables.table(name, times, values, kind, ends)

    # -- for what builds on the model ---------------------------------------------------------------------------------

    def note(self, fault: str) -> None:
        """Note a fault, to be raised by `compile` with the others."""
        self._read.fault(fault)

    def scalar(self, value: Any, what: str) -> sp.Expr:
        """A scalar expression, read and checked; zero after a fault."""
        return self._read.scalar(value, what)

    def number(self, value: Any, what: str) -> float:
        """A finite number, read and checked; zero after a fault."""
        return self._read.number(value, what)
