"""The rattleback reverses without loss; the tippe top turns over, loses energy and keeps Jellett's integral."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "examples" / "surprising_tops.py"


@pytest.fixture(scope="module")
def example():
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location("surprising_tops_example", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tops(example, tmp_path_factory, saved):
    motions = example.main(tmp_path_factory.mktemp("figures"))
    assert "surprising_tops.png" in saved
    return motions


def test_both_are_certified(tops):
    assert all(motion.certificate.ok for motion in tops)


def test_the_rattleback_comes_back_as_fast_as_it_was(tops):
    spin = tops[0]["stone_wz"]
    assert spin[0] == -5.0
    assert spin.max() == pytest.approx(5.0, abs=0.01)  # the rest of the energy is in the rattling


def test_the_tippe_top_turns_over_and_keeps_jellett_s_integral(example, tops):
    top = tops[1]
    kept = example.jellett(top)
    np.testing.assert_allclose(kept / kept[0], 1.0, rtol=0, atol=1e-9)
    assert top["top.rotation"][-1, 2, 2] < -0.5
    assert (np.diff(top.energy) <= 1e-12 * top.energy[0]).all()
