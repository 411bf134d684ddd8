"""The smallest singular values of sparse rows of constraints, and the combinations of them that vanish.

Singular values s of rows with unit length are the roots of the eigenvalues of S = A M^-1 A^T. The smallest ones are
found by Lanczos's method (Golub and Van Loan, 10.1) with (S + E)^-1, by the factors of the saddle matrix: those that
vanish stand out by orders of magnitude, so a few iterations do. An eigenvalue that several directions share is found
once; that of redundant constraints, zero everywhere, does not hide the next one.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from dalembert.native.jit import jit
from dalembert.native.plan import Floats, Plan, f8, i8, u8
from dalembert.solve.rows import add_row, clear_row, row_product, scale_row
from dalembert.solve.sparse import solve_sparse
from dalembert.solve.sparse_layout import SHIFT, matrices_at
from dalembert.solve.sparse_system import SparseSaddle

LANCZOS_STEPS = 5
JACOBI_SWEEPS, JACOBI_ZERO = 12, 1e-17  # largest number of sweeps of Jacobi's method; zero relative to the diagonal
LARGEST_SQUARE = 4.0  # squared singular value of interest
# Vectors that are filtered, and how often: a singular value of 1e-4 passes by 1e-8.
FILTERED_VECTORS, FILTER_PASSES = 4, 8


@jit(i8(Floats, u8, u8, u8))
def _take_roots(mem, of, to, count):
    """mem[to + i] = sqrt(mem[of + i]) for i < count."""
    for i in range(count):
        mem[to + i] = math.sqrt(mem[of + i])
    return 0


@jit(i8(Floats, u8, Floats, u8, Floats, u8, u8))
def _weigh(target, to, source, of, weights, by, count):
    """target[to + i] = weights[by + i] source[of + i] for i < count."""
    for i in range(count):
        target[to + i] = weights[by + i] * source[of + i]
    return 0


@jit(i8(Plan, Floats, i8, Floats, Floats))
def tridiagonalise(plan, mem, rows, basis, T):
    """Lanczos's method with the factors at hand: a basis (n, rows), its first vector given, and T (n, n), its upper
    triangle; behind the basis is room for another vector.
    """
    n, nu, x, lengths = basis.size // rows - 1, plan.nu, plan.rhs, plan.remainder
    _take_roots(mem, matrices_at(plan.pattern).lengths, lengths, rows)
    for k in range(n):
        image = (k + 1) * rows
        clear_row(mem, x, nu)
        _weigh(mem, x + nu, basis, k * rows, mem, lengths, rows)
        solve_sparse(plan, mem, rows, x)
        _weigh(basis, image, mem, x + nu, mem, lengths, rows)
        for j in range(k + 1):
            T[j * n + k] = row_product(basis, j * rows, image, rows)
        if k + 1 == n:
            break
        for j in range(k + 1):
            add_row(basis, image, j * rows, -T[j * n + k], rows)
        for j in range(k + 1):  # twice is enough
            add_row(basis, image, j * rows, -row_product(basis, j * rows, image, rows), rows)
        rest = math.sqrt(row_product(basis, image, image, rows))
        scale_row(basis, image, 1.0 / rest if rest > 0.0 else 0.0, rows)
    return 0


@jit(i8(Floats, i8, Floats, i8, i8))
def _rotate(T, n, V, p, q):
    """Make entry (p, q) of a symmetric matrix zero by a rotation (Golub and Van Loan, 8.5); whether it was not.

    Columns of V, if it has any, are rotated with it.
    """
    above, low, high = T[p * n + q], T[p * n + p], T[q * n + q]
    if abs(above) <= JACOBI_ZERO * math.sqrt(abs(low * high)):
        return 0
    slope = 0.5 * (high - low) / above
    tangent = (1.0 if slope >= 0.0 else -1.0) / (abs(slope) + math.sqrt(slope * slope + 1.0))
    c = 1.0 / math.sqrt(tangent * tangent + 1.0)
    s = tangent * c
    for r in range(n):
        one, other = T[r * n + p], T[r * n + q]
        T[r * n + p], T[r * n + q] = c * one - s * other, s * one + c * other
        T[p * n + r], T[q * n + r] = T[r * n + p], T[r * n + q]
    T[p * n + p], T[q * n + q] = low - tangent * above, high + tangent * above
    T[p * n + q] = T[q * n + p] = 0.0
    for r in range(V.size // n):
        one, other = V[r * n + p], V[r * n + q]
        V[r * n + p], V[r * n + q] = c * one - s * other, s * one + c * other
    return 1


@jit(i8(Floats, i8, Floats))
def _diagonalise(T, n, V):
    """Make a matrix of which the upper triangle is given diagonal; V, rotated with it, may be empty. Whether finite."""
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            T[j * n + i] = T[i * n + j]
            total += 0.0 * T[i * n + j]
    for _ in range(JACOBI_SWEEPS):
        left = 0
        for p in range(n):
            for q in range(p + 1, n):
                left += _rotate(T, n, V, p, q)
        if not left:
            break
    return total == 0.0


@jit(f8(f8))
def _singular_value(eigenvalue):
    """Singular value of the rows for an eigenvalue of (S + E)^-1."""
    return math.sqrt(min(max(1.0 / max(eigenvalue, 1e-300) - SHIFT, 0.0), LARGEST_SQUARE))


@jit(i8(Floats, Floats))
def find_singular_values(T, values):
    """Singular values (n,), largest first, of an upper triangle T (n, n) of `tridiagonalise`; all 0 if not finite.

    T is overwritten: its eigenvalues are found by Jacobi's rotations.
    """
    n = values.size
    finite = _diagonalise(T, n, values[:0])
    for i in range(n):
        value = _singular_value(T[i * n + i]) if finite else 0.0
        at = i
        while at > 0 and values[at - 1] < value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    return 0


@jit(i8(Floats, Floats, i8, f8, Floats, Floats))
def find_vanishing(T, V, rank, vanishing, basis, parts):
    """The part (m,) of each row in the left vectors of singular values that vanish, the `rank` largest ones at most.

    T (n, n) is an upper triangle of `tridiagonalise`, V (n, n) and T are overwritten. Values below the part `vanishing`
    of the largest vanish; if there are none, the last one does. If T is not finite nothing is known.
    """
    n, m, top = int(math.sqrt(T.size + 0.5)), parts.size, 0.0
    for k in range(n * n):
        V[k] = 1.0 if k % (n + 1) == 0 else 0.0
    if not _diagonalise(T, n, V):
        clear_row(T, 0, n * n)
        for k in range(n * n):
            V[k] = 1.0 if k % (n + 1) == 0 else 0.0
    for i in range(n):
        top = max(top, _singular_value(T[i * n + i]))
    clear_row(parts, 0, m)
    found, last = 0, 0
    for i in range(n):
        larger, value = 0, _singular_value(T[i * n + i])
        for j in range(n):
            other = _singular_value(T[j * n + j])
            larger += other > value or (other == value and j < i)
        if larger == rank - 1:
            last = i
        if larger < rank and value < vanishing * top:
            found += _raise_parts(V, n, i, basis, parts)
    return found or _raise_parts(V, n, last, basis, parts)


@jit(i8(Floats, i8, i8, Floats, Floats))
def _raise_parts(V, n, column, basis, parts):
    """Have parts (m,) be at least those in the combination of a basis (n, m) by a column of V (n, n)."""
    m = parts.size
    for r in range(m):
        total = 0.0
        for j in range(n):
            total += basis[j * m + r] * V[j * n + column]
        parts[r] = max(parts[r], abs(total))
    return 1


def new_basis(m: int) -> np.ndarray:
    """Room for the basis of `tridiagonalise`, (n + 1, m) with n = min(LANCZOS_STEPS, m), and its first vector."""
    basis = np.zeros((min(LANCZOS_STEPS, m) + 1, m))
    start = _directions(m, 1)[:, 0]
    basis[0] = start / np.linalg.norm(start)
    return basis


def singular_values(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values (..., n), largest first, and their vectors (..., n, n) in the basis, of upper triangles T."""
    values, vectors = np.linalg.eigh(T, UPLO="U")
    return np.sqrt(np.clip(1.0 / np.maximum(values, 1e-300) - SHIFT, 0.0, LARGEST_SQUARE)), vectors


