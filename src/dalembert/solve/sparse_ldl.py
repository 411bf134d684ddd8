"""L D L^T over nonzeros in native code, row by row of L (up-looking), and solves with it.

`elimination_order` says where everything is.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, u8
from dalembert.native.types import Places
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.rows import FUSED
from dalembert.solve.schur import LEAST_PIVOT, index
from dalembert.solve.sparse_layout import SparseFactors


@jit(f8(Floats, Places, SparseFactors, u8, u8, u8, u8, u8, f8, f8, u8), fastmath=FUSED)
def decompose(mem, places, at, n, nu, diagonal, light, lengths, soft, shift, zero):
    """L and the reciprocals of D; the smallest pivot over the largest, 0 if one had the wrong sign and was replaced.

    Pivots are those of unit masses and rows. The matrix already contains the contribution of `schur`, from speeds in
    closed form.
    """
    order, ends, rows, sources = (
        index(at.order),
        index(at.upper_starts + 1),
        index(at.upper_rows),
        index(at.upper_sources),
    )
    row_ends, row_columns, row_places = index(at.row_starts + 1), index(at.row_columns), index(at.row_places)
    starts, entries, L, D, y = (
        index(at.column_starts),
        index(at.entry_rows),
        index(at.lower),
        index(at.pivots),
        index(at.scatter),
    )
    S = index(at.schur)
    smallest, largest, start, row_start = math.inf, 0.0, zero, zero
    for k in range(n):
        stop, row_stop, unknown = places[ends + k], places[row_ends + k], places[order + k]
        for p in range(start, stop):
            mem[y + places[rows + p]] += mem[places[sources + p]]
        if unknown < nu:
            unit = mem[light + unknown]
            d = mem[places[diagonal + unknown]] + soft / unit
        else:
            unit = -1.0 / mem[lengths + unknown - nu]
            d = shift / unit + mem[S + unknown - nu]
        for t in range(row_start, row_stop):
            i, place = places[row_columns + t], places[row_places + t]
            yi = mem[y + i]
            mem[y + i] = 0.0
            for p in range(places[starts + i], place):
                mem[y + places[entries + p]] -= mem[L + p] * yi
            l = yi * mem[D + i]
            d -= l * yi
            mem[L + place] = l
        size = d * unit
        if not size > LEAST_PIVOT:
            d, size = PROXIMAL / unit, 0.0
        smallest, largest = min(smallest, size), max(largest, size)
        mem[D + k] = 1.0 / d
        start, row_start = stop, row_stop
    return smallest / largest if largest > 0.0 else 1.0


@jit(i8(Floats, Places, SparseFactors, u8, u8, u8), fastmath=FUSED)
def substitute(mem, places, at, n, last, where):
    """x = K^-1 x for the unknowns of the factors at hand, mem[where + order]; K is symmetric."""
    order, starts, ends, entries = (
        index(at.order),
        index(at.column_starts),
        index(at.column_starts + 1),
        index(at.entry_rows),
    )
    L, D, x, one = index(at.lower), index(at.pivots), index(at.side), index(1)
    for k in range(n):
        mem[x + k] = mem[where + places[order + k]]
    for k in range(n):
        xk = mem[x + k]
        for p in range(places[starts + k], places[ends + k]):
            mem[x + places[entries + p]] -= mem[L + p] * xk
    for left in range(n):
        k = last - left
        total, stop = mem[x + k] * mem[D + k], places[ends + k]
        for t in range(stop - places[starts + k]):  # from the end: what was found last is waited for last
            p = stop - one - t
            total -= mem[L + p] * mem[x + places[entries + p]]
        mem[x + k] = total
        mem[where + places[order + k]] = total
    return 0
