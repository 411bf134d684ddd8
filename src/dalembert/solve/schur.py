"""Speeds in closed form, in native code: S = A M^-1 A^T over them, and their part of a solve (`schur_pattern`).

Reciprocal masses are at `inverse` (nu,): those of the speeds in closed form, 0 for the others. So products with all of
A are products with their columns, and no list of these is needed.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, u8
from dalembert.native.types import Places
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.rows import FUSED
from dalembert.solve.sparse_layout import SparseFactors

LEAST = 1e-13  # a pivot below this, for unit masses and rows, is not one

index = np.uint64  # see `Places`


@jit(f8(Floats, Places, SparseFactors, u8, u8), fastmath=FUSED)
def invert_masses(mem, places, at, diagonal, light):
    """Reciprocal masses of the speeds in closed form; the smallest mass in units of `light`, 0 if one was replaced."""
    speeds, inverse, smallest = index(at.free_speeds), index(at.inverse), math.inf
    for t in range(index(at.n_free)):
        i = places[speeds + t]
        d, unit = mem[places[diagonal + i]], mem[light + i]
        size = d * unit
        if not size > LEAST:
            d, size = PROXIMAL / unit, 0.0
        smallest = min(smallest, size)
        mem[inverse + i] = 1.0 / d
    return smallest


@jit(i8(Floats, Places, SparseFactors, u8, u8), fastmath=FUSED)
def assemble_schur(mem, places, at, jacobian, zero):
    """-S, group by group: a dense product of nonzeros of A with reciprocal masses, added to where it belongs."""
    S, inverse, plain, weighted = index(at.schur), index(at.inverse), index(at.group), index(at.weighted_group)
    counts, speeds, entries, targets = (
        index(at.group_counts),
        index(at.free_speeds),
        index(at.group_entries),
        index(at.group_targets),
    )
    for k in range(index(at.n_schur)):
        mem[S + k] = 0.0
    s, p, target = speeds, entries, targets
    for g in range(index(at.n_groups)):
        many, rows = places[counts + g + g], places[counts + g + g + index(1)]
        start = zero
        for _ in range(rows):
            for j in range(many):
                a = mem[jacobian + places[p + j]]
                mem[plain + start + j] = a
                mem[weighted + start + j] = a * mem[inverse + places[s + j]]
            p += many
            stop, other = start + many, zero
            while other < stop:
                total = 0.0
                for j in range(many):
                    total += mem[weighted + start + j] * mem[plain + other + j]
                mem[S + places[target]] -= total
                target += index(1)
                other += many
            start = stop
        s += many
    return 0


@jit(i8(Floats, u8, u8, u8, u8), fastmath=FUSED)
def weigh(mem, nu, inverse, where, to):
    """mem[to + i] = inverse_i mem[where + i] for i < nu."""
    for i in range(nu):
        mem[to + i] = mem[inverse + i] * mem[where + i]
    return 0


@jit(i8(Floats, Places, SparseFactors, u8, u8))
def solve_closed(mem, places, at, right, x):
    """u'_i = inverse_i times the right-hand side, for the speeds in closed form."""
    speeds, inverse = index(at.free_speeds), index(at.inverse)
    for t in range(index(at.n_free)):
        i = places[speeds + t]
        mem[x + i] = mem[inverse + i] * mem[right + i]
    return 0


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def subtract_rows(mem, places, rows, ends, columns, A, x, r, zero):
    """r (rows,) -= A x over the nonzeros of A; row k ends at `ends`."""
    start = zero
    for k in range(rows):
        total, stop = mem[r + k], places[ends + k]
        for p in range(start, stop):
            total -= mem[A + p] * mem[x + places[columns + p]]
        mem[r + k] = total
        start = stop
    return 0


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def add_columns(mem, places, rows, ends, columns, A, x, r, zero):
    """r (nu,) += A^T x over the nonzeros of A, x (rows,)."""
    start = zero
    for k in range(rows):
        stop, xk = places[ends + k], mem[x + k]
        for p in range(start, stop):
            mem[r + places[columns + p]] += mem[A + p] * xk
        start = stop
    return 0
