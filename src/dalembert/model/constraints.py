"""Reading constraints: the expression that must vanish, its name, its level, and the unknown that may enforce it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.model.declarations import Declarations
from dalembert.model.instances import Instance
from dalembert.model.laws import IDEAL, Determines, EnforcedBy, Implied, StatedLaw
from dalembert.model.levels import level_of
from dalembert.model.names import Names
from dalembert.model.reading import Reader, listed
from dalembert.model.statement import Constraint, Level, Statement


class ConstraintReader:
    """Reads the arguments of `Model.constrain` and adds constraints to a statement."""

    def __init__(self, statement: Statement, read: Reader, names: Names, declare: Declarations) -> None:
        self._statement, self._read, self._names, self._orders = statement, read, names, declare.orders
        self._recent: tuple[tuple[sp.Basic, ...] | None, Level] = None, Level.POSITION  # arguments and their level

    def constrain(
        self, expression: Any, name: str, servo: Any = None, unit: str | Sequence[str] = "", law: Any = None
    ) -> Constraint | tuple[Constraint, ...]:
        """One constraint, or one for each entry of a list, enforced by the unknown `servo` or with this `law`."""
        if law is not None:
            law = self._checked(law, name, servo)
        expressions = listed(expression)
        if expressions is None:
            return self._one(expression, name, servo, str(unit), law)
        servos = listed(servo) or [servo] * len(expressions)
        if len(servos) != len(expressions):
            self._read.fault(f"constraint `{name}`: {len(servos)} servo unknowns for {len(expressions)} expressions")
            servos = [None] * len(expressions)
        units = [unit] * len(expressions) if isinstance(unit, str) else [*unit]
        if len(units) != len(expressions):
            self._read.fault(f"constraint `{name}`: {len(units)} units for {len(expressions)} expressions")
            units = [""] * len(expressions)
        rows = enumerate(zip(expressions, servos, units, strict=True))
        return tuple(self._one(e, f"{name}[{k}]", s, u, law) for k, (e, s, u) in rows)

    def law(self, expression: Any, name: str, determines: Any, unit: str) -> Constraint:
        """An equation that determines an unknown and restrains no motion."""
        self._names.claim(name, "constraint")
        read = self._read.scalar(expression, f"law `{name}`")
        unknown = self._names.symbol(determines)
        if unknown not in self._statement.unknowns:
            self._read.fault(f"law `{name}`: `{determines}` is not among model.unknowns")
            unknown = None
        self._statement.constraints.append(Constraint(name, read, Level.ACCELERATION, Determines(unknown), unit))
        return self._statement.constraints[-1]

    def condition(self, expression: Any, name: str, unit: str) -> Constraint:
        """A constraint without a reaction."""
        return self._one(expression, name, None, unit, Implied())

    def _servo(self, servo: Any, name: str) -> StatedLaw:
        """The law of a constraint that the unknown `servo` enforces, the ideal one if there is none."""
        if servo is None:
            return IDEAL
        unknown = self._names.symbol(servo)
        if unknown not in self._statement.unknowns:
            self._read.fault(f"constraint `{name}`: servo `{servo}` is not among model.unknowns")
            return IDEAL
        return EnforcedBy(unknown)

    def _checked(self, law: StatedLaw, name: str, servo: Any) -> StatedLaw:
        """A law of one's own, if it is one."""
        if isinstance(law, type) or not callable(getattr(law, "lowered", None)):
            self._read.fault(f"constraint `{name}`: law={law!r} is not a law; pass a value of a class derived from Law")
            return IDEAL
        if servo is not None:
            self._read.fault(f"constraint `{name}` takes one of servo= and law=, got both")
        return law

    def _one(self, expression: Any, name: str, servo: Any, unit: str, law: StatedLaw | None) -> Constraint:
        self._names.claim(name, "constraint")
        s = self._statement
        read = self._read.expression(expression, f"constraint `{name}`")
        law = self._servo(servo, name) if law is None else law
        if read is None:
            return Constraint(name, sp.S.Zero, Level.POSITION, law)
        s.constraints.append(Constraint(name, read, self._level(read), law, unit))
        return s.constraints[-1]

    def _level(self, read: sp.Expr) -> Level:
        """Level of an expression. Rows of a joint, which share their arguments, are examined once."""
        shared, level = self._recent
        if shared is not read.args:
            level = level_of(read, self._orders) or Level.POSITION
            self._recent = read.args if isinstance(read, Instance) else None, level
        return level
