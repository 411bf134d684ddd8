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
from dalembert.solve.schur import LEAST_PIVOT, index
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


@jit(i8(Floats, Places, u8, u8, u8, f8), fastmath=FUSED)
def _eliminate(mem, places, start, stop, target, reciprocal):
    """Subtract the products of a column of L, at mem[start : stop], where they go, and divide it by its pivot."""
    one = index(1)
    for p in range(start, stop):
        l = mem[p] * reciprocal
        for other in range(p, stop):
            mem[places[target]] -= l * mem[other]
            target += one
        mem[p] = l
    return 0


@jit(i8(Floats, Places, u8, u8, f8, f8, f8), fastmath=FUSED)
def _eliminate_two(mem, places, p, target, reciprocal, a, b):
    """Like `_eliminate`, for the two entries a and b at p."""
    one, l, m = index(1), a * reciprocal, b * reciprocal
    mem[places[target]] -= l * a
    mem[places[target + one]] -= l * b
    mem[places[target + one + one]] -= m * b
    mem[p], mem[p + one] = l, m
    return 0


@jit(i8(Floats, Places, u8, u8, f8, f8, f8, f8), fastmath=FUSED)
def _eliminate_three(mem, places, p, target, reciprocal, a, b, c):
    """Like `_eliminate`, for the three entries a, b and c at p."""
    one, two, l = index(1), index(2), a * reciprocal
    mem[places[target]] -= l * a
    mem[places[target + one]] -= l * b
    mem[places[target + two]] -= l * c
    mem[p] = l
    return _eliminate_two(mem, places, p + one, target + index(3), reciprocal, b, c)


@jit(i8(Floats, Places, u8, u8, f8, f8, f8, f8, f8), fastmath=FUSED)
def _eliminate_four(mem, places, p, target, reciprocal, a, b, c, d):
    """Like `_eliminate`, for the four entries a, b, c and d at p."""
    one, two, three, l = index(1), index(2), index(3), a * reciprocal
    mem[places[target]] -= l * a
    mem[places[target + one]] -= l * b
    mem[places[target + two]] -= l * c
    mem[places[target + three]] -= l * d
    mem[p] = l
    return _eliminate_three(mem, places, p + one, target + index(4), reciprocal, b, c, d)


@jit(f8(Floats, Places, SparseFactors, u8, u8, u8, u8, u8, f8, f8, u8), fastmath=FUSED)
def decompose_short(mem, places, at, n, nu, diagonal, light, lengths, soft, shift, zero):
    """L and the reciprocals of D; the smallest pivot over the largest, as `sparse_ldl.decompose` leaves them."""
    _assemble(mem, places, at, n, nu, diagonal, light, lengths, soft, shift)
    ends, target, one, two, three = index(at.column_starts + 1), index(at.targets), index(1), index(2), index(3)
    L, D, units = index(at.lower), index(at.pivots), index(at.scatter)
    smallest, largest, start = math.inf, 0.0, zero
    for k in range(n):
        d, unit, stop = mem[D + k], mem[units + k], places[ends + k]
        size = d * unit
        if not size > LEAST_PIVOT:
            d, size = PROXIMAL / unit, 0.0
            mem[units + k] = 0.0  # with a store it stays a branch: as a choice it would be waited for in every column
        smallest, largest = min(smallest, size), max(largest, size)
        reciprocal = 1.0 / d
        mem[D + k] = reciprocal
        count, p = stop - start, L + start
        if count == index(4):
            _eliminate_four(
                mem, places, p, target, reciprocal, mem[p], mem[p + one], mem[p + two], mem[p + three]
            )  # fmt: skip
        elif count == three:
            _eliminate_three(mem, places, p, target, reciprocal, mem[p], mem[p + one], mem[p + two])
        elif count == two:
            _eliminate_two(mem, places, p, target, reciprocal, mem[p], mem[p + one])
        else:
            _eliminate(mem, places, p, L + stop, target, reciprocal)
        target += count * (count + one) // two
        start = stop
    return smallest / largest if largest > 0.0 else 1.0
