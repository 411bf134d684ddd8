"""Many consistent starts in native code: positions, then velocities, then a look at accelerations, as in `solution`.

A start that is not plainly found - no solution from the target itself, a degenerate constraint, accelerations that do
not satisfy their equations - is left to `solve_task`, which tries harder and says what is wrong.
"""

from __future__ import annotations

import math

from dalembert.initial.accelerations import ACCELERATION_ERROR
from dalembert.initial.degeneracy import FAINT
from dalembert.initial.levenberg_marquardt import MET_RESIDUAL, Descent, evaluate
from dalembert.initial.metric import DIAGONAL_SHIFT, LIGHT
from dalembert.initial.nearest import find_nearest
from dalembert.initial.stage import CONSISTENT_GUESS, DESCENT_STEPS, WALK
from dalembert.native.intrinsics import floats_at, ints_at, record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.native.types import Ints, Record, floats, ints
from dalembert.run.measure import complete, measure

FOUND, LEFT = 0, 1


class Origin(Record):
    """A record in use, its floats and integers, and copies of the initial contents of all three."""

    _fields_ = (
        *ints("live n_live new"),
        *ints("mem n_mem new_mem"),
        *ints("ints n_ints new_ints"),
    )


origin_at = record_at(Origin)


class Starts(Record):
    """Data shared by all starts of a batch: the time, kernels with their sizes, and work arrays."""

    _fields_ = (
        *floats("t"),
        # Coordinates, speeds, parameters, what kernels read, where their outputs start: behind x and sizes of q and u;
        # rows of position and velocity constraints.
        *ints("nq nu np nx behind rows"),
        # Kernels: M and where it starts in their output; rates of the constraints; faintest gradient (0: none).
        *ints("dynamics n_dynamics mass speeds n_speeds faintest n_faintest"),
        # Whether q' = u, so that M measures displacements; whether M may be singular; x and outputs of kernels;
        # accelerations and residuals.
        *ints("trivial singular desk n_desk out n_out"),
    )


@jit(i8(Origin))
def _restore(origin):
    """Restore the original contents of the memory."""
    move(floats_at(origin.live, origin.n_live), 0, floats_at(origin.new, origin.n_live), 0, origin.n_live)
    move(floats_at(origin.mem, origin.n_mem), 0, floats_at(origin.new_mem, origin.n_mem), 0, origin.n_mem)
    target, source = ints_at(origin.ints, origin.n_ints), ints_at(origin.new_ints, origin.n_ints)
    for k in range(origin.n_ints):
        target[k] = source[k]
    return 0


@jit(i8(Starts, i8, i8))
def _call(starts, kernel, n_out):
    """Evaluate a kernel at x; its values follow x in the workspace. Structural zeros are not written."""
    desk, at = floats_at(starts.desk, starts.n_desk), starts.behind
    for k in range(at, at + n_out):
        desk[k] = 0.0
    call_kernel(kernel, desk, 0, at)
    return 0


@jit(i8(Starts, Descent, Floats, Floats))
def _measure_by_mass(starts, descent, mem, sizes):
    """M at x as the metric of a descent, made positive as by `speed_metric`; LEFT if it is not finite.

    `sizes` (nu,) are those of the speeds.
    """
    desk, n, G = floats_at(starts.desk, starts.n_desk), starts.nu, descent.metric
    energies, first = floats_at(starts.out, starts.n_out), starts.behind + starts.mass
    _call(starts, starts.dynamics, starts.n_dynamics)
    for k in range(first, first + n * n):
        if not math.isfinite(desk[k]):
            return LEFT
    move(mem, G, desk, first, n * n)
    least, most = math.inf, 0.0
    for i in range(n):
        energies[i] = abs(mem[G + i * n + i]) * (sizes[i] * sizes[i])
        least, most = min(least, energies[i]), max(most, energies[i])
    if starts.singular or not least > LIGHT * most:
        _soften(mem, G, n, most, energies, sizes)
    return FOUND


@jit(i8(Floats, i8, i8, f8, Floats, Floats))
def _soften(mem, G, n, most, energies, sizes):
    """Make G (n, n) positive definite: a little added to its diagonal, missing entries as large as the largest.

    `energies` (n,), diagonal x sizes^2, are compared.
    """
    typical = most if most != 0.0 else 1.0
    for i in range(n):
        k = G + i * n + i
        heavy = energies[i] > LIGHT * typical
        mem[k] = (1.0 + DIAGONAL_SHIFT) * abs(mem[k]) if heavy else typical / (sizes[i] * sizes[i])
    return 0


@jit(i8(Plan, Floats, Starts))
def _measure(plan, mem, starts):
    """Sizes of coordinates, speeds and rows at x."""
    measure(plan, mem, starts.t, floats_at(starts.desk, starts.n_desk)[1 : 1 + starts.nq + starts.nu], 0.0)
    return 0


