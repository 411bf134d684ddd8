"""Independence of constraint rows at a state, over the nonzeros of M and A."""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.intrinsics import places_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.engine import Engine
from dalembert.run.evaluate import load_state
from dalembert.run.time_loop.dense_rows import KEPT, VANISHING
from dalembert.solve.sparse import solve_sparse
from dalembert.solve.sparse_layout import SHIFT, matrices_at
from dalembert.solve.sparse_row_lengths import factor_sized, measure_lengths
from dalembert.solve.sparse_spectrum import find_singular_values, find_vanishing, new_basis, tridiagonalise

SPARSE_SETTLING_STEPS, RESIDUAL_FILTERS = 8, 4  # steps along the rows that stay independent; see below


def spare_of(engine: Engine) -> Engine:
    """Another engine for the same, to work with."""
    spare = Engine(engine.system, engine.parameters, engine.formulation, engine.drift)
    spare.take_scales(engine.scales)
    return spare


class SparseRows:
    """All rows of a system whose reactions are ideal.

    The memory of `engine` is used as workspace and overwritten.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._basis = engine, new_basis(engine.system.nc)
        self._triangle = np.zeros((len(self._basis) - 1) ** 2)

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Estimates of the smallest singular values, largest first, (nt, n) with n = min(LANCZOS_STEPS, nc)."""
        engine, n = self._engine, len(self._basis) - 1
        values, zs = np.zeros((len(times), n)), states[:, : engine.size].reshape(-1)
        follow_values(engine.plan, engine.mem, times, zs, self._basis.reshape(-1), self._triangle, values.reshape(-1))
        return values

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """Part (nc,) of each constraint in the combinations that vanish here but not everywhere."""
        engine, parts = self._engine, np.zeros(self._engine.system.nc)
        state, room = z[: engine.size].copy(), np.zeros(max(len(self._triangle), len(parts)))
        find_parts(engine.plan, engine.mem, t, state, rank, self._basis.reshape(-1), self._triangle, room, parts)
        return parts

    def left_over(self, t: float, z: np.ndarray, close: float) -> float:
        """Residual of position rows, in the units of `values`, after z is moved onto the rows that stay independent."""
        engine = self._engine
        return float(settle(engine.plan, engine.mem, t, z[: engine.size].copy(), close))

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        engine = self._engine
        return float(measure_speed(engine.plan, engine.mem, t, z[: engine.size].copy()))


@jit(f8(Plan, Floats, f8, Floats))
def measure_speed(plan, mem, t, z):
    """The length of the speeds in a state z (nq + nu,) by the diagonal of M."""
    at, total = matrices_at(plan.pattern), 0.0
    places = places_at(at.tables, at.n_tables)
    load_state(plan, mem, t, z)
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    for i in range(plan.nu):
        total += abs(mem[places[at.diagonal + i]]) * z[plan.nq + i] ** 2
    return math.sqrt(total)


@jit(i8(Plan, Floats, f8, Floats, Floats, Floats))
def find_triangle(plan, mem, t, z, basis, T):
    """The triangle T (n, n) of `tridiagonalise` at a state z (nq + nu,); basis and T are flat."""
    load_state(plan, mem, t, z)
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    factor_sized(plan, mem, plan.nc, SHIFT)
    return tridiagonalise(plan, mem, plan.nc, basis, T)


@jit(i8(Plan, Floats, f8, Floats, i8, Floats, Floats, Floats, Floats))
def find_parts(plan, mem, t, z, rank, basis, T, room, parts):
    """The parts (nc,) of rows in the combinations that vanish at a state z (nq + nu,); see `Rows.parts`.

    `room` has n n and nc floats at least, T (n, n) is overwritten; all flat.
    """
    find_triangle(plan, mem, t, z, basis, T)
    find_vanishing(T, room[: T.size], rank, VANISHING, basis, parts)
    lengths = room[: parts.size]
    measure_lengths(plan, mem, lengths)
    for k in range(parts.size):
        if lengths[k] < VANISHING:
            parts[k] = 1.0  # of several that vanish by themselves, vectors show some mixture
    return 0


@jit(i8(Plan, Floats, Floats, Floats, Floats, Floats, Floats))
def follow_values(plan, mem, ts, zs, basis, T, values):
    """The singular values (nt, n), largest first, at states zs (nt, nq + nu); T (n, n) is overwritten; all flat."""
    size, n = plan.nq + plan.nu, basis.size // plan.nc - 1
    for row in range(ts.size):
        find_triangle(plan, mem, ts[row], zs[row * size : (row + 1) * size], basis, T)
        find_singular_values(T, values[row * n : (row + 1) * n])
    return 0


@jit(f8(Plan, Floats, f8, Floats, f8))
def settle(plan, mem, t, z, close):
    """Residual of position rows after z is moved onto the rows that stay independent; see `left_over`.

    The steps are damped least squares. They hardly reduce the residual in combinations with singular values below KEPT.
    The residual of the other combinations is filtered out by KEPT^2 (S + KEPT^2)^-1.
    """
    nu, n, x, at = plan.nu, plan.np, plan.rhs, matrices_at(plan.pattern)
    y, lengths = x + nu, at.lengths
    load_state(plan, mem, t, z)
    call_kernel(plan.residual, mem, plan.x, plan.residuals)
    for _ in range(SPARSE_SETTLING_STEPS):
        call_kernel(plan.dynamics, mem, plan.x, plan.out)
        factor_sized(plan, mem, n, KEPT * KEPT)
        for i in range(nu):
            mem[x + i] = 0.0
        for k in range(n):
            mem[y + k] = -mem[plan.residuals + k]
        solve_sparse(plan, mem, n, x)
        move(mem, plan.xu, mem, x, nu)  # the displacement kernel reads the step where u stands
        call_kernel(plan.displacement, mem, plan.x, plan.shift)
        move(mem, plan.xu, z, plan.nq, nu)
        for i in range(plan.nq):
            mem[plan.xq + i] += mem[plan.shift + i]
        call_kernel(plan.residual, mem, plan.x, plan.residuals)
        moved = 0.0
        for i in range(nu):
            moved += mem[x + i] * mem[x + i] / mem[at.light + i]
        if moved < close * close:
            break
    for k in range(n):
        mem[y + k] = mem[plan.residuals + k]
    largest = 0.0
    for _ in range(RESIDUAL_FILTERS):
        for i in range(nu):
            mem[x + i] = 0.0
        solve_sparse(plan, mem, n, x)
        largest = 0.0
        for k in range(n):
            mem[y + k] *= KEPT * KEPT * mem[lengths + k]
            largest = max(largest, abs(mem[y + k]) / math.sqrt(mem[lengths + k]))
    return largest
