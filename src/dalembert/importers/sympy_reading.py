"""The motion, loads and energies that a SymPy object states, in components, with inputs replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import Particle, Point, ReferenceFrame, RigidBody, Vector, dynamicsymbols

from dalembert.dataclass import dataclass
from dalembert.errors import ModelError
from dalembert.importers.replacement import Replacement
from dalembert.importers.sympy_geometry import REST, Components, Geometry, Moving
from dalembert.importers.sympy_ingredients import Ingredients
from dalembert.model.reading import nodes


@dataclass(frozen=True, eq=False)  # by identity: comparing vectors of SymPy is slow
class Load:
    """A force at a point or a torque on a frame: the (angular) velocity there and the load, inertial components."""

    place: Point | ReferenceFrame
    vector: Vector
    velocity: Components
    components: Components


@dataclass(frozen=True)
class SympyReading:
    """The contents of a model read from SymPy. Constraints are lists of (name, expression that is zero)."""

    geometry: Geometry
    coordinates: list[sp.Expr]
    speeds: list[sp.Expr]
    kinematics: list[sp.Expr]
    moving: list[Moving]
    loads: list[Load]
    position: list[tuple[str, sp.Expr]]
    velocity: list[tuple[str, sp.Expr]]
    acceleration: list[tuple[str, sp.Expr]]
    kinetic: sp.Expr
    potential: sp.Expr
    origin: Point | None
    links: list[tuple[Any, list[Point]]]


def read_motion(source: Ingredients, specified: Mapping[Any, Any], name: str) -> SympyReading:
    """Read motion, loads, constraints and energies from the ingredients. Raises `ModelError` with all faults."""
    faults: list[str] = []
    replaced = _replacement(source, specified, faults)
    if faults:
        raise ModelError(name, faults)
    geometry = Geometry(source.frame or ReferenceFrame("inertial"), replaced)
    moving = _bodies(source, geometry, faults)
    loads = _loads(source, geometry, faults)
    kinetic, potential = _energies(source, replaced, faults)
    if faults:
        raise ModelError(name, faults)
    position, velocity, acceleration = (
        [(label, replaced(e)) for label, e in level]
        for level in (source.position, source.velocity, source.acceleration)
    )
    return SympyReading(
        geometry,
        source.coordinates,
        source.speeds,
        replaced.all(source.kinematics),
        moving,
        loads,
        position,
        velocity,
        acceleration,
        kinetic,
        potential,
        source.origin,
        source.links,
    )


def _replacement(source: Ingredients, specified: Mapping[Any, Any], faults: list[str]) -> Replacement:
    state = {*source.coordinates, *source.speeds}
    rules = dict.fromkeys(source.auxiliary, sp.S.Zero)
    for key, value in specified.items():
        symbol = dynamicsymbols(key) if isinstance(key, str) else key
        if symbol in state or not isinstance(symbol, sp.Symbol | AppliedUndef):
            faults.append(f"specified: `{key}` is not an input; only functions of time and constants can be given")
            continue
        try:
            rules[symbol] = sp.sympify(value, strict=True)
        except sp.SympifyError:
            faults.append(f"specified: `{key}` must be an expression or a number, got {value!r}")
    replaced = Replacement(rules)
    faults += [f"specified: `{key}` is given in terms of itself" for key in replaced.circular]
    return replaced


def _bodies(source: Ingredients, geometry: Geometry, faults: list[str]) -> list[Moving]:
    """The bodies that move. Bodies at rest, like the ground, are left out."""
    moving = []
    for k, body in enumerate(source.bodies):
        if not isinstance(body, RigidBody | Particle):
            faults.append(f"body {k + 1} must be a Particle or a RigidBody, got {body!r}")
            continue
        try:
            moving.append(geometry.moving(body, str(body.name)))
        except ValueError as error:
            faults.append(f"body `{body.name}`: {_sentence(error)}")
    moving = [m for m in moving if not m.rests]
    if not moving and not faults and source.lagrangian is None:
        faults.append("no body moves; were the speeds substituted in the velocities of points and frames?")
    return moving


def _loads(source: Ingredients, geometry: Geometry, faults: list[str]) -> list[Load]:
    """Loads that can do work; reactions of the ground are not among them."""
    loads = []
    for place, vector in source.loads:
        at_point = isinstance(place, Point)
        try:
            velocity = geometry.velocity(place) if at_point else geometry.angular_velocity(place)
            load = Load(place, vector, velocity, geometry.components(vector))
        except ValueError as error:
            faults.append(f"{'force at' if at_point else 'torque on'} `{place.name}`: {_sentence(error)}")
            continue
        if REST not in (load.velocity, load.components):
            loads.append(load)
    return loads


def _energies(source: Ingredients, replaced: Replacement, faults: list[str]) -> tuple[sp.Expr, sp.Expr]:
    """Kinetic and potential energy: terms of the Lagrangian with and without coordinate rates."""
    if source.lagrangian is None:
        return sp.S.Zero, replaced(source.potential)
    terms = sp.Add.make_args(replaced(source.lagrangian))
    rates = {q.diff(dynamicsymbols._t) for q in source.coordinates}  # noqa: SLF001 - SymPy's time symbol
    moving = [any(node in rates for node in nodes(term)) for term in terms]
    if not any(moving):
        faults.append("the Lagrangian contains no rate of a coordinate; were these substituted?")
    kinetic = sp.Add(*[term for term, moves in zip(terms, moving, strict=True) if moves])
    return kinetic, -sp.Add(*[term for term, moves in zip(terms, moving, strict=True) if not moves])


def _sentence(error: ValueError) -> str:
    """SymPy's message in one line."""
    return " ".join(str(error).split())
