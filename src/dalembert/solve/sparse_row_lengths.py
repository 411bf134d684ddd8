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


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, Floats, u8))
def _relate(mem, places, rows, ends, columns, jacobian, sizes, row_sizes, lengths, zero):
    """The lengths of the first `rows` of A relative to their sizes, at most 1, into `lengths`; row k ends at `ends`."""
    start = zero
    for k in range(rows):
        longest, stop = 0.0, places[ends + k]
        for p in range(start, stop):
            longest = max(longest, abs(mem[jacobian + p]) * mem[sizes + places[columns + p]])
        size = mem[row_sizes + k]
        lengths[k] = longest / size if longest < size else 1.0
        start = stop
    return 0


@jit(i8(Plan, Floats, Floats))
def measure_lengths(plan, mem, lengths):
    """The relative lengths (n,) of the first n rows at the state whose A is in mem.

    Rows of accelerations have no size, and length 1.
    """
    at, sized = matrices_at(plan.pattern), min(lengths.size, plan.np + plan.nv)
    _relate(
        mem, places_at(at.tables, at.n_tables), sized, at.starts + 1, at.columns, plan.jacobian, plan.sizes + plan.nq,
        plan.row_sizes + plan.np, lengths, 0,
    )  # fmt: skip
    for k in range(sized, lengths.size):
        lengths[k] = 1.0
    return 0


@jit(i8(Plan, Floats, i8))
def judge_sparse_lengths(plan, mem, rows):
    """Multiply the estimate of `judge_sparse` by the square of the shortest row, relative to its size, at most 1."""
    judge_sparse(plan, mem, rows)
    shortest, lengths = 1.0, mem[plan.remainder : plan.remainder + rows]
    measure_lengths(plan, mem, lengths)
    for k in range(rows):
        shortest = min(shortest, lengths[k])
    mem[plan.quality] *= shortest * shortest
    return 0


@jit(i8(Plan, Floats, i8, f8))
def factor_sized(plan, mem, rows, shift):
    """Factorise with E being `shift` relative to the squared length that rows had at the start, where it was longer."""
    least_mass, lengths = assemble_sparse(plan, mem, rows), matrices_at(plan.pattern).lengths
    parts = mem[plan.remainder : plan.remainder + rows]
    measure_lengths(plan, mem, parts)
    for k in range(rows):
        if parts[k] > 0.0:  # nothing weighs against E where nothing is left
            mem[lengths + k] /= parts[k] * parts[k]
    return decompose_shifted(plan, mem, rows, shift, least_mass)
