"""Speeds in closed form, in native code: S = A M^-1 A^T over them, and their part of a solve (`schur_pattern`).

Reciprocal masses are at `inverse` (nu,): those of the speeds in closed form, 0 for the others. So products with all of
A are products with their columns, and no list of these is needed.
"""

from __future__ import annotations

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, u8
from dalembert.native.types import Places
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.rows import FUSED
from dalembert.solve.sparse_layout import SparseFactors

LEAST_PIVOT = 1e-13  # a pivot below this, for unit masses and rows, is not one
SPACE = 3

index = np.uint64  # see `Places`


@jit(f8(Floats, Places, SparseFactors, u8, u8))
def invert_masses(mem, places, at, diagonal, light):
    """Reciprocal masses of the speeds in closed form; 1, or 0 if there was no mass and one was put in its place.

    `light` are reciprocal masses too, or that of the largest mass where there is none.
    """
    speeds, inverse, smallest = index(at.free_speeds), index(at.inverse), 1.0
    for t in range(index(at.n_free)):
        i = places[speeds + t]
        unit = mem[light + i]
        if mem[places[diagonal + i]] * unit > LEAST_PIVOT:
            mem[inverse + i] = unit
        else:
            mem[inverse + i], smallest = unit / PROXIMAL, 0.0
    return smallest


@jit(i8(Floats, Places, SparseFactors, u8, u8), fastmath=FUSED)
def assemble_schur(mem, places, at, jacobian, zero):
    """Add -S to the matrix, group by group: a dense product of nonzeros of A with reciprocal masses."""
    S, inverse, group, one = index(at.schur), index(at.inverse), index(at.group), index(1)
    counts, target = index(at.group_counts), index(at.group_targets)
    s, p = index(at.free_speeds), index(at.group_entries)  # of the group whose turn it is
    for k in range(index(at.n_schur)):
        mem[S + k] = 0.0
    for g in range(index(at.n_groups)):
        many, rows = places[counts + g + g], places[counts + g + g + one]
        if many == SPACE:
            _add_group_of_three(mem, places, S, inverse, group, jacobian, rows, s, p, target)
        elif many == one:
            _add_single(mem, places, S, mem[inverse + places[s]], jacobian, rows, p, target)
        else:
            _add_group(mem, places, S, inverse, group, jacobian, rows, s, p, target, many, zero)
        s += many
        p += many * rows
        target += rows * (rows + one) // index(2)
    return 0


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def _add_group(mem, places, S, inverse, group, jacobian, rows, s, p, target, many, zero):
    """The part of `many` speeds at s that are held by the same `rows`."""
    one, start = index(1), zero
    for _ in range(rows):
        for j in range(many):
            mem[group + start + j] = mem[jacobian + places[p + start + j]]
        other = zero
        while other <= start:
            total = 0.0
            for j in range(many):
                total += mem[group + start + j] * mem[inverse + places[s + j]] * mem[group + other + j]
            mem[S + places[target]] -= total
            target += one
            other += many
        start += many
    return 0


@jit(i8(Floats, Places, u8, f8, u8, u8, u8, u8), fastmath=FUSED)
def _add_single(mem, places, S, inverse, jacobian, rows, p, target):
    """The part of one speed."""
    one = index(1)
    for row in range(rows):
        a = mem[jacobian + places[p + row]] * inverse
        for column in range(row + one):
            mem[S + places[target + column]] -= a * mem[jacobian + places[p + column]]
        target += row + one
    return 0


@jit(i8(Floats, Places, u8, u8, u8, u8, u8, u8, u8, u8), fastmath=FUSED)
def _add_group_of_three(mem, places, S, inverse, group, jacobian, rows, s, p, target):
    """The part of three speeds: the velocity of a point, or the rates of turn of a body."""
    one, two, three = index(1), index(2), index(3)
    m0, m1, m2 = mem[inverse + places[s]], mem[inverse + places[s + one]], mem[inverse + places[s + two]]
    here = group
    for row in range(rows):
        a0, a1, a2 = mem[jacobian + places[p]], mem[jacobian + places[p + one]], mem[jacobian + places[p + two]]
        mem[here], mem[here + one], mem[here + two] = a0, a1, a2
        a0 *= m0
        a1 *= m1
        a2 *= m2
        other = group
        for column in range(row + one):
            total = a0 * mem[other] + a1 * mem[other + one] + a2 * mem[other + two]
            mem[S + places[target + column]] -= total
            other += three
        target += row + one
        p += three
        here += three
    return 0


@jit(i8(Floats, u8, u8, u8))
def lengths_of_schur(mem, rows, schur, lengths):
    """Squared lengths of the rows of A in the mass metric, if all speeds are in closed form: the diagonal of S."""
    for k in range(rows):
        total = -mem[schur + k]
        mem[lengths + k] = total if total > 0.0 else 1.0
    return 0


@jit(i8(Floats, u8, u8, u8, u8), fastmath=FUSED)
def weigh(mem, nu, inverse, where, to):
    """mem[to + i] = inverse_i mem[where + i] for i < nu."""
    for i in range(nu):
        mem[to + i] = mem[inverse + i] * mem[where + i]
    return 0


@jit(i8(Floats, Places, SparseFactors, u8, u8, u8))
def solve_closed(mem, places, at, nu, right, x):
    """u'_i = inverse_i times the right-hand side, for the speeds in closed form."""
    speeds, inverse, many = index(at.free_speeds), index(at.inverse), index(at.n_free)
    if many == nu:
        return weigh(mem, nu, inverse, right, x)
    for t in range(many):
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
