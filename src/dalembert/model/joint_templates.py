"""Joints and springs by kind: written out once for bodies with coordinates of their own, then filled in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.dataclass import dataclass
from dalembert.model.instances import Frame, Template
from dalembert.model.markers import GROUND, Marker, axes_of, mark
from dalembert.model.quaternion import rotation_matrix
from dalembert.model.statement import Attitude, Body, Vector
from dalembert.model.vectors import ORIGIN, cross, derivative, plus, turned

PLAIN = frozenset({sp.S.Zero, sp.S.One, sp.S.NegativeOne})  # numbers that make a kind of their own


@dataclass(frozen=True)
class JointRow:
    """What must vanish, and the force and torque on the second body, at its marker, per unit of the multiplier."""

    expression: sp.Expr
    force: Vector
    torque: Vector
    unit: str = ""


Rows = Callable[[Marker, Marker], Sequence[JointRow]]


def fill_rows(kind: str, make: Rows, i: Marker, j: Marker, t: sp.Symbol) -> list[JointRow] | None:
    """The rows of a joint as instances of those of its kind; None for bodies that do not move by their coordinates."""
    if not _are_of_a_kind(i, j):
        return None
    values = [*_numbers(i), *_numbers(j)]
    key = _key(kind, i, j, values)
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = _state(key, make, i, j, t)
    template, units = found
    filled = template.fill([value for value in values if _kind(value) == VARIABLE])
    return [
        JointRow(filled[k], filled[k + 1 : k + 4], filled[k + 4 : k + 7], unit)
        for k, unit in zip(range(0, len(filled), 7), units, strict=True)
    ]


Between = Callable[..., Sequence[sp.Expr]]


def fill_between(
    kind: str, make: Between, i: Marker, j: Marker, numbers: Sequence[sp.Expr], t: sp.Symbol
) -> tuple[sp.Expr, ...] | None:
    """What `make` says of two positions and some `numbers`, as instances; None as in `fill_rows`."""
    if not _are_of_a_kind(i, j):
        return None
    values = [*_numbers(i), *_numbers(j), *numbers]
    key = _key(kind, i, j, values)
    template = _BETWEEN.get(key)
    if template is None:
        symbols = TemplateSymbols()
        ends = [symbols.marker(end, t).position for end in (i, j)]
        expressions = make(*ends, *map(symbols, numbers))  # before the symbols are all given
        template = _BETWEEN[key] = Template(key, symbols.given, expressions, symbols.frames)
    return template.fill([value for value in values if _kind(value) == VARIABLE])


def fill_moving(
    kind: str, make: Between, i: Marker, j: Marker, numbers: Sequence[sp.Expr], t: sp.Symbol
) -> tuple[sp.Expr, ...] | None:
    """What `make` says of two positions, their two velocities and some `numbers`, as instances; None as above."""
    rates = [_rates(end.body, t) for end in (i, j)]
    if not _are_of_a_kind(i, j) or None in rates:
        return None
    values = [*_numbers(i), *(rates[0] or ()), *_numbers(j), *(rates[1] or ()), *numbers]
    key = _key(kind, i, j, values)
    template = _BETWEEN.get(key)
    if template is None:
        symbols = TemplateSymbols()
        ends = []
        for end, own in zip((i, j), rates, strict=True):
            marker = symbols.marker(end, t)
            ends.append((marker.position, _velocity(marker, [symbols(rate) for rate in own or ()])))
        (start, v), (stop, w) = ends
        expressions = make(start, stop, v, w, *map(symbols, numbers))
        template = _BETWEEN[key] = Template(key, symbols.given, expressions, symbols.frames)
    return template.fill([value for value in values if _kind(value) == VARIABLE])


def _rates(body: Body, t: sp.Symbol) -> list[sp.Expr] | None:
    """The rates of the place of a body, then of its angle or its angular velocity; None if these are not known."""
    if body is GROUND:
        return []
    place = [derivative(c, t) if isinstance(c, AppliedUndef) else sp.S.Zero for c in body.position or ()]
    if body.velocity is not None or (body.attitude is Attitude.QUATERNION and body.angular_velocity is None):
        return None
    if body.attitude is Attitude.QUATERNION:
        return [*place, *(body.angular_velocity or ())]
    return [*place, derivative(body.rotation[0], t)] if body.angular_velocity is None else None


def _velocity(marker: Marker, rates: Sequence[sp.Expr]) -> Vector:
    """The velocity of a marker on a body in symbols, with the rates of that body."""
    if not rates:
        return ORIGIN
    x, y, z, *turning = rates
    spin = turning if len(turning) == 3 else [sp.S.Zero, sp.S.Zero, turning[0]]  # about z it is the same in all axes
    return plus((x, y, z), turned(axes_of(marker.body), cross((spin[0], spin[1], spin[2]), marker.place)))


VARIABLE = "variable"
_KNOWN: dict[Hashable, tuple[Template, list[str]]] = {}
_BETWEEN: dict[Hashable, Template] = {}


def _are_of_a_kind(i: Marker, j: Marker) -> bool:
    """Whether two markers are on different bodies that move by coordinates of their own."""
    return i.body is not j.body and _has_own_coordinates(i.body) and _has_own_coordinates(j.body)


def _key(kind: str, i: Marker, j: Marker, values: Sequence[sp.Expr]) -> Hashable:
    attitudes = (body.attitude if body is not GROUND else "ground" for body in (i.body, j.body))
    return (kind, *attitudes, *map(_kind, values))


def _has_own_coordinates(body: Body) -> bool:
    if body is GROUND:
        return True
    known = body.attitude in (Attitude.ANGLE, Attitude.QUATERNION) and body.position is not None
    entries = (*(body.position or ()), *body.rotation)
    return known and all(e == 0 or isinstance(e, AppliedUndef) for e in entries)


def _numbers(marker: Marker) -> list[sp.Expr]:
    """What a marker on a body of its kind is: coordinates, place and axes."""
    body, axes = marker.body, [c for axis in marker.axes for c in axis]
    own = [] if body is GROUND else [*(body.position or ()), *body.rotation]
    return [*own, *marker.place, *axes]


def _kind(value: sp.Expr) -> Hashable:
    """The number itself where it makes terms vanish or factors 1, else that it varies."""
    return value if value.is_Integer and value in PLAIN else VARIABLE


def _state(key: Hashable, make: Rows, i: Marker, j: Marker, t: sp.Symbol) -> tuple[Template, list[str]]:
    """The rows of a kind in symbols, and their units."""
    symbols = TemplateSymbols()
    rows = [row for row in make(symbols.marker(i, t), symbols.marker(j, t)) if row.expression != 0]
    expressions = [e for row in rows for e in (row.expression, *row.force, *row.torque)]
    return Template(key, symbols.given, expressions, symbols.frames), [row.unit for row in rows]


class TemplateSymbols:
    """Symbols in the place of what varies, in the order in which they were `given`, and `frames` in terms of them."""

    def __init__(self) -> None:
        self.given: list[sp.Symbol] = []
        self.frames: list[Frame] = []

    def __call__(self, value: sp.Expr) -> sp.Expr:
        """A number that makes a kind of its own as it is, a new symbol for anything else."""
        if value in PLAIN:
            return value
        self.given.append(sp.Symbol(f"x{len(self.given):03d}"))
        return self.given[-1]

    def marker(self, marker: Marker, t: sp.Symbol) -> Marker:
        """A marker on a body of the same kind, in symbols."""
        body = marker.body
        if body is not GROUND:
            x, y, z = map(self, body.position or ())
            attitude, rotation = body.attitude, tuple(map(self, body.rotation))
            if attitude is Attitude.QUATERNION:
                attitude, rotation = Attitude.MATRIX, self._frame((x, y, z), rotation)
            body = Body(f"body{len(self.given)}", (x, y, z), attitude=attitude, rotation=rotation)
        px, py, pz = map(self, marker.place)
        ax, ay, az = ((self(axis[0]), self(axis[1]), self(axis[2])) for axis in marker.axes)
        return mark(body.name, body, (px, py, pz), (ax, ay, az), t)

    def _frame(self, position: Vector, quaternion: tuple[sp.Expr, ...]) -> tuple[sp.Symbol, ...]:
        """The symbols of the rotation matrix of one more frame."""
        matrix = sp.symbols(f"r{len(self.frames)}_0:9")
        self.frames.append(Frame(position, quaternion, matrix, tuple(rotation_matrix(quaternion))))
        return self.frames[-1].matrix
