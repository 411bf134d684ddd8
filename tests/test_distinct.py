import numpy as np
import pytest

from dalembert.distinct import distinct


@pytest.mark.parametrize(
    "values", [[], [1.0], [2, 1, 2, 1], [0.0, -0.0, 3.5], np.random.default_rng(0).integers(0, 9, 50)]
)
def test_distinct_values_are_those_of_numpy(values):
    assert np.array_equal(distinct(np.array(values)), np.unique(values))
