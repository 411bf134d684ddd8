"""`Plan`: the data known to every native function of a run, and the signatures of its exchangeable parts.

Native functions pass the plan and one array of floats, `mem` (see `native.workspace`): the input of kernels, x = (t, q,
u, p), their output, the solution u' and la, and workspace. Matrices are flat and row-major.
"""

from __future__ import annotations

import numpy as np

from dalembert.native.intrinsics import LANES, call_kernel, caller, ints_at, move, move_few
from dalembert.native.types import Floats, Ints, Record, f8, floats, i8, ints, u8
from dalembert.native.workspace import Workspace


class Plan(Record):
    """Sizes, addresses, and where blocks start in `mem` and in the integer workspace."""

    _fields_ = (
        # Sizes: coordinates; speeds; a state z = (q, u, and the work done if anything does work); position, velocity
        # and all constraints; invariants of the kinematics.
        *ints("nq nu nz np nv nc ni"),
        # What reactions can be: all of them along A; some rub; number of acceleration rows if one of them is not linear
        # in u'.
        *ints("ideal rubs curved"),
        # Number of rows that are not solved for, as the others imply them, and where their numbers are in the integers.
        *ints("implied implied_rows"),
        # Kernels: dynamics; motion, the whole right-hand side unrolled (0 if there is none); residual (phi, psi);
        # displacement (C s); invariant (h, h_q); energy (T, V); the least moves of q and of u onto the constraints,
        # unrolled (0 if there are none), or one for both, if all constraints are of positions; of the whole state onto
        # constraints and energy, or constraints alone; b with feedback (0 if there is none); residuals and their
        # gradients, for drift controls that work on the whole state.
        *ints("dynamics motion residual displacement invariant energy onto_positions onto_velocities least_move"),
        *ints("onto_energy onto_constraints feedback_kernel gradients"),
        # The square of the shortest row of A relative to its size, at most 1, of sizes and x (0: no row can vanish);
        # where it is left.
        *ints("row_lengths shortest"),
        # psi, q' and their gradients in u, for formulations that eliminate speeds (0 if all are integrated); where it
        # writes them.
        *ints("speeds speed_rows"),
        # Blocks of mem. x holds t, q, u, p; behind it the length of the step being made, and the options of the drift
        # control, so that kernels can read them as the tail of x.
        *ints("x xq xu step_length options"),
        # The output of the dynamics kernel, by parts: directions W0 and friction F as stated.
        *ints("out qdot mass force jacobian bias stated friction power transport"),
        # Directions of the reactions, the rows of A if all are ideal.
        *ints("direction"),
        # q', u', power, la, quality, as the motion kernel writes them.
        *ints("rates udot total_power multiplier quality"),
        *ints("residuals invariants energies"),
        # Workspace of the solves, of displacements, of signs of la last found; where the workspace of a formulation or
        # a drift control starts.
        *ints("matrix scale rhs remainder column shift sign work"),
        # Sizes of q, u and the energy; of phi and psi, then the rate (see `run.scales`): right before x, for kernels
        # that read both; before them the residuals that `least_move` reads. `units` is the address of the sizes that
        # atol is relative to, one per entry of a state (q, u, work), `sizing` of what sizes are found with.
        *ints("side sizes row_sizes units sizing"),
        # The address of what errors of steps are measured beside, `units` or, if that is followed, how far each
        # quantity has come (see `run.reached`).
        *ints("reached follows"),
        # Integer workspace: where it is and its size; pivot order and pivot sizes; that of a formulation.
        *ints("ints n_ints permutation pivots work_ints"),
        # The static choice of a formulation: how many constraints are independent (0 until it is made), their numbers,
        # and those of the speeds, the dependent ones first.
        *ints("chosen chosen_rows chosen_speeds"),
        # Addresses of the exchangeable parts; `estimate` is 0 if `step` estimates the error itself, `eliminate` if all
        # speeds are integrated. Otherwise `correct` calls `correct_drift`, then eliminates. `stride` takes the place of
        # `step` where a method chooses the lengths of its steps itself, and is 0 elsewhere.
        *ints("accelerate feedback correct step stride prepare interpolate estimate eliminate correct_drift"),
        # The saddle solvers of the equations of motion, and of the least moves in the mass metric (see `solve.solver`).
        *ints("factor solve judge factor_metric solve_metric"),
        # Like `factor` and `solve`, for changes of u' and la where these were solved last: laws depend on them, too.
        *ints("factor_changes solve_changes"),
        # How weak the constraints of a system may be throughout by that solver (`SaddleSolver.weakest`).
        *floats("weakest"),
        # What that solver answers about M, A and W, as it stores them: the power of reactions, residuals; moves of q
        # along gradients of invariants.
        *ints("reaction_power balance row_residual follow"),
        # Newton's method for laws: the kernel (0 if there is none), number of unknowns and of its outputs; where it
        # reads (x, unknowns, stage, b), where it writes; the matrix, its scales, a step; in the integers, its pivots.
        *ints("iteration unknowns iteration_in iteration_out iteration_matrix iteration_scale iteration_step"),
        *ints("iteration_start iteration_order"),
        # What it remembers (see `run.branch_memory`): whether it knows a solution, the solution and room for another,
        # solutions along the run; the signs of determinants, whether they tell anything; whether the last solution is
        # on another branch, how often that was so after a step, and when first.
        *ints("known iteration_kept iteration_spare anchors anchored anchor_stride anchor_due"),
        *ints("turned kept_turned oriented leapt leaps"),
        *floats("first_leap"),
        # Where M and A have nonzeros, the address of a record (see `solve.sparse`); 0 if they are dense.
        *ints("pattern"),
        # Records of parts: what an implicit integrator works with, the events looked out for, and the cells that steps
        # are kept to (0 if none).
        *ints("step_work watch maps"),
        # Columns of derivatives carried along with a state (see `run.variations`): how many floats, where they are
        # behind x and where their rates are; right-hand sides, one per column; kernels of these and of the tangent
        # space (0 if there is none); the accelerator and the drift correction of the state alone.
        *ints("n_variations variations variation_rates sides sides_kernel onto_tangent"),
        *ints("plain_accelerate plain_correct"),
        # Counters and findings: evaluations; 1 if a static choice should be made again, negative while that is not
        # worth asking; rank of the last factorisation; status of an evaluation that has no solution, else 0.
        *ints("nfev stale rank unsolved"),
        # Whether the matrix last factorised is a shifted one, whose solutions have to be refined.
        *ints("shifted"),
        # Evaluations the pivoted saddle solve did in the place of a formulation, and the first and last of their times.
        *ints("fallbacks"),
        # Whether dependent speeds are integrated at present because the constraints hardly determine them; how often.
        *ints("undetermined integrated"),
        *floats("first_fallback last_fallback"),
        # The least quality of a solve since it was last set: a step looks at its stages.
        *floats("least_quality"),
        # To what part of their size accelerations have to be solved for by refinement; 0: to round-off.
        *floats("accuracy"),
    )


