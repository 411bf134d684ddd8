"""`Scales`: the size of each coordinate, speed and constraint row in one state; what is small is small beside them.

Angles and quaternions have size 1. All other coordinates share one energy, inertia x size^2, as nobody says which
units they have: that of the largest of their values, of the lever arms at which angles move them, and of the ways to
where the constraints hold. Speeds are sizes of coordinates times a rate: that at which forces or constraints change the
motion, sqrt(force x size / energy). A row has the size that the largest entry of its gradient, times the size of the
variable there, gives it. So other units, or a row multiplied by a number, multiply the sizes and change nothing else.

The block `sizes` of mem holds q (nq), u (nu), the energy; from `row_sizes` phi (np) and psi (np + nv); then the rate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.equations.system import System
from dalembert.native.intrinsics import ints_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, call_kernel, f8, i8, move
from dalembert.native.workspace import Workspace
from dalembert.run.evaluate import load_state, violation

ANGLE, LENGTH, FREE = range(3)  # as in `equations.kinds`
SPUN = 0.1  # share of the rates at the start that counts beside the forces
NOISE = 1e-9  # lengths below this part of the way travelled in the time of a run are round-off
TRAVELLED = 0.1  # share of that way that is their size then
NUDGE = 1e-6  # part of that way by which to move, to see what forces do
NEGLIGIBLE = 1e-6  # a motion that changes less than this part in the time of a run has no rate of its own
BESIDE = 0.1  # part of the sizes by which to look beside the state, where gradients may be larger


class Scales(NamedTuple):
    """The sizes of a system in a state, as native code lays them out; `nq`, `nu`, `n_p` say where parts begin."""

    values: np.ndarray
    nq: int
    nu: int
    n_p: int

    @staticmethod
    def read(work: Workspace, system: System) -> Scales:
        """The sizes native code has left in a workspace."""
        plan = work.plan
        end = plan.row_sizes + 2 * plan.np + plan.nv + 1
        return Scales(work.mem[plan.sizes : end].copy(), system.nq, system.nu, plan.np)

    @property
    def q(self) -> np.ndarray:
        """Sizes of coordinates, (nq,)."""
        return self.values[: self.nq]

    @property
    def u(self) -> np.ndarray:
        """Sizes of speeds, (nu,)."""
        return self.values[self.nq : self.nq + self.nu]

    @property
    def rows(self) -> np.ndarray:
        """Sizes of (phi, psi), as the kernel "residual" gives them, (2 np + nv,)."""
        return self.values[self.nq + self.nu + 1 : -1]

    @property
    def position(self) -> np.ndarray:
        """Sizes of phi, (np,)."""
        return self.rows[: self.n_p]

    @property
    def velocity(self) -> np.ndarray:
        """Sizes of psi, (np + nv,)."""
        return self.rows[self.n_p :]

    @property
    def energy(self) -> float:
        """The size of kinetic energies."""
        return float(self.values[self.nq + self.nu])

    @property
    def rate(self) -> float:
        """How fast the motion is: sizes of speeds are those of coordinates times it."""
        return float(self.values[-1])


@jit(f8(f8))
def _positive(size):
    """The size, 1 where there is none."""
    return size if 0.0 < size < math.inf else 1.0


@jit(i8(Plan, Floats))
def _evaluate(plan, mem):
    """Everything sizes depend on at the state in x."""
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    call_kernel(plan.assembly, mem, plan.x, plan.assembled)
    if plan.leads:
        call_kernel(plan.leads, mem, plan.x, plan.kinematics)
    return 0


@jit(f8(Plan, Floats, i8, i8))
def _leads(plan, mem, i, j):
    """|C_ij| of q' = C u + D."""
    if not plan.leads:
        return 1.0 if i == j else 0.0
    first = (plan.np + plan.nv) * (1 + plan.nu) + plan.nq
    return abs(mem[plan.kinematics + first + i * plan.nu + j])


@jit(i8(Plan, Floats))
def _find_inertias(plan, mem):
    """About what inertia a change of each coordinate meets, into `shift`; 0 if none."""
    for i in range(plan.nq):
        best, at = 0.0, -1
        if plan.leads:
            for j in range(plan.nu):
                c = _leads(plan, mem, i, j)
                if c > best:
                    best, at = c, j
        else:
            best, at = 1.0, i
        inertia = abs(mem[plan.mass + at * plan.nu + at]) / best**2 if at >= 0 else 0.0
        mem[plan.shift + i] = inertia if inertia < math.inf else 0.0
    return 0


