"""Pseudo-inverses in native code, by one-sided Jacobi rotations (Hestenes 1958): slow but sure, nothing allocated."""

from __future__ import annotations

import math

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, f8, i8
from dalembert.solve.tolerances import RANK_TOLERANCE

SWEEPS = 40


@jit(f8(Floats, i8, i8, i8, i8, i8, i8))
def _rotate(mem, G, m, n, V, p, q):
    """Make columns p and q orthogonal; returns the cosine between them before."""
    a = b = c = 0.0
    for i in range(m):
        x, y = mem[G + i * n + p], mem[G + i * n + q]
        a += x * x
        b += y * y
        c += x * y
    if c == 0.0 or a == 0.0 or b == 0.0:
        return 0.0
    cosine = abs(c) / math.sqrt(a * b)
    if cosine < 1e-16:
        return 0.0
    zeta = (b - a) / (2.0 * c)
    t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    cs = 1.0 / math.sqrt(1.0 + t * t)
    sn = cs * t
    for i in range(m):
        x, y = mem[G + i * n + p], mem[G + i * n + q]
        mem[G + i * n + p], mem[G + i * n + q] = cs * x - sn * y, sn * x + cs * y
    for i in range(n):
        x, y = mem[V + i * n + p], mem[V + i * n + q]
        mem[V + i * n + p], mem[V + i * n + q] = cs * x - sn * y, sn * x + cs * y
    return cosine


@jit(i8(Floats, i8, i8, i8, i8))
def orthogonalise(mem, G, m, n, V):
    """Rotate the n columns of G (m, n) until they are orthogonal: G V = U S; V (n, n) is built along the way."""
    for i in range(n):
        for j in range(n):
            mem[V + i * n + j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        turned = 0.0
        for p in range(n - 1):
            for q in range(p + 1, n):
                turned = max(turned, _rotate(mem, G, m, n, V, p, q))
        if turned < 1e-15:
            break
    return 0


@jit(f8(Floats, i8, i8, i8, i8))
def invert_squares(mem, G, m, n, weights):
    """1 / s_k^2 of the orthogonal columns of G into `weights`, 0 where s_k is zero; returns s_min / s_max otherwise."""
    largest = 0.0
    for k in range(n):
        total = 0.0
        for i in range(m):
            total += mem[G + i * n + k] ** 2
        mem[weights + k] = total
        largest = max(largest, total)
    smallest = largest
    for k in range(n):
        square = mem[weights + k]
        if square > RANK_TOLERANCE**2 * largest:
            smallest = min(smallest, square)
            mem[weights + k] = 1.0 / square
        else:
            mem[weights + k] = 0.0
    return math.sqrt(smallest / largest) if largest > 0.0 else 0.0