# Signatures of the exchangeable parts; their addresses stand in the plan.
accelerate_type = i8(Plan, Floats)  # reads x in mem; leaves q', u', power, la, quality in `rates`
eliminate_type = i8(Plan, Floats)  # makes dependent speeds in x follow from the others
feedback_type = i8(Plan, Floats)  # may change b before the accelerations are solved for
correct_type = i8(Plan, Floats, f8, Floats)  # moves a state (t, z) onto the constraints; returns a status
step_type = f8(Plan, Floats, f8, f8, Floats, Floats, Floats, f8, f8)  # t, h, z, stages, znew, rtol, atol -> error norm
stride_type = i8(
    Plan, Floats, f8, f8, Floats, Floats, Floats
)  # t, limit, z, stages, znew -> status; leaves step_length
prepare_type = i8(Plan, Floats, f8, f8, Floats, Floats, Floats, Floats)  # t, h, z, stages, znew, rates at the new state
interpolate_type = i8(f8, f8, Floats, Floats, Floats, Floats)  # theta, h, z, stages, znew, state to fill
estimate_type = f8(Plan, f8, Floats, Floats, Floats, Floats, f8, f8)  # h, z, stages, znew, rates there, rtol, atol

call_accelerate = caller(accelerate_type)
call_eliminate = caller(eliminate_type)
call_feedback = caller(feedback_type)
call_correct = caller(correct_type)
call_step = caller(step_type)
call_stride = caller(stride_type)
call_prepare = caller(prepare_type)
call_interpolate = caller(interpolate_type)
call_estimate = caller(estimate_type)