@jit(f8(Plan, Floats, i8))
def _largest_energy(plan, mem, kind):
    """The largest inertia x value^2 of coordinates of a kind; the value of angles is 1, of others what shows of it.

    That is their value in the state, the lever arm at which an angle moves them, or the way to where rows hold.
    """
    kinds = ints_at(plan.ints, plan.n_ints)
    nq, rows = plan.nq, plan.np + plan.ni
    energy = 0.0
    for i in range(nq):
        if kinds[plan.kinds + i] == kind:
            value = 1.0 if kind == ANGLE else mem[plan.xq + i]
            energy = max(energy, mem[plan.shift + i] * value**2)
    for k in range(rows if kind != ANGLE else 0):
        turn, along, at = abs(mem[plan.assembled + k]), 0.0, 0
        for i in range(nq):
            g = abs(mem[plan.assembled + rows + k * nq + i])
            if kinds[plan.kinds + i] == ANGLE:
                turn = max(turn, g)
            elif kinds[plan.kinds + i] == kind and g > along:
                along, at = g, i
        if along > 0.0:
            energy = max(energy, mem[plan.shift + at] * (turn / along) ** 2)
    return energy if energy < math.inf else 0.0


@jit(f8(Plan, Floats, i8, f8))
def _travelled(plan, mem, kind, span):
    """The energy of how far coordinates of a kind get within `span`, if nothing but the forces acts."""
    kinds = ints_at(plan.ints, plan.n_ints)
    energy = 0.0
    for i in range(plan.nq):
        if kinds[plan.kinds + i] == kind:
            strongest = 0.0
            for j in range(plan.nu):
                inertia = abs(mem[plan.mass + j * plan.nu + j])
                if inertia > 0.0:
                    strongest = max(strongest, abs(mem[plan.force + j]) / inertia * _leads(plan, mem, i, j))
            way = span * (abs(mem[plan.qdot + i]) + span * strongest)
            energy = max(energy, mem[plan.shift + i] * way**2)
    return energy if energy < math.inf else 0.0


@jit(f8(Plan, Floats, Floats, i8, f8))
def _period(plan, mem, z, kind, way):
    """The time in which forces turn coordinates of a kind back, by how they change on a small part of a way.

    `way` is its energy. Infinite if they do not change.
    """
    kinds = ints_at(plan.ints, plan.n_ints)
    nu, square = plan.nu, 0.0
    for j in range(nu):
        mem[plan.rhs + j] = mem[plan.force + j]
    for i in range(plan.nq):
        if kinds[plan.kinds + i] == kind and mem[plan.shift + i] > 0.0:
            mem[plan.xq + i] += NUDGE * math.sqrt(way / mem[plan.shift + i])
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    for j in range(nu):
        inertia = abs(mem[plan.mass + j * nu + j])
        change = abs(mem[plan.force + j] - mem[plan.rhs + j])
        if change > 1e-12 * abs(mem[plan.rhs + j]) and inertia > 0.0:
            square = max(square, change / (NUDGE * math.sqrt(way * inertia)))
    move(mem, plan.xq, z, 0, plan.nq)
    call_kernel(plan.dynamics, mem, plan.x, plan.out)
    return 1.0 / math.sqrt(square) if square > 0.0 else math.inf


@jit(f8(Plan, Floats, Floats, i8))
def _at_a_distance(plan, mem, z, kind):
    """An energy for rows of second order, seen from where all coordinates and gradients are zero; 0 if none."""
    kinds = ints_at(plan.ints, plan.n_ints)
    nq, rows = plan.nq, plan.np + plan.ni
    energy = 0.0
    for i in range(nq):
        mem[plan.xq + i] += math.cos(1.0 + i)
    move(mem, plan.row_sizes, mem, plan.assembled, plan.np)
    call_kernel(plan.assembly, mem, plan.x, plan.assembled)
    for k in range(plan.np):
        along, at = 0.0, 0
        for i in range(nq):
            g = abs(mem[plan.assembled + rows + k * nq + i])
            if kinds[plan.kinds + i] == kind and g > along:
                along, at = g, i
        if along > 0.0:
            energy = max(energy, mem[plan.shift + at] * abs(mem[plan.row_sizes + k]) / along)
    move(mem, plan.xq, z, 0, nq)
    call_kernel(plan.assembly, mem, plan.x, plan.assembled)
    return energy if energy < math.inf else 0.0


@jit(f8(Plan, Floats, i8))
def _by_rows(plan, mem, i):
    """The size of a coordinate without inertia by the rows it is in and the sizes of the others in them; 0 if none."""
    nq, rows, size = plan.nq, plan.np + plan.ni, 0.0
    for k in range(rows):
        own, others = abs(mem[plan.assembled + rows + k * nq + i]), 0.0
        for j in range(nq):
            if mem[plan.shift + j] > 0.0:
                others = max(others, abs(mem[plan.assembled + rows + k * nq + j]) * mem[plan.sizes + j])
        if own > 0.0:
            size = max(size, others / own)
    return max(size, abs(mem[plan.xq + i]))


