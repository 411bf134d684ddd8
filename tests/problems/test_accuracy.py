"""Default runs of published problems are as accurate as their tolerance says, each quantity beside its own size."""

import pytest
from benchmarks import accuracy

FAST = ("pendulum", "sliding_particle", "knife_edge", "vertical_disk", "spatial_four_bar", "car_axis")
CASES = {case.name: case for case in accuracy.cases()}
SLOW = [name for name in CASES if name not in FAST]


@pytest.mark.parametrize("name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_errors_beside_the_size_of_each_quantity(name):
    found = accuracy.measure(CASES[name])
    assert found.holds, found
    assert found.apart <= 0.1 * found.allowed, "the reference is not trusted"


def test_there_are_enough_of_them_and_a_small_one_among_them():
    assert len(CASES) > 20
    assert "flexible_slider_crank" in CASES
