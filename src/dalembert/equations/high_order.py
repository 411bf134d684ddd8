"""Constraints above the second order: an acceleration becomes a coordinate without inertia.

Program constraints need not be of second order (Bajodah, Hodges and Chen, section 1). One that contains x''' or more of
one coordinate or speed, g(q, u, x'', x''', ..., t) = 0, is stated as two of at most second order,

    x'' - s = 0     and     g(q, u, s, s', ..., t) = 0.

The first has the reaction, or the unknown, with which the constraint was stated. No force acts along s, so that the
second has none. s is part of the state: its start, the acceleration with which the motion begins, must be chosen.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.equations.massless import add_coordinates
from dalembert.model.levels import SymbolOrders, level_of
from dalembert.model.reading import content_key, inner_nodes
from dalembert.model.statement import Constraint, Level, Statement
from dalembert.model.time_symbols import function_of_time
from dalembert.model.vectors import derivative


def with_lowered_constraints(statement: Statement) -> Statement:
    """The statement with constraints of third and higher order as pairs; those that cannot be so stay as stated."""
    known = set[int]()  # contents of order two at most
    for constraint in statement.constraints:
        key = content_key(constraint.stated)
        if key not in known and _high(statement, constraint.stated):
            statement = _lowered(statement, constraint)
        else:
            known.add(key)
    return statement


def _lowered(statement: Statement, constraint: Constraint) -> Statement:
    t, found = statement.time, _high(statement, constraint.stated)
    if not (constraint.law.restrains and constraint.law.reacts) or len(found) != 1:
        return statement
    ((base, highest),) = found.items()
    second = 2 if base in statement.coordinates else 1  # which derivative of it is an acceleration
    name = f"{base.func.__name__}_{'d' * second}ot"
    s, taken = function_of_time(name), {*statement.coordinates, *statement.speeds, *statement.unknowns}
    into = {
        derivative(base, t, k): derivative(s, t, k - second) if k > second else s for k in range(second, highest + 1)
    }
    program = constraint.expression.xreplace(into)
    if s in taken or level_of(program, SymbolOrders(statement.coordinates, statement.speeds)) is Level.ACCELERATION:
        return statement
    wider = add_coordinates(statement, [s])
    tie = replace(constraint, stated=derivative(base, t, second) - s, level=Level.ACCELERATION)
    order = level_of(program, SymbolOrders(wider.coordinates, wider.speeds)) or Level.POSITION
    held = Constraint(f"program({constraint.name})", program, order, unit=constraint.unit)
    rows = [both for c in wider.constraints for both in ((tie, held) if c is constraint else (c,))]
    return replace(wider, constraints=rows)


def _high(statement: Statement, expression: sp.Expr) -> dict[AppliedUndef, int]:
    """Coordinates and speeds of which there are derivatives beyond accelerations, with the highest in each."""
    found: dict[AppliedUndef, int] = {}
    for node in inner_nodes(expression):
        beyond = isinstance(node, sp.Derivative) and node.derivative_count > 1  # else lists need not be searched
        if beyond and isinstance(node.expr, AppliedUndef):
            least = 3 if node.expr in statement.coordinates else 2
            if node.expr in (*statement.coordinates, *statement.speeds) and node.derivative_count >= least:
                found[node.expr] = max(found.get(node.expr, 0), int(node.derivative_count))
    return found
