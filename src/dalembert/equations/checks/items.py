"""Every expression of a statement with a label, and the symbols allowed in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sympy as sp

from dalembert.model.instances import FilledVectors
from dalembert.model.markers import Marker
from dalembert.model.shapes import Link
from dalembert.model.statement import Body, Particle, Point, Statement


class Item(NamedTuple):
    """Expressions with a label, their highest order (-1 p, t; 0 q; 1 u; 2 u'), and the other symbols allowed."""

    label: str
    expressions: Sequence[sp.Expr]
    order: int
    unknowns: bool = False
    multipliers: bool = False

    @property
    def acts(self) -> bool:
        """True if its expressions affect the motion: forces and laws, not outputs."""
        return self.unknowns and not self.label.startswith("output")


def items(statement: Statement) -> Iterator[Item]:
    """Every expression of a statement."""
    for k, equation in enumerate(statement.kinematics):
        yield Item(f"kinematical equation {k + 1}", [equation], 1)
    owners = [*statement.particles, *statement.bodies]
    for owner in owners:
        yield from _point_items(owner, "body" if isinstance(owner, Body) else "particle")
    yield Item("gravity", statement.gravity, -1)
    yield from _load_items(statement, {id(owner) for owner in owners})
    for energy in statement.energies:
        yield Item("kinetic energy", [energy.kinetic], 1)
        yield Item("potential energy", [energy.potential], 0)
    for raw in statement.matrices:
        yield Item("matrices: mass", list(raw.mass), 0, unknowns=True)
        yield Item("matrices: force", list(raw.force), 1, unknowns=True)
    for c in statement.constraints:
        what, is_law = ("constraint", False) if c.law.restrains else ("law", True)
        yield Item(f"{what} `{c.name}`", [c.stated], 2, unknowns=True, multipliers=is_law)
    yield from _nonideal_items(statement, {id(owner) for owner in owners})
    for line in statement.lines:
        points = line.places if isinstance(line, Link) else line.points
        entries = points.arguments if isinstance(points, FilledVectors) else [c for point in points for c in point]
        yield Item(f"line `{line.name}`", entries, 0)
    for output in statement.outputs:
        yield Item(f"output `{output.name}`", output.expressions, 2, unknowns=True, multipliers=True)


def _load_items(statement: Statement, seen: set[int]) -> Iterator[Item]:
    for force in statement.forces:
        yield Item(f"force at `{force.at.name}`", force.vector, 1, unknowns=True)
        if id(force.at) not in seen:
            yield from _point_items(force.at, "point")
    for torque in statement.torques:
        yield Item(f"torque on `{torque.on.name}`", torque.vector, 1, unknowns=True)
        if id(torque.on) not in seen:
            yield from _point_items(torque.on, "body")
    for forces in statement.generalized_forces:
        for key, value in forces.items():
            yield Item(f"generalised force along `{key}`", [value], 1, unknowns=True)


def _nonideal_items(statement: Statement, seen: set[int]) -> Iterator[Item]:
    for force in statement.nonideal_forces:
        yield Item(f"non-ideal force at `{force.at.name}`", force.vector, 1)
        if id(force.at) not in seen:
            yield from _point_items(force.at, "point")
    for forces in statement.nonideal_generalized:
        for key, value in forces.items():
            yield Item(f"non-ideal force along `{key}`", [value], 1)
    for friction in statement.frictions:
        yield Item(f"coefficient of {friction.label}", [friction.coefficient], 1)
        yield Item(f"regularisation of {friction.label}", [friction.regularisation], -1)
        yield Item(f"surface velocity of {friction.label}", friction.surface_velocity, 1)
        if id(friction.at) not in seen:
            yield from _point_items(friction.at, "point")


def _point_items(point: Point, kind: str) -> Iterator[Item]:
    name = f"{kind} `{point.name}`"
    if isinstance(point, Marker) and point.fixed:  # not written out for its symbols
        body = point.body
        yield Item(f"position of {name}", (*point.place, *(body.position or ()), *body.rotation), 0)
        yield Item(f"velocity of {name}", (*(body.velocity or ()), *(body.angular_velocity or ())), 1)
        return
    if point.position is not None:
        yield Item(f"position of {name}", point.position, 0)
    if point.velocity is not None:
        yield Item(f"velocity of {name}", point.velocity, 1)
    if isinstance(point, Particle | Body):
        yield Item(f"mass of {name}", [point.mass], -1, unknowns=True)
    if isinstance(point, Body):
        yield Item(f"inertia of {name}", point.inertia, -1, unknowns=True)
        yield Item(f"rotation of {name}", point.rotation, 0)
        yield Item(f"angular velocity of {name}", point.angular_velocity or (), 1)
        yield Item(f"angular velocity of the axes of {name}", point.axes_angular_velocity or (), 1)
