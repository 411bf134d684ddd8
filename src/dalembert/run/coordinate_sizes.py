"""Sizes of coordinates in a state, in native code over nonzeros, as defined in `run.scales`."""

from __future__ import annotations

import math

from dalembert.equations.coordinate_kinds import ANGLE, FREE, LENGTH
from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.run.sizing import sizing_at
from dalembert.run.ways import find_way, finite, inertia_of, travelled

NOISE = 1e-9  # lengths below this part of others, or of the way travelled in the time of a run, are round-off
TRAVELLED = 0.1  # share of that way that is their size then
FAR = 1e3  # lever arms this many times the radius of gyration are looked at in another position too


@jit(f8(f8))
def positive(size):
    """The size, 1 where there is none."""
    return size if 0.0 < size < math.inf else 1.0


@jit(i8(Plan, Floats))
def _find_inertias(plan, mem):
    """Effective inertia of each coordinate, written to `shift`: that of the speed which moves it most, or 0."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    for i in range(plan.nq):
        best, inertia = 0.0, 0.0
        for p in range(ints[s.c_starts + i], ints[s.c_starts + i + 1]):
            c = abs(mem[s.leads + p])
            if c > best:
                best, inertia = c, inertia_of(plan, mem, ints[s.c_columns + p]) / c**2
        mem[plan.shift + i] = finite(inertia)
    return 0


@jit(f8(Plan, Floats, i8))
def _largest_energy(plan, mem, kind):
    """Largest inertia x value^2 among coordinates of a kind. The value of an angle is 1.

    The value of another coordinate is the largest of its value in the state, the lever arm at which an angle moves it,
    and the way to where the rows hold, also at other times of the run.
    """
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    energy = 0.0
    for i in range(plan.nq):
        if ints[s.kinds + i] == kind:
            value = 1.0 if kind == ANGLE else mem[plan.xq + i]
            energy = max(energy, mem[plan.shift + i] * value**2)
    for k in range(s.levels if kind != ANGLE else 0):
        turn, along, at = abs(mem[s.out + k]), 0.0, 0
        if k < plan.np:
            turn = max(turn, mem[s.drives + k])
        for p in range(ints[s.g_starts + k], ints[s.g_starts + k + 1]):
            i, g = ints[s.g_columns + p], abs(mem[s.gradients + p])
            if ints[s.kinds + i] == ANGLE:
                turn = max(turn, g)
            elif ints[s.kinds + i] == kind and g > along:
                along, at = g, i
        if along > 0.0:
            energy = max(energy, mem[plan.shift + at] * (turn / along) ** 2)
    return finite(energy)


@jit(f8(Plan, Floats, Floats, i8))
def _at_a_distance(plan, mem, z, kind):
    """An energy for rows of second order, seen from where all coordinates and gradients are zero; 0 if none."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    energy = 0.0
    for i in range(plan.nq):
        mem[plan.xq + i] += math.cos(1.0 + i)
    move(mem, plan.row_sizes, mem, s.out, plan.np)
    call_kernel(s.kernel, mem, plan.x, s.out)
    for k in range(plan.np):
        along, at = 0.0, 0
        for p in range(ints[s.g_starts + k], ints[s.g_starts + k + 1]):
            i, g = ints[s.g_columns + p], abs(mem[s.gradients + p])
            if ints[s.kinds + i] == kind and g > along:
                along, at = g, i
        if along > 0.0:
            energy = max(energy, mem[plan.shift + at] * abs(mem[plan.row_sizes + k]) / along)
    move(mem, plan.xq, z, 0, plan.nq)
    call_kernel(s.kernel, mem, plan.x, s.out)
    return finite(energy)


