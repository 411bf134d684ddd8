"""Constraint rows of a system, and questions about their laws (`model.laws`) that all stages ask."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.dataclass import dataclass
from dalembert.model.laws import (
    Algebraic,
    Bilateral,
    CoulombFriction,
    CurvedAcceleration,
    Implied,
    Law,
    Servo,
)
from dalembert.model.statement import Constraint, Level, Statement

__all__ = [
    "Algebraic", "Bilateral", "CoulombFriction", "CurvedAcceleration", "Implied", "Law", "Row", "Servo",
    "are_algebraic", "are_ideal", "count_curved", "have_friction", "implied_rows", "law_of", "may_work",
    "rows_by_unknown",
]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One constraint row: its name, level ("position", "velocity", "acceleration"), law and unit.

    `behind` is the servo constraint that a hidden row was derived from, empty for rows that were stated.
    """

    name: str
    level: str
    law: Law
    unit: str = ""
    behind: str = ""


def law_of(statement: Statement, constraint: Constraint, *, bent: bool) -> Law:
    """The law of a constraint as stated; `bent` says that an acceleration row is not linear in u'."""
    law = constraint.law.lowered(statement, constraint.name)
    if bent and constraint.level is Level.ACCELERATION and law.reacts and not law.curved:
        return CurvedAcceleration(law)
    return law


def are_ideal(rows: Sequence[Row]) -> bool:
    """True if every multiplier acts along A, known from the state, without friction or other terms: r = A^T la + c."""
    return all(row.law.ideal for row in rows)


def may_work(rows: Sequence[Row]) -> bool:
    """Whether one of the reactions may do virtual work."""
    return any(row.law.reacts and not row.law.ideal for row in rows)


def have_friction(rows: Sequence[Row]) -> bool:
    """Whether one of the reactions rubs."""
    return any(row.law.rubs for row in rows)


def count_curved(rows: Sequence[Row]) -> int:
    """Number of rows, the last ones, for which A u' = b needs u'."""
    return sum(row.law.curved for row in rows)


def are_algebraic(rows: Sequence[Row]) -> bool:
    """Whether one of the unknowns follows from a law: all of u' and la are then solved for by Newton's method."""
    return not all(row.law.restrains for row in rows)


def implied_rows(rows: Sequence[Row]) -> tuple[int, ...]:
    """The rows that are not solved for, as the others imply them."""
    return tuple(k for k, row in enumerate(rows) if not row.law.reacts)


def rows_by_unknown(rows: Sequence[Row]) -> dict[int, int]:
    """The row that each unknown enforces."""
    return {row.law.unknown: k for k, row in enumerate(rows) if row.law.unknown is not None}
