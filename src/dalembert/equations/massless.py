"""Unknowns in constraints with reactions: coordinates without inertia (Dinh Van Phong, section 2.3, s > m).

Of the s constraints g(q, p, t) = 0, the m laws determine the unknowns p, and the others have reactions. As coordinates,
with the laws as further constraints, the unknowns have no inertia and no force acts along them. Their balance

    0 = (dg_1/dp)^T la_1 + (dg_2/dp)^T la_2

gives the laws the multipliers la_2 with which the reactions la_1 act along dg_1/dq - dg_1/dp (dg_2/dp)^-1 dg_2/dq: they
do no work on what both groups admit together, which is the principle of compatibility. The multipliers of the laws
vanish where the other constraints do not contain the unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from dalembert.model.instances import difference
from dalembert.model.laws import IDEAL
from dalembert.model.levels import SymbolOrders, level_of
from dalembert.model.reading import nodes
from dalembert.model.statement import Constraint, Level, Matrices, Statement
from dalembert.model.time_symbols import function_of_time
from dalembert.model.vectors import derivative


def check_massless(statement: Statement) -> list[str]:
    """Faults of constraints that contain unknowns: each must follow from a law in coordinates and time."""
    laws = {c.servo: c for c in statement.constraints if not c.law.restrains}
    found = _massless(statement)
    if not found:
        return []
    faults = []
    orders, multipliers = (
        SymbolOrders(statement.coordinates, statement.speeds),
        {c.multiplier for c in statement.constraints},
    )
    for y, reader in found.items():
        what = f"constraint `{reader.name}` contains the unknown `{y}`"
        name = y.func.__name__
        if y not in laws:
            faults.append(f"{what}, which no law determines; write law(..., determines={name})")
            continue
        law = laws[y]
        level = level_of(law.expression, orders)
        if level not in (None, Level.POSITION) or multipliers & {*nodes(law.expression)}:
            faults.append(
                f"{what}, so that its rate is needed, but its law `{law.name}` contains speeds or multipliers; "
                f"state `{name}` in coordinates and time, or let it be a coordinate with an inertia"
            )
        if function_of_time(_speed(y)) in {*statement.speeds, *statement.coordinates}:
            faults.append(f"{what}, whose rate would be called `{_speed(y)}`, which exists; give one another name")
    return faults


def with_massless_coordinates(statement: Statement) -> Statement:
    """The statement with the unknowns of constraints as coordinates, and their laws as position constraints."""
    found = list(_massless(statement))
    if not found:
        return statement
    wider = add_coordinates(statement, found)
    return replace(
        wider,
        unknowns=[y for y in statement.unknowns if y not in found],
        defaults=statement.defaults | {y: statement.starts[y] for y in found if y in statement.starts},
        constraints=[
            c if c.law.restrains or c.servo not in found else _as_constraint(c) for c in statement.constraints
        ],
    )


def add_coordinates(statement: Statement, new: Sequence[sp.Expr]) -> Statement:
    """The statement with further coordinates, which have no inertia, and speeds that are their rates."""
    speeds = [function_of_time(_speed(q)) for q in new]
    rates = [difference(derivative(q, statement.time), u) for q, u in zip(new, speeds, strict=True)]
    return replace(
        statement,
        coordinates=[*statement.coordinates, *new],
        speeds=[*statement.speeds, *speeds],
        kinematics=[*statement.kinematics, *rates],
        matrices=[_widened(raw, len(new)) for raw in statement.matrices],
    )


def _massless(statement: Statement) -> dict[sp.Expr, Constraint]:
    """Unknowns that occur in constraints, or in the laws of such unknowns, each with the constraint containing it."""
    unknowns, found = {*statement.unknowns}, dict[sp.Expr, Constraint]()
    laws = {c.servo: c for c in statement.constraints if not c.law.restrains}
    left = [c for c in statement.constraints if c.law.restrains] if unknowns else []
    while left:
        constraint = left.pop(0)
        for y in sorted(unknowns & {*nodes(constraint.stated)} - {*found}, key=str):
            found[y] = constraint
            left += [laws[y]] if y in laws else []
    return found


def _speed(y: sp.Expr) -> str:
    return f"{y.func.__name__}_dot"


def _as_constraint(law: Constraint) -> Constraint:
    return replace(law, level=Level.POSITION, law=IDEAL)


def _widened(raw: Matrices, count: int) -> Matrices:
    """Matrices with empty rows for further speeds."""
    return Matrices(sp.diag(raw.mass, sp.zeros(count, count)), raw.force.col_join(sp.zeros(count, 1)))
