"""A kernel at many points: the bits of one call per row, in one call."""

import casadi as ca
import numpy as np
import pytest

from dalembert.errors import ArrayError
from dalembert.native.along import FEWEST_ROWS, along
from dalembert.native.kernel import compile_kernel


@pytest.fixture(scope="module")
def kernel():
    x = ca.SX.sym("x", 3)
    values = ca.vertcat(ca.sin(x[0]) * x[1] + x[2], ca.SX(1, 1), x[2] / x[1])  # the second is structurally zero
    return compile_kernel(ca.Function("f", [x], [values]))


@pytest.mark.parametrize("rows", [0, 1, FEWEST_ROWS - 1, FEWEST_ROWS, 1000])
def test_rows_are_those_of_single_calls(kernel, rows):
    x = np.random.default_rng(rows).standard_normal((rows, 3))
    found = along(kernel, x)
    assert found.shape == (rows, 3)
    assert found.tobytes() == np.array([kernel(row) for row in x]).reshape(rows, 3).tobytes()
    assert along(kernel, np.asfortranarray(x)).tobytes() == found.tobytes()


def test_rows_of_another_width_are_refused(kernel):
    with pytest.raises(ArrayError, match="takes rows of 3"):
        along(kernel, np.zeros((20, 4)))
