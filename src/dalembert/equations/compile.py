"""`compile_statement`: from the statement of a user to a `System`, or every fault at once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.checks.derivation import check_derivation
from dalembert.equations.checks.inertia import carriers_of, inertia_column
from dalembert.equations.checks.statement import check_functions, check_statement, sorted_constraints
from dalembert.equations.compile_progress import CompileProgress, check_room, uncollected
from dalembert.equations.crossings import TimeCrossing
from dalembert.equations.derive import Constraints, Derivation, Dynamics, derive_constraints
from dalembert.equations.drawing import derive_drawing
from dalembert.equations.features import LEGIBLE, Features, find_features, with_divisors
from dalembert.equations.friction import derive_friction
from dalembert.equations.functions import Functions, function_of
from dalembert.equations.hidden import RowEntry, reveal_hidden
from dalembert.equations.high_order import with_lowered_constraints
from dalembert.equations.kinks import Bends, arguments_column, crossing_function, find_kinks, has_bends
from dalembert.equations.laws import (
    Row,
    are_algebraic,
    count_curved,
    law_of,
    may_work,
    rows_by_unknown,
)
from dalembert.equations.loads import derive_loads
from dalembert.equations.lowering.lower import Lowering, LoweringError
from dalembert.equations.lowering.sympy_rules import show
from dalembert.equations.massless import with_massless_coordinates
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.nonlinear_unknowns import split_unknowns
from dalembert.equations.outputs import check_outputs, derive_outputs
from dalembert.equations.probe import Probe, Probed, cancel, cancelling, probe_at_random
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
from dalembert.equations.system import System
from dalembert.equations.wrenches import derive_wrenches
from dalembert.errors import ModelError
from dalembert.interrupts import noticed_interrupts
from dalembert.model.laws import IDEAL
from dalembert.model.statement import Level, Statement
from dalembert.solve.decompositions import rank_of
from dalembert.solve.elimination_order import lower_triangle

SPEEDS_OF_DENSE_MASS = 300  # speeds above which M is taken by its nonzeros


@dataclass(frozen=True)
class Derived:
    """Equations derived from a statement, as graphs. `invariants` come with their names; `probed` are values."""

    derivation: Derivation
    dynamics: Dynamics
    constraints: Constraints
    rows: tuple[Row, ...]
    invariants: list[tuple[str, ca.SX]]
    probed: Probed


def compile_statement(statement: Statement) -> System:
    """The system a statement describes; raises `ModelError` with all faults found."""
    check_room(statement)
    with (
        noticed_interrupts() as check_interrupted,
        closing(CompileProgress(statement.name, check_interrupted)) as progress,
        uncollected(),
    ):
        system = _compile(with_lowered_constraints(statement), progress)
        check_interrupted()
        return system


def _compile(statement: Statement, progress: CompileProgress) -> System:
    progress("checks")
    faults = check_statement(statement)
    if faults:
        raise ModelError(statement.name, faults)
    statement = with_massless_coordinates(statement)
    s = Symbols.of(statement)
    probe = probe_at_random(statement, s)
    try:
        d = _derive(statement, s, probe, progress)
        drawing, drawn = derive_drawing(d.derivation)
    except LoweringError as error:
        raise ModelError(statement.name, check_functions(statement) or [str(error)]) from error
    progress("checks of the equations")
    friction, rubbing = derive_friction(d.derivation, d.constraints, d.rows, probe)
    faults = check_derivation(d.derivation, d.constraints, d.rows, probe, d.probed) + rubbing
    faults += check_outputs(statement, [row.name for row in d.rows])
    if faults:
        raise ModelError(statement.name, faults)
    progress("energies")
    nodes = list(with_divisors(d.derivation.low.nodes()))
    bends = find_kinks(nodes, statement.time, statement.parameters)
    features = find_features(nodes, d.derivation.low, s, _kept_expressions(statement))
    switched = any(bends) or any(feature.of_time for feature in features.found)
    power, transport, works = _power(d, probe, switched=switched)
    mechanics = _mechanics(d, s, F=friction, power=power, transport=transport)
    progress("outputs")
    try:
        quantities, readable = derive_outputs(d.derivation, mechanics)
        wrenches = derive_wrenches(d.derivation, d.rows, mechanics.la)
    except LoweringError as error:
        raise ModelError(statement.name, check_functions(statement) or [str(error)]) from error
    stated = {
        **_instant_functions(bends, d.derivation.low, statement, s),
        **_feature_functions(features),
        **({"followers": _followers(statement, d.derivation.low, s.x)} if statement.followers else {}),
        "inertias": function_of("inertias", s.x, [inertia_column(statement, d.derivation.low)]),
        **readable,
        "drawing": drawn,
        "loads": lambda: function_of("loads", ca.vertcat(s.x, s.ud, s.y), [derive_loads(d.derivation)]),
        "joints": wrenches,
    }
    return System(
        name=statement.name,
        coordinates=tuple(q.func.__name__ for q in statement.coordinates),
        speeds=tuple(u.func.__name__ for u in statement.speeds),
        parameters=tuple(str(p) for p in statement.parameters),
        parameter_defaults=tuple(statement.parameters.values()),
        unknowns=tuple(y.func.__name__ for y in statement.unknowns),
        rows=d.rows,
        invariants=tuple(name for name, _ in d.invariants),
        guess=tuple(statement.defaults.get(q, 0.0) for q in statement.coordinates),
        works=works,
        singular_mass=_is_singular(d.dynamics.M.sparsity(), d.probed.M),
        trivial_kinematics=mechanics.trivial_kinematics,
        drawing=drawing,
        particles=tuple(particle.name for particle in statement.particles if not particle.part),
        bodies=tuple(body.name for body in statement.bodies),
        joints=tuple(joint.name for joint in statement.joints),
        carriers=carriers_of(statement),
        quantities=quantities,
        kinks=tuple(kink for _, kink in bends.linear),
        crossings=tuple(TimeCrossing(show(argument, LEGIBLE).strip("`"), kink) for argument, kink in bends.curved),
        features=features.found,
        functions=Functions(mechanics, stated),
        statement=statement.copy(),
        followers=tuple([*statement.parameters].index(p) for p in statement.followers),
    )


def _followers(statement: Statement, low: Lowering, x: ca.SX) -> ca.Function:
    """The values of parameters that are given in terms of others, from x = (.., p)."""
    return function_of("followers", x, [low.vector([*statement.followers.values()])])


def _derive(statement: Statement, s: Symbols, probe: Probe, progress: CompileProgress) -> Derived:
    progress("kinematics")
    derivation = Derivation(statement, _kinematics(statement, s, probe))
    progress("dynamics")
    dynamics = derivation.run()
    split_unknowns(dynamics, s, [statement.starts.get(y, 0.0) for y in statement.unknowns])
    progress("constraints")
    entries, stated, invariants = _constraints(statement, derivation, probe)
    entries, constraints = reveal_hidden(entries, stated, derivation.kinematics, dynamics, probe)
    rows = tuple(entry.row for entry in entries)
    graphs = dynamics.M, dynamics.f + dynamics.prescribed, constraints.A, constraints.psi, constraints.b
    (*probed, _), operations = probe.nonzeros(*graphs)
    check_room(statement, operations)
    return Derived(derivation, dynamics, constraints, rows, invariants, Probed(*probed))


def _mechanics(d: Derived, s: Symbols, **rest: ca.SX) -> Mechanics:
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


def _with_multipliers(d: Derived, s: Symbols, la: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
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


def _is_singular(pattern: ca.Sparsity, samples: np.ndarray) -> bool:
    """Whether M (nu, nu), given by its nonzeros at samples, (3, n), and scaled to unit diagonal, is singular."""
    n = pattern.size1()
    if n > SPEEDS_OF_DENSE_MASS:
        low = lower_triangle(pattern)
        return _has_small_pivots(low, np.array([ca.project(ca.DM(pattern, row), low).nonzeros() for row in samples]))
    values = np.zeros((len(samples), n, n))
    values[:, pattern.row(), pattern.get_col()] = samples
    if not np.isfinite(values).all():
        return False
    scale = np.sqrt(np.abs(np.einsum("kii->ki", values)))
    scale[scale == 0.0] = 1.0
    return bool(np.linalg.eigvalsh(values / scale[:, :, None] / scale[:, None, :]).min() < 1e-9)


def _has_small_pivots(pattern: ca.Sparsity, samples: np.ndarray) -> bool:
    """Whether a matrix, given by the nonzeros of its lower triangle at samples, has a pivot that vanishes in one."""
    from dalembert.solve.sparse_system import least_pivots  # the engine is imported when it is first needed

    return bool((least_pivots(pattern, samples[np.isfinite(samples).all(axis=1)]) < 1e-9).any())


def _kinematics(statement: Statement, s: Symbols, probe: Probe) -> Kinematics:
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


def _instant_functions(bends: Bends, low: Lowering, statement: Statement, s: Symbols) -> dict[str, ca.Function]:
    """Functions for the instants at which expressions bend or jump: of arguments linear in time, then of others."""
    linear = function_of("kinks", s.x, [arguments_column(bends.linear, low, statement.time)])
    curved = (crossing_function(argument, low, s.x) for argument, _ in bends.curved)
    return {"kinks": linear} | {f"crossing {k}": function for k, function in enumerate(curved)}


def _kept_expressions(statement: Statement) -> list[sp.Expr]:
    """The expressions of coordinates that stay zero along a motion."""
    ideal = [c.stated for c in statement.constraints if c.level is Level.POSITION and c.law is IDEAL]
    return [*(e for _, e in statement.invariants), *ideal]


def _feature_functions(features: Features) -> dict[str, ca.Function]:
    """Functions that locate the features of the model's functions, and the function of their arguments."""
    functions = {f"shape {k}": function for k, function in enumerate(features.shapes)}
    functions |= {f"phases {k}": function for k, function in enumerate(features.phases)}
    named = {"arguments": features.arguments, "moving": features.moving}
    return functions | {name: function for name, function in named.items() if function is not None}


