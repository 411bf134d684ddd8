"""LU of a Newton matrix K = F_y + s F_y' over its nonzeros, for real and complex s, by SciPy's SuperLU.

At the size where this pays, a factorisation takes milliseconds, so native code may call Python for it: `SparseNewton`
has C functions of two pointers, as kernels are. Rows and columns are brought to largest entry 1 first. Constraints may
be redundant: `MULTIPLIER_SHIFT` on the diagonal of the multipliers stands for their zero block. Newton's iteration
takes its effect away, and leaves multipliers that are not unique as they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.native.workspace import Workspace
from dalembert.solve.static_elimination import NewtonMatrix

MULTIPLIER_SHIFT = 1e-10
# A pivot below this, where rows and columns are of size 1, is that of constraints not independent.
DEPENDENT_PIVOT = 1e-8
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class SparseNewton:
    """The factors at hand of one run, and the functions native code calls for them, by address.

    1. `factor(request, answer)`: request holds Re s, Im s, then the nonzeros of F_y and of F_y'; answer becomes 1, 2
       if constraints are not independent, or 0 if K cannot be factorised. The factors for Im s = 0 are kept apart from
       others.
    2. `solve(x, x)`: x (n,) becomes K^-1 x with the real factors.
    3. `solve_complex(re, im)`: the same with the complex ones.

    Errors cannot be raised through native code: x becomes NaN, and `interrupted` says if it was Ctrl-C.
    """

    def __init__(self, n: int, state_places: np.ndarray, rate_places: np.ndarray, multipliers: int) -> None:
        """Rows and columns (nnz, 2) of the nonzeros; the last `multipliers` of the n variables have no rates."""
        self.n, self.counts = n, (len(state_places), len(rate_places))
        diagonal = np.column_stack([np.arange(n), np.arange(n)])  # no row and no column without an entry
        rows, columns = np.concatenate([state_places, rate_places, diagonal]).T
        places, self._where = np.unique(columns * n + rows, return_inverse=True)
        self._columns, self._rows = np.divmod(places, n)
        self._starts = np.searchsorted(self._columns, np.arange(n + 1))
        self._proximal = self._where[len(rows) - multipliers :]
        self._by_row = np.argsort(self._rows, kind="stable")
        self._row_starts = np.searchsorted(self._rows[self._by_row], np.arange(n))
        self._order: np.ndarray | None = None  # of columns, found by the first factorisation
        self._factors: dict[bool, tuple[Any, np.ndarray, np.ndarray]] = {}
        self.interrupted = self._dependent = False
        self._kept = [_FUNCTION(made) for made in (self._factor, self._solve, self._solve_complex)]

    def place(self, work: Workspace, matrix: NewtonMatrix) -> None:
        """Have native code call these functions for `matrix`; room for the nonzeros is made if there is none."""
        if not matrix.n:
            work.reserve(matrix, {"answer": 1, "nonzeros": 2 + sum(self.counts)})
            matrix.nonzeros += 2  # behind s
            matrix.n, (matrix.of_states, matrix.of_rates) = self.n, self.counts
        matrix.factor_outside, matrix.solve_outside, matrix.solve_complex_outside = self._addresses

    @property
    def _addresses(self) -> list[int]:
        """Of `factor`, `solve` and `solve_complex`; good as long as this object lives."""
        return [int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in self._kept]

    def _factor(self, request: int, answer: int) -> None:
        of_states, of_rates = self.counts
        given, done = _floats(request, 2 + of_states + of_rates), _floats(answer, 1)
        done[0] = 0.0

        def factorise() -> None:
            s = complex(given[0], given[1])
            self._factors[s.imag != 0.0] = self._factorised(given[2 : 2 + of_states], given[2 + of_states :], s)
            done[0] = 2.0 if self._dependent else 1.0

        self._attempt(factorise)

    def _solve(self, x: int, _same: int) -> None:
        values = _floats(x, self.n)
        self._solved(values, lambda: self._by(is_complex=False, right=values))

    def _solve_complex(self, re: int, im: int) -> None:
        real, imaginary = _floats(re, self.n), _floats(im, self.n)

        def solve() -> np.ndarray:
            found = self._by(is_complex=True, right=real + 1j * imaginary)
            imaginary[:] = found.imag
            return np.asarray(found.real)

        self._solved(real, solve)

    def _solved(self, target: np.ndarray, solve: Callable[[], np.ndarray]) -> None:
        """Write the result of `solve` to target, or NaN if it fails."""

        def put() -> None:
            target[:] = solve()

        if not self._attempt(put):
            target[:] = np.nan

    def _attempt(self, action: Callable[[], None]) -> bool:
        """Whether an action succeeded; after Ctrl-C none does, so that the run comes to its end."""
        if self.interrupted:
            return False
        try:
            action()
        except KeyboardInterrupt:
            self.interrupted = True
            return False
        except (RuntimeError, ArithmeticError, MemoryError):  # a factor that is singular or does not fit
            return False
        return True

    def _factorised(self, F_y: np.ndarray, F_rate: np.ndarray, s: complex) -> tuple[Any, np.ndarray, np.ndarray]:
        """SuperLU's factors of the scaled matrix with its columns in order, and the scales of rows and columns."""
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        entries = len(self._rows)
        split = self._where[: len(F_y)], self._where[len(F_y) : len(F_y) + len(F_rate)]
        of_states, of_rates = (
            np.bincount(where, values, minlength=entries)
            for where, values in zip(split, (F_y, F_rate), strict=True)
        )  # fmt: skip
        data = of_states + (s if s.imag else s.real) * of_rates
        row_scales = _inverse(np.maximum.reduceat(np.abs(data)[self._by_row], self._row_starts))
        data *= row_scales[self._rows]
        column_scales = _inverse(np.maximum.reduceat(np.abs(data), self._starts[:-1]))
        data *= column_scales[self._columns]
        data[self._proximal] += MULTIPLIER_SHIFT
        K = csc_matrix((data, self._rows, self._starts), shape=(self.n, self.n))
        if self._order is None:
            factors = splu(K)
            self._order = np.argsort(factors.perm_c)
        factors = splu(K[:, self._order], permc_spec="NATURAL")
        if not s.imag:
            self._dependent = bool(np.abs(factors.U.diagonal()).min() < DEPENDENT_PIVOT)
        return factors, row_scales, column_scales[self._order]

    def _by(self, *, is_complex: bool, right: np.ndarray) -> np.ndarray:
        factors, row_scales, column_scales = self._factors[is_complex]
        found = np.empty_like(right)
        found[self._order] = factors.solve(right * row_scales) * column_scales
        return found


def _floats(address: int, count: int) -> np.ndarray:
    """The floats at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))


def _inverse(sizes: np.ndarray) -> np.ndarray:
    """1 / sizes; raises ArithmeticError where one is zero or not finite."""
    if not ((sizes > 0.0) & (sizes < 1e300)).all():
        raise ArithmeticError("a row or column of the Newton matrix is empty or not finite")
    return 1.0 / sizes
