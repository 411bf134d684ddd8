"""LU of a Newton matrix K = F_y + s F_y' with complex s: as `newton_matrix`, real and imaginary parts apart.

A complex number is two entries `SHIFT` apart, so that rows are worked on in vectors as real ones are.
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Ints, call_kernel, f8, i8, move
from dalembert.solve.newton_matrix import DEPENDENT_MULTIPLIER, SAFE, factor_outside
from dalembert.solve.rows import (
    clear_row,
    complex_row_product,
    largest_in_row,
    multiply_row,
    raise_row,
    scale_row,
    subtract_complex_row,
    swap_rows,
)
from dalembert.solve.static_elimination import NewtonMatrix


@jit(i8(Ints, Floats, NewtonMatrix, f8, f8))
def _assemble(ints, mem, at, re, im):
    """K in its permuted places."""
    n, ld, K, values, places = (
        at.n, at.stride, at.complex, at.nonzeros, at.places,
    )  # fmt: skip
    L = K + at.shift
    clear_row(mem, K, n * ld)
    clear_row(mem, L, n * ld)
    states = at.of_states
    for e in range(states):
        mem[K + ints[places + e]] = mem[values + e]
    for e in range(states, states + at.of_rates):
        j = ints[places + e]
        mem[K + j] += re * mem[values + e]
        mem[L + j] = im * mem[values + e]
    return 0


@jit(i8(Ints, Floats, NewtonMatrix, f8))
def _eliminate(ints, mem, at, s):
    """Static pivots; 0 if one of them is too small against s, else 1. Pivots are replaced by their inverses."""
    ld, K, shift, below, right = (
        at.stride, at.complex, at.shift, at.below, at.right,
    )  # fmt: skip
    for k in range(at.first):
        top = K + k * ld
        c, d = mem[top + k], mem[top + shift + k]
        size = c * c + d * d
        if not size > (SAFE * s) ** 2:
            return 0
        c, d = c / size, -d / size
        mem[top + k], mem[top + shift + k] = c, d
        for a in range(ints[below + k], ints[below + k + 1]):
            i = K + ints[a] * ld
            u, v = mem[i + k], mem[i + shift + k]
            u, v = u * c - v * d, u * d + v * c
            mem[i + k], mem[i + shift + k] = u, v
            for b in range(ints[right + k], ints[right + k + 1]):
                j = ints[b]
                x, y = mem[top + j], mem[top + shift + j]
                mem[i + j] -= u * x - v * y
                mem[i + shift + j] -= u * y + v * x
    return 1


@jit(i8(Ints, Floats, NewtonMatrix))
def _equilibrate(ints, mem, at):
    """Scale rows, then columns, of the dense part to largest entry about 1; 0 if one is empty or not finite."""
    n, ld, first, K, shift = at.n, at.stride, at.first, at.complex, at.shift
    rows, columns, m = at.complex_scales, at.complex_scales + ld, n - first
    clear_row(mem, columns, ld)
    for i in range(first, n):
        row = K + i * ld + first
        top = max(largest_in_row(mem, row, m), largest_in_row(mem, row + shift, m))
        if not 0.0 < top < 1e300:
            return 0
        mem[rows + i] = 1.0 / top
        scale_row(mem, row, 1.0 / top, m)
        scale_row(mem, row + shift, 1.0 / top, m)
        raise_row(mem, columns + first, row, m)
        raise_row(mem, columns + first, row + shift, m)
    for j in range(first, n):
        if not mem[columns + j] > 0.0:
            return 0
        mem[columns + j] = 1.0 / mem[columns + j]
    for i in range(first, n):
        multiply_row(mem, K + i * ld + first, columns + first, m)
        multiply_row(mem, K + i * ld + first + shift, columns + first, m)
    return 1


@jit(i8(Ints, Floats, NewtonMatrix, f8, f8))
def factor_complex_newton(ints, mem, at, re, im):
    """Factorise F_y + (re + i im) F_y'; 1, or 0 if it cannot be."""
    if at.factor_outside:
        return factor_outside(mem, at, re, im)
    _assemble(ints, mem, at, re, im)
    if not (_eliminate(ints, mem, at, abs(re) + abs(im)) and _equilibrate(ints, mem, at)):
        return 0
    n, ld, first, K, shift = at.n, at.stride, at.first, at.complex, at.shift
    pivots = at.complex_pivots
    order, rank, k = pivots + n, n, first
    for j in range(n):
        ints[order + j] = j
    while k < rank:
        p, best = k, -1.0
        for i in range(k, n):
            size = abs(mem[K + i * ld + k]) + abs(mem[K + shift + i * ld + k])
            if size > best:
                p, best = i, size
        if not best > DEPENDENT_MULTIPLIER and k >= n - at.of_multipliers:
            rank -= 1
            ints[order + k], ints[order + rank] = ints[order + rank], ints[order + k]
            for i in range(first, n):
                a, b = K + i * ld + k, K + i * ld + rank
                mem[a], mem[b] = mem[b], mem[a]
                mem[a + shift], mem[b + shift] = mem[b + shift], mem[a + shift]
            continue
        if not best > 0.0:
            return 0
        ints[pivots + k] = p
        if p != k:
            a, b = K + k * ld + first, K + p * ld + first
            swap_rows(mem, a, b, n - first)
            swap_rows(mem, a + shift, b + shift, n - first)
        top = K + k * ld
        c, d = mem[top + k], mem[top + shift + k]
        size = c * c + d * d
        c, d = c / size, -d / size
        mem[top + k], mem[top + shift + k] = c, d
        for i in range(k + 1, n):
            row = K + i * ld
            u, v = mem[row + k], mem[row + shift + k]
            if u != 0.0 or v != 0.0:
                u, v = u * c - v * d, u * d + v * c
                mem[row + k], mem[row + shift + k] = u, v
                subtract_complex_row(mem, row + k + 1, top + k + 1, shift, u, v, n - k - 1)
        k += 1
    ints[order + n] = rank
    return 1


