"""LU of a Newton matrix K = F_y + s F_y' with real s: static pivots, then dense with partial pivoting.

The dense part is brought to rows and columns of largest entry 1 first, so that pivots are comparable whatever the
units. Constraints may be redundant: then a column of their multipliers has no pivot left. It is put last and its
unknown kept as it is, and as many equations, which say nothing new, are left out.
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Ints, call_kernel, f8, i8, move
from dalembert.solve.rows import (
    add_row,
    clear_row,
    largest_in_row,
    multiply_row,
    raise_row,
    row_product,
    scale_row,
    swap_rows,
)
from dalembert.solve.static_elimination import NewtonMatrix

DEPENDENT_MULTIPLIER = 1e-10  # a largest pivot below this, for a multiplier, means constraints that are not independent
SAFE = 1e-3  # a static pivot smaller than this part of s calls for a smaller step


@jit(i8(Ints, Floats, NewtonMatrix, f8))
def _assemble(ints, mem, at, s):
    """K in its permuted places."""
    n, ld, K, values, places = at.n, at.stride, at.real, at.nonzeros, at.places
    clear_row(mem, K, n * ld)
    states = at.of_states
    for e in range(states):
        mem[K + ints[places + e]] = mem[values + e]
    for e in range(states, states + at.of_rates):
        mem[K + ints[places + e]] += s * mem[values + e]
    return 0


@jit(i8(Ints, Floats, NewtonMatrix, f8))
def _eliminate(ints, mem, at, s):
    """Static pivots; 0 if one of them is too small, else 1. The lower factor is kept below the pivots."""
    ld, K, below, right = at.stride, at.real, at.below, at.right
    for k in range(at.first):
        pivot = mem[K + k * ld + k]
        if not abs(pivot) > SAFE * abs(s):
            return 0
        d = 1.0 / pivot
        mem[K + k * ld + k] = d
        for a in range(ints[below + k], ints[below + k + 1]):
            i = K + ints[a] * ld
            l = mem[i + k] * d
            mem[i + k] = l
            for b in range(ints[right + k], ints[right + k + 1]):
                j = ints[b]
                mem[i + j] -= l * mem[K + k * ld + j]
    return 1


@jit(i8(Ints, Floats, NewtonMatrix))
def _equilibrate(ints, mem, at):
    """Scale rows, then columns, of the dense part to largest entry 1; 0 if a row or column is empty or not finite."""
    n, ld, first, K = at.n, at.stride, at.first, at.real
    rows, columns, m = at.real_scales, at.real_scales + ld, n - first
    clear_row(mem, columns, ld)
    for i in range(first, n):
        row = K + i * ld + first
        top = largest_in_row(mem, row, m)
        if not 0.0 < top < 1e300:
            return 0
        mem[rows + i] = 1.0 / top
        scale_row(mem, row, 1.0 / top, m)
        raise_row(mem, columns + first, row, m)
    for j in range(first, n):
        if not mem[columns + j] > 0.0:
            return 0
        mem[columns + j] = 1.0 / mem[columns + j]
    for i in range(first, n):
        multiply_row(mem, K + i * ld + first, columns + first, m)
    return 1


@jit(i8(Floats, NewtonMatrix, f8, f8))
def factor_outside(mem, at, re, im):
    """Have F_y + (re + i im) F_y' factorised over its nonzeros; 1, or 0 if it cannot be."""
    request = at.nonzeros - 2
    mem[request], mem[request + 1] = re, im
    call_kernel(at.factor_outside, mem, request, at.answer)
    return 1 if mem[at.answer] > 0.0 else 0


@jit(i8(Ints, Floats, NewtonMatrix, f8))
def factor_newton(ints, mem, at, s):
    """Factorise F_y + s F_y'; 1, or 0 if it cannot be."""
    if at.factor_outside:
        return factor_outside(mem, at, s, 0.0)
    _assemble(ints, mem, at, s)
    if not (_eliminate(ints, mem, at, s) and _equilibrate(ints, mem, at)):
        return 0
    n, ld, first, K, pivots = at.n, at.stride, at.first, at.real, at.real_pivots
    order, rank, k = pivots + n, n, first
    for j in range(n):
        ints[order + j] = j
    while k < rank:
        p, top = k, abs(mem[K + k * ld + k])
        for i in range(k + 1, n):
            size = abs(mem[K + i * ld + k])
            if size > top:
                p, top = i, size
        if not top > DEPENDENT_MULTIPLIER and k >= n - at.of_multipliers:
            rank -= 1
            ints[order + k], ints[order + rank] = ints[order + rank], ints[order + k]
            for i in range(first, n):
                mem[K + i * ld + k], mem[K + i * ld + rank] = mem[K + i * ld + rank], mem[K + i * ld + k]
            continue
        if not top > 0.0:
            return 0
        ints[pivots + k] = p
        if p != k:
            swap_rows(mem, K + k * ld + first, K + p * ld + first, n - first)
        d = 1.0 / mem[K + k * ld + k]
        mem[K + k * ld + k] = d
        for i in range(k + 1, n):
            if mem[K + i * ld + k] != 0.0:
                l = mem[K + i * ld + k] * d
                mem[K + i * ld + k] = l
                add_row(mem, K + i * ld + k + 1, K + k * ld + k + 1, -l, n - k - 1)
        k += 1
    ints[order + n] = rank
    return 1


@jit(i8(Ints, Floats, NewtonMatrix, i8))
def solve_newton(ints, mem, at, where):
    """Solve in place for the right-hand side mem[where : where + ny], with the factors of `factor_newton`."""
    if at.solve_outside:
        call_kernel(at.solve_outside, mem, where, where)
        return 0
    n, ld, first, K, x = at.n, at.stride, at.first, at.real, at.vector
    below, right, pivots = at.below, at.right, at.real_pivots
    rows, columns, order, rank = at.real_scales, at.real_scales + ld, pivots + n, ints[pivots + 2 * n]
    for i in range(n):
        mem[x + ints[at.row_at + i]] = mem[where + i]
    for k in range(first):
        for a in range(ints[below + k], ints[below + k + 1]):
            i = ints[a]
            mem[x + i] -= mem[K + i * ld + k] * mem[x + k]
    for i in range(first, n):
        mem[x + i] *= mem[rows + i]
    for k in range(first, rank):
        p = ints[pivots + k]
        mem[x + k], mem[x + p] = mem[x + p], mem[x + k]
        mem[x + k] -= row_product(mem, K + k * ld + first, x + first, k - first)
    for k in range(rank - 1, first - 1, -1):
        rest = row_product(mem, K + k * ld + k + 1, x + k + 1, rank - k - 1)
        mem[x + k] = (mem[x + k] - rest) * mem[K + k * ld + k]
    for i in range(rank, n):
        mem[x + i] = 0.0
    if rank < n:  # undo the exchanges of columns
        move(mem, x + ld, mem, x, n)
        for i in range(first, n):
            mem[x + ints[order + i]] = mem[x + ld + i]
    for i in range(first, n):
        mem[x + i] *= mem[columns + i]
    for k in range(first - 1, -1, -1):
        total = mem[x + k]
        for b in range(ints[right + k], ints[right + k + 1]):
            j = ints[b]
            total -= mem[K + k * ld + j] * mem[x + j]
        mem[x + k] = total * mem[K + k * ld + k]
    for j in range(n):
        mem[where + j] = mem[x + ints[at.column_at + j]]
    return 0
