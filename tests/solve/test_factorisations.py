"""Dense factorisations in native code against NumPy: backward errors of a few units of round-off, rank told."""

import casadi as ca
import numpy as np
import pytest

from dalembert.solve import cholesky, elimination, householder, lu

EPS = np.finfo(float).eps
SIZES = [1, 2, 3, 8, 31, 60]


def laid_out(*arrays):
    """One flat array, and where each part starts."""
    mem = np.concatenate([np.ravel(array) for array in arrays]).astype(float)
    return mem, np.cumsum([0, *(np.size(array) for array in arrays[:-1])])


def close(found, expected, n, condition):
    """Forward error of a backward stable method: n eps cond, relative to the largest entry (Higham, 9 and 10)."""
    bound = 10 * n * EPS * condition * np.abs(expected).max(initial=0.0)
    return np.abs(found - expected).max(initial=0.0) <= bound


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_factorises_and_solves(n):
    rng = np.random.default_rng(n)
    G = rng.standard_normal((n, n))
    M, x, X = G @ G.T + np.eye(n), rng.standard_normal(n), rng.standard_normal((n, 3))
    above = np.triu(np.full((n, n), np.nan), 1)  # what lies above the diagonal is not read
    mem, (at, right, other) = laid_out(np.tril(M) + above, x, X)
    quality = cholesky.factor_cholesky(mem, at, n)
    L = np.tril(np.nan_to_num(mem[: n * n].reshape(n, n)))
    expected = np.linalg.cholesky(M)
    assert close(L, expected, n, np.linalg.cond(M))
    np.testing.assert_allclose(quality, (np.diag(expected) ** 2 / np.diag(M)).min(), rtol=1e-10)
    cholesky.solve_lower_columns(mem, at, n, other, 3)
    assert close(mem[other:].reshape(n, 3), np.linalg.solve(expected, X), n, np.linalg.cond(expected))
    cholesky.solve_lower(mem, at, n, right)
    cholesky.solve_upper(mem, at, n, right)
    assert close(mem[right:other], np.linalg.solve(M, x), n, np.linalg.cond(M))


@pytest.mark.parametrize("M", [np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.array([[1.0, 0.0], [np.nan, 1.0]])])
def test_cholesky_tells_a_matrix_that_is_not_positive_definite(M):
    mem, (at,) = laid_out(M)
    assert cholesky.factor_cholesky(mem, at, 2) == 0.0


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_inverts_in_place(n):
    G = np.random.default_rng(n).standard_normal((n, n))
    M = G @ G.T + np.eye(n)
    mem, (at,) = laid_out(np.tril(M) + np.triu(np.full((n, n), np.nan), 1))
    cholesky.factor_semidefinite(mem, at, n, 0.0, 1.0)
    cholesky.invert_factored(mem, at, n)
    found = mem.reshape(n, n)
    np.testing.assert_array_equal(found, found.T)
    assert close(found, np.linalg.inv(M), n, np.linalg.cond(M))


def test_pivots_of_a_semidefinite_matrix_are_replaced():
    """Of [[4, 2, 0], [2, 1, 0], [0, 0, -3]] the second pivot is zero and the third negative: both become 0.25."""
    mem, (at,) = laid_out(np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, -3.0]]))
    cholesky.factor_semidefinite(mem, at, 3, 1e-3, 0.25)
    np.testing.assert_array_equal(np.tril(mem.reshape(3, 3)), [[2.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.5]])


