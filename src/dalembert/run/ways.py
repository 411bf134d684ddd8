"""Estimate how far each coordinate can travel during a run, in native code. Sizes are relative to this distance.

A pendulum does not fall for the hours that a run lasts: constraints hold it, and where their gradients or the forces
change on the way, it turns back long before.
"""

from __future__ import annotations

import math

from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_accelerate, call_kernel, f8, i8, move
from dalembert.run.sizing import sizing_at

UNDERFLOW = 1e-280  # energies below count as none
NUDGE = 1e-6  # part of a way by which to move, to probe forces and gradients
# How often a way is looked at, and the part of its energy that is no longer shorter.
SHORTENINGS, SETTLED_ENERGY = 12, 0.25


@jit(f8(f8))
def finite(energy):
    """The energy; 0 if it is infinite, or negligible: below the threshold at which squares underflow."""
    return energy if UNDERFLOW < energy < math.inf else 0.0


@jit(f8(Plan, Floats, i8))
def inertia_of(plan, mem, j):
    """|M_jj|."""
    return abs(mem[ints_at(plan.ints, plan.n_ints)[sizing_at(plan.sizing).inertias + j]])


@jit(f8(Plan, Floats, i8, f8))
def travelled(plan, mem, kind, span):
    """Energy of the distance that coordinates of a kind travel within `span` under the forces alone."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    energy = 0.0
    for i in range(plan.nq if span > 0.0 else 0):
        if ints[s.kinds + i] == kind:
            driven = strongest = 0.0
            for p in range(ints[s.c_starts + i], ints[s.c_starts + i + 1]):
                j = ints[s.c_columns + p]
                inertia = inertia_of(plan, mem, j)
                driven += abs(mem[s.leads + p]) * mem[s.driven_speeds + j]
                if inertia > 0.0:
                    strongest = max(strongest, abs(mem[plan.force + j]) / inertia * abs(mem[s.leads + p]))
            way = span * (abs(mem[plan.qdot + i]) + driven + span * strongest)
            energy = max(energy, mem[plan.shift + i] * way**2)
    return finite(energy)


@jit(i8(Plan, Floats, i8, f8))
def _nudge(plan, mem, kind, way):
    """Move coordinates of a kind a small part of a way, given as an energy, and evaluate the forces there."""
    kinds, ints = sizing_at(plan.sizing).kinds, ints_at(plan.ints, plan.n_ints)
    for i in range(plan.nq):
        if ints[kinds + i] == kind and mem[plan.shift + i] > 0.0:
            mem[plan.xq + i] += NUDGE * math.sqrt(way / mem[plan.shift + i])
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    return 0


@jit(f8(Plan, Floats, Floats, i8, f8, i8))
def _period(plan, mem, z, kind, way, ahead):
    """The time in which forces turn coordinates of a kind back, by how they change on a small part of a way.

    `way` is its energy. Infinite if they do not change. They are compared from so many such parts `ahead` on.
    """
    square = 0.0
    for _ in range(ahead):
        _nudge(plan, mem, kind, way)
    for j in range(plan.nu):
        mem[plan.rhs + j] = mem[plan.force + j]
    _nudge(plan, mem, kind, way)
    for j in range(plan.nu):
        inertia = inertia_of(plan, mem, j)
        change = abs(mem[plan.force + j] - mem[plan.rhs + j])
        if change > 1e-12 * abs(mem[plan.rhs + j]) and inertia > 0.0:
            square = max(square, change / (NUDGE * math.sqrt(way * inertia)))
    move(mem, plan.xq, z, 0, plan.nq)
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    return 1.0 / math.sqrt(square) if square > 0.0 else math.inf


@jit(f8(Plan, Floats, i8, f8))
def _reached(plan, mem, kind, span):
    """Energy of the distance that coordinates of a kind cover within `span` at the speeds and accelerations in mem."""
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    energy = 0.0
    for i in range(plan.nq):
        if ints[s.kinds + i] == kind:
            driven = rate = 0.0
            for p in range(ints[s.c_starts + i], ints[s.c_starts + i + 1]):
                driven += abs(mem[s.leads + p]) * mem[s.driven_speeds + ints[s.c_columns + p]]
                rate += mem[s.leads + p] * mem[plan.udot + ints[s.c_columns + p]]
            way = span * (abs(mem[plan.qdot + i]) + driven + span * abs(rate))
            energy = max(energy, mem[plan.shift + i] * way**2)
    return finite(energy)


@jit(f8(Plan, Floats, Floats, i8, f8))
def _straight(plan, mem, z, kind, way):
    """Energy of the distance that coordinates of a kind cover before a row's gradient changes by its own length.

    By how they change on a small part of `way`, an energy; `way` itself if that is shorter.
    """
    s, ints = sizing_at(plan.sizing), ints_at(plan.ints, plan.n_ints)
    move(mem, s.before, mem, s.gradients, ints[s.g_starts + s.levels])
    for i in range(plan.nq):
        if ints[s.kinds + i] == kind and mem[plan.shift + i] > 0.0:
            mem[plan.xq + i] += NUDGE * math.sqrt(way / mem[plan.shift + i]) * math.cos(1.0 + i)
    call_kernel(s.kernel, mem, plan.x, s.out)
    shortest = way
    for k in range(s.levels):
        length = change = 0.0
        for p in range(ints[s.g_starts + k], ints[s.g_starts + k + 1]):
            light = mem[plan.shift + ints[s.g_columns + p]]
            if light > 0.0:
                length = max(length, mem[s.before + p] ** 2 / light)
                change = max(change, (mem[s.gradients + p] - mem[s.before + p]) ** 2 / light)
        if length > 0.0 and change > 0.0:
            shortest = min(shortest, NUDGE**2 * way * length / change)
    move(mem, plan.xq, z, 0, plan.nq)
    call_kernel(s.kernel, mem, plan.x, s.out)
    return shortest


@jit(f8(Plan, Floats, Floats, i8, f8, f8, i8))
def _settle(plan, mem, z, kind, span, way, ahead):
    """A way made shorter until it lasts; negative if it does not. `ahead` as in `_period`."""
    for _ in range(SHORTENINGS):
        if way == 0.0:
            return 0.0
        back = min(span, _period(plan, mem, z, kind, way, ahead))
        shorter = min(_straight(plan, mem, z, kind, way), _reached(plan, mem, kind, back))
        if shorter > SETTLED_ENERGY * way:
            return shorter
        way = shorter
    return -way


@jit(f8(Plan, Floats, Floats, i8, f8))
def find_way(plan, mem, z, kind, span):
    """Energy of the distance that coordinates of a kind cover from the state z within `span`, before they turn back.

    A way that becomes ever shorter starts on a jump of the forces, which is no stiffness: they are compared beyond it.
    """
    call_accelerate(plan.accelerate, (plan, mem))
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    way = _reached(plan, mem, kind, span)
    found = _settle(plan, mem, z, kind, span, way, 0)
    return found if found >= 0.0 else abs(_settle(plan, mem, z, kind, span, way, 1))