def count_sizes(nq: int, nu: int, positions: int, velocities: int) -> int:
    """Numbers between `sizes` and x, of a system with so many position and velocity constraints."""
    return nq + nu + 1 + 2 * positions + velocities + 1


def lay_out(sizes: dict[str, int], n_parameters: int, n_out: int, options: np.ndarray) -> Workspace:
    """A fresh workspace for a system of these sizes (keys nq nu np nv nc ni works ideal).

    Optional keys: friction (0 or 1), curved (number of acceleration rows if one of them is not linear in u'), columns
    (of derivatives carried along with the state), and where M, A and the gradients of invariants are not dense their
    nonzeros: mass, jacobian, gradients. `options` are the numbers of the drift control.
    """
    nq, nu, nc, ni = sizes["nq"], sizes["nu"], sizes["nc"], sizes["ni"]
    curved, rubs, ideal = sizes.get("curved", 0), sizes.get("friction", 0), sizes["ideal"]
    stated, n = 0 if ideal else nc * nu, nu + nc
    varied = sizes.get("columns", 0) * (nq + nu)
    dense = 0 if "mass" in sizes else n * n
    plan = Plan(nq=nq, nu=nu, nz=nq + nu + sizes["works"] + varied, np=sizes["np"], nv=sizes["nv"], nc=nc, ni=ni)
    plan.ideal, plan.rubs, plan.curved = ideal, rubs, curved
    work = Workspace(plan)
    behind = varied + n if varied else 0  # the columns, then u' and la
    n_sizes = count_sizes(nq, nu, sizes["np"], sizes["nv"])
    n_x = 1 + nq + nu + n_parameters + 1 + len(options) + behind
    work.reserve(plan, {"side": sizes["np"] + n_sizes + n_x, "out": n_out, "direction": stated, "shortest": 1})
    plan.sizes = plan.side + sizes["np"]
    plan.x, plan.row_sizes = plan.sizes + n_sizes, plan.sizes + nq + nu + 1
    plan.xq, plan.xu = plan.x + 1, plan.x + 1 + nq
    plan.step_length = plan.xu + nu + n_parameters
    plan.options = plan.step_length + 1
    lengths = {
        "qdot": nq, "mass": sizes.get("mass", nu * nu), "force": nu, "jacobian": sizes.get("jacobian", nc * nu),
        "bias": nc, "stated": stated,
        "friction": stated * rubs, "power": 1, "transport": nu,
    }  # fmt: skip
    at = plan.out
    for name, length in lengths.items():
        setattr(plan, name, at)
        at += length
    if ideal:
        plan.direction = plan.jacobian
    work.reserve(
        plan,
        {
            "rates": nq + nu + 1 + nc + 1 + varied, "residuals": nc + sizes["np"],
            "invariants": ni + sizes.get("gradients", ni * nq), "energies": 2,
            "matrix": dense, "scale": n, "rhs": n + 1, "remainder": n, "column": 2 * n, "shift": nq + nu + 1,
            "sign": nc,
            "sides": sizes.get("columns", 0) * (nq + n) + 1 if varied else 0,
        },
        {"permutation": n, "pivots": n, "chosen_rows": nc, "chosen_speeds": nu},
    )  # fmt: skip
    work.mem[plan.sizes : plan.x] = work.mem[plan.shortest] = 1.0
    plan.udot = plan.rates + nq
    plan.total_power = plan.udot + nu
    plan.multiplier, plan.quality = plan.total_power + 1, plan.total_power + 1 + nc
    plan.n_variations, plan.variations = varied, plan.options + len(options)
    plan.variation_rates = plan.quality + 1
    work.mem[plan.options : plan.options + len(options)] = options
    return work


__all__ = [
    "LANES", "Floats", "Ints", "Plan", "call_accelerate", "call_correct", "call_eliminate", "call_estimate",
    "call_feedback", "call_interpolate", "call_kernel", "call_prepare", "call_step", "call_stride", "count_sizes", "f8",
    "i8", "ints_at", "lay_out", "move", "move_few", "u8",
]  # fmt: skip
