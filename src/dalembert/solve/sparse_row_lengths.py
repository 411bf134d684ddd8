"""Rows whose gradient vanishes, over the nonzeros of A: see `row_lengths`.

Factors with E relative to what a row was at the start of a run, not to what is left of it, show such a row as one that
becomes dependent.
"""

from __future__ import annotations

from dalembert.native.intrinsics import places_at
from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, u8
from dalembert.native.types import Places
from dalembert.solve.sparse import assemble_sparse, decompose_shifted, judge_sparse
from dalembert.solve.sparse_layout import matrices_at


@jit(f8(Floats, Places, u8, u8, u8, u8, u8, u8, u8, u8))
def _shortest(mem, places, first, rows, starts, columns, jacobian, sizes, row_sizes, one):
    """The length of the shortest row of A from `first` on, relative to its size, at most 1."""
    shortest, start = 1.0, places[starts + first]
    for k in range(first, first + rows):
        longest, stop = 0.0, places[starts + one + k]
        for p in range(start, stop):
            longest = max(longest, abs(mem[jacobian + p]) * mem[sizes + places[columns + p]])
        if longest < shortest * mem[row_sizes + k]:
            shortest = longest / mem[row_sizes + k]
        start = stop
    return shortest


@jit(f8(Plan, Floats, i8, i8))
def _shortest_of(plan, mem, first, rows):
    """That of some rows of positions and velocities; those of accelerations have no size."""
    at, sized = matrices_at(plan.pattern), min(first + rows, plan.np + plan.nv) - first
    if sized <= 0:
        return 1.0
    return _shortest(
        mem, places_at(at.tables, at.n_tables), first, sized, at.starts, at.columns, plan.jacobian,
        plan.sizes + plan.nq, plan.row_sizes + plan.np, 1,
    )  # fmt: skip


@jit(i8(Plan, Floats, Floats))
def measure_lengths(plan, mem, lengths):
    """The relative lengths of all rows at the state whose A is in mem, (nc,)."""
    for k in range(lengths.size):
        lengths[k] = _shortest_of(plan, mem, k, 1)
    return 0


@jit(i8(Plan, Floats, i8))
def judge_sparse_lengths(plan, mem, rows):
    """Multiply the estimate of `judge_sparse` by the square of the shortest row, relative to its size, at most 1."""
    judge_sparse(plan, mem, rows)
    shortest = _shortest_of(plan, mem, 0, rows)
    mem[plan.quality] *= shortest * shortest
    return 0


@jit(i8(Plan, Floats, i8, f8))
def factor_sized(plan, mem, rows, shift):
    """Factorise with E being `shift` relative to the squared length that rows had at the start, where it was longer."""
    least_mass, lengths = assemble_sparse(plan, mem, rows), matrices_at(plan.pattern).lengths
    for k in range(rows):
        part = _shortest_of(plan, mem, k, 1)
        if part > 0.0:  # nothing weighs against E where nothing is left
            mem[lengths + k] /= part * part
    return decompose_shifted(plan, mem, rows, shift, least_mass)
