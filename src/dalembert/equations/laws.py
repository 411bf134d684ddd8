"""The law of each constraint row: what its multiplier may do, and along what it acts.

With r = W^T la - F^T |la| + c the reaction, a law says what row k of W is and whether row k of F is there:

    Bilateral            W_k = A_k, known from the state; la of either sign
    Servo                W_k = B_j^T: the multiplier is the unknown y_j and acts through the forces
    CoulombFriction      W_k = A_k, and F_k |la|: the reaction rubs
    CurvedAcceleration   A_k = dg/du' depends on u', so that it is known at the solution only
    Implied              W_k = 0: no reaction; the other equations keep the row once it holds
    Algebraic            W_k = B_j^T, and g_k(q, u, u', la, t) = 0 determines the unknown y_j; it restrains no motion

A further law is one more class here and a line in `law_of`, which says what statement has it. One that adds more than
W_k la to the reaction has its term in `Mechanics.multiplier_forces` and its place in the native solve, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import casadi as ca

from dalembert.dataclass import dataclass
from dalembert.model.statement import Constraint, Level, Role, Statement


class Law(Protocol):
    """What can be asked of every law.

    `unknown` is the index of the unknown that stands for the multiplier, None if there is none; `rubs` says that the
    row has friction, `curved` that A_k depends on u'; `kind` is the word for it in a report.
    """

    @property
    def unknown(self) -> int | None: ...

    @property
    def rubs(self) -> bool: ...

    @property
    def curved(self) -> bool: ...

    @property
    def kind(self) -> str: ...

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:
        """W_k (1, nu) from A_k (1, nu) and B (nu, ny), how the unknowns act."""
        ...


@dataclass(frozen=True)
class Bilateral:
    """An ideal reaction: along the gradient of the constraint, of either sign."""

    unknown: ClassVar[int | None] = None
    rubs: ClassVar[bool] = False
    curved: ClassVar[bool] = False
    kind: ClassVar[str] = "ideal"

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """A_k, (1, nu)."""
        return gradient


@dataclass(frozen=True)
class Servo:
    """The unknown of this index enforces the constraint; it acts through the forces."""

    unknown: int
    rubs: ClassVar[bool] = False
    curved: ClassVar[bool] = False
    kind: ClassVar[str] = "servo"

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """B_j^T, (1, nu)."""
        return B[:, self.unknown].T


@dataclass(frozen=True)
class CoulombFriction:
    """A bilateral row whose reaction rubs: -F_k^T |la| comes with it, opposed to sliding."""

    unknown: ClassVar[int | None] = None
    rubs: ClassVar[bool] = True
    curved: ClassVar[bool] = False
    kind: ClassVar[str] = "non-ideal"

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """A_k, (1, nu)."""
        return gradient


@dataclass(frozen=True)
class CurvedAcceleration:
    """A row g(q, u, u', t) = 0 whose gradient depends on u'; its multiplier acts as the law `along` says.

    All acceleration rows are solved together: if one of them is not linear in u', all of them have this law.
    """

    along: Bilateral | Servo | CoulombFriction
    curved: ClassVar[bool] = True

    @property
    def unknown(self) -> int | None:
        """That of the law along which it acts."""
        return self.along.unknown

    @property
    def rubs(self) -> bool:
        """As the law along which it acts."""
        return self.along.rubs

    @property
    def kind(self) -> str:
        """As the law along which it acts."""
        return self.along.kind

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:
        """As the law along which it acts, (1, nu)."""
        return self.along.direction(gradient, B)


@dataclass(frozen=True)
class Algebraic:
    """A law g(q, u, u', la, t) = 0 that determines the unknown of this index, which acts through the forces.

    Newton's method looks for the unknown from `start` on.
    """

    unknown: int
    start: float = 0.0
    rubs: ClassVar[bool] = False
    curved: ClassVar[bool] = True
    kind: ClassVar[str] = "law"

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """B_j^T, (1, nu)."""
        return B[:, self.unknown].T


@dataclass(frozen=True)
class Implied:
    """A row without a reaction; the other equations keep it once it holds, so that it is not among those solved."""

    unknown: ClassVar[int | None] = None
    rubs: ClassVar[bool] = False
    curved: ClassVar[bool] = False
    kind: ClassVar[str] = "implied"

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """Zero, (1, nu)."""
        return ca.SX(*gradient.shape)


def law_of(statement: Statement, constraint: Constraint, *, bent: bool) -> Law:
    """The law of a constraint as stated; `bent` says that an acceleration row is not linear in u'."""
    law: Bilateral | Servo | CoulombFriction = Bilateral()
    if constraint.role is Role.CONDITION:
        return Implied()
    if constraint.law and constraint.servo is not None:
        unknown = constraint.servo
        return Algebraic(statement.unknowns.index(unknown), statement.starts.get(unknown, 0.0))
    if constraint.servo is not None:
        law = Servo(statement.unknowns.index(constraint.servo))
    elif any(friction.constraint == constraint.name for friction in statement.frictions):
        law = CoulombFriction()
    return CurvedAcceleration(law) if bent and constraint.level is Level.ACCELERATION else law


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


def are_ideal(rows: Sequence[Row]) -> bool:
    """Whether every multiplier acts along A, known from the state, and nothing comes with it: r = A^T la + c."""
    return all(isinstance(row.law, Bilateral) for row in rows)


def have_friction(rows: Sequence[Row]) -> bool:
    """Whether one of the reactions rubs."""
    return any(row.law.rubs for row in rows)


def count_curved(rows: Sequence[Row]) -> int:
    """Number of rows, the last ones, for which A u' = b needs u'."""
    return sum(row.law.curved for row in rows)


def are_algebraic(rows: Sequence[Row]) -> bool:
    """Whether one of the unknowns follows from a law: all of u' and la are then solved for by Newton's method."""
    return any(isinstance(row.law, Algebraic) for row in rows)


def implied_rows(rows: Sequence[Row]) -> tuple[int, ...]:
    """The rows that are not solved for, as the others imply them."""
    return tuple(k for k, row in enumerate(rows) if isinstance(row.law, Implied))


def rows_by_unknown(rows: Sequence[Row]) -> dict[int, int]:
    """The row that each unknown enforces."""
    return {row.law.unknown: k for k, row in enumerate(rows) if row.law.unknown is not None}
