"""Rank, null spaces and solutions against matrices made of known factors."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from dalembert.solve import decompositions as d
from dalembert.solve.sparse_shift import factor_shifted

EPSILON = float(np.finfo(float).eps)


def made(seed, m, n, values):
    """A matrix (m, n) with these singular values, and orthonormal bases of all of both sides."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for size in (m, n))
    k = len(values)
    return left[:, :k] @ np.diag(values) @ right[:, :k].T, left, right


@pytest.mark.parametrize(("m", "n"), [(3, 7), (7, 3), (5, 5)])
@pytest.mark.parametrize("seed", range(5))
def test_bases_span_what_a_matrix_was_made_of(seed, m, n):
    A, left, right = made(seed, m, n, [3.0, 0.5])
    found = d.decompose(A, 1e-10)
    assert found.rank == d.rank_of(A, 1e-10) == d.rank_of(A) == 2
    for basis, other in ((found.null, right[:, 2:]), (found.lost, left[:, 2:])):
        assert basis.shape == other.shape
        # Projectors onto null spaces move by round-off over the gap between singular values.
        assert np.abs(basis @ basis.T - other @ other.T).max() < 100 * EPSILON * 3.0 / 0.5
    assert np.array_equal(d.null_space(A, 1e-10), found.null)
    rows = d.row_space(A[:2])
    assert np.abs(A - A @ rows.T @ rows).max() < 100 * EPSILON * 3.0


@pytest.mark.parametrize("seed", range(5))
def test_least_solutions_agree(seed):
    A, _, right = made(seed, 6, 4, [2.0, 1.0, 0.1])
    sides = np.random.default_rng(seed).standard_normal((6, 2))
    ways = (d.decompose(A, 1e-9).solve(sides), d.least_squares(A, sides, 1e-9), d.pseudo_inverse(A, 1e-9) @ sides)
    for x in ways:
        assert np.abs(x - ways[0]).max() < 1e3 * EPSILON * (2.0 / 0.1) ** 2
        assert np.abs(right[:, 3:].T @ x).max() < 1e3 * EPSILON * (2.0 / 0.1) ** 2  # nothing that A does not feel
        assert np.abs(A.T @ (A @ x - sides)).max() < 1e3 * EPSILON * 2.0**2 / 0.1  # the nearest


def test_what_is_zero_is_zero_beside_something():
    A = np.diag([1e-6, 1e-12])
    assert d.rank_of(A, 1e-9) == 2  # beside the largest
    assert d.rank_of(A, 1e-9, d.UNIT) == 1
    assert d.rank_of(A, 1e-5, d.UNIT) == 0
    assert d.rank_of(np.zeros((0, 3)), 1e-9) == d.rank_of(np.zeros((2, 3)), 1e-9) == 0
    assert np.array_equal(d.null_space(np.zeros((0, 3)), 1e-9), np.eye(3))


def test_unit_rows_do_not_depend_on_units():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 1e-12]])
    assert np.abs(d.unit_rows(rows) - [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]]).max() <= EPSILON
    assert d.unit_rows(np.stack([rows, 1e9 * rows])).shape == (2, 3, 2)


def test_a_shift_that_is_an_eigenvalue_is_moved_aside():
    K, E = csc_matrix(np.diag([1.0, 2.0, 3.0])), csc_matrix(np.eye(3))
    lu, shift = factor_shifted(E, K, 2.0, 1e-10)
    assert shift != 2.0
    side = np.array([1.0, 1.0, 1.0])
    assert lu.solve(side) == pytest.approx(side / (np.array([1.0, 2.0, 3.0]) - shift), rel=10 * EPSILON)
    assert factor_shifted(E, K, 0.0, 1e-10)[1] == 0.0
    assert factor_shifted(csc_matrix((3, 3)), csc_matrix((3, 3)), 1.0, 1e-10) is None