@jit(i8(Ints, Floats, NewtonMatrix, i8, i8))
def solve_complex_newton(ints, mem, at, re, im):
    """Solve in place for the right-hand side mem[re : re + ny] + i mem[im : im + ny]."""
    if at.solve_complex_outside:
        call_kernel(at.solve_complex_outside, mem, re, im)
        return 0
    n, ld, first, K, shift = at.n, at.stride, at.first, at.complex, at.shift
    x, y = at.vector, at.vector + ld
    below, right, pivots = at.below, at.right, at.complex_pivots
    rows, columns = at.complex_scales, at.complex_scales + ld
    order, rank, spare = pivots + n, ints[pivots + 2 * n], at.vector + 2 * ld
    for i in range(n):
        j = ints[at.row_at + i]
        mem[x + j], mem[y + j] = mem[re + i], mem[im + i]
    for k in range(first):
        a, b = mem[x + k], mem[y + k]
        for c in range(ints[below + k], ints[below + k + 1]):
            i = ints[c]
            u, v = mem[K + i * ld + k], mem[K + shift + i * ld + k]
            mem[x + i] -= u * a - v * b
            mem[y + i] -= u * b + v * a
    for i in range(first, n):
        mem[x + i] *= mem[rows + i]
        mem[y + i] *= mem[rows + i]
    for k in range(first, rank):
        p = ints[pivots + k]
        mem[x + k], mem[x + p] = mem[x + p], mem[x + k]
        mem[y + k], mem[y + p] = mem[y + p], mem[y + k]
        u, v = complex_row_product(mem, K + k * ld + first, shift, x + first, ld, k - first)
        mem[x + k] -= u
        mem[y + k] -= v
    for k in range(rank - 1, first - 1, -1):
        u, v = complex_row_product(mem, K + k * ld + k + 1, shift, x + k + 1, ld, rank - k - 1)
        a, b = mem[x + k] - u, mem[y + k] - v
        c, d = mem[K + k * ld + k], mem[K + shift + k * ld + k]
        mem[x + k], mem[y + k] = a * c - b * d, a * d + b * c
    for i in range(rank, n):
        mem[x + i] = mem[y + i] = 0.0
    if rank < n:  # undo the exchanges of columns
        move(mem, spare, mem, x, 2 * ld)
        for i in range(first, n):
            j = ints[order + i]
            mem[x + j], mem[y + j] = mem[spare + i], mem[spare + ld + i]
    for i in range(first, n):
        mem[x + i] *= mem[columns + i]
        mem[y + i] *= mem[columns + i]
    for k in range(first - 1, -1, -1):
        a, b = mem[x + k], mem[y + k]
        for e in range(ints[right + k], ints[right + k + 1]):
            j = ints[e]
            u, v = mem[K + k * ld + j], mem[K + shift + k * ld + j]
            a -= u * mem[x + j] - v * mem[y + j]
            b -= u * mem[y + j] + v * mem[x + j]
        c, d = mem[K + k * ld + k], mem[K + shift + k * ld + k]
        mem[x + k], mem[y + k] = a * c - b * d, a * d + b * c
    for j in range(n):
        i = ints[at.column_at + j]
        mem[re + j], mem[im + j] = mem[x + i], mem[y + i]
    return 0
