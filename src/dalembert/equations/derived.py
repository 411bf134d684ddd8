"""`derive`: the equations of a statement as graphs, with all that checks find wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.checks.derivation import check_derivation
from dalembert.equations.checks.statement import sorted_constraints
from dalembert.equations.derive import Constraints, Derivation, Dynamics, derive_constraints
from dalembert.equations.features import Features, find_features, with_divisors
from dalembert.equations.friction import derive_friction
from dalembert.equations.functions import function_of
from dalembert.equations.hidden import RowEntry, reveal_hidden
from dalembert.equations.kinks import Bends, arguments_column, crossing_function, find_kinks, has_bends
from dalembert.equations.laws import Row, are_algebraic, count_curved, law_of, may_work, rows_by_unknown
from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.lowering.sympy_rules import show
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.nonlinear_unknowns import split_unknowns
from dalembert.equations.probe import Probe, Probed, cancel, cancelling, probe_at_random
from dalembert.equations.readings import Readings
from dalembert.equations.rows_by_kind import rows_by_kind
from dalembert.equations.symbols import (
    Kinematics,
    Symbols,
    atoms_of,
    explicit_kinematics,
    is_identity,
    scaled_columns,
    solve_kinematics,
)
from dalembert.errors import ModelError
from dalembert.model.laws import IDEAL
from dalembert.model.statement import Level, Statement
from dalembert.solve.decompositions import rank_of


@dataclass(frozen=True)
class Derived:
    """The equations of a statement: `mechanics`, and what they were made of.

    `invariants` are names of what the kinematics keep by themselves, `mass` the nonzeros of M at three random points,
    (3, n). `works` is True if something can change the energy. `operations` counts those of M, f, A and b.
    """

    derivation: Derivation
    mechanics: Mechanics
    invariants: tuple[str, ...]
    mass: np.ndarray
    works: bool
    operations: int
    bends: Bends
    features: Features
    faults: list[str]

    def functions(self) -> dict[str, ca.Function]:
        """Functions that locate instants and features, by the names under which a system has them.

        "kinks" are the rate and offset of each argument linear in time, "crossing k" the other arguments of time alone.
        """
        readings, features = Readings(self.derivation.low, self.derivation.symbols), self.features
        found = {"kinks": function_of("kinks", readings.s.x, [arguments_column(self.bends.linear, readings)])}
        found |= {f"crossing {k}": crossing_function(e, readings) for k, (e, _) in enumerate(self.bends.curved)}
        found |= {f"shape {k}": function for k, function in enumerate(features.shapes)}
        found |= {f"phases {k}": function for k, function in enumerate(features.phases)}
        named = {"arguments": features.arguments, "moving": features.moving}
        return found | {name: function for name, function in named.items() if function is not None}


@dataclass(frozen=True)
class _Equations:
    """The dynamics and the constraints of a statement. `invariants` come with their names; `probed` are values."""

    derivation: Derivation
    dynamics: Dynamics
    constraints: Constraints
    rows: tuple[Row, ...]
    invariants: list[tuple[str, ca.SX]]
    probed: Probed


def derive(statement: Statement, progress: Callable[[str], None]) -> Derived:
    """The equations of a statement. Raises `LoweringError` where an expression has no meaning."""
    s = Symbols.of(statement)
    probe = probe_at_random(statement, s)
    progress("kinematics")
    derivation = Derivation(statement, s, partial(checked_kinematics, statement, s, probe))
    progress("dynamics")
    dynamics = derivation.run()
    split_unknowns(dynamics, s, [statement.starts.get(y, 0.0) for y in statement.unknowns])
    progress("constraints")
    entries, stated, invariants = _constraints(statement, derivation, probe)
    entries, constraints = reveal_hidden(entries, stated, derivation.kinematics, dynamics, probe)
    rows = tuple(entry.row for entry in entries)
    graphs = dynamics.M, dynamics.f + dynamics.prescribed, constraints.A, constraints.psi, constraints.b
    (*values, _), operations = probe.nonzeros(*graphs)
    e = _Equations(derivation, dynamics, constraints, rows, invariants, Probed(*values))
    progress("checks of the equations")
    friction, rubbing = derive_friction(derivation, constraints, rows, probe)
    faults = check_derivation(derivation, constraints, rows, probe, e.probed) + rubbing
    progress("energies")
    nodes = list(with_divisors(derivation.low.nodes()))
    readings = Readings(derivation.low, s)
    bends, features = find_kinks(nodes, readings), find_features(nodes, readings, _kept_expressions(statement))
    power, transport, works = _power(e, probe)
    mechanics = _mechanics(e, s, F=friction, power=power, transport=transport)
    names = tuple(name for name, _ in invariants)
    return Derived(derivation, mechanics, names, e.probed.M, works, operations, bends, features, faults)


def _kept_expressions(statement: Statement) -> list[sp.Expr]:
    """The expressions of coordinates that stay zero along a motion."""
    ideal = [c.stated for c in statement.constraints if c.level is Level.POSITION and c.law is IDEAL]
    return [*(e for _, e in statement.invariants), *ideal]


def _mechanics(d: _Equations, s: Symbols, **rest: ca.SX) -> Mechanics:
    """The one graph; `rest` are friction, power and transport."""
    kinematics, dynamics, constraints = d.derivation.kinematics, d.dynamics, d.constraints
    first = len(d.rows) - count_curved(d.rows)
    la = ca.SX.sym("la", len(d.rows))
    gamma, A, E = _with_multipliers(d, s, la)
    graphs = {
        "qdot": kinematics.qdot, "C": kinematics.C, "M": dynamics.M, "f": dynamics.f, "c": dynamics.prescribed,
        "active": dynamics.active, "velocities": dynamics.velocities,
        "phi": constraints.phi, "G": constraints.G, "psi": constraints.psi, "gamma": gamma, "A": A,
        "b": ca.vertcat(constraints.b[:first, :], ca.SX(len(d.rows) - first, 1)), "B": dynamics.B, "E": E,
        "h": ca.vertcat(ca.SX(0, 1), *[e for _, e in d.invariants]),
        "kinetic": dynamics.kinetic, "potential": dynamics.potential, **rest,
    }  # fmt: skip
    return Mechanics(
        rows=d.rows, t=s.t, q=s.q, u=s.u, p=s.p, udot=s.ud, la=la,
        **{name: ca.sparsify(graph) for name, graph in graphs.items()},
    )  # fmt: skip


def _with_multipliers(d: _Equations, s: Symbols, la: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Acceleration residuals, A and E, in which unknowns and multipliers of laws are entries of la (nc, 1)."""
    gamma, A, E = d.constraints.gamma, d.constraints.A, d.dynamics.E
    if not are_algebraic(d.rows):
        return gamma, A, E
    place = {row.name: k for k, row in enumerate(d.rows)}
    enforced = rows_by_unknown(d.rows)
    y = [la[enforced[j]] for j in range(s.y.shape[0])]
    n = [la[place[c.name]] if c.name in place else ca.SX(0) for c in d.derivation.statement.constraints]
    found = ca.substitute([gamma, A, E], [ca.vertcat(s.y, s.n)], [ca.vertcat(*y, *n)])
    return found[0], found[1], found[2]