@jit(i8(Descent, Floats, Plan, Floats, i8))
def _take_sizes(descent, mem, plan, measured, velocities):
    """Sizes last measured, for a descent: of its variables, the least ones of its rows; those of invariants are 1."""
    rows, first = (plan.np + plan.nv, plan.np) if velocities else (plan.np, 0)
    move(mem, descent.size, measured, plan.sizes + (plan.nq if velocities else 0), descent.n)
    for k in range(descent.m):
        mem[descent.row_size + k] = measured[plan.row_sizes + first + k] if k < rows else 1.0
    return 0


@jit(i8(Starts, Descent, Floats, Plan, Floats, i8))
def _solve(starts, descent, mem, plan, measured, velocities):
    """Project positions, or velocities, in x onto the equations, to the nearest solution; x holds it if FOUND.

    `measured` holds the sizes there.
    """
    desk, n = floats_at(starts.desk, starts.n_desk), descent.n
    first, measurable = (1 + starts.nq, 1) if velocities else (1, starts.trivial)
    _take_sizes(descent, mem, plan, measured, velocities)
    move(mem, descent.input, desk, 0, starts.nx)
    move(mem, descent.target, desk, first, n)
    move(mem, descent.value, desk, first, n)
    free, freedom = 0, ints_at(descent.ints, descent.n_ints)
    speeds = measured[plan.sizes + plan.nq : plan.sizes + plan.nq + plan.nu]
    for k in range(n):
        free += freedom[descent.freedom + k]
    worst = evaluate(descent, mem)
    if descent.m > 0 and not worst <= CONSISTENT_GUESS and free > 0:
        if not measurable or _measure_by_mass(starts, descent, mem, speeds) != FOUND:
            return LEFT
        worst = find_nearest(descent, mem, DESCENT_STEPS, WALK)
    if not worst <= MET_RESIDUAL:
        return LEFT
    move(desk, first, mem, descent.value, n)
    return FOUND


@jit(i8(Plan, Floats, Starts))
def _agrees(plan, mem, starts):
    """Whether the speeds satisfy the constraints as they are; sizes are measured if not all rates are zero."""
    desk, at = floats_at(starts.desk, starts.n_desk), starts.behind
    _call(starts, starts.speeds, starts.n_speeds)
    moving = 0
    for k in range(starts.rows):
        if desk[at + k] != 0.0:
            moving = 1
    if not moving:
        return 1
    _measure(plan, mem, starts)
    held, sizes = 1, plan.row_sizes + plan.np
    for k in range(starts.rows):
        if not abs(desk[at + k]) / mem[sizes + k] <= CONSISTENT_GUESS:
            held = 0
    return held


@jit(i8(Plan, Floats, Starts))
def _is_sound(plan, mem, starts):
    """Whether accelerations satisfy their equations at x and no gradient is faint there."""
    desk, out = floats_at(starts.desk, starts.n_desk), floats_at(starts.out, starts.n_out)
    nq, nu, nc = plan.nq, plan.nu, plan.nc
    complete(plan, mem, starts.t, desk[1 : 1 + nq + nu], out)
    if starts.faintest:
        move(desk, starts.nx, mem, plan.sizes, nq + nu)
        _call(starts, starts.faintest, starts.n_faintest)
        for k in range(starts.behind, starts.behind + starts.n_faintest):
            if not desk[k] >= FAINT * FAINT:
                return 0
    sound = plan.unsolved == 0 and out[nu + 2 * nc] <= ACCELERATION_ERROR
    for k in range(nu + nc, nu + 2 * nc):
        sound = sound and abs(out[k]) <= ACCELERATION_ERROR
    return 1 if sound else 0


@jit(i8(Descent, Descent, Plan, Starts, Ints, Floats, Floats, Floats, Ints))
def find_starts(positions, velocities, plan, starts, origins, targets, parameters, found, codes):
    """Consistent (q, u) next to `targets` (n, nq + nu) with `parameters` (n, np), into `found`; codes (n,).

    `origins` are the addresses of those of positions, velocities and accelerations.
    """
    size, n_p = starts.nq + starts.nu, starts.np
    desk = floats_at(starts.desk, starts.n_desk)
    first, second, third = origin_at(origins[0]), origin_at(origins[1]), origin_at(origins[2])
    for k in range(codes.size):
        codes[k] = LEFT
        _restore(first)
        _restore(second)
        _restore(third)
        desk[0] = starts.t
        move(desk, 1, targets, k * size, size)
        move(desk, 1 + size, parameters, k * n_p, n_p)
        mem = floats_at(third.mem, third.n_mem)
        move(mem, plan.xu + plan.nu, parameters, k * n_p, n_p)
        _measure(plan, mem, starts)
        if _solve(starts, positions, floats_at(first.mem, first.n_mem), plan, mem, 0) != FOUND:
            continue
        if not _agrees(plan, mem, starts) and (
            _solve(starts, velocities, floats_at(second.mem, second.n_mem), plan, mem, 1) != FOUND
        ):
            continue
        if _is_sound(plan, mem, starts):
            move(found, k * size, desk, 1, size)
            codes[k] = FOUND
    return 0
