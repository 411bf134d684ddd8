"""The statement of a mechanical system as a user gives it: frozen records of SymPy expressions.

A `Model` collects these; `dalembert.equations` reads them. Vectors are 3-tuples (planar ones padded with zero).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.model.instances import explicit
from dalembert.model.laws import IDEAL, StatedLaw
from dalembert.model.when_asked import WhenAsked

Vector = tuple[sp.Expr, sp.Expr, sp.Expr]


class Level(enum.Enum):
    """The highest derivative a constraint contains."""

    POSITION = "position"
    VELOCITY = "velocity"
    ACCELERATION = "acceleration"


@dataclass(frozen=True)
class Point:
    """A place that moves with the system: its position, or its velocity in the speeds (Kane's way), or both."""

    name: str
    position: Vector | None = None
    velocity: Vector | None = None


@dataclass(frozen=True)
class Particle(Point):
    """A point with mass. As a `part` of a larger object, such as a beam, it is not drawn and has no name for users."""

    mass: sp.Expr = sp.S.Zero
    part: bool = False


class Attitude(enum.Enum):
    """Ways to state the orientation of a body."""

    ANGLE = "angle"  # planar: one angle about z
    MATRIX = "matrix"  # nine entries, columns are the body axes in inertial components
    QUATERNION = "quaternion"  # scalar first, unit norm
    NONE = "none"  # only an angular velocity is given


@dataclass(frozen=True)
class Body(Point):
    """A rigid body: `position` is that of its mass centre, `inertia` is central and in body axes.

    `rotation` holds 1, 9 (row by row) or 4 entries, as `attitude` says. `angular_velocity`, if given, is in body
    axes; otherwise it follows from the rotation. `axes_angular_velocity` is that of the axes themselves, in these axes,
    where they are not fixed in the body (Resal's axes: a wheel stated in the axes of its fork).
    """

    mass: sp.Expr = sp.S.Zero
    inertia: tuple[sp.Expr, ...] = ()  # one entry (about z) or nine, row by row
    attitude: Attitude = Attitude.NONE
    rotation: tuple[sp.Expr, ...] = ()
    angular_velocity: Vector | None = None
    axes_angular_velocity: Vector | None = None


@dataclass(frozen=True)
class Force:
    """A force in inertial components, acting at a point."""

    vector: Vector
    at: Point


@dataclass(frozen=True)
class Torque:
    """A torque in inertial components, acting on a body."""

    vector: Vector
    on: Body


@dataclass(frozen=True)
class Energy:
    """A kinetic and a potential energy, to be treated by Lagrange's equations."""

    kinetic: sp.Expr
    potential: sp.Expr


@dataclass(frozen=True)
class Matrices:
    """Raw M u' = F in the order of the speeds."""

    mass: sp.Matrix
    force: sp.Matrix


@dataclass(frozen=True)
class Constraint:
    """An expression that must stay zero, and the `law` of its multiplier, see `model.laws`."""

    name: str
    stated: sp.Expr  # may be an instance of a template, not written out
    level: Level
    law: StatedLaw = IDEAL
    unit: str = ""  # of the expression, for messages

    @property
    def expression(self) -> sp.Expr:
        """The constraint expression, written out. It must stay zero."""
        return explicit(self.stated)

    @property
    def servo(self) -> sp.Expr | None:
        """The unknown that it determines, None if it has a reaction of its own or none."""
        return self.law.symbol

    @property
    def multiplier(self) -> sp.Symbol:
        """The symbol of its multiplier, for laws, outputs and events."""
        return sp.Symbol(self.name)


@dataclass(frozen=True)
class Joint:
    """A joint between two markers: its constraints, and the forces and torques of their multipliers.

    `forces` and `torques` hold, for each of `rows` (names of constraints), the force on the second body at its marker
    and the torque about it per unit of the multiplier, in inertial components.
    """

    name: str
    kind: str
    first: Any  # markers
    second: Any
    rows: tuple[str, ...]
    forces: tuple[tuple[sp.Expr, ...], ...]
    torques: tuple[tuple[sp.Expr, ...], ...]

    if not TYPE_CHECKING:
        forces = WhenAsked()
        torques = WhenAsked()


@dataclass(frozen=True)
class Element:
    """A spring, damper, actuator or motor between two markers, and its effort.

    Without an `axis` the `effort` is the force that pushes the two places apart. With one, in inertial components, it
    is the torque on the second body about it; `angle`, if there is one, is what that torque works on.
    """

    name: str
    kind: str
    first: Any  # markers
    second: Any
    effort: sp.Expr
    axis: Vector | None = None
    angle: sp.Expr | None = None


@dataclass(frozen=True)
class Output:
    """A quantity to be read by name along a motion: one expression, or several with `labels` appended to the name."""

    name: str
    expressions: tuple[sp.Expr, ...]
    labels: tuple[str, ...] = ()  # of the components, such as ".x" or "[0]"; none for one expression


@dataclass(frozen=True)
class Friction:
    """Coulomb friction tied to the multiplier la of a constraint that acts at a point.

    The force on the point is -mu |la| |n| v / sqrt(v.v + v0^2): n is the reaction there per unit of la, v the sliding
    velocity (relative to `surface_velocity`, without its part along n), mu the `coefficient`, v0 the `regularisation`.
    """

    constraint: str
    coefficient: sp.Expr
    at: Point
    regularisation: sp.Expr
    surface_velocity: Vector = (sp.S.Zero, sp.S.Zero, sp.S.Zero)

    @property
    def label(self) -> str:
        """Name of the friction in messages."""
        return f"friction on `{self.constraint}`"


@dataclass(frozen=True)
class Line:
    """Drawing data: a polyline through points."""

    name: str
    points: Sequence[Vector]


@dataclass
class Statement:
    """The whole statement of a model: its records, in the order in which they were stated."""

    name: str
    time: sp.Symbol
    coordinates: list[sp.Expr] = field(default_factory=list)
    speeds: list[sp.Expr] = field(default_factory=list)
    kinematics: list[sp.Expr] = field(default_factory=list)  # each zero, linear in the coordinate rates
    parameters: dict[sp.Symbol, float] = field(default_factory=dict)
    followers: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)  # parameters given by others, in that order
    unknowns: list[sp.Expr] = field(default_factory=list)
    starts: dict[sp.Expr, float] = field(default_factory=dict)  # where Newton's method looks for unknowns, if not at 0
    invariants: list[tuple[str, sp.Expr]] = field(default_factory=list)  # zero by the kinematics themselves
    defaults: dict[sp.Expr, float] = field(default_factory=dict)  # where a guess starts, if not at zero
    particles: list[Particle] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    gravity: Vector = (sp.S.Zero, sp.S.Zero, sp.S.Zero)
    forces: list[Force] = field(default_factory=list)
    torques: list[Torque] = field(default_factory=list)
    generalized_forces: list[Mapping[sp.Expr, sp.Expr]] = field(default_factory=list)
    energies: list[Energy] = field(default_factory=list)
    matrices: list[Matrices] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    nonideal_forces: list[Force] = field(default_factory=list)  # prescribed parts of the reaction
    nonideal_generalized: list[Mapping[sp.Expr, sp.Expr]] = field(default_factory=list)
    frictions: list[Friction] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)  # of `Line` or, made of bodies and joints, `shapes.Link`
    shapes: list[Any] = field(default_factory=list)  # likewise, of springs, wheels and the like
    faults: list[str] = field(default_factory=list)
    # numbers that instances of a kind of elements have each for itself, and the parameters that stand for them
    slots: Mapping[float, sp.Symbol] = field(default_factory=dict)

    def copy(self) -> Statement:
        """The same statement in lists of its own, so that later additions to the model do not reach it."""
        return replace(self, **{f.name: copy(getattr(self, f.name)) for f in fields(self)})