def checked_kinematics(statement: Statement, s: Symbols, probe: Probe) -> Kinematics:
    """q' = C u + D of a statement. Raises `ModelError` if its kinematical equations are not linear or not regular."""
    low = Lowering(atoms_of(statement, s))
    explicit = explicit_kinematics(statement, low, s)
    if explicit is not None:
        return explicit
    k = low.vector(statement.kinematics)
    K = ca.jacobian(k, s.qd)
    _check_linear(statement, ca.jacobian(k, ca.vertcat(s.qd, s.u)), ca.vertcat(s.qd, s.u))
    n = s.q.shape[0]
    if is_identity(K):
        return solve_kinematics(k, s)
    ranks = [rank_of(np.nan_to_num(v.reshape(n, n))) for v in probe(K)]
    if max(ranks) < n:
        loose = [str(q) for j, q in enumerate(statement.coordinates) if K[:, j].nnz() == 0]
        which = f"the rates of {', '.join(loose)} do not appear" if loose else f"rank {max(ranks)} for {n} rates"
        raise ModelError(statement.name, [f"kinematics cannot be solved for the coordinate rates: {which}"])
    return solve_kinematics(k, s)


def _check_linear(statement: Statement, jacobian: ca.SX, variables: ca.SX) -> None:
    if not ca.depends_on(jacobian, variables):
        return
    faults = [
        f"kinematical equation {i + 1} is not linear in the coordinate rates and speeds: {show(equation)} = 0"
        for i, equation in enumerate(statement.kinematics)
        if ca.depends_on(jacobian[i, :], variables)
    ]
    if faults:
        raise ModelError(statement.name, faults)


