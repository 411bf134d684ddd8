"""`compile_statement`: from the statement of a user to a `System`, or every fault at once."""

from __future__ import annotations

from contextlib import closing

import casadi as ca
import numpy as np

from dalembert.equations.checks.inertia import carriers_of, inertia_column, inertia_faults
from dalembert.equations.checks.statement import check_functions, check_statement
from dalembert.equations.compile_progress import CompileProgress, check_room, uncollected
from dalembert.equations.crossings import TimeCrossing
from dalembert.equations.derive import Derivation
from dalembert.equations.derived import derive
from dalembert.equations.drawing import derive_drawing
from dalembert.equations.features import LEGIBLE, Features
from dalembert.equations.functions import Functions, Stated, function_of
from dalembert.equations.high_order import with_lowered_constraints
from dalembert.equations.kinds.assemble import Assembled, assemble
from dalembert.equations.kinds.assembly import Assembly
from dalembert.equations.kinks import Bends
from dalembert.equations.loads import derive_loads
from dalembert.equations.lowering.atoms import Atoms
from dalembert.equations.lowering.lower import Lowering, LoweringError
from dalembert.equations.lowering.sympy_rules import show
from dalembert.equations.massless import with_massless_coordinates
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.outputs import check_outputs, derive_outputs
from dalembert.equations.system import System
from dalembert.equations.wrenches import derive_wrenches
from dalembert.errors import ModelError
from dalembert.interrupts import noticed_interrupts
from dalembert.model.statement import Statement
from dalembert.solve.elimination_order import lower_triangle

MASSLESS = "the mass matrix is zero; give something a mass that moves with a speed"
SPEEDS_OF_DENSE_MASS = 300  # speeds above which M is taken by its nonzeros


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
    try:
        found = assemble(statement, progress)
        return _written_out(statement, progress) if found is None else _of_kinds(statement, found, progress)
    except LoweringError as error:
        raise ModelError(statement.name, check_functions(statement) or [str(error)]) from error


def _written_out(statement: Statement, progress: CompileProgress) -> System:
    """The system of one graph."""
    d = derive(statement, progress)
    check_room(statement, d.operations)
    m, s, low = d.mechanics, d.derivation.symbols, d.derivation.low
    faults = d.faults + check_outputs(statement, [row.name for row in m.rows])
    if m.M.nnz() == 0:
        faults.append(MASSLESS)
    if faults:
        raise ModelError(statement.name, faults)
    stated: dict[str, Stated] = {
        **d.functions(),
        "inertias": function_of("inertias", s.x, [inertia_column(statement, low)]),
    }
    return _system(
        statement, d.derivation, m, stated, progress, bends=d.bends, features=d.features, invariants=d.invariants,
        works=d.works, singular_mass=_is_singular(m.M.sparsity(), d.mass),
    )  # fmt: skip


def _of_kinds(statement: Statement, found: Assembled, progress: CompileProgress) -> System:
    """The system of an assembly of kinds; what is written out of it is written out when it is first asked for."""
    a = found.assembly
    s, atoms = a.symbols, Atoms(statement.time)
    atoms.add([statement.time], s.t)
    atoms.add([*statement.parameters], s.p)
    inertias = function_of("inertias", s.x, [inertia_column(statement, Lowering(atoms))])
    values = inertias(np.concatenate([np.zeros(1 + a.sizes.q + a.sizes.u), a.defaults])).full().ravel()
    faults = [words for _, words in inertia_faults(carriers_of(statement), values)]
    faults += check_outputs(statement, [row.name for row in a.rows])
    if not any(kind.mechanics.M.nnz() for kind in a.kinds):
        faults.append(MASSLESS)
    if faults:
        raise ModelError(statement.name, faults)
    derivation = Derivation(statement, a.symbols, lambda: a.written_out_kinematics)
    stated: dict[str, Stated] = {**found.functions, "inertias": inertias}
    pattern, mass = a.mass_samples
    return _system(
        statement, derivation, a, stated, progress, bends=found.bends, features=found.features,
        invariants=a.invariants, works=a.works, singular_mass=_is_singular(pattern, mass),
    )  # fmt: skip


def _system(
    statement: Statement, derivation: Derivation, m: Mechanics | Assembly, stated: dict[str, Stated],
    progress: CompileProgress, *, bends: Bends, features: Features, invariants: tuple[str, ...], works: bool,
    singular_mass: bool,
) -> System:  # fmt: skip
    progress("outputs")
    s = derivation.symbols
    drawing, drawn = derive_drawing(derivation)
    quantities, readable = derive_outputs(derivation, m)
    if statement.followers:
        stated["followers"] = _followers(statement, derivation.low, s.x)
    stated |= {
        **readable,
        "drawing": drawn,
        "loads": lambda: function_of("loads", ca.vertcat(s.x, s.ud, s.y), [derive_loads(derivation)]),
        "joints": derive_wrenches(derivation, m.rows, m.la),
    }
    return System(
        name=statement.name,
        coordinates=tuple(q.func.__name__ for q in statement.coordinates),
        speeds=tuple(u.func.__name__ for u in statement.speeds),
        parameters=tuple(str(p) for p in statement.parameters),
        parameter_defaults=tuple(statement.parameters.values()),
        unknowns=tuple(y.func.__name__ for y in statement.unknowns),
        rows=m.rows,
        invariants=invariants,
        guess=tuple(statement.defaults.get(q, 0.0) for q in statement.coordinates),
        works=works,
        singular_mass=singular_mass,
        trivial_kinematics=m.trivial_kinematics,
        drawing=drawing,
        particles=tuple(particle.name for particle in statement.particles if not particle.part),
        bodies=tuple(body.name for body in statement.bodies),
        joints=tuple(joint.name for joint in statement.joints),
        carriers=carriers_of(statement),
        quantities=quantities,
        kinks=tuple(kink for _, kink in bends.linear),
        crossings=tuple(TimeCrossing(show(argument, LEGIBLE).strip("`"), kink) for argument, kink in bends.curved),
        features=features.found,
        functions=Functions(m, stated),
        statement=statement.copy(),
        followers=tuple([*statement.parameters].index(p) for p in statement.followers),
    )


def _followers(statement: Statement, low: Lowering, x: ca.SX) -> ca.Function:
    """The values of parameters that are given in terms of others, from x = (.., p)."""
    return function_of("followers", x, [low.vector([*statement.followers.values()])])


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