@jit(i8(Plan, Floats, Floats, f8))
def _measure_coordinates(plan, mem, z, span):
    """Sizes of the coordinates."""
    kinds = ints_at(plan.ints, plan.n_ints)
    nq, angles, lengths = plan.nq, 0, 0
    for i in range(nq):
        mem[plan.sizes + i] = 1.0
        angles += kinds[plan.kinds + i] == ANGLE
        lengths += kinds[plan.kinds + i] == LENGTH
    if angles == nq:
        return 0
    _find_inertias(plan, mem)
    kind = LENGTH if lengths or angles else FREE
    energy = _largest_energy(plan, mem, kind)
    if energy == 0.0 and angles:
        energy = _largest_energy(plan, mem, ANGLE)
    if energy == 0.0 and plan.np:
        energy = _at_a_distance(plan, mem, z, kind)
    way = _travelled(plan, mem, kind, span)
    if energy <= NOISE**2 * way:
        energy = TRAVELLED**2 * _travelled(plan, mem, kind, min(span, _period(plan, mem, z, kind, way)))
    for i in range(nq):
        if kinds[plan.kinds + i] != ANGLE and mem[plan.shift + i] > 0.0:
            mem[plan.sizes + i] = _positive(math.sqrt(energy / mem[plan.shift + i]))
    for i in range(nq):
        if kinds[plan.kinds + i] != ANGLE and not mem[plan.shift + i] > 0.0:
            mem[plan.sizes + i] = _positive(_by_rows(plan, mem, i))
    return 0


@jit(f8(Plan, Floats))
def _find_rate(plan, mem):
    """The rate of the motion, with speeds that move coordinates by their sizes in unit time in place; 0 if none."""
    nu, u = plan.nu, plan.sizes + plan.nq
    energy = power = square = spun = 0.0
    for j in range(nu):
        size = mem[u + j]
        energy = max(energy, abs(mem[plan.mass + j * nu + j]) * size**2)
        power = max(power, abs(mem[plan.force + j]) * size)
        spun = max(spun, abs(mem[plan.xu + j]) / size)
    for k in range(plan.nc):
        reach = 0.0
        for j in range(nu):
            reach += abs(mem[plan.jacobian + k * nu + j]) * mem[u + j]
        asked = abs(mem[plan.bias + k]) / reach if reach > 0.0 else 0.0
        if asked < math.inf:
            square = max(square, asked)
    if 0.0 < energy < math.inf and power < math.inf:
        square = max(square, power / energy)
    rate = math.sqrt(square)
    return max(rate, SPUN * spun) if spun < math.inf else rate


@jit(i8(Plan, Floats))
def _raise_rows(plan, mem):
    """Row sizes at least |gradients| x sizes at the state last evaluated."""
    nq, nu, n, s, rows = plan.nq, plan.nu, plan.np, plan.sizes, plan.np + plan.ni
    for k in range(n):
        largest = 0.0
        for i in range(nq):
            largest = max(largest, abs(mem[plan.assembled + rows + k * nq + i]) * mem[s + i])
        if mem[plan.row_sizes + k] < largest < math.inf:
            mem[plan.row_sizes + k] = largest
    for k in range(n + plan.nv):
        largest = 0.0
        for j in range(nu):
            largest = max(largest, abs(mem[plan.jacobian + k * nu + j]) * mem[s + nq + j])
        if mem[plan.row_sizes + n + k] < largest < math.inf:
            mem[plan.row_sizes + n + k] = largest
    return 0


@jit(f8(Plan, Floats, f8, Floats, f8))
def measure(plan, mem, t, z, span):
    """Sizes in the state z = (q, u) at time t into `sizes`; `span` is the length of the run, 0 if there is none.

    Returns the largest residual of a position or velocity constraint there, relative to the size of its row. Sizes in
    large systems stay 1, as they are laid out.
    """
    if plan.assembly == 0:  # a large system: all sizes are 1
        return violation(plan, mem, t, z)
    nq, nu, s, n_rows = plan.nq, plan.nu, plan.sizes, 2 * plan.np + plan.nv
    load_state(plan, mem, t, z)
    _evaluate(plan, mem)
    _measure_coordinates(plan, mem, z, span)
    for j in range(nu):
        share = 0.0
        for i in range(nq):
            share = max(share, _leads(plan, mem, i, j) / mem[s + i])
        mem[s + nq + j] = _positive(1.0 / share if share > 0.0 else 0.0)
    rate = _find_rate(plan, mem)
    if rate * span < NEGLIGIBLE and span > 0.0:
        rate = 1.0 / span
    rate = _positive(rate)
    energy = 0.0
    for j in range(nu):
        mem[s + nq + j] *= rate
        energy = max(energy, abs(mem[plan.mass + j * nu + j]) * mem[s + nq + j] ** 2)
    mem[s + nq + nu] = _positive(energy)
    for k in range(n_rows):
        mem[plan.row_sizes + k] = 0.0
    _raise_rows(plan, mem)
    for i in range(nq):
        mem[plan.xq + i] += BESIDE * mem[s + i] * math.cos(1.0 + i)
    _evaluate(plan, mem)
    _raise_rows(plan, mem)
    for k in range(n_rows):
        mem[plan.row_sizes + k] = _positive(mem[plan.row_sizes + k])
    mem[plan.row_sizes + n_rows] = rate
    return violation(plan, mem, t, z)
