"""Joints and springs by kind: written out once for bodies with coordinates of their own, then filled in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.model.instances import FilledVectors, Frame, Template
from dalembert.model.markers import GROUND, Marker, axes_of, mark
from dalembert.model.quaternion import rotation_matrix
from dalembert.model.reading import INFINITE, nodes
from dalembert.model.statement import Attitude, Body, Vector
from dalembert.model.time_symbols import is_undefined_function
from dalembert.model.vectors import cross, derivative, plus, turned

PLAIN = frozenset({sp.S.Zero, sp.S.One, sp.S.NegativeOne})  # numbers that make a kind of their own


@dataclass(frozen=True)
class JointRow:
    """One constraint of a joint: an expression that must vanish, and the reaction per unit of its multiplier.

    `force` and `torque` act on the second body at its marker.
    """

    expression: sp.Expr
    force: Vector
    torque: Vector
    unit: str = ""


Pushes = tuple[tuple[Vector, ...], tuple[Vector, ...]]  # forces and torques, row by row


@dataclass(frozen=True)
class JointRows:
    """The expressions of rows, their units, and a function that writes out the forces and torques that go with them."""

    expressions: tuple[sp.Expr, ...]
    units: tuple[str, ...]
    pushes: Callable[[], Pushes]

    @classmethod
    def of(cls, rows: Sequence[JointRow]) -> JointRows:
        """Rows that are written out."""
        pushes = tuple(row.force for row in rows), tuple(row.torque for row in rows)
        return cls(tuple(row.expression for row in rows), tuple(row.unit for row in rows), lambda: pushes)

    def __add__(self, more: JointRows) -> JointRows:
        """These rows and more of them."""

        def pushes() -> Pushes:
            own, other = self.pushes(), more.pushes()
            return own[0] + other[0], own[1] + other[1]

        return JointRows(self.expressions + more.expressions, self.units + more.units, pushes)


Rows = Callable[..., Sequence[JointRow]]
Make = Callable[..., Sequence[sp.Expr]]


class Ends(NamedTuple):
    """Markers as arguments of templates: the key of their kind, their numbers, and markers made of symbols."""

    kind: tuple[Hashable, ...]
    numbers: list[sp.Expr]
    mark: Callable[[TemplateSymbols], list[Marker]]


def both(first: Ends | None, second: Ends | None) -> Ends | None:
    """The markers of two pairs; None if one of these is."""
    if first is None or second is None:
        return None
    numbers = [*first.numbers, *second.numbers]
    return Ends((*first.kind, *second.kind), numbers, lambda symbols: [*first.mark(symbols), *second.mark(symbols)])


def still(i: Marker, j: Marker, t: sp.Symbol) -> Ends | None:
    """Two markers with their places and axes; None if they are not on bodies that move by coordinates of their own."""
    if i.body is j.body or not (_has_own_coordinates(i.body) and _has_own_coordinates(j.body)):
        return None
    numbers = [*_numbers(i), *_numbers(j)]
    return Ends(_attitudes(i, j), numbers, lambda symbols: [symbols.marker(end, t) for end in (i, j)])


def moving(i: Marker, j: Marker, t: sp.Symbol) -> Ends | None:
    """Like `still`, with the velocities of the markers and the angular velocities of their bodies."""
    rates = [_rates(end.body, t) for end in (i, j)] if still(i, j, t) is not None else [None, None]
    if rates[0] is None or rates[1] is None:
        return None
    numbers = [*_numbers(i), *rates[0], *_numbers(j), *rates[1]]
    return Ends(
        ("moving", *_attitudes(i, j)), numbers, lambda symbols: [symbols.moving_marker(end, t) for end in (i, j)]
    )


def fill_rows(kind: str, make: Rows, ends: Ends | None, numbers: Sequence[sp.Expr] = ()) -> JointRows | None:
    """The rows that `make` returns for these markers and numbers, as instances of the template of their kind.

    None if `ends` is None, or if the rows of the template are infinite.
    """
    if ends is None:
        return None
    values = [*ends.numbers, *numbers]
    kinds = [*map(_kind, values)]
    key = (kind, make.__name__, *ends.kind, *kinds)
    if key not in _ROWS:
        symbols = TemplateSymbols()
        rows = [row for row in make(*ends.mark(symbols), *map(symbols, numbers)) if row.expression != 0]
        pushed = [e for row in rows for e in (*row.force, *row.torque)]
        expressions = [*(row.expression for row in rows), *pushed]
        _ROWS[key] = _template(key, symbols, expressions), tuple(row.unit for row in rows)
    template, units = _ROWS[key]
    if template is None:
        return None
    arguments = [value for value, own in zip(values, kinds, strict=True) if own is VARIABLE]
    return JointRows(template.fill(arguments, len(units)), units, lambda: _pushes(template, arguments, len(units)))


def _pushes(template: Template, arguments: Sequence[sp.Expr], count: int) -> Pushes:
    """The forces and torques of a template of rows: six expressions for each of `count` rows, after these."""
    e = template.fill(arguments)[count:]
    forces = tuple((e[k], e[k + 1], e[k + 2]) for k in range(0, 6 * count, 6))
    return forces, tuple((e[k + 3], e[k + 4], e[k + 5]) for k in range(0, 6 * count, 6))


def fill(kind: str, make: Make, ends: Ends | None, numbers: Sequence[sp.Expr] = ()) -> tuple[sp.Expr, ...] | None:
    """The expressions that `make` returns for these markers and numbers, as instances of the template of their kind.

    None in the same cases as `fill_rows`.
    """
    found = _filled(kind, make, ends, numbers)
    return None if found is None else found[0].fill(found[1])


def fill_line(kind: str, make: Callable[..., Sequence[Vector]], ends: Ends | None) -> FilledVectors | None:
    """The points that `make` returns for two markers, as instances of the template of their kind; else None."""

    def components(*markers: Marker) -> list[sp.Expr]:
        return [c for point in make(*markers) for c in point]

    found = _filled(kind, components, ends)
    return None if found is None else FilledVectors(*found)


def _filled(
    kind: str, make: Make, ends: Ends | None, numbers: Sequence[sp.Expr] = ()
) -> tuple[Template, list[sp.Expr]] | None:
    """The template of the expressions that `make` returns, and its arguments; None as for `fill_rows`."""
    if ends is None:
        return None
    values = [*ends.numbers, *numbers]
    key = (kind, make.__name__, *ends.kind, *map(_kind, values))
    if key not in _EXPRESSIONS:
        symbols = TemplateSymbols()
        expressions = make(*ends.mark(symbols), *map(symbols, numbers))  # before the symbols are all given
        _EXPRESSIONS[key] = _template(key, symbols, expressions)
    template = _EXPRESSIONS[key]
    return None if template is None else (template, _varying(values))


def fill_drawing(kind: str, make: Callable[..., Sequence[Vector]], marker: Marker, *sizes: sp.Expr) -> FilledVectors:
    """The places in body axes that `make` says of place, x and y axis of a marker and sizes, as instances."""
    numbers = [*marker.place, *marker.axes[0], *marker.axes[1], *sizes]
    key = (kind, *map(_kind, numbers))
    if key not in _DRAWINGS:
        symbols = TemplateSymbols()
        n = [symbols(number) for number in numbers]
        places = make((n[0], n[1], n[2]), (n[3], n[4], n[5]), (n[6], n[7], n[8]), *n[9:])
        _DRAWINGS[key] = Template(key, symbols.given, [c for place in places for c in place])
    return FilledVectors(_DRAWINGS[key], _varying(numbers))


def _template(key: Hashable, symbols: TemplateSymbols, expressions: Sequence[sp.Expr]) -> Template | None:
    """Template of expressions in these symbols; None if an expression is infinite. Callers then report the fault."""
    infinite = not INFINITE.isdisjoint(nodes(*expressions))
    return None if infinite else Template(key, symbols.given, expressions, symbols.frames)


def _varying(values: Sequence[sp.Expr]) -> list[sp.Expr]:
    return [value for value in values if _kind(value) is VARIABLE]


def _rates(body: Body, t: sp.Symbol) -> list[sp.Expr] | None:
    """The rates of the place of a body, then of its angle or its angular velocity; None if these are not known."""
    if body is GROUND:
        return []
    place = [derivative(c, t) if is_undefined_function(c) else sp.S.Zero for c in body.position or ()]
    if body.velocity is not None or (body.attitude is Attitude.QUATERNION and body.angular_velocity is None):
        return None
    if body.attitude is Attitude.QUATERNION:
        return [*place, *(body.angular_velocity or ())]
    return [*place, derivative(body.rotation[0], t)] if body.angular_velocity is None else None


VARIABLE = "variable"
_ROWS: dict[Hashable, tuple[Template | None, tuple[str, ...]]] = {}  # with the units of the rows
_DRAWINGS: dict[Hashable, Template] = {}
_EXPRESSIONS: dict[Hashable, Template | None] = {}


def _attitudes(i: Marker, j: Marker) -> tuple[Hashable, ...]:
    return tuple("ground" if body is GROUND else body.attitude for body in (i.body, j.body))


def _has_own_coordinates(body: Body) -> bool:
    if body is GROUND:
        return True
    known = body.attitude in (Attitude.ANGLE, Attitude.QUATERNION) and body.position is not None
    entries = (*(body.position or ()), *body.rotation)
    return known and all(is_undefined_function(e) or e == 0 for e in entries)


def _numbers(marker: Marker) -> list[sp.Expr]:
    """Template arguments of a marker: position and rotation of its body (none for the ground), place and axes."""
    body, axes = marker.body, [c for axis in marker.axes for c in axis]
    own = [] if body is GROUND else [*(body.position or ()), *body.rotation]
    return [*own, *marker.place, *axes]


def _kind(value: sp.Expr) -> Hashable:
    """The number itself where it makes terms vanish or factors 1, else that it varies."""
    return _PLAIN_KINDS.get(id(value), VARIABLE)


_PLAIN_KINDS: dict[int, Hashable] = {id(number): int(number) for number in PLAIN}  # of which SymPy has one object each


class TemplateSymbols:
    """Symbols for the arguments of a template, in the order in which they were `given`, and its `frames`."""

    def __init__(self) -> None:
        self.given: list[sp.Symbol] = []
        self.frames: list[Frame] = []

    def __call__(self, value: sp.Expr) -> sp.Expr:
        """A number that is part of the kind as it is; a new symbol for anything else."""
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

    def moving_marker(self, marker: Marker, t: sp.Symbol) -> Marker:
        """A marker on a body of the same kind that moves, in symbols."""
        known = self.marker(marker, t)
        rates = [self(rate) for rate in _rates(marker.body, t) or ()]
        if not rates:
            return known
        x, y, z, *turning = rates
        if marker.body.attitude is Attitude.QUATERNION:
            self.frames[-1] = replace(self.frames[-1], rates=(x, y, z, *turning))
        spin = (turning[0], turning[1], turning[2]) if len(turning) == 3 else (sp.S.Zero, sp.S.Zero, turning[0])
        body = replace(known.body, velocity=(x, y, z), angular_velocity=spin)
        velocity = plus((x, y, z), turned(axes_of(body), cross(spin, known.place)))
        return replace(known, body=body, velocity=velocity)

    def _frame(self, position: Vector, quaternion: tuple[sp.Expr, ...]) -> tuple[sp.Symbol, ...]:
        """The symbols of the rotation matrix of one more frame."""
        matrix = sp.symbols(f"r{len(self.frames)}_0:9")
        self.frames.append(Frame(position, quaternion, matrix, tuple(rotation_matrix(quaternion))))
        return self.frames[-1].matrix
