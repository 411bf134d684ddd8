"""Expressions in the symbols of a system, as functions of what is known along its motion.

They read one column w = (t, q, u, p, q', u', power, la): what every kernel reads, and what an evaluation of the rates
leaves. The symbol of a constraint's name stands for its multiplier, an unknown for that of the constraint it enforces.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.equations.lower import Lowering, LoweringError, undeclared
from dalembert.equations.symbols import Kinematics, Symbols, atoms_of, solve_kinematics
from dalembert.equations.system import System, name_of
from dalembert.errors import DalembertError, OptionError, UnknownNameError
from dalembert.model.statement import Constraint, Statement


def statement_of(system: System) -> Statement:
    """What the system was compiled from; raises if it came from another process without it."""
    if system.statement is None:
        raise DalembertError(
            f"`{system.name}` was unpickled and no longer knows its symbols; compile its model here to use expressions"
        )
    return system.statement


def symbol_of(system: System, key: Any) -> Any:
    """The SymPy symbol that a name or a constraint stands for; anything else is left as it is."""
    statement = statement_of(system)
    if isinstance(key, Constraint):
        return sp.Symbol(key.name)
    if not isinstance(key, str):
        return key
    base, rates = key.rstrip("'"), len(key) - len(key.rstrip("'"))
    for f in (*statement.coordinates, *statement.speeds, *statement.unknowns):
        if f.func.__name__ == base:
            return f.diff(statement.time, rates) if rates else f
    return statement.time if key == str(statement.time) else sp.Symbol(key)


def lacking(system: System, expressions: Sequence[sp.Expr]) -> list[str]:
    """Names of the symbols in these that have no value in the system, sorted."""
    return [name_of(symbol) for symbol in undeclared(expressions, _atoms(system)[0])]


def check_known(system: System, expressions: Sequence[sp.Expr], where: str) -> None:
    """Raise `UnknownNameError` if a symbol in these has no value in the system."""
    unknown = lacking(system, expressions)
    if unknown:
        known = (*system.coordinates, *system.speeds, *system.parameters, *system.unknowns, *system.constraint_names)
        raise UnknownNameError(unknown[0], (*known, "t"), where)


def observe(system: System, expressions: Sequence[sp.Expr], where: str) -> ca.Function:
    """Column of the expressions as a function of w; raises what is wrong with them, saying `where`."""
    check_known(system, expressions, where)
    atoms, w = _atoms(system)
    try:
        values = Lowering(atoms).vector(expressions)
    except LoweringError as error:
        raise OptionError(f"{where}: {error}") from error
    return ca.Function("observe", [w], [ca.densify(values)])


def reads_rates(system: System, expressions: Sequence[sp.Expr]) -> bool:
    """Whether these contain accelerations, multipliers or unknowns, which only an evaluation of the rates gives."""
    statement = statement_of(system)
    solved = {*(sp.Symbol(name) for name in system.constraint_names), *statement.unknowns} - set(statement.parameters)
    for expression in expressions:
        for atom in expression.atoms(sp.Derivative, AppliedUndef, sp.Symbol):
            if atom in solved:
                return True
            if isinstance(atom, sp.Derivative) and (atom.expr in statement.speeds or atom.derivative_count > 1):
                return True
    return False


def observed(
    function: ca.Function, t: float, z: tuple[np.ndarray, np.ndarray], p: np.ndarray, solved: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Values of a function made by `observe` at a state z = (q, u), with `solved` = (u', la)."""
    q, u = z
    udot, la = solved
    return function(np.concatenate([[t], q, u, p, np.zeros_like(q), udot, [0.0], la])).full().ravel()


def _atoms(system: System) -> tuple[dict[sp.Basic, ca.SX], ca.SX]:
    """What each SymPy symbol stands for in the column w, and w."""
    statement = statement_of(system)
    nq, nu, nc, n_p = system.nq, system.nu, system.nc, len(system.parameters)
    sizes = np.cumsum([0, 1, nq, nu, n_p, nq, nu, 1, nc])
    w = ca.SX.sym("w", int(sizes[-1]))
    t, q, u, p, _, ud, _, la = (w[int(a) : int(b)] for a, b in pairwise(sizes))
    servos = {row.servo: k for k, row in enumerate(system.rows) if row.servo is not None}
    y = ca.vertcat(ca.SX(0, 1), *(la[servos[j]] for j in range(len(system.unknowns))))
    s = Symbols(t, q, ca.SX.sym("qd", nq), u, ud, p, y)
    kinematics: Kinematics = solve_kinematics([*map(Lowering(atoms_of(statement, s)), statement.kinematics)], s)
    atoms = kinematics.atoms(statement)
    named = {sp.Symbol(name): la[k] for k, name in enumerate(system.constraint_names)}
    return {**named, **atoms}, w