@jit(f8(Plan, Floats, Floats, i8, f8))
def _seen_turned(plan, mem, z, kind, energy):
    """The energy, or that with all angles turned if it is less: a lever arm is none where the row lets its length go.

    The pin of a Geneva drive enters its slot along the slot: there the gradient along its way is round-off.
    """
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    for i in range(plan.nq):
        if ints[s.kinds + i] == ANGLE:
            mem[plan.xq + i] += math.cos(1.0 + i)
    call_kernel(s.kernel, mem, plan.x, s.out)
    energy = min(energy, _largest_energy(plan, mem, kind))
    move(mem, plan.xq, z, 0, plan.nq)
    call_kernel(s.kernel, mem, plan.x, s.out)
    return energy


@jit(i8(Plan, Floats))
def _measure_massless(plan, mem):
    """Sizes of coordinates without inertia, each from its most conclusive row and the sizes of the others in it.

    Where a body touches another, the gap does not change with the point of contact: such a row tells nothing.
    """
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    for i in range(plan.nq):
        if ints[s.kinds + i] != ANGLE and not mem[plan.shift + i] > 0.0:
            mem[plan.sizes + i] = math.inf
    for k in range(s.levels):
        first, stop, others = ints[s.g_starts + k], ints[s.g_starts + k + 1], 0.0
        for p in range(first, stop):
            i = ints[s.g_columns + p]
            if mem[plan.shift + i] > 0.0:
                others = max(others, abs(mem[s.gradients + p]) * mem[plan.sizes + i])
        for p in range(first, stop):
            i, own = ints[s.g_columns + p], abs(mem[s.gradients + p])
            if ints[s.kinds + i] != ANGLE and not mem[plan.shift + i] > 0.0 and own > 0.0 and others > 0.0:
                mem[plan.sizes + i] = min(mem[plan.sizes + i], others / own)
    for i in range(plan.nq):
        if ints[s.kinds + i] != ANGLE and not mem[plan.shift + i] > 0.0:
            mem[plan.sizes + i] = max(finite(mem[plan.sizes + i]), abs(mem[plan.xq + i]))
    return 0


@jit(f8(Plan, Floats, Floats, i8, f8, f8))
def _beside_way(plan, mem, z, kind, energy, span):
    """The energy of sizes. Where sizes are round-off beside the way travelled in `span`, that of a share of the way."""
    way = find_way(plan, mem, z, kind, span)
    if energy == 0.0 and way == 0.0:
        way = find_way(plan, mem, z, FREE, span)
    return TRAVELLED**2 * way if energy <= NOISE**2 * way else energy


@jit(i8(Plan, Floats, Floats, f8))
def measure_coordinates(plan, mem, z, span):
    """Sizes of the coordinates in the state z, at which the kernels were called."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    nq, angles, lengths, massless = plan.nq, 0, 0, 0
    for i in range(nq):
        mem[plan.sizes + i] = 1.0
        angles += ints[s.kinds + i] == ANGLE
        lengths += ints[s.kinds + i] == LENGTH
    if angles == nq:
        return 0
    _find_inertias(plan, mem)
    kind = LENGTH if lengths or angles else FREE
    energy = _largest_energy(plan, mem, kind)
    turning = _largest_energy(plan, mem, ANGLE) if angles else 0.0
    if turning > 0.0 and energy > FAR**2 * turning:
        energy = _seen_turned(plan, mem, z, kind, energy)
    if energy <= NOISE**2 * turning:
        energy = turning
    if energy == 0.0 and plan.np:
        energy = _at_a_distance(plan, mem, z, kind)
    free = _largest_energy(plan, mem, FREE)
    if energy <= NOISE**2 * free:
        energy, kind = free, FREE
    if span > 0.0 and energy <= NOISE**2 * travelled(plan, mem, kind, span):
        energy = _beside_way(plan, mem, z, kind, energy, span)
    for i in range(nq):
        if ints[s.kinds + i] != ANGLE and mem[plan.shift + i] > 0.0:
            mem[plan.sizes + i] = math.sqrt(energy / mem[plan.shift + i])
        massless += not mem[plan.shift + i] > 0.0
    if massless:
        _measure_massless(plan, mem)
    for i in range(nq):
        mem[plan.sizes + i] = positive(mem[plan.sizes + i])
    return 0
