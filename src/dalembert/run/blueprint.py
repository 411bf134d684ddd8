"""Blueprints: array layout and native functions shared by engines of one system, formulation and drift control."""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.native.jit import address_of
from dalembert.native.kernel import Kernel
from dalembert.native.plan import Plan, lay_out
from dalembert.native.types import Record
from dalembert.native.workspace import Workspace
from dalembert.run.branch_memory import ANCHORS
from dalembert.run.evaluate import feed_back, leave
from dalembert.run.formulations.accelerators import accelerator_of
from dalembert.run.formulations.choice import Choice
from dalembert.run.formulations.lagrange_multipliers import accelerate_pivoted, accelerate_sparse
from dalembert.run.formulations.law_loops import factor_laws, solve_linearised_laws
from dalembert.run.ingredients import Drift, Eliminating, Formulation, Iterating
from dalembert.run.right_hand_side import feedback_function
from dalembert.run.run_maps import Maps, lay_out_maps
from dalembert.run.sizing import lay_out_sizing
from dalembert.run.solver_choice import choose_solver
from dalembert.run.vanishing_rows import lengths_function, rows_that_may_vanish
from dalembert.run.variations import CarriedColumns, correct_varied, sides_function, tangent_function
from dalembert.solve.row_lengths import judge_lengths
from dalembert.solve.solver import SaddleSolver
from dalembert.solve.sparse_layout import lay_out_sparse
from dalembert.solve.sparse_row_lengths import judge_sparse_lengths
from dalembert.solve.unsymmetric import UNSYMMETRIC


class Solve(NamedTuple):
    """The addresses that go with a static choice: of the motion kernel (0 if there is none) and of the accelerator."""

    motion: int
    accelerate: int


@dataclass
class Blueprint:
    """Data shared by all engines of one system, formulation and drift control: the array layout, and addresses.

    `feedback` names the feedback of the drift control, empty if there is none. `solves` maps static choices to their
    addresses. `whole` is the choice of all constraints without a partition, and its solve, once it was made. Where this
    choice is good it would be made anyway, so the next engine starts from it without a check. No other choice is
    carried over between runs.
    """

    work: Workspace
    correct: Any
    feedback: str
    metric: SaddleSolver  # by which least moves are found; that of the equations stores matrices in the same way
    ones: np.ndarray  # sizes that an absolute atol is relative to
    records: tuple[Record | np.ndarray, ...] = ()  # records and arrays that the plan refers to by address
    solves: dict[Choice | None, Solve] = field(default_factory=dict)
    whole: tuple[Choice, Solve] | None = None
    maps: Maps | None = None  # record of the cells of functions, None if there are none with features
    given: Kernel | None = None  # the unknowns of Newton's method for accelerations, where these are not (u', la)


def blueprint_of(system: System, formulation: Formulation, drift: Drift, columns: CarriedColumns = ()) -> Blueprint:
    """The blueprint, made at the first request and cached with the system."""
    key = (formulation, drift, columns) if columns else (formulation, drift)
    try:
        found = system.kernels.known(key)
    except TypeError:  # options that are lists or arrays cannot be looked up
        return _draw(system, formulation, drift, columns)
    return found or system.kept(key, lambda: _draw(system, formulation, drift, columns))


def _draw(system: System, formulation: Formulation, drift: Drift, columns: CarriedColumns) -> Blueprint:
    sizes = {
        "nq": system.nq, "nu": system.nu, "np": system.count("position"), "nv": system.count("velocity"),
        "nc": system.nc, "ni": len(system.invariants), "works": int(system.works), "ideal": int(system.ideal),
        "friction": int(system.friction), "curved": system.curved, "columns": len(columns),
    }  # fmt: skip
    options = drift.options(system, None)
    metric = choose_solver(system, formulation, drift)
    sparse = metric.over_nonzeros
    if sparse:
        pattern = system.structure.saddle_pattern
        along = system.structure.invariant_pattern
        sizes |= {"mass": len(pattern.mass_rows), "jacobian": len(pattern.columns), "gradients": along.nnz()}
    dynamics = system.kernel("sparse_dynamics" if sparse else "dynamics")
    work = lay_out(sizes, len(system.parameters), dynamics.n_out, options)
    plan = work.plan
    plan.dynamics = dynamics.address
    plan.invariant = system.kernel("sparse_invariant" if sparse else "invariant").address
    for name in ("residual", "displacement", "energy"):
        setattr(plan, name, system.kernel(name).address)
    floats, ints = formulation.workspace(system.nu, system.nc)
    work.reserve(plan, {"work": max(floats, drift.workspace(system))}, {"work_ints": ints})  # never in use together
    for name, kernel in ({} if sparse else drift.kernels(system)).items():  # sparse: its kernels are unrolled solves
        setattr(plan, name, 0 if kernel is None else kernel.address)
    correct, feedback = drift.corrector(), drift.feedback(system)
    if feedback is not None:
        reading = system.derived_kernel(f"feedback {feedback.name}", lambda: feedback_function(system, feedback))
        plan.feedback_kernel = reading.address
    given = None
    if not system.ideal:
        work.reserve(plan, ints={"implied_rows": len(system.implied)})
        work.ints[plan.implied_rows :][: len(system.implied)] = system.implied
        plan.implied = len(system.implied)
        given = _iterate(system, formulation, work)
    # Until a choice is made, see `Engine.choose`.
    first = accelerate_pivoted if system.ideal else accelerator_of(formulation, system, None)
    records: list[Record | np.ndarray] = [lay_out_sizing(system, work, sparse=sparse)]
    if sparse:
        first, counts = accelerate_sparse, [sizes["np"], sizes["np"] + sizes["nv"], sizes["nc"]]
        rows = np.array(along.colind(), dtype=np.int64), np.array(along.row(), dtype=np.int64)
        matrices, factors, tables = lay_out_sparse(work, pattern, counts, soft=system.singular_mass, invariants=rows)
        records += (matrices, *factors, tables)
        plan.chosen = sizes["nc"]  # the order of elimination is fixed, and no constraint is left out
    plan.accelerate, plan.correct = first.address, correct.address
    plan.feedback = (leave if feedback is None else feed_back).address
    _solve_by(plan, metric if system.ideal else UNSYMMETRIC, metric)
    _follow_lengths(plan, system, sparse=sparse)
    if isinstance(formulation, Eliminating):
        correct = _eliminate(system, formulation, work)
    if columns:
        _check_carried(system, formulation)
        _carry_along(system, work, drift, columns)
    ones = np.ones(system.nq + system.nu + 1)
    plan.units = plan.reached = address_of(ones)
    return Blueprint(
        work,
        correct,
        "" if feedback is None else feedback.name,
        metric,
        ones,
        tuple(records),
        maps=lay_out_maps(system, work),
        given=given,
    )