def _power(derived: Derived, probe: Probe, *, switched: bool) -> tuple[ca.SX, ca.SX, bool]:
    """Power (1, 1) and transport (nu, 1) such that dE/dt = power + transport . u' + r . u, and if any of it can act.

    With expressions of time that jump or hide features (`switched`) a few points do not tell what holds at others.
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
    later = [switched and bool(ca.depends_on(part, s.t)) for part in (T, c.psi, V)]
    if later[0] or not all(cancelling(probe, part).all() for part in terms):
        transport = momentum - ca.mtimes(d.M, u)
        power += kinematics.rate(T) + ca.dot(u, d.inertial)
    power = ca.sparsify(power)
    n = c.psi.shape[0]
    silent = not may_work(rows) and c.gamma.shape[0] == 0 and not any(later)  # an energy may jump
    if silent and n:  # A u - psi is zero for scleronomic constraints linear in u
        silent = bool(_rates_left(derived, probe(u)).all())
    return power, transport, not (silent and power.nnz() == 0 and transport.nnz() == 0)


def _rates_left(derived: Derived, u: np.ndarray) -> np.ndarray:
    """Mask of the rows of psi that equal A u at the points of the probe, where the speeds are u (3, nu)."""
    c, n = derived.constraints, derived.constraints.psi.shape[0]
    pattern = c.A.sparsity()
    rows, columns = np.array(pattern.row(), dtype=int), np.array(pattern.get_col(), dtype=int)
    own = rows < n
    terms = [(derived.probed.A * u[:, columns])[:, own], -derived.probed.psi]
    return cancel([*rows[own], *c.psi.sparsity().row()], np.concatenate(terms, axis=1), n)
