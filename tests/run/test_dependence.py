"""Zeros of a smallest singular value that is given by hand: found to many digits, by one look around each."""

import numpy as np
import pytest

from dalembert.run.time_loop.dependence import PATH_SAMPLES, find_dependences

LOOK = 2  # values, on both sides of a zero
# Where these leave it open: a quartic of values at -3u, -u, 0, u, 3u of a square with coefficients c has its minimum
# off by 4.5 u^4 c5 / c2; u is 2/160, and no c5 is larger than c2 here. The two values must tell a zero as well as that.
CLOSE = 4.5 * (2 / 160) ** 4


class GivenRows:
    """Rows whose second singular value is a function of time, and the first one 1; states are times."""

    def __init__(self, smallest):
        self.smallest, self.asked = smallest, 0

    def values(self, times, states):
        np.testing.assert_array_equal(times, states[:, 0])
        self.asked += len(times)
        return np.stack([np.ones_like(times), np.abs(self.smallest(times))], axis=1)


def found_in(rows):
    """The times found in 0 .. 2."""
    return [found.t for found in find_dependences(rows, lambda times: times[:, None], 0.0, 2.0)]


@pytest.mark.parametrize("zero", [0.05, 0.24, 0.25, 0.37, 0.61, 0.7, 0.9, 1.0, 1.13, 1.5001, 1.74])
def test_a_crossing_is_found_by_one_look(zero):
    rows = GivenRows(lambda t: 0.2 * np.sin(t - zero) * (1.0 + 0.3 * t))
    assert found_in(rows) == pytest.approx([zero], abs=CLOSE)
    assert rows.asked <= PATH_SAMPLES + LOOK


def test_two_crossings_are_found_in_order():
    found = found_in(GivenRows(lambda t: 0.3 * np.cos(3 * t)))
    assert found == pytest.approx([np.pi / 6, np.pi / 2], abs=CLOSE)


def test_a_value_that_grows_from_the_start_on_is_not_looked_at():
    rows = GivenRows(lambda t: 0.1 + 0.3 * t - 0.1 * t * t)
    assert found_in(rows) == []
    assert rows.asked == PATH_SAMPLES


def test_a_minimum_that_is_no_zero_is_not_found():
    assert found_in(GivenRows(lambda t: np.hypot(0.3 * (t - 0.9), 0.1))) == []


def test_a_kink_that_is_no_zero_is_not_found():
    assert found_in(GivenRows(lambda t: 0.1 + 0.2 * np.abs(t - 0.9))) == []
