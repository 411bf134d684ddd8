"""Faults a statement can have before any derivative is taken: names, shapes, pairings, undeclared symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.checks.items import Item, items
from dalembert.equations.lowering.lower import Lowering, LoweringError, undeclared
from dalembert.equations.massless import check_massless
from dalembert.model.instances import Instance
from dalembert.model.laws import IDEAL
from dalembert.model.levels import SymbolOrders, functions_in, levels_of
from dalembert.model.reading import content_key, inner_nodes, nodes
from dalembert.model.statement import Level, Point, Statement
from dalembert.model.tables import Table
from dalembert.model.time_symbols import is_undefined_function
from dalembert.model.vectors import base_of, derivative


def check_statement(statement: Statement) -> list[str]:
    """All faults visible in the expressions themselves, each with its symbol or item."""
    faults = list(statement.faults)
    faults += _check_symbols(statement)
    faults += _check_sizes(statement)
    faults += _check_inertia(statement)
    faults += _check_constraints(statement)
    faults += _check_unknowns(statement)
    faults += check_massless(statement)
    faults += _check_frictions(statement)
    faults += _check_names(statement)
    return faults + check_functions(statement) if faults else faults


def check_functions(statement: Statement) -> list[str]:
    """Faults of expressions that cannot be evaluated with real numbers, by item.

    The check is slow, so it runs only if something is known to be wrong.
    """
    faults = []
    for item in items(statement):
        low = Lowering({atom: ca.SX.sym("a") for atom in undeclared(item.expressions, ())})  # all of its symbols
        for expression in item.expressions:
            try:
                low(expression)
            except LoweringError as error:
                faults.append(f"{item.label}: {error}")
    return faults


@dataclass(frozen=True)
class _Declared:
    """Symbols allowed in expressions of an order: time and parameters have order -1, coordinates 0, speeds 1.

    Each time derivative adds 1 to the order. `others` are allowed as well.
    """

    order: int
    time: sp.Symbol
    orders: SymbolOrders
    others: frozenset[sp.Basic] = frozenset()

    @classmethod
    def by(cls, statement: Statement, order: int) -> _Declared:
        orders = SymbolOrders(statement.coordinates, statement.speeds)
        orders.add((statement.time, *statement.parameters), -1)
        return cls(order, statement.time, orders)

    def __contains__(self, symbol: Any) -> bool:
        base, count = base_of(symbol, self.time)
        own = self.orders.of(base)
        if own is None or (own < 0 and count):
            return symbol in self.others
        return own + count <= self.order

    def __iter__(self) -> Iterator[sp.Basic]:
        for symbol, own in self.orders:
            yield symbol
            counts = range(1, self.order - own + 1) if own >= 0 else ()
            yield from (derivative(symbol, self.time, count) for count in counts)


def _check_symbols(statement: Statement) -> list[str]:
    everything = _Declared.by(statement, 2)
    sets: dict[tuple[int, bool, bool], _Declared] = {}
    fine: dict[tuple[int, bool, bool], dict[int, Any]] = {}  # other symbols allowed in expressions, kept alive
    found: list[str] = []
    for item in items(statement):
        key = item.order, item.unknowns, item.multipliers
        if key not in sets:
            multipliers = (constraint.multiplier for constraint in statement.constraints) if item.multipliers else ()
            others = frozenset((*(statement.unknowns if item.unknowns else ()), *multipliers))
            sets[key], fine[key] = replace(everything, order=item.order, others=others), {}
        varying = _strange(item.expressions, sets[key], fine[key])
        found += [
            f"{item.label} contains `{symbol}`, {_why_not(symbol, statement, item, everything)}"
            for symbol in (undeclared(varying, sets[key]) if varying else ())
        ]
    return found


def _strange(expressions: Sequence[sp.Expr], allowed: _Declared, fine: dict[int, Any]) -> list[sp.Expr]:
    """Parts of expressions that are neither numbers nor allowed symbols. Correct expressions are added to `fine`."""
    parts, known, highest = list[sp.Expr](), allowed.orders.objects, allowed.order
    for e in expressions:
        if known.get(id(e), 3) <= highest or id(e) in fine:
            continue
        if not isinstance(e, Instance):
            content, found = e, [] if e.is_Number or e in allowed else [e]
        else:  # its arguments are the same for all rows of a joint
            content = e.args
            found = [] if id(content) in fine else _strange(content, allowed, fine)
        if found:
            parts += found
        else:
            fine[id(content)] = content
    return parts


_MAY = {
    -1: "but may depend on parameters and time only; state what varies by forces, an energy or matrices",
    0: "but may depend on coordinates, parameters and time only",
    1: "but may not depend on accelerations",
}


_KINETIC = (  # Lagrange's equations differentiate an energy: d/dt brings p', which (2.46) of Dinh Van Phong lacks
    "an unknown, whose rate Lagrange's equations of this energy would need and nothing determines. State the mass of a "
    "particle or body, or model.matrices(mass=..., force=...), with it, and what it exerts by model.generalized_force"
)


def _why_not(symbol: sp.Basic, statement: Statement, item: Item, everything: _Declared) -> str:
    if symbol in everything:
        return _MAY[item.order]
    base = symbol.expr if isinstance(symbol, sp.Derivative) else symbol
    if base in statement.unknowns and item.label == "kinetic energy":
        return _KINETIC
    if base in statement.unknowns:
        return "an unknown; unknowns may appear, without derivatives, in forces, masses, constraints and laws only"
    if base is not symbol and base in everything:
        return (
            "a derivative beyond accelerations; a constraint may contain them of one coordinate, and no accelerations "
            "of others. Else let new coordinates be accelerations: model.constrain(x.diff(t, 2) - s), and s.diff(t) is "
            "x.diff(t, 3)"
        )
    names = {_name(known): known for known in [*everything, *statement.unknowns]}
    if _name(base) in names:
        return f"which is not the `{_name(base)}` that was declared; use the symbol the model returned"
    import difflib

    close = difflib.get_close_matches(_name(base), names, n=1)
    if close:
        return f"which was never declared; did you mean `{close[0]}`?"
    if isinstance(base, sp.Symbol):
        return f"which was never declared; write {base}, = model.parameters({base}=1.0)"
    return f"which was never declared; write {_name(base)}, = model.coordinates('{_name(base)}')"


def _name(symbol: sp.Basic) -> str:
    return symbol.func.__name__ if isinstance(symbol, sp.Function) else str(symbol)


def _check_sizes(statement: Statement) -> list[str]:
    faults = []
    nq, nu, nk = len(statement.coordinates), len(statement.speeds), len(statement.kinematics)
    if nq == 0:
        faults.append("there are no coordinates; declare some by model.coordinates")
    elif nk != nq:
        faults.append(f"there are {nk} kinematical equations for {nq} coordinates; each coordinate needs one")
    used = {id(u): u for u in functions_in(statement.kinematics)}
    unused = [u for u in statement.speeds if id(u) not in used]
    if unused:  # unless something equal is
        equal = {*used.values()}
        unused = [u for u in unused if u not in equal]
    faults += [
        f"speed `{u}` does not appear in the kinematics ({nu} speeds, {nq} coordinates); "
        "declare its coordinate first or give `kinematics`"
        for u in unused
    ]
    if nu > nq and not unused:
        faults.append(f"there are {nu} speeds but only {nq} coordinates")
    faults += [
        f"matrices: mass is {raw.mass.shape} but there are {nu} speeds"
        for raw in statement.matrices
        if raw.mass.rows != nu
    ]
    keys = {*statement.coordinates, *statement.speeds}
    faults += [
        f"{kind} force along `{key}`: it is neither a coordinate nor a speed"
        for kind, mappings in (
            ("generalised", statement.generalized_forces),
            ("non-ideal", statement.nonideal_generalized),
        )
        for forces in mappings
        for key in forces
        if key not in keys
    ]
    return faults


def _check_inertia(statement: Statement) -> list[str]:
    faults = []
    if not (statement.particles or statement.bodies or statement.energies or statement.matrices):
        faults.append("nothing has inertia; add a particle, a body, an energy or matrices")
    if len(statement.coordinates) != len(statement.speeds):
        speeds = {*statement.speeds}
        faults += [
            f"kinetic energy contains the speed `{u}`, which {len(statement.coordinates)} coordinate rates do not "
            f"determine uniquely; write it in rates such as `{statement.coordinates[0]}.diff()` or use a body"
            for energy in statement.energies
            for u in sorted(energy.kinetic.atoms(sp.Function) & speeds, key=str)
        ]
    return faults


def _check_constraints(statement: Statement) -> list[str]:
    levels = levels_of([c.stated for c in statement.constraints], SymbolOrders(statement.coordinates, statement.speeds))
    faults = [
        f"constraint `{c.name}` contains no coordinate or speed: {c.expression} = 0"
        for c, level in zip(statement.constraints, levels, strict=True)
        if c.law.restrains and level is None
    ]
    known: dict[int, list[str]] = {}
    places = [
        (f"constraint `{c.name}`", names)
        for c in statement.constraints
        if c.level is Level.POSITION and (names := _polylines([c.stated], known))
    ]
    places += [
        (f"position of `{p.name}`", names)
        for p in (*statement.particles, *statement.bodies)
        if (names := _polylines(p.position or (), known))
    ]
    return faults + [
        f"{label}: velocities would jump at the points of the linear table `{name}`; write kind='cubic'"
        for label, names in places
        for name in sorted({*names})
    ]


def _polylines(expressions: Sequence[sp.Expr], known: dict[int, list[str]]) -> list[str]:
    """Names of the linear tables in expressions; `known` caches them by the symbols of an expression."""
    found: list[str] = []
    for expression in expressions:
        if is_undefined_function(expression) or not expression.args:
            continue
        key = content_key(expression)
        if key not in known:
            tables = (type(node).data for node in inner_nodes(expression) if isinstance(node, Table))
            known[key] = [data.name for data in tables if data.kind == "linear"]
        found += known[key]
    return found


def _check_unknowns(statement: Statement) -> list[str]:
    servos = Counter(c.servo for c in statement.constraints if c.servo is not None)
    faults = [
        f"unknown `{y}` is not determined by any constraint; give one with constrain(..., servo={y.func.__name__}), or "
        f"a law, with law(..., determines={y.func.__name__})"
        for y in statement.unknowns
        if y not in servos
    ]
    faults += [f"unknown `{y}` serves {n} constraints; it can enforce one" for y, n in servos.items() if n > 1]
    if not statement.unknowns:
        return faults
    acting = {node for item in items(statement) if item.acts for e in item.expressions for node in nodes(e)}
    faults += [
        f"unknown `{y}` acts nowhere; let it appear in a force or torque" for y in statement.unknowns if y not in acting
    ]
    return faults


def _check_frictions(statement: Statement) -> list[str]:
    """Coefficients that are not negative and regularisations that are positive, with the parameters' defaults."""
    faults = []
    laws = {c.name: c.law for c in statement.constraints} if statement.frictions else {}
    for friction in statement.frictions:
        mu = _default_value(friction.coefficient, statement)
        if mu is not None and mu < 0.0:
            faults.append(f"coefficient of {friction.label} is {mu:g}; it must not be negative")
        v0 = _default_value(friction.regularisation, statement)
        if v0 is not None and not v0 > 0.0:
            faults.append(f"regularisation of {friction.label} is {v0:g}; it must be a positive speed")
        law = laws.get(friction.constraint, IDEAL)
        if law.symbol is not None:
            faults.append(f"{friction.label}: an unknown enforces this constraint, so that it has no contact force")
        elif not law.ideal:
            faults.append(
                f"{friction.label}: friction goes with an ideal reaction, which this constraint does not have"
            )
    return faults


