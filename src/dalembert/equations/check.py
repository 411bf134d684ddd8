"""Faults a statement can have before any derivative is taken: names, shapes, pairings, undeclared symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import sympy as sp

from dalembert.equations.lower import undeclared
from dalembert.model.statement import Body, Level, Point, Statement


def check_statement(statement: Statement) -> list[str]:
    """All faults that can be seen in the expressions themselves, each naming the symbol or item."""
    faults = list(statement.faults)
    faults += _check_symbols(statement)
    faults += _check_sizes(statement)
    faults += _check_unknowns(statement)
    return faults


def items(statement: Statement) -> Iterator[tuple[str, list[sp.Expr], int]]:
    """Every expression with its label and the highest derivative order it may contain (0 q, 1 u, 2 u')."""
    for k, equation in enumerate(statement.kinematics):
        yield f"kinematical equation {k + 1}", [equation], 1
    for item in [*statement.particles, *statement.bodies]:
        yield from _point_items(item, "body" if isinstance(item, Body) else "particle")
    yield "gravity", list(statement.gravity), 1
    for force in statement.forces:
        yield f"force at `{force.at.name}`", list(force.vector), 1
        yield from _point_items(force.at, "point of the force at")
    for torque in statement.torques:
        yield f"torque on `{torque.on.name}`", list(torque.vector), 1
    for forces in statement.generalized_forces:
        for key, value in forces.items():
            yield f"generalised force along `{key}`", [value], 1
    for energy in statement.energies:
        yield "kinetic energy", [energy.kinetic], 1
        yield "potential energy", [energy.potential], 0
    for raw in statement.matrices:
        yield "matrices: mass", list(raw.mass), 0
        yield "matrices: force", list(raw.force), 1
    for constraint in statement.constraints:
        yield f"constraint `{constraint.name}`", [constraint.expression], 2
    for line in statement.lines:
        yield f"line `{line.name}`", [c for point in line.points for c in point], 0


def _point_items(point: Point, kind: str) -> Iterator[tuple[str, list[sp.Expr], int]]:
    if point.position is not None:
        yield f"position of {kind} `{point.name}`", list(point.position), 0
    if point.velocity is not None:
        yield f"velocity of {kind} `{point.name}`", list(point.velocity), 1
    mass = getattr(point, "mass", None)
    if mass is not None:
        yield f"mass of {kind} `{point.name}`", [mass], 0
    if isinstance(point, Body):
        yield f"inertia of {kind} `{point.name}`", list(point.inertia), 0
        yield f"rotation of {kind} `{point.name}`", list(point.rotation), 0
        yield f"angular velocity of {kind} `{point.name}`", list(point.angular_velocity or ()), 1


def _check_symbols(statement: Statement) -> list[str]:
    t = statement.time
    allowed: list[set[sp.Basic]] = [{t, *statement.coordinates, *statement.parameters}]
    allowed.append(allowed[0] | {q.diff(t) for q in statement.coordinates} | {*statement.speeds})
    allowed.append(
        allowed[1] | {q.diff(t, 2) for q in statement.coordinates} | {u.diff(t) for u in statement.speeds}
    )
    unknown_ok = ("force", "torque", "generalised")
    faults = []
    for label, expressions, order in items(statement):
        extra = set(statement.unknowns) if label.startswith(unknown_ok) else set()
        for symbol in undeclared(expressions, allowed[order] | extra):
            faults.append(f"{label} contains `{symbol}`, {_why_not(symbol, statement, allowed[2])}")
    return faults


def _why_not(symbol: sp.Basic, statement: Statement, everything: set[sp.Basic]) -> str:
    if symbol in everything:
        return "which may not appear there (too high a derivative)"
    if symbol in statement.unknowns:
        return "an unknown; unknowns may appear in forces only"
    return "which was never declared"


def _check_sizes(statement: Statement) -> list[str]:
    faults = []
    nq, nu, nk = len(statement.coordinates), len(statement.speeds), len(statement.kinematics)
    if nq == 0:
        faults.append("there are no coordinates; declare some by model.coordinates")
    elif nk != nq:
        faults.append(f"there are {nk} kinematical equations for {nq} coordinates; each coordinate needs one")
    if nu > nq:
        faults.append(f"there are {nu} speeds but only {nq} coordinates")
    used = set().union(*(e.atoms(sp.Function) for e in statement.kinematics)) if nk else set()
    faults += [f"speed `{u}` does not appear in the kinematics" for u in statement.speeds if u not in used]
    faults += [
        f"matrices: mass is {raw.mass.shape} but there are {nu} speeds"
        for raw in statement.matrices
        if raw.mass.rows != nu
    ]
    keys = {*statement.coordinates, *statement.speeds}
    faults += [
        f"generalised force along `{key}`: it is neither a coordinate nor a speed"
        for forces in statement.generalized_forces
        for key in forces
        if key not in keys
    ]
    if not (statement.particles or statement.bodies or statement.energies or statement.matrices):
        faults.append("nothing has inertia; add a particle, a body, an energy or matrices")
    return faults


def _check_unknowns(statement: Statement) -> list[str]:
    servos = Counter(c.servo for c in statement.constraints if c.servo is not None)
    faults = [
        f"unknown `{y}` is not determined by any constraint; give one with constrain(..., servo={y.func.__name__})"
        for y in statement.unknowns
        if y not in servos
    ]
    faults += [f"unknown `{y}` serves {n} constraints; it can enforce one" for y, n in servos.items() if n > 1]
    return faults


def sorted_constraints(statement: Statement) -> list[int]:
    """Indices of the constraints by level (position, velocity, acceleration), in the order stated within a level."""
    order = list(Level)
    return sorted(range(len(statement.constraints)), key=lambda k: order.index(statement.constraints[k].level))
