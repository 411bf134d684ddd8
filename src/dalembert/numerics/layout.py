"""Where everything lies in the two arrays a run works on, and how native code calls a model kernel.

All numerics pass two arrays: `plan` (int64: sizes, offsets, addresses, integer workspace) and `mem` (float64: the
kernels' input x = (t, q, u, p), their output, the solution u' and la, and workspace). Two plain arrays cost 5 ns to
hand to a function known by its address only; a tuple of arrays costs 60 ns. Matrices are flat and row-major.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dalembert.numerics.link import caller

# Sizes; NZ is that of a state z = (q, u, and the work done if anything does work).
NQ, NU, NZ, NP, NV, NC, NI = range(7)
# Kernel addresses: dynamics; motion, the whole right-hand side unrolled (0 if there is none); residual (phi, psi);
# displacement (C s); invariant (h, h_q); energy (T, V); the least moves of q and of u onto the constraints, unrolled
# (0 if there are none).
DYNAMICS, MOTION, RESIDUAL, DISPLACEMENT, INVARIANT, ENERGY, ONTO_POSITIONS, ONTO_VELOCITIES = range(7, 15)
# Offsets into mem. X holds t, q, u, p; OUT is the output of the dynamics kernel, by parts. DIRECTION equals JACOBIAN
# when every reaction is ideal and is filled by `numerics.nonideal` otherwise. RATES holds q', u', power, la, quality,
# as the motion kernel writes them.
X, XQ, XU, OUT, QDOT, MASS, FORCE, JACOBIAN, BIAS, DIRECTION, POWER, TRANSPORT = range(15, 27)
RATES, UDOT, TOTAL_POWER, MULTIPLIER, QUALITY, RESIDUALS, INVARIANTS, ENERGIES = range(27, 35)
MATRIX, SCALE, RHS, REMAINDER, COLUMN, SHIFT, OPTIONS = range(35, 42)
# Addresses of the exchangeable parts.
ACCELERATE, FEEDBACK, CORRECT, STEP, PREPARE, INTERPOLATE = range(42, 48)
# Counters; STALE is 1 if a static choice should be made again, negative while that is not worth asking. Integer
# workspace (pivot order, pivot sizes) at the end of plan; WORK is where the workspace of a formulation starts in mem.
NFEV, STALE, RANK, PERMUTATION, PIVOTS, WORK = range(48, 54)
# Reactions that are not ideal: the kernel of constraints not linear in u' (0 if there are none), which reads XUDOT, the
# tail of X, and writes LINEARISED; the directions W0 and the friction F as stated, in OUT; the signs of la last found;
# a copy of M; and the status of an evaluation that has no solution, else 0.
NEWTON, XUDOT, LINEARISED, STATED, FRICTION, SIGN, MASS_COPY, UNSOLVED = range(54, 62)
# What an integrator brings: up to four kernels, and where its workspace starts in mem and in plan.
STEP_KERNELS, STEP_FLOATS, STEP_INTS = 62, 66, 67
# Event functions: their number (0: none), the kernel that evaluates them, and where what `crossing` keeps about them
# starts in mem and in plan.
EVENTS, EVENT_KERNEL, EVENT_VALUES, OCCURRED = range(68, 72)
# Drift control and step: the kernel of b with feedback (0 if there is none); the length of the step being made.
# STEP_LENGTH and OPTIONS stand behind x (and XUDOT), so that kernels can read them as its tail. ESTIMATE is the
# function that estimates the error after the correction (0: `step` does so). GRADIENTS is the kernel of the residuals
# and their gradients, for drift controls that work on the whole state.
FEEDBACK_KERNEL, STEP_LENGTH, ESTIMATE, GRADIENTS = range(72, 76)
# The static choice of a formulation: how many constraints are independent, where their numbers start in plan, and where
# those of the speeds do, the dependent ones first. Where the integers a formulation works in start in plan (its floats
# start at WORK). Evaluations the pivoted saddle solve did in the place of a formulation: how many, and where in mem the
# times of the first and the last of them are.
CHOSEN, CHOSEN_ROWS, CHOSEN_SPEEDS, WORK_INTS, FALLBACKS, FALLBACK_TIMES = range(76, 82)
PLAN_SIZE = 82

f8, i8, u8 = types.float64, types.int64, types.uint64
Floats = types.Array(f8, 1, "C")
Ints = types.Array(i8, 1, "C")

# Signatures of the exchangeable parts; their addresses stand in plan.
accelerate_type = i8(Ints, Floats)  # reads x in mem; leaves q', u', power, la, quality in RATES
feedback_type = i8(Ints, Floats)  # may change b before the accelerations are solved for
correct_type = i8(Ints, Floats, f8, Floats)  # moves a state (t, z) onto the constraints; returns a status
step_type = f8(Ints, Floats, f8, f8, Floats, Floats, Floats, f8, f8)  # t, h, z, stages, znew, rtol, atol -> error norm
prepare_type = i8(Ints, Floats, f8, f8, Floats, Floats, Floats, Floats)  # t, h, z, stages, znew, rates at the new state
interpolate_type = i8(f8, f8, Floats, Floats, Floats, Floats)  # theta, h, z, stages, znew, state to fill
estimate_type = f8(Ints, f8, Floats, Floats, Floats, Floats, f8, f8)  # h, z, stages, znew, rates there, rtol, atol

call_accelerate = caller(accelerate_type)
call_feedback = caller(feedback_type)
call_correct = caller(correct_type)
call_step = caller(step_type)
call_prepare = caller(prepare_type)
call_interpolate = caller(interpolate_type)
call_estimate = caller(estimate_type)


@intrinsic
def call_kernel(_context: Any, address: Any, mem: Any, source: Any, target: Any) -> Any:
    """Call the C function `void(double*, double*)` at `address` on mem[source:] and mem[target:]."""
    signature = types.void(i8, Floats, i8, i8)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        where, array, first, second = args
        pointer = ir.DoubleType().as_pointer()
        function = builder.inttoptr(where, ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer())
        data = context.make_array(Floats)(context, builder, array).data
        builder.call(function, [builder.gep(data, [first]), builder.gep(data, [second])])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def move(_context: Any, target: Any, to: Any, source: Any, start: Any, count: Any) -> Any:
    """Copy source[start : start + count] to target[to:]; neither views (reference counts) nor wrapped indices."""
    signature = types.void(Floats, i8, Floats, i8, i8)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        array, first, other, second, length = args
        make = context.make_array(Floats)
        there = builder.gep(make(context, builder, array).data, [first])
        here = builder.gep(make(context, builder, other).data, [second])
        cgutils.raw_memcpy(builder, there, here, length, 8)
        return context.get_dummy_value()

    return signature, codegen


LANES = 4  # doubles that vectorised code reads and writes at once; arrays it works on are padded to whole vectors


def lay_out(sizes: dict[str, int], n_parameters: int, n_out: int, options: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A fresh `plan` and a zeroed `mem` for a system of these sizes (keys nq nu np nv nc ni works ideal).

    Optional keys: friction (0 or 1), curved (number of acceleration rows if one of them is not linear in u').
    `options` are the numbers of the drift control, kept at mem[OPTIONS].
    """
    nq, nu, nc, ni = sizes["nq"], sizes["nu"], sizes["nc"], sizes["ni"]
    curved, stated = sizes.get("curved", 0), 0 if sizes["ideal"] else nc * nu
    n, bent = nu + nc, nu * nu if curved else 0
    plan = np.zeros(PLAN_SIZE + 3 * n, dtype=np.int64)
    plan[[NQ, NU, NZ, NP, NV, NC, NI]] = nq, nu, nq + nu + sizes["works"], sizes["np"], sizes["nv"], nc, ni
    size = 0

    def reserve(key: int, count: int) -> None:
        nonlocal size
        plan[key] = size
        size += count

    reserve(X, 1 + nq + nu + n_parameters)
    plan[XQ], plan[XU] = plan[X] + 1, plan[X] + 1 + nq
    reserve(XUDOT, nu + curved if curved else 0)
    reserve(STEP_LENGTH, 1)
    reserve(OPTIONS, len(options))
    reserve(OUT, n_out)
    lengths = [nq, nu * nu, nu, nc * nu, nc, stated, stated * sizes.get("friction", 0), 1, nu]
    starts = plan[OUT] + np.cumsum([0, *lengths[:-1]])
    plan[[QDOT, MASS, FORCE, JACOBIAN, BIAS, STATED, FRICTION, POWER, TRANSPORT]] = starts
    reserve(DIRECTION, stated)
    if sizes["ideal"]:
        plan[DIRECTION] = plan[JACOBIAN]
    if not sizes.get("friction", 0):
        plan[FRICTION] = 0
    for key, count in (
        (RATES, nq), (UDOT, nu), (TOTAL_POWER, 1), (MULTIPLIER, nc), (QUALITY, 1),
        (RESIDUALS, nc + sizes["np"]), (INVARIANTS, ni * (1 + nq)),
        (ENERGIES, 2), (MATRIX, n * n), (SCALE, n), (RHS, n), (REMAINDER, n), (COLUMN, 2 * n), (SHIFT, nq + 1),
        (SIGN, nc), (LINEARISED, curved * (2 * nu + 1) + bent), (MASS_COPY, bent), (FALLBACK_TIMES, 2),
    ):  # fmt: skip
        reserve(key, count)
    plan[PERMUTATION], plan[PIVOTS] = PLAN_SIZE, PLAN_SIZE + n
    plan[CHOSEN_ROWS], plan[CHOSEN_SPEEDS] = PLAN_SIZE + 2 * n, PLAN_SIZE + 2 * n + nc
    mem = np.zeros(size)
    mem[plan[OPTIONS] : plan[OPTIONS] + len(options)] = options
    return plan, mem
