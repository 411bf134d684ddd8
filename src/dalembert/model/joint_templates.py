"""The rows of joints by kind: written out once for bodies with coordinates of their own, then filled in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model.instances import Template
from dalembert.model.markers import GROUND, Marker, mark
from dalembert.model.statement import Attitude, Body, Vector

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
    if i.body is j.body or not (_has_own_coordinates(i.body) and _has_own_coordinates(j.body)):
        return None
    values = [*_numbers(i), *_numbers(j)]
    key = (kind, *(body.attitude if body is not GROUND else "ground" for body in (i.body, j.body)), *map(_kind, values))
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = _state(key, make, i, j, t)
    template, units = found
    filled = template.fill([value for value in values if _kind(value) == VARIABLE])
    return [
        JointRow(filled[k], filled[k + 1 : k + 4], filled[k + 4 : k + 7], unit)
        for k, unit in zip(range(0, len(filled), 7), units, strict=True)
    ]


VARIABLE = "variable"
_KNOWN: dict[Hashable, tuple[Template, list[str]]] = {}


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
    return value if value in PLAIN else VARIABLE


def _state(key: Hashable, make: Rows, i: Marker, j: Marker, t: sp.Symbol) -> tuple[Template, list[str]]:
    """The rows of a kind in symbols, and their units."""
    symbols: list[sp.Symbol] = []

    def symbol(value: sp.Expr) -> sp.Expr:
        if value in PLAIN:
            return value
        symbols.append(sp.Symbol(f"x{len(symbols):03d}"))
        return symbols[-1]

    ends = []
    for k, marker in enumerate((i, j)):
        body = marker.body
        if body is not GROUND:
            x, y, z = map(symbol, body.position or ())
            rotation = tuple(map(symbol, body.rotation))
            body = Body(f"body{k}", (x, y, z), attitude=body.attitude, rotation=rotation)
        px, py, pz = map(symbol, marker.place)
        ax, ay, az = ((symbol(axis[0]), symbol(axis[1]), symbol(axis[2])) for axis in marker.axes)
        ends.append(mark(body.name, body, (px, py, pz), (ax, ay, az), t))
    rows = [row for row in make(*ends) if row.expression != 0]
    return Template(key, symbols, [e for row in rows for e in (row.expression, *row.force, *row.torque)]), [
        row.unit for row in rows
    ]
