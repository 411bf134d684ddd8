"""L D L^T over nonzeros in native code, column by column of L (right-looking), where columns are short.

`short_pattern` says where the products of a column go. A column of three entries takes a third of the time that
`sparse_ldl` takes for a row of three: there is nothing to search, to scatter or to clear.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, u8
from dalembert.native.types import Places
from dalembert.solve.dense import PROXIMAL
from dalembert.solve.rows import FUSED
from dalembert.solve.schur import LEAST, index
from dalembert.solve.sparse_layout import SparseFactors


@jit(i8(Floats, Places, SparseFactors, u8, u8, u8, u8, u8, f8, f8))
def _assemble(mem, places, at, n, nu, diagonal, light, lengths, soft, shift):
    """The matrix in the places of L and D, and the units of the pivots in `scatter`."""
    order, ends, sources = index(at.order), index(at.column_starts + 1), index(at.sources)
    L, D, units, S, one = index(at.lower), index(at.pivots), index(at.scatter), index(at.schur), index(1)
    for p in range(places[ends + n - one]):
        mem[L + p] = mem[places[sources + p]]
    for k in range(n):
        unknown = places[order + k]
        if unknown < nu:
            mem[units + k] = mem[light + unknown]
            mem[D + k] = mem[places[diagonal + unknown]]
            if soft > 0.0:
                mem[D + k] += soft / mem[light + unknown]
        else:
            length = mem[lengths + unknown - nu]
            mem[units + k] = -1.0 / length
            mem[D + k] = mem[S + unknown - nu] - shift * length
    return 0


@jit(f8(Floats, Places, SparseFactors, u8, u8, u8, u8, u8, f8, f8, u8), fastmath=FUSED)
def decompose_short(mem, places, at, n, nu, diagonal, light, lengths, soft, shift, zero):
    """L and the reciprocals of D; the smallest pivot over the largest, as `sparse_ldl.decompose` leaves them."""
    _assemble(mem, places, at, n, nu, diagonal, light, lengths, soft, shift)
    ends, target, one = index(at.column_starts + 1), index(at.targets), index(1)
    L, D, units = index(at.lower), index(at.pivots), index(at.scatter)
    smallest, largest, start = math.inf, 0.0, zero
    for k in range(n):
        d, unit, stop = mem[D + k], mem[units + k], places[ends + k]
        size = d * unit
        if not size > LEAST:
            d, size = PROXIMAL / unit, 0.0
        smallest, largest = min(smallest, size), max(largest, size)
        reciprocal = 1.0 / d
        mem[D + k] = reciprocal
        for p in range(start, stop):
            l = mem[L + p] * reciprocal
            for other in range(p, stop):
                mem[places[target]] -= l * mem[L + other]
                target += one
            mem[L + p] = l
        start = stop
    return smallest / largest if largest > 0.0 else 1.0