def _constraints(
    statement: Statement, derivation: Derivation, probe: Probe
) -> tuple[list[RowEntry], Constraints, list[tuple[str, ca.SX]]]:
    """Constraints by level, all of them as A u' = b, and invariants.

    A position constraint that the kinematics keep by themselves becomes an invariant.
    """
    kinematics, low = derivation.kinematics, derivation.low
    kept_by_rates = ca.vertsplit(low.vector([e for _, e in statement.invariants])) if statement.invariants else []
    invariants = [(name, e) for (name, _), e in zip(statement.invariants, kept_by_rates, strict=True)]
    stated = [statement.constraints[k] for k in sorted_constraints(statement)]
    kinds = rows_by_kind(stated, derivation, probe)
    graphs = dict(zip(kinds.rows.tolist(), ca.vertsplit(kinds.stated), strict=True)) if kinds else {}
    rest = [k for k in range(len(stated)) if k not in graphs]
    graphs |= zip(rest, ca.vertsplit(low.vector([stated[k].stated for k in rest])) if rest else (), strict=True)
    fixed = _constant([k for k in rest if stated[k].level is Level.POSITION], graphs, kinematics, probe)
    fixed = [k for k in fixed if not has_bends(stated[k].stated)]  # elsewhere such a row may be none
    invariants += [(stated[k].name, graphs[k]) for k in fixed]
    kept = [k for k in range(len(stated)) if k not in fixed]
    derived = derive_constraints([(stated[k].level, graphs[k]) for k in rest if k not in fixed], kinematics)
    bent = ca.depends_on(derived.A, kinematics.symbols.ud) or not all(stated[k].law.restrains for k in kept)
    entries = [
        RowEntry(c.level, graphs[k], Row(c.name, c.level.value, law_of(statement, c, bent=bent), c.unit))
        for k, c in ((k, stated[k]) for k in kept)
    ]
    return entries, kinds.join(derived, kept) if kinds else derived, invariants


def _constant(rows: list[int], graphs: Mapping[int, ca.SX], kinematics: Kinematics, probe: Probe) -> list[int]:
    """The position rows, of those given, whose rate vanishes for all speeds. One probe examines all of them."""
    if not rows:
        return []
    still = cancelling(probe, kinematics.rate_terms(ca.vertcat(*[graphs[k] for k in rows])))
    return [k for k, value in zip(rows, still, strict=True) if value]


def _power(derived: _Equations, probe: Probe) -> tuple[ca.SX, ca.SX, bool]:
    """Power (1, 1) and transport (nu, 1) such that dE/dt = power + transport . u' + r . u, and if any of it can act.

    What is a function of time counts as it is stated: at a few points it may be still, or too small to be noticed.
    For natural systems (T quadratic in u, no explicit time) only applied forces stay. In general
    dT/dt - u . (M u' - inertial) = (T_q q' + T_t + u . inertial) + (T_u - M u) . u'.
    """
    kinematics, d, c, rows = derived.derivation.kinematics, derived.dynamics, derived.constraints, derived.rows
    s = kinematics.symbols
    T, V, u = d.kinetic, d.potential, s.u
    power = ca.dot(d.applied + d.prescribed, u) + ca.jtimes(V, s.t, ca.SX(1)) + ca.jtimes(V, s.q, kinematics.D)
    transport, momentum = ca.SX(*u.shape), ca.gradient(T, u)
    terms = (
        ca.horzcat(kinematics.rate_terms(T), (u * d.inertial).T),
        ca.horzcat(momentum, -scaled_columns(d.M, u)),
    )
    later = [bool(ca.depends_on(part, s.t)) for part in (T, c.psi, V)]
    if later[0] or not all(cancelling(probe, part).all() for part in terms):
        transport = momentum - ca.mtimes(d.M, u)
        power += kinematics.rate(T) + ca.dot(u, d.inertial)
    power = ca.sparsify(power)
    n = c.psi.shape[0]
    silent = not may_work(rows) and c.gamma.shape[0] == 0 and not any(later)  # an energy may jump
    if silent and n:  # A u - psi is zero for scleronomic constraints linear in u
        silent = bool(_rates_left(derived, probe(u)).all())
    return power, transport, not (silent and power.nnz() == 0 and transport.nnz() == 0)


def _rates_left(derived: _Equations, u: np.ndarray) -> np.ndarray:
    """Mask of the rows of psi that equal A u at the points of the probe, where the speeds are u (3, nu)."""
    c, n = derived.constraints, derived.constraints.psi.shape[0]
    pattern = c.A.sparsity()
    rows, columns = np.array(pattern.row(), dtype=int), np.array(pattern.get_col(), dtype=int)
    own = rows < n
    terms = [(derived.probed.A * u[:, columns])[:, own], -derived.probed.psi]
    return cancel([*rows[own], *c.psi.sparsity().row()], np.concatenate(terms, axis=1), n)
