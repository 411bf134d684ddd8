"""Products of rows in `mem`, in the form that a processor works on several entries at once.

Two things keep LLVM from vectorising a plain loop over mem[a + i]: Numba lets signed indices count from the end, and a
sum has a fixed order. Indices here are unsigned and sums may be reordered; a product of a 50 x 50 matrix with a vector
takes 0.5 us instead of 8.
"""

from __future__ import annotations

from dalembert.numerics.layout import Floats, f8, i8, u8
from dalembert.numerics.native_cache import jit


@jit(f8(Floats, u8, u8, u8), fastmath=("reassoc", "contract", "nsz"))
def dot(mem, a, b, n):
    """Sum of mem[a + i] mem[b + i] over i < n."""
    total = 0.0
    for i in range(n):
        total += mem[a + i] * mem[b + i]
    return total


@jit(i8(Floats, u8, f8, u8, u8), fastmath=("contract",))
def add_multiple(mem, to, factor, a, n):
    """mem[to + i] += factor mem[a + i] for i < n; the two must not overlap."""
    for i in range(n):
        mem[to + i] += factor * mem[a + i]
    return 0


@jit(i8(Floats, u8, f8, u8), fastmath=("contract",))
def scale(mem, a, factor, n):
    """mem[a + i] *= factor for i < n."""
    for i in range(n):
        mem[a + i] *= factor
    return 0
