"""Sparse saddle-point systems for Python: of a pattern, with numbers that change."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.native.plan import lay_out
from dalembert.solve.elimination_order import SaddlePattern
from dalembert.solve.sparse import factor_sparse, refine_sparse, solve_sparse
from dalembert.solve.sparse_layout import SHIFT, SparseMatrices, lay_out_sparse


class SparseSaddle:
    """[G J^T; J -E] for G (n, n) positive definite and J (m, n) of a pattern; E is relative to the rows of J."""

    def __init__(self, pattern: SaddlePattern) -> None:
        n, m = pattern.nu, pattern.nc
        sizes = {"nq": 0, "nu": n, "np": m, "nv": 0, "nc": m, "ni": 0, "works": 0, "ideal": 1}
        sizes |= {"mass": len(pattern.mass_rows), "jacobian": len(pattern.columns)}
        self.pattern, self.work = pattern, lay_out(sizes, 0, sum(sizes.values()) + 2 * n + m + 1, np.zeros(0))
        self._records = lay_out_sparse(self.work, pattern, [m], soft=False)

    def factor(self, G: np.ndarray, J: np.ndarray, shift: float = SHIFT) -> float:
        """Factorise for the nonzeros of the lower triangle of G and of J; the smallest pivot over the largest.

        It is for unit diagonals of G and unit rows of J, and 0 if G is not positive definite.
        """
        plan, mem = self.work.plan, self.work.mem
        matrices = self._records[0]
        if isinstance(matrices, SparseMatrices):
            matrices.shift = shift
        mem[plan.mass : plan.mass + len(G)] = G
        mem[plan.jacobian : plan.jacobian + len(J)] = J
        factor_sparse(plan, mem, self.pattern.nc)
        return float(mem[plan.quality])

    def solve(self, f: np.ndarray, b: np.ndarray, *, refined: bool) -> np.ndarray:
        """x of (x, -y) = K^-1 (f, b), (n,); refined, what E changes is won back."""
        plan, mem, n, m = self.work.plan, self.work.mem, len(f), len(b)
        if refined:
            mem[plan.force : plan.force + n], mem[plan.bias : plan.bias + m] = f, b
            refine_sparse(plan, mem, m)
        else:
            mem[plan.rhs : plan.rhs + n + m] = np.concatenate([f, b])
            solve_sparse(plan, mem, m, plan.rhs)
        return mem[plan.rhs : plan.rhs + n].copy()


def least_pivot(pattern: ca.Sparsity, values: np.ndarray) -> float:
    """The smallest pivot over the largest of a symmetric matrix with unit diagonal; 0 if it is not positive definite.

    `values` are the nonzeros of its lower triangle, of this pattern, which has all of the diagonal.
    """
    return SparseSaddle(SaddlePattern.of(pattern, ca.Sparsity(0, pattern.size1()))).factor(values, np.zeros(0))
