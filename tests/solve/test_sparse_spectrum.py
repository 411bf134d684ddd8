"""Singular values of small triangles in native code, beside LAPACK's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.solve.sparse_spectrum import find_singular_values, find_vanishing, singular_values


def triangle(seed, n):
    """The upper triangle of a positive definite matrix whose eigenvalues are spread over four decades."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return np.triu((Q * 10.0 ** rng.uniform(0.0, 4.0, n)) @ Q.T)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 5))
def test_rotations_find_the_values_of_lapack(seed, n):
    T, values = triangle(seed, n), np.zeros(n)
    wanted, _ = singular_values(T)
    find_singular_values(T.reshape(-1), values)
    np.testing.assert_allclose(values, wanted, rtol=1e-10)  # round-off of the largest, 1e-16 * 1e4, beside the least, 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_independent_direction(bad):
    T, values = triangle(1, 4), np.ones(4)
    T[1, 2] = bad
    find_singular_values(T.reshape(-1), values)
    np.testing.assert_array_equal(values, 0.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 5), data=st.data())
def test_parts_of_rows_are_those_of_the_vectors_of_lapack(seed, n, data):
    """Vectors of values below half of the largest one, but not beyond the rank; or else the last one of the rank."""
    T, rank, m = triangle(seed, n), data.draw(st.integers(1, n)), 7
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((m, n)))[0].T
    values, vectors = singular_values(T)
    chosen = [k for k in range(rank) if values[k] < 0.5 * values[0]] or [rank - 1]
    wanted, parts = np.abs(basis.T @ vectors[:, chosen]).max(axis=1), np.zeros(m)
    find_vanishing(T.reshape(-1), np.zeros(n * n), rank, 0.5, np.ascontiguousarray(basis).reshape(-1), parts)
    np.testing.assert_allclose(parts, wanted, rtol=0, atol=1e-7)
