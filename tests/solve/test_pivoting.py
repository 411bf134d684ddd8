"""Pivots of a QR factorisation against SciPy's."""

import numpy as np
from scipy.linalg import qr

from dalembert.solve.pivoting import pivot_columns


def test_pivots_are_those_of_lapack():
    rng = np.random.default_rng(5)
    for shape in ((6, 9), (9, 6), (1, 4)):
        matrix = rng.standard_normal(shape)
        R, order = qr(matrix, mode="r", pivoting=True)
        found, sizes = pivot_columns(matrix)
        np.testing.assert_array_equal(found, order[: min(shape)])
        np.testing.assert_allclose(sizes, np.abs(np.diag(R)), rtol=1e-12)


def test_dependent_rows_leave_nothing():
    row = np.array([1.0, 2.0, 3.0])
    _, sizes = pivot_columns(np.vstack([row, 2 * row]))
    assert (sizes[1:] <= 1e-15 * sizes[0]).all()
    assert pivot_columns(np.zeros((2, 3)))[0] == []
