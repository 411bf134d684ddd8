"""How independent the rows of constraints are at a state, over the nonzeros of M and A."""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.engine import Engine
from dalembert.run.evaluate import load_state
from dalembert.solve.sparse import solve_sparse
from dalembert.solve.sparse_layout import SHIFT, matrices_at
from dalembert.solve.sparse_row_lengths import factor_sized, measure_lengths
from dalembert.solve.sparse_spectrum import find_singular_values, new_basis, singular_values, tridiagonalise

KEPT, SETTLING, FILTERS = 1e-2, 8, 4  # rows with larger singular values stay independent; steps along them; see below
VANISHING = 0.05


class SparseRows:
    """All rows of a system whose reactions are ideal."""

    def __init__(self, engine: Engine) -> None:
        self._engine = Engine(engine.system, engine.parameters, engine.formulation, engine.drift)
        self._engine.take_scales(engine.scales)
        pattern, self._kernel = engine.system.mechanics.saddle_pattern, engine.system.kernel("sparse_dynamics")
        self._diagonal = engine.system.nq + np.flatnonzero(pattern.mass_rows == pattern.mass_columns)
        self._basis = new_basis(pattern.nc)
        self._triangle = np.zeros((len(self._basis) - 1) ** 2)

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Estimates of the smallest singular values, largest first, (nt, n) with n = min(ITERATIONS, nc)."""
        engine, n = self._engine, len(self._basis) - 1
        values, zs = np.zeros((len(times), n)), states[:, : engine.size].reshape(-1)
        follow_values(engine.plan, engine.mem, times, zs, self._basis.reshape(-1), self._triangle, values.reshape(-1))
        return values

    def parts(self, t: float, z: np.ndarray, rank: int) -> np.ndarray:
        """The part (nc,) of each constraint in the combinations that vanish, beyond those that vanish everywhere."""
        engine, n = self._engine, len(self._basis) - 1
        find_triangle(engine.plan, engine.mem, t, z[: engine.size].copy(), self._basis.reshape(-1), self._triangle)
        T = np.triu(self._triangle.reshape(n, n))
        values, vectors = singular_values(T if np.isfinite(T).all() else np.zeros_like(T))
        vanishing = [k for k in range(rank) if values[k] < VANISHING * values[0]] or [rank - 1]
        found: np.ndarray = np.abs(self._basis[:-1].T @ vectors[:, vanishing]).max(axis=1)
        found[self._lengths() < VANISHING] = 1.0  # of several that vanish by themselves, vectors show some mixture
        return found

    def _lengths(self) -> np.ndarray:
        """The lengths of rows relative to their sizes, at most 1, at the state of the last triangle, (nc,)."""
        lengths = np.zeros(self._engine.system.nc)
        measure_lengths(self._engine.plan, self._engine.mem, lengths)
        return lengths

    def left_over(self, t: float, z: np.ndarray, close: float) -> float:
        """What is left of position rows, in the units of `values`, when z is moved onto those that stay independent."""
        engine = self._engine
        return float(settle(engine.plan, engine.mem, t, z[: engine.size].copy(), close))

    def speed(self, t: float, z: np.ndarray) -> float:
        """The length of the speeds in the mass metric."""
        engine = self._engine
        masses = np.abs(self._kernel(np.concatenate([[t], z[: engine.size], engine.parameters]))[self._diagonal])
        return float(np.linalg.norm(np.sqrt(masses) * z[engine.system.nq : engine.size]))


@jit(i8(Plan, Floats, f8, Floats, Floats, Floats))
def find_triangle(plan, mem, t, z, basis, T):
    """The triangle T (n, n) of `tridiagonalise` at a state z (nq + nu,); basis and T are flat."""
    load_state(plan, mem, t, z)
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    factor_sized(plan, mem, plan.nc, SHIFT)
    return tridiagonalise(plan, mem, plan.nc, basis, T)


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
    """What is left of the positions when z is moved onto the rows that stay independent; see `left_over`.

    Steps are damped least squares, which leave rows alone whose singular values are below KEPT. What the others still
    have is filtered out by KEPT^2 (S + KEPT^2)^-1.
    """
    nu, n, x, at = plan.nu, plan.np, plan.rhs, matrices_at(plan.pattern)
    y, lengths = x + nu, at.lengths
    load_state(plan, mem, t, z)
    call_kernel(plan.residual, mem, plan.x, plan.residuals)
    for _ in range(SETTLING):
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
    for _ in range(FILTERS):
        for i in range(nu):
            mem[x + i] = 0.0
        solve_sparse(plan, mem, n, x)
        largest = 0.0
        for k in range(n):
            mem[y + k] *= KEPT * KEPT * mem[lengths + k]
            largest = max(largest, abs(mem[y + k]) / math.sqrt(mem[lengths + k]))
    return largest