def _check_names(statement: Statement) -> list[str]:
    """Force elements are asked for by name; so are joints and points, by names of their own kind."""
    counts = Counter(str(element.name) for element in statement.elements)
    faults = [
        f"{n} elements are called `{name}`; give each its own name, to be asked for what it exerts"
        for name, n in counts.items()
        if n > 1
    ]
    dotted = [name for name in (str(output.name) for output in statement.outputs) if "." in name]
    if not dotted:
        return faults
    points: list[Point] = [*statement.particles, *statement.bodies]
    owners = {*counts, *(str(joint.name) for joint in statement.joints), *(str(point.name) for point in points)}
    return faults + [
        f"output `{name}` reads like something of `{name.partition('.')[0]}`; choose another name"
        for name in dotted
        if name.partition(".")[0] in owners
    ]


def _default_value(expression: sp.Expr, statement: Statement) -> float | None:
    """The value of an expression in the parameters' defaults; None if it depends on more, or is not real."""
    value = expression.subs(statement.parameters)
    return float(value) if value.is_number and value.is_real else None


def sorted_constraints(statement: Statement) -> list[int]:
    """Indices of the constraints by level (position, velocity, acceleration), in the order stated within a level."""
    order = list(Level)
    return sorted(range(len(statement.constraints)), key=lambda k: order.index(statement.constraints[k].level))
