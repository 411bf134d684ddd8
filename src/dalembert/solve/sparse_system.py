"""Sparse saddle-point systems for Python: of a pattern, with numbers that change."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.native.plan import lay_out
from dalembert.solve.elimination_order import SaddlePattern
from dalembert.solve.sparse import factor_sparse, solve_sparse
from dalembert.solve.sparse_layout import SHIFT, lay_out_sparse
from dalembert.solve.sparse_refinement import refine_sparse


class SparseSaddle:
    """[G J^T; J -E] for G (n, n) positive definite and J (m, n) of a pattern; E is relative to the rows of J."""

    def __init__(self, pattern: SaddlePattern) -> None:
        n, m = pattern.nu, pattern.nc
        sizes = {"nq": 0, "nu": n, "np": m, "nv": 0, "nc": m, "ni": 0, "works": 0, "ideal": 1}
        sizes |= {"mass": len(pattern.mass_rows), "jacobian": len(pattern.columns)}
        self.pattern, self.work = pattern, lay_out(sizes, 0, sum(sizes.values()) + 2 * n + m + 1, np.zeros(0))
        self._matrices, *self._kept = lay_out_sparse(self.work, pattern, [m], soft=False)

    def factor(self, G: np.ndarray, J: np.ndarray, shift: float = SHIFT) -> float:
        """Factorise for the nonzeros of the lower triangle of G and of J; the smallest pivot over the largest.

        It is for unit diagonals of G and unit rows of J, and 0 if G is not positive definite.
        """
        plan, mem = self.work.plan, self.work.mem
        self._matrices.shift = shift
        mem[plan.mass : plan.mass + len(G)] = G
        mem[plan.jacobian : plan.jacobian + len(J)] = J
        factor_sparse.call(*self.work.numbers, self.pattern.nc)
        return float(self._matrices.least_pivot)

    def solve(self, f: np.ndarray, b: np.ndarray, *, refined: bool) -> np.ndarray:
        """x of (x, -y) = K^-1 (f, b), (n,). If `refined`, without the error due to E."""
        plan, mem, n, m = self.work.plan, self.work.mem, len(f), len(b)
        if refined:
            mem[plan.force : plan.force + n], mem[plan.bias : plan.bias + m] = f, b
            refine_sparse.call(*self.work.numbers, m)
        else:
            mem[plan.rhs : plan.rhs + n + m] = np.concatenate([f, b])
            solve_sparse.call(*self.work.numbers, m, plan.rhs)
        return mem[plan.rhs : plan.rhs + n].copy()

    def solve_rows(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y (m,) = (J G^-1 J^T + E)^-1 b and x (n,) = G^-1 J^T y, by the factors at hand."""
        plan, mem, n, m = self.work.plan, self.work.mem, self.pattern.nu, self.pattern.nc
        mem[plan.rhs : plan.rhs + n], mem[plan.rhs + n : plan.rhs + n + m] = 0.0, b
        solve_sparse.call(*self.work.numbers, m, plan.rhs)
        return mem[plan.rhs + n : plan.rhs + n + m].copy(), mem[plan.rhs : plan.rhs + n].copy()

    @property
    def lengths(self) -> np.ndarray:
        """Of the rows of J in the metric of the diagonal of G, (m,), as last factorised."""
        at = self._matrices.lengths
        return np.sqrt(self.work.mem[at : at + self.pattern.nc])


def least_pivots(pattern: ca.Sparsity, samples: np.ndarray) -> np.ndarray:
    """The smallest pivot over the largest of symmetric matrices with unit diagonal, (n,); 0 if not positive definite.

    `samples` (n, nonzeros) are those of lower triangles, of this pattern, which has all of the diagonal.
    """
    saddle = SparseSaddle(SaddlePattern.of(pattern, ca.Sparsity(0, pattern.size1())))
    return np.array([saddle.factor(values, np.zeros(0)) for values in samples])
