"""Energy balance along a run, independent of its samples.

A motion that is sampled at its end alone has nothing to compare its energy with, and few samples do not show how much
energy is turned over. So every run compares the energy with that at its start, and keeps what it turned over: at its
first steps, later at one among more and more, and at its end. An error of the balance persists.
"""

from __future__ import annotations

import math
import struct

from dalembert.native.intrinsics import record_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8
from dalembert.native.types import Record, floats
from dalembert.run.evaluate import load_state
from dalembert.run.run_facts import REST, REST_ENERGY, Energies

DENSE = 64  # steps, after which the energy is looked at once in as many parts of the steps made
SMALLEST_NORMAL = 2.2250738585072014e-308


class Weighed(Record):
    """Energies met in a march: at its start, the largest imbalance and when, and the ranges of each."""

    _fields_ = (
        *floats("begin start off off_t"),
        *floats("least_kinetic most_kinetic least_potential most_potential least_work most_work"),
    )


weighed = record_at(Weighed)
_floats_of = struct.Struct(f"{len(Weighed._fields_)}d").unpack  # in a third of the time of its fields one by one


def energies_of(w: Weighed) -> Energies:
    """Energies that a march has recorded."""
    begin, start, off, off_t, T0, T1, V0, V1, W0, W1 = _floats_of(w)
    return Energies(begin, start, off, off_t, (T0, T1), (V0, V1), (W0, W1))


@jit(i8(Plan, Floats, i8, f8, Floats))
def begin_weighing(plan, mem, where, t, z):
    """Take up the energy at the start z of a march, less the work done before it."""
    w, size, work = weighed(where), plan.nq + plan.nu, 0.0
    if plan.nz - plan.n_variations > size:
        work = z[size]
    load_state(plan, mem, t, z)
    call_kernel(plan.energy, mem, plan.x, plan.energies)
    T, V = mem[plan.energies], mem[plan.energies + 1]
    w.begin, w.start, w.off, w.off_t = t, T + V - work, 0.0, t
    w.least_kinetic, w.most_kinetic, w.least_potential, w.most_potential = T, T, V, V
    w.least_work, w.most_work = work, work
    return 0


@jit(i8(Plan, Floats, i8, f8, Floats))
def weigh(plan, mem, where, t, z):
    """Compare the energy at the state z reached with that at the start of the march."""
    w, size, work = weighed(where), plan.nq + plan.nu, 0.0
    load_state(plan, mem, t, z)
    call_kernel(plan.energy, mem, plan.x, plan.energies)
    T, V = mem[plan.energies], mem[plan.energies + 1]
    if plan.nz - plan.n_variations > size:
        work = z[size]
        w.least_work, w.most_work = min(w.least_work, work), max(w.most_work, work)
    w.least_kinetic, w.most_kinetic = min(w.least_kinetic, T), max(w.most_kinetic, T)
    w.least_potential, w.most_potential = min(w.least_potential, V), max(w.most_potential, V)
    off = abs(T + V - w.start - work)
    if off > w.off or math.isnan(off):
        w.off, w.off_t = off, t
    return 0


@jit(f8(Plan, Floats, f8, f8, Floats))
def potential_jump(plan, mem, t, later, z):
    """Jump of the potential energy of the state z from t to a later time; 0 if it cannot jump.

    A kinetic energy that jumps asks for an impulse that the equations do not hold, and is not balanced by work.
    """
    if plan.nz - plan.n_variations == plan.nq + plan.nu:
        return 0.0
    load_state(plan, mem, t, z)
    call_kernel(plan.energy, mem, plan.x, plan.energies)
    before = mem[plan.energies + 1]
    load_state(plan, mem, later, z)
    call_kernel(plan.energy, mem, plan.x, plan.energies)
    return mem[plan.energies + 1] - before


@jit(f8(Plan, Floats, Weighed, f8))
def energy_size(plan, mem, w, end):
    """`Energies.size_beside` in native code: the reference for energy imbalances up to the time `end`."""
    turned = w.most_kinetic - w.least_kinetic + w.most_potential - w.least_potential + w.most_work - w.least_work
    kinetic, level = max(abs(w.least_kinetic), abs(w.most_kinetic)), max(abs(w.least_potential), abs(w.most_potential))
    least = REST * mem[plan.sizes + plan.nq + plan.nu]
    if kinetic <= REST_ENERGY * least:
        least *= 1.0 + mem[plan.row_sizes + 2 * plan.np + plan.nv] * (end - w.begin)
    return max(turned, kinetic, REST * level, least, SMALLEST_NORMAL)