def smallest_values(saddle: SparseSaddle) -> tuple[np.ndarray, np.ndarray]:
    """Singular values (n,), largest first, and their left vectors (m, n), n = min(LANCZOS_STEPS, m).

    The saddle matrix is factorised with its usual shift.
    """
    m = saddle.pattern.nc
    if m == 0:
        return np.zeros(0), np.zeros((0, 0))
    basis = new_basis(m)
    T = np.zeros((len(basis) - 1, len(basis) - 1))
    tridiagonalise(saddle.work.plan, saddle.work.mem, m, basis.reshape(-1), T.reshape(-1))
    values, vectors = singular_values(T)
    return values, basis[:-1].T @ vectors


def vanishing_parts(saddle: SparseSaddle) -> np.ndarray:
    """Part of each row in combinations that vanish, (m,): random vectors, with all other components filtered out."""
    lengths = saddle.lengths
    parts = np.zeros(len(lengths))
    for column in _directions(len(lengths), FILTERED_VECTORS).T:
        left = column
        for _ in range(FILTER_PASSES):
            left = SHIFT * lengths * saddle.solve_rows(lengths * left)[0]
        parts = np.maximum(parts, np.abs(left))
    return parts


@functools.lru_cache(8)
def _directions(m: int, count: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((m, count))
