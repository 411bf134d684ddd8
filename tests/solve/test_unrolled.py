"""The unrolled solve: its order of elimination, and its numbers against a dense solve."""

import casadi as ca
import numpy as np
import pytest

from dalembert.solve import unrolled
from dalembert.solve.unrolled import count_work, unroll_saddle


def least_degree(pattern: ca.Sparsity, nu: int) -> tuple[list[int], int]:
    """What `unrolled` does, by its definition: next comes the first that has the fewest neighbours."""
    n = pattern.size1()
    linked = [set() for _ in range(n)]
    for i, j in zip(pattern.row(), pattern.get_col(), strict=True):
        if i != j:
            linked[i].add(j)
            linked[j].add(i)
    order, cost = [], 0
    for block in (range(nu), range(nu, n)):
        left = set(block)
        while left:
            k = min(left, key=lambda k: (len(linked[k]), k))
            left.remove(k)
            order.append(k)
            cost += len(linked[k]) * (len(linked[k]) + 3) // 2
            for j in linked[k]:
                linked[j] |= linked[k]
                linked[j] -= {j, k}
    return order, cost


def saddle(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A sparse positive definite M (nu, nu) and a sparse A (nc, nu) of full rank."""
    rng = np.random.default_rng(seed)
    nu = int(rng.integers(3, 14))
    nc = int(rng.integers(1, nu))
    A = np.where(rng.random((nc, nu)) < 0.3, rng.uniform(-1, 1, (nc, nu)), 0.0) + 2 * np.eye(nc, nu)
    L = np.where(rng.random((nu, nu)) < 0.2, rng.uniform(-1, 1, (nu, nu)), 0.0)
    return L @ L.T + np.eye(nu), A


@pytest.mark.parametrize("seed", range(12))
def test_the_order_is_that_of_minimum_degree(seed):
    M, A = (ca.sparsify(ca.DM(matrix)).sparsity() for matrix in saddle(seed))
    order, cost = least_degree(ca.Sparsity.kkt(M, A, False, False), M.size1())
    assert unrolled._order(ca.Sparsity.kkt(M, A, False, False), M.size1()) == (order, cost)
    assert count_work(M, A) == cost


@pytest.mark.parametrize("augment", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_solution_is_that_of_a_dense_solve(seed, augment):
    M, A = saddle(seed)
    nu, nc = M.shape[0], A.shape[0]
    f, b = np.arange(1.0, nu + 1), np.linspace(-1, 1, nc)
    scale = ca.SX.sym("scale")
    graph = unroll_saddle(
        scale * ca.sparsify(ca.DM(M)), ca.SX(f), ca.SX(ca.sparsify(ca.DM(A))), ca.SX(b), augment=augment
    )
    udot, la, quality = (part.full().ravel() for part in ca.Function("s", [scale], list(graph))(1.0))
    exact = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((nc, nc))]]), np.concatenate([f, b]))
    np.testing.assert_allclose(np.concatenate([udot, la]), exact, rtol=1e-9, atol=1e-9)
    assert 0.0 < quality[0] <= 1.0


def test_an_order_is_handed_out_as_a_list_of_ones_own():
    pattern = ca.Sparsity.kkt(ca.Sparsity.diag(3), ca.Sparsity.dense(1, 3), False, False)
    unrolled._order(pattern, 3)[0].clear()
    assert len(unrolled._order(pattern, 3)[0]) == 4