def _solve_by(plan: Plan, solver: SaddleSolver, metric: SaddleSolver) -> None:
    """Have native code solve the equations of motion and the least moves by these solvers."""
    plan.factor, plan.solve, plan.judge = solver.factor.address, solver.solve.address, solver.judge.address
    changes = (factor_laws, solve_linearised_laws) if plan.oriented else (solver.factor, solver.solve)
    plan.factor_changes, plan.solve_changes = (function.address for function in changes)
    plan.factor_metric, plan.solve_metric = metric.factor.address, metric.solve.address
    plan.weakest = solver.weakest
    products = solver.products
    plan.reaction_power, plan.balance = products.power.address, products.balance.address
    plan.row_residual, plan.follow = products.row_residual.address, products.follow.address


def _follow_lengths(plan: Plan, system: System, *, sparse: bool) -> None:
    """Have native code measure row lengths, to detect vanishing gradients. Over nonzeros this costs next to nothing."""
    if sparse:
        plan.judge = judge_sparse_lengths.address
    elif rows_that_may_vanish(system):
        plan.judge = judge_lengths.address
        plan.row_lengths = system.derived_kernel("row lengths", lambda: lengths_function(system)).address


def _iterate(system: System, formulation: Formulation, work: Workspace) -> Kernel | None:
    """Have native code solve by Newton's method where laws or the formulation ask for it.

    Returns the kernel of its unknowns from (x, u', la), None if they are u' and la.
    """
    form = formulation.iteration(system) if isinstance(formulation, Iterating) else None
    if form is None:
        if system.algebraic:
            accelerator_of(formulation, system, None)  # refuses, saying why
            raise PairingError(
                f"{type(formulation).__name__} does not solve laws such as those of `{system.name}`; use "
                "LagrangeMultipliers()"
            )
        return None
    kernel = system.derived_kernel(f"iteration {type(formulation).__name__}", form.function)
    plan, n = work.plan, form.w.shape[0]
    plan.iteration, plan.unknowns = kernel.address, n
    sizes = {"in": kernel.n_in, "out": kernel.n_out, "matrix": n * n, "scale": 2 * n}
    sizes |= dict.fromkeys(("step", "start", "kept", "spare"), n)
    blocks = {f"iteration_{name}": size for name, size in sizes.items()} | {"anchors": ANCHORS * (2 + n)}
    work.reserve(plan, blocks, {"iteration_order": n})
    plan.oriented = int(form.in_multipliers)
    work.mem[plan.iteration_start : plan.iteration_start + n] = form.start
    if form.in_multipliers:
        return None
    return system.derived_kernel(f"unknowns of {type(formulation).__name__}", form.given_function)


def _eliminate(system: System, formulation: Eliminating, work: Workspace) -> Any:
    """Have native code eliminate speeds; returns the corrector."""
    plan, correct = work.plan, formulation.corrector()
    speeds = system.derived_kernel("speeds of every evaluation", lambda: system.functions["speeds"])
    work.reserve(plan, {"speed_rows": speeds.n_out})
    plan.speeds, plan.eliminate = speeds.address, formulation.eliminator().address
    plan.correct_drift, plan.correct = plan.correct, correct.address
    return correct


def _check_carried(system: System, formulation: Formulation) -> None:
    """Raise `PairingError` if a formulation does not solve for the multipliers that derivatives need."""
    form = formulation.iteration(system) if isinstance(formulation, Iterating) else None
    if form is not None and not form.in_multipliers:
        raise PairingError(
            f"derivatives of the motion of `{system.name}`, whose reactions are not ideal, follow from multipliers; "
            f"{type(formulation).__name__} does not solve for these, use LagrangeMultipliers()"
        )


def _carry_along(system: System, work: Workspace, drift: Drift, columns: CarriedColumns) -> None:
    """Have the workspace of an engine carry derivatives along: their kernels, and the correction onto the tangents."""
    plan, feedback, options = work.plan, drift.feedback(system), len(drift.options(system, None))
    name = f"{columns} {options}"
    plan.sides_kernel = system.derived_kernel(
        f"variation sides {name} {feedback and feedback.name}",
        lambda: sides_function(system, columns, feedback, options),
    ).address
    tangent = system.optional_kernel(f"variation tangent {name}", lambda: tangent_function(system, columns, options))
    plan.onto_tangent = 0 if tangent is None else tangent.address
    plan.plain_correct, plan.correct = plan.correct, correct_varied.address
