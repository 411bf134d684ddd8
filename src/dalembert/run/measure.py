"""Sizes of coordinates, speeds and rows in a state, in native code over nonzeros, as defined in `run.scales`."""

from __future__ import annotations

import math

from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_accelerate, call_kernel, f8, i8, move
from dalembert.run.coordinate_sizes import measure_coordinates, positive
from dalembert.run.drives import measure_drives
from dalembert.run.evaluate import acceleration_size, load_state, violation
from dalembert.run.sizing import sizing_at
from dalembert.run.ways import inertia_of
from dalembert.solve.solver import call_balance, call_row_residual

SPUN = 0.1  # share of the rates at the start that counts beside the forces
NEGLIGIBLE_CHANGE = 1e-6  # a motion that changes less than this part in the time of a run has no rate of its own
SIZES_BESIDE = 0.1  # part of the sizes by which to look beside the state, for rows whose gradients vanish in it
VANISHED_GRADIENT = 1e-6  # part of the gradients at nearby states below which gradients vanish


@jit(i8(Plan, Floats))
def _evaluate(plan, mem):
    """Evaluate the kernels that sizes depend on, at the state in x."""
    s = sizing_at(plan.sizing)
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_kernel(s.kernel, mem, plan.x, s.out)
    return 0


@jit(f8(Plan, Floats))
def _find_rate(plan, mem):
    """The rate of the motion, with speeds that move coordinates by their sizes in unit time in place; 0 if none."""
    s, ints, u = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), plan.sizes + plan.nq
    energy = power = square = spun = 0.0
    for j in range(plan.nu):
        size = mem[u + j]
        energy = max(energy, inertia_of(plan, mem, j) * size**2)
        power = max(power, abs(mem[plan.force + j]) * size)
        spun = max(spun, abs(mem[plan.xu + j]) / size)
    for k in range(plan.nc):
        reach = 0.0
        for p in range(ints[s.a_starts + k], ints[s.a_starts + k + 1]):
            reach += abs(mem[ints[s.a_places + p]]) * mem[u + ints[s.a_columns + p]]
        asked = abs(mem[plan.bias + k]) / reach if reach > 0.0 else 0.0
        if asked < math.inf:
            square = max(square, asked)
    if 0.0 < energy < math.inf and power < math.inf:
        square = max(square, power / energy)
    rate = math.sqrt(square)
    return max(rate, SPUN * spun) if spun < math.inf else rate


@jit(f8(Plan, Floats, f8))
def _measure_speeds(plan, mem, span):
    """Sizes of the speeds and of energies; returns the rate that they are those of coordinates times."""
    s, ints, u = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), plan.sizes + plan.nq
    for j in range(plan.nu):
        mem[u + j] = 0.0
    for i in range(plan.nq):
        for p in range(ints[s.c_starts + i], ints[s.c_starts + i + 1]):
            j = u + ints[s.c_columns + p]
            mem[j] = max(mem[j], abs(mem[s.leads + p]) / mem[plan.sizes + i])
    for j in range(plan.nu):
        mem[u + j] = positive(1.0 / mem[u + j] if mem[u + j] > 0.0 else 0.0)
    rate = _find_rate(plan, mem)
    if rate * span < NEGLIGIBLE_CHANGE and span > 0.0:
        rate = 1.0 / span
    rate, energy = positive(rate), 0.0
    for j in range(plan.nu):
        mem[u + j] *= rate
        energy = max(energy, inertia_of(plan, mem, j) * mem[u + j] ** 2)
    mem[u + plan.nu] = positive(energy)
    return rate


@jit(i8(Plan, Floats))
def _measure_rows(plan, mem):
    """Set row sizes |gradients| x sizes at the state last evaluated, where present ones are negligible beside them."""
    s, ints, n, u = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints), plan.np, plan.sizes + plan.nq
    for k in range(n):
        largest = 0.0
        for p in range(ints[s.g_starts + k], ints[s.g_starts + k + 1]):
            largest = max(largest, abs(mem[s.gradients + p]) * mem[plan.sizes + ints[s.g_columns + p]])
        if mem[plan.row_sizes + k] <= VANISHED_GRADIENT * largest < math.inf:
            mem[plan.row_sizes + k] = largest
    for k in range(n + plan.nv):
        largest = 0.0
        for p in range(ints[s.a_starts + k], ints[s.a_starts + k + 1]):
            largest = max(largest, abs(mem[ints[s.a_places + p]]) * mem[u + ints[s.a_columns + p]])
        if mem[plan.row_sizes + n + k] <= VANISHED_GRADIENT * largest < math.inf:
            mem[plan.row_sizes + n + k] = largest
    return 0


@jit(i8(Plan, Floats, f8, Floats, f8))
def _measure_state(plan, mem, t, z, span):
    """Sizes of coordinates, speeds and energies, and the rate, in the state z at time t."""
    load_state(plan, mem, t, z)
    _evaluate(plan, mem)
    measure_drives(plan, mem, t, span)
    measure_coordinates(plan, mem, z, span)
    mem[plan.row_sizes + 2 * plan.np + plan.nv] = _measure_speeds(plan, mem, span)
    return 0


@jit(f8(Plan, Floats, f8, Floats, f8))
def measure(plan, mem, t, z, span):
    """Sizes in the state z = (q, u) at time t into `sizes`; `span` is the length of the run, 0 if there is none.

    Returns the largest residual of a position or velocity constraint there, relative to the size of its row.
    """
    n_rows = 2 * plan.np + plan.nv
    _measure_state(plan, mem, t, z, span)
    for k in range(n_rows):
        mem[plan.row_sizes + k] = 0.0
    _measure_rows(plan, mem)
    for i in range(plan.nq):
        mem[plan.xq + i] += SIZES_BESIDE * mem[plan.sizes + i] * math.cos(1.0 + i)
    _evaluate(plan, mem)
    _measure_rows(plan, mem)
    for k in range(n_rows):
        mem[plan.row_sizes + k] = positive(mem[plan.row_sizes + k])
    return violation(plan, mem, t, z)


@jit(i8(Plan, Floats, f8, Floats, Floats))
def complete(plan, mem, t, z, out):
    """u' (nu), la (nc), acceleration residuals (nc), balance residual by one call of the accelerator.

    Leaves the sizes of coordinates and speeds in mem, not those of rows.
    For accelerators that leave the equations they solved in mem; the unrolled ones do not.
    """
    nu, nc = plan.nu, plan.nc
    _measure_state(plan, mem, t, z, 0.0)
    load_state(plan, mem, t, z)
    call_accelerate(plan.accelerate, (plan, mem))
    move(out, 0, mem, plan.udot, nu)
    move(out, nu, mem, plan.multiplier, nc)
    size = max(acceleration_size(plan, mem), mem[plan.row_sizes + 2 * plan.np + plan.nv])
    for k in range(nc):
        out[nu + nc + k] = call_row_residual(plan.row_residual, (plan, mem, k, size))
    out[nu + 2 * nc] = call_balance(plan.balance, (plan, mem))
    return 0
