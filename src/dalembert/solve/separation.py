"""Independent and dependent directions by the singular value decomposition of a Jacobian P (m, n).

P = V S U^T (rows of P scaled to unit length first). The columns of U that belong to singular values span the dependent
directions, their orthogonal complement the independent ones, along which P changes nothing (Mani, Haug and Atkinson
1985). One-sided Jacobi rotations on the m columns of P^T, then Gram-Schmidt on the axes for the complement: for few
constraints on many coordinates much cheaper than a decomposition of all n columns.
"""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, i8
from dalembert.solve.pseudo_inverse import orthogonalise

SEPARATION_RANK = 1e-6  # singular values below this, relative to the largest, count as zero: their direction is free
GENEROUS = 3e-2  # the same where that is asked for, to pass a singular position
FEEBLE = 1e-4  # singular values around this, relative to the largest, are inverted with restraint


def room(m: int, n: int) -> int:
    """Floats of workspace `separate` needs for P (m, n)."""
    return m * n + m * m + 2 * m + n


@jit(i8(Floats, i8, i8, i8, i8, i8))
def _decompose(mem, P, m, n, G, V):
    """G = (scaled P)^T rotated to orthogonal columns; lengths of rows and singular values behind V."""
    lengths, values = V + m * m, V + m * m + m
    for k in range(m):
        total = 0.0
        for i in range(n):
            total += mem[P + k * n + i] ** 2
        mem[lengths + k] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
        for i in range(n):
            mem[G + i * m + k] = mem[P + k * n + i] * mem[lengths + k]
    orthogonalise(mem, G, n, m, V)
    for k in range(m):
        total = 0.0
        for i in range(n):
            total += mem[G + i * m + k] ** 2
        mem[values + k] = math.sqrt(total)
    return 0


@jit(i8(Floats, i8, i8, i8, i8))
def _append(mem, basis, n, count, left):
    """Append a column orthogonal to the first `count` of `basis`: the rest of the axis that they cover least."""
    axis = 0
    for i in range(n):
        if mem[left + i] > mem[left + axis]:
            axis = i
    for i in range(n):
        mem[basis + i * n + count] = 1.0 if i == axis else 0.0
    for _ in range(2):  # once more takes the rounding errors off
        for k in range(count):
            part = 0.0
            for i in range(n):
                part += mem[basis + i * n + k] * mem[basis + i * n + count]
            for i in range(n):
                mem[basis + i * n + count] -= part * mem[basis + i * n + k]
    total = 0.0
    for i in range(n):
        total += mem[basis + i * n + count] ** 2
    for i in range(n):
        mem[basis + i * n + count] /= math.sqrt(total)
        mem[left + i] -= mem[basis + i * n + count] ** 2
    return 0


@jit(i8(Floats, i8, i8, i8, i8, i8, i8, i8))
def separate(mem, P, m, n, basis, inverse, work, wanted):
    """Orthonormal `basis` (n, n), its dependent columns first, and pseudo-`inverse` (n, m) of P; returns the rank.

    `wanted` is the rank to keep, or -1 to find it, or -2 to find it generously. A rank kept may include directions that
    have become dependent.
    """
    G = work
    V = G + m * n
    lengths, values, left = V + m * m, V + m * m + m, V + m * m + 2 * m
    _decompose(mem, P, m, n, G, V)
    largest = 0.0
    for k in range(m):
        largest = max(largest, mem[values + k])
    for i in range(n * m):
        mem[inverse + i] = 0.0
    for i in range(n):
        mem[left + i] = 1.0
    rank, tolerance = 0, GENEROUS if wanted == -2 else SEPARATION_RANK
    while rank < min(m, n) and (wanted < 0 or rank < wanted):
        best = 0
        for k in range(m):
            if mem[values + k] > mem[values + best]:
                best = k
        s = mem[values + best]
        if not s > (tolerance * largest if wanted < 0 else 1e-14):
            break
        weight = s / (s * s + (FEEBLE * largest) ** 2)
        for i in range(n):
            u = mem[G + i * m + best] / s
            mem[basis + i * n + rank] = u
            mem[left + i] -= u * u
            for j in range(m):
                mem[inverse + i * m + j] += u * weight * mem[V + j * m + best] * mem[lengths + j]
        mem[values + best] = -1.0
        rank += 1
    kept = rank if wanted < 0 else wanted
    for count in range(rank, n):
        _append(mem, basis, n, count, left)
    return kept
