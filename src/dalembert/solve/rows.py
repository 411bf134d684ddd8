"""Rows in `mem`: cleared, exchanged, scaled, added, multiplied, several entries at once.

Two things keep LLVM from vectorising a plain loop over mem[a + j]: Numba lets signed indices count from the end, and a
sum has a fixed order. Indices here are unsigned and sums may be reordered; the product of a 50 x 50 matrix and a vector
takes 0.5 us instead of 8. Rows that are written must not overlap others. Complex rows are two real ones, the imaginary
part `shift` entries behind the real part.
"""

from __future__ import annotations

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8, u8
from dalembert.native.types import several

FUSED = ("contract",)  # a product and a sum may be rounded once
REORDERED = ("contract", "reassoc", "nsz")


@jit(i8(Floats, u8, u8))
def clear_row(mem, at, count):
    """mem[at + j] = 0 for j < count."""
    for j in range(count):
        mem[at + j] = 0.0
    return 0


@jit(i8(Floats, u8, u8, u8))
def swap_rows(mem, one, other, count):
    """Exchange mem[one + j] and mem[other + j] for j < count."""
    for j in range(count):
        mem[one + j], mem[other + j] = mem[other + j], mem[one + j]
    return 0


@jit(f8(Floats, u8, u8))
def largest_in_row(mem, at, count):
    """The largest |mem[at + j]| over j < count."""
    top = 0.0
    for j in range(count):
        top = max(top, abs(mem[at + j]))
    return top


@jit(i8(Floats, u8, f8, u8))
def scale_row(mem, at, factor, count):
    """mem[at + j] *= factor for j < count."""
    for j in range(count):
        mem[at + j] *= factor
    return 0


@jit(i8(Floats, u8, u8, u8))
def raise_row(mem, to, source, count):
    """mem[to + j] = max(mem[to + j], |mem[source + j]|) for j < count."""
    for j in range(count):
        mem[to + j] = max(mem[to + j], abs(mem[source + j]))
    return 0


@jit(i8(Floats, u8, u8, u8))
def multiply_row(mem, to, source, count):
    """mem[to + j] *= mem[source + j] for j < count."""
    for j in range(count):
        mem[to + j] *= mem[source + j]
    return 0


@jit(i8(Floats, u8, u8, f8, u8), fastmath=FUSED)
def add_row(mem, to, source, factor, count):
    """mem[to + j] += factor * mem[source + j] for j < count."""
    for j in range(count):
        mem[to + j] += factor * mem[source + j]
    return 0


@jit(i8(Floats, u8, u8, u8, f8, f8, u8), fastmath=FUSED)
def subtract_complex_row(mem, to, source, shift, re, im, count):
    """mem[to + j] -= (re + i im) mem[source + j] for j < count, all complex."""
    for j in range(count):
        x, y = mem[source + j], mem[source + shift + j]
        mem[to + j] -= re * x - im * y
        mem[to + shift + j] -= re * y + im * x
    return 0


@jit(f8(Floats, u8, u8, u8), fastmath=REORDERED)
def row_product(mem, left, right, count):
    """The sum of mem[left + j] mem[right + j] over j < count."""
    total = 0.0
    for j in range(count):
        total += mem[left + j] * mem[right + j]
    return total


@jit(several(f8, 2)(Floats, u8, u8, u8, u8, u8), fastmath=REORDERED)
def complex_row_product(mem, left, shift, right, other, count):
    """The sum of mem[left + j] mem[right + j] over j < count, complex with shifts `shift` and `other`: (re, im)."""
    re = im = 0.0
    for j in range(count):
        a, b, x, y = mem[left + j], mem[left + shift + j], mem[right + j], mem[right + other + j]
        re += a * x - b * y
        im += a * y + b * x
    return re, im
