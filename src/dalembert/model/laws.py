"""Laws of constraint rows: the sign and direction of the multiplier, and how a model states them.

With r = W^T la - F^T |la| + c the reaction, a law says what row k of W is and whether row k of F is there:

    Bilateral            W_k = A_k, known from the state; la of either sign
    Servo                W_k = B_j^T: the multiplier is the unknown y_j and acts through the forces
    CoulombFriction      W_k = A_k, and F_k |la|: the reaction rubs
    CurvedAcceleration   A_k = dg/du' depends on u', so that it is known at the solution only
    Implied              W_k = 0: no reaction; the other equations keep the row once it holds
    Algebraic            W_k = B_j^T, and g_k(q, u, u', la, t) = 0 determines the unknown y_j; it restrains no motion

A constraint carries its law as a value. Most laws are stated as they are. Those with an unknown are stated with its
symbol: `EnforcedBy` becomes a `Servo`, `Determines` an `Algebraic` law when the model is compiled.

A further law is one more class here, derived from `Law`; `Model.constrain` takes a value of it, `law=`. A verb of its
own is a method of `Model` that hands such a value on. A law that adds more than W_k la to the reaction has its term in
`Mechanics.multiplier_forces` and its place in the native solve, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dalembert.dataclass import dataclass

if TYPE_CHECKING:
    import casadi as ca
    import sympy as sp


class Stated(Protocol):
    """Interface of a statement to laws: its unknowns, their initial guesses, and its frictions."""

    @property
    def unknowns(self) -> Sequence[sp.Expr]: ...

    @property
    def starts(self) -> Mapping[sp.Expr, float]: ...

    @property
    def frictions(self) -> Sequence[Any]: ...


class StatedLaw(Protocol):
    """A law as a constraint states it, in the symbols of the model.

    `symbol` is the unknown that the row determines, None if there is none. `ideal` says that its reaction is ideal, as
    far as nothing is stated besides; `restrains` that the row restrains the motion, `reacts` that it has a reaction.
    """

    @property
    def symbol(self) -> sp.Expr | None: ...

    @property
    def ideal(self) -> bool: ...

    @property
    def restrains(self) -> bool: ...

    @property
    def reacts(self) -> bool: ...

    def lowered(self, statement: Stated, name: str) -> Law:
        """The law of the row of this name, whose numbers are those of the compiled system."""
        ...


class Law(ABC):
    """A law, as a frozen dataclass: it says `direction`, and which of these attributes differ.

    `kind` is the word for it in a report. `ideal` says that W_k = A_k is known from the state and nothing comes with
    it: then the reaction does no virtual work. `unknown` is the index of the unknown that stands for the multiplier,
    None if there is none, and `start` where Newton's method looks for it. `rubs` says that the row has friction,
    `curved` that A_k depends on u'. `restrains` and `reacts` are those of `StatedLaw`.
    """

    kind: str = "non-ideal"
    ideal: bool = False
    unknown: int | None = None
    start: float = 0.0
    rubs: bool = False
    curved: bool = False
    restrains: bool = True
    reacts: bool = True
    symbol: sp.Expr | None = None

    @abstractmethod
    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:
        """W_k (1, nu) from A_k (1, nu) and B (nu, ny), how the unknowns act."""

    def lowered(self, statement: Stated, name: str) -> Law:  # noqa: ARG002 - every stated law is asked alike
        """The law itself: it is stated without symbols."""
        return self


@dataclass(frozen=True)
class Bilateral(Law):
    """An ideal reaction: along the gradient of the constraint, of either sign."""

    kind = "ideal"
    ideal = True

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """A_k, (1, nu)."""
        return gradient

    def lowered(self, statement: Stated, name: str) -> Law:
        """`CoulombFriction` if the constraint has friction, else the law itself."""
        rubs = any(friction.constraint == name for friction in statement.frictions)
        return CoulombFriction() if rubs else self


IDEAL = Bilateral()


@dataclass(frozen=True)
class CoulombFriction(Law):
    """A bilateral row whose reaction rubs: -F_k^T |la| comes with it, opposed to sliding."""

    rubs = True

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """A_k, (1, nu)."""
        return gradient


@dataclass(frozen=True)
class EnforcedBy:
    """Stated: this unknown enforces the constraint; it acts through the forces."""

    symbol: sp.Expr
    ideal = False
    restrains = True
    reacts = True

    def lowered(self, statement: Stated, name: str) -> Law:  # noqa: ARG002 - every stated law is asked alike
        """A `Servo` row."""
        return Servo(statement.unknowns.index(self.symbol))


@dataclass(frozen=True)
class Servo(Law):
    """The unknown of this index enforces the constraint; it acts through the forces."""

    unknown: int
    kind = "servo"

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """B_j^T, (1, nu)."""
        return B[:, self.unknown].T


@dataclass(frozen=True)
class Determines:
    """Stated: the equation determines this unknown, which acts through the forces, and restrains no motion."""

    symbol: sp.Expr | None  # None after a fault
    ideal = False
    restrains = False
    reacts = True

    def lowered(self, statement: Stated, name: str) -> Law:  # noqa: ARG002 - every stated law is asked alike
        """An `Algebraic` row."""
        return Algebraic(statement.unknowns.index(self.symbol), statement.starts.get(self.symbol, 0.0))


@dataclass(frozen=True)
class Algebraic(Law):
    """A law g(q, u, u', la, t) = 0 that determines the unknown of this index, which acts through the forces.

    Newton's method looks for the unknown from `start` on.
    """

    unknown: int
    start: float = 0.0
    kind = "law"
    curved = True
    restrains = False

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """B_j^T, (1, nu)."""
        return B[:, self.unknown].T


@dataclass(frozen=True)
class Implied(Law):
    """A row without a reaction; the other equations keep it once it holds, so that it is not among those solved."""

    kind = "implied"
    reacts = False

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:  # noqa: ARG002 - every law is asked alike
        """Zero, (1, nu)."""
        return type(gradient)(*gradient.shape)


@dataclass(frozen=True)
class CurvedAcceleration(Law):
    """A row g(q, u, u', t) = 0 whose gradient depends on u'; its multiplier acts as the law `along` says.

    All acceleration rows are solved together: if one of them is not linear in u', all of them have this law.
    """

    along: Law
    curved = True

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Kind of the law along which it acts."""
        return self.along.kind

    @property
    def unknown(self) -> int | None:  # type: ignore[override]
        """Index of the unknown of the law along which it acts; None if that has none."""
        return self.along.unknown

    @property
    def rubs(self) -> bool:  # type: ignore[override]
        """True if the law along which it acts rubs."""
        return self.along.rubs

    def direction(self, gradient: ca.SX, B: ca.SX) -> ca.SX:
        """W_k of the law along which it acts, (1, nu)."""
        return self.along.direction(gradient, B)