@pytest.mark.parametrize("n", SIZES)
def test_lu_solves_columns_and_the_transposed_system(n):
    rng = np.random.default_rng(n)
    K, x, X = rng.standard_normal((n, n)), rng.standard_normal(n), rng.standard_normal((n, 4))
    mem, (at, right, other) = laid_out(K, x, X)
    order = np.zeros(n, dtype=np.int64)
    assert lu.factor_lu(order, mem, at, n, 0) > 0.0
    lu.solve_lu_transposed(order, mem, at, n, 0, right)
    lu.solve_lu_columns(order, mem, at, n, 0, other, 4)
    condition = np.linalg.cond(K)
    assert close(mem[right:other], np.linalg.solve(K.T, x), n, condition)
    assert close(mem[other:].reshape(n, 4), np.linalg.solve(K, X), n, condition)
    U = np.triu(mem[: n * n].reshape(n, n))
    np.testing.assert_allclose(lu.dominance(mem, at, n), (np.abs(np.diag(U)) / np.abs(U).max(axis=1)).min())


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 1), (1, 4), (3, 3), (5, 8), (30, 31), (30, 60)])
def test_householder_factorises_and_turns(m, n):
    rng = np.random.default_rng(m + n)
    A, x, y = rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(m)
    mem, (at, diagonal, beta, whole, one, other) = laid_out(A, np.zeros(m), np.zeros(m), x, y, y)
    quality = householder.factor_householder(mem, at, m, n, diagonal, beta)
    L = np.tril(mem[: m * n].reshape(m, n)[:, :m], -1) + np.diag(mem[diagonal : diagonal + m])
    Q = np.zeros((n, n))
    for k, axis in enumerate(np.eye(n)):
        work = np.concatenate([mem, axis])
        householder.turn_back(work, at, m, n, beta, len(mem))
        Q[:, k] = work[len(mem) :]
    tolerance = 10 * n * EPS
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=tolerance)
    np.testing.assert_allclose(L @ Q[:, :m].T, A, atol=tolerance * np.linalg.norm(A))
    np.testing.assert_allclose(A @ Q[:, m:], 0.0, atol=tolerance * np.linalg.norm(A))
    expected = np.abs(np.diag(L)) / np.linalg.norm(A, axis=1)
    np.testing.assert_allclose(quality, expected.min(initial=1.0), rtol=1e-10)
    householder.turn(mem, at, m, n, beta, whole)
    np.testing.assert_allclose(mem[whole:one], Q.T @ x, atol=tolerance * np.linalg.norm(x))
    condition = np.linalg.cond(A) if m else 1.0
    householder.solve_rows(mem, at, m, n, diagonal, one)
    assert close(mem[one:other], np.linalg.solve(L, y), n, condition)
    householder.solve_rows_transposed(mem, at, m, n, diagonal, other)
    assert close(mem[other:], np.linalg.solve(L.T, y), n, condition)


def test_householder_tells_dependent_rows():
    mem, (at, diagonal, beta) = laid_out([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], np.zeros(2), np.zeros(2))
    assert householder.factor_householder(mem, at, 2, 3, diagonal, beta) == 0.0
    mem, (at, diagonal, beta) = laid_out([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], np.zeros(2), np.zeros(2))
    assert householder.factor_householder(mem, at, 2, 3, diagonal, beta) < 10 * EPS


def test_reflections_in_a_graph_turn_only_the_rows_that_they_must():
    rng = np.random.default_rng(4)
    G = rng.standard_normal((6, 3))
    G[[0, 2, 3, 5], 0] = 0.0
    G[[1, 4, 5], 1] = 0.0  # the rows of this column are none of those that the first reflection turns
    entries = ca.SX.sym("g", np.count_nonzero(G))
    graph = ca.SX(ca.sparsify(ca.DM(G)).sparsity(), entries)
    Q, R, quality = elimination.householder(graph)
    assert R.sparsity().is_triu()
    assert Q[:, 0].nnz() == 2
    assert Q[:, 1].nnz() == 3
    values = ca.Function("factors", [entries], [Q, R, quality])(ca.sparsify(ca.DM(G)).nonzeros())
    Q, R, quality = (np.array(value) for value in values)
    assert close(Q.T @ Q, np.eye(6), 6, 1.0)
    assert close(Q[:, :3] @ R, G, 6, 1.0)
    expected = np.abs(np.diag(np.linalg.qr(G)[1])) / np.linalg.norm(G, axis=0)
    np.testing.assert_allclose(quality.item(), expected.min(), rtol=1e-13)


def test_a_column_that_others_span_makes_the_reflections_of_a_graph_worthless():
    entries = ca.SX.sym("g", 4, 2)
    quality = ca.Function("quality", [entries], [elimination.householder(entries)[2]])
    G = np.arange(1.0, 5.0)[:, None] * [1.0, 3.0]
    assert quality(G) <= 10 * EPS
