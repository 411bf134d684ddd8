"""Small linear equations on graphs, checked by the relations that define their solutions."""

import casadi as ca
import numpy as np
import pytest

from dalembert.solve.graphs import normal_to_columns, solve_square, symmetric_pseudo_inverse

ROUND_OFF = 1e-13  # of products of a few numbers of size 1, by condition numbers of about 10


def numbers(make, *matrices):
    """The value of a graph of symbols in the place of matrices, so that nothing is known of their entries."""
    symbols = [ca.SX.sym("m", *matrix.shape) for matrix in matrices]
    return ca.Function("f", symbols, [make(*symbols)])(*matrices).full()


def symmetric(size, rank):
    """A symmetric positive semidefinite matrix with eigenvalues of size 1."""
    Q = np.linalg.qr(np.random.default_rng(size).standard_normal((size, size)))[0]
    return Q[:, :rank] @ np.diag(1.0 + np.arange(rank)) @ Q[:, :rank].T


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_the_pseudo_inverse_satisfies_the_conditions_of_penrose(size, rank):
    G = symmetric(size, rank)
    P = numbers(lambda g: symmetric_pseudo_inverse(g, rank), G)
    np.testing.assert_allclose(G @ P @ G, G, atol=ROUND_OFF)
    np.testing.assert_allclose(P @ G @ P, P, atol=ROUND_OFF)
    np.testing.assert_allclose((G @ P).T, G @ P, atol=ROUND_OFF)
    np.testing.assert_allclose((P @ G).T, P @ G, atol=ROUND_OFF)


def test_a_diagonal_matrix_is_inverted_entry_by_entry():
    G = ca.diag(ca.SX.sym("g", 3))
    assert symmetric_pseudo_inverse(G, 3).sparsity() == ca.Sparsity.diag(3)


@pytest.mark.parametrize("columns", [0, 1, 2, 3])
def test_the_normal_of_columns_is_orthogonal_to_them_even_where_a_pivot_vanishes(columns):
    P = np.random.default_rng(3).standard_normal((columns + 1, columns))
    P[0, :1] = 0.0
    n = numbers(normal_to_columns, P)
    assert np.abs(n.T @ P).max(initial=0.0) < ROUND_OFF
    assert np.linalg.norm(n) == pytest.approx(np.sqrt(np.linalg.det(P.T @ P)), rel=1e-12)


def test_square_equations_are_solved():
    K, x = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]), np.array([[1.0], [2.0], [-3.0]])
    np.testing.assert_allclose(numbers(solve_square, K, K @ x), x, atol=ROUND_OFF)
