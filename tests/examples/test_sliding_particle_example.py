"""The example of the sliding particle: the paper's numbers (K9), and where its claims do not hold."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "examples" / "sliding_particle.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("sliding_particle_example", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runs(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    runs = example.main(folder)
    assert len(list(folder.glob("figure*.png"))) == 1 + len(example.FIGURES)  # figure 10 is the mechanism
    return runs


def worst(run, what):
    return np.abs(run[what]).max()


def test_phi_grows_without_correction(runs):
    """Kutta-Merson in extended precision gives 1.936e-10 m at the finer step; round-off of 500,000 steps adds to it."""
    assert worst(runs["N 0.01"], "phi") == pytest.approx(1.81e-4, rel=0.01)
    assert worst(runs["N 0.001"], "phi") == pytest.approx(1.94e-10, rel=0.25)
    for label in ("N 0.01", "N 0.001"):
        early, late = np.split(np.abs(runs[label]["phi"]), [len(runs[label]["phi"]) // 2])
        assert late.max() > 3 * early.max()


def test_gains_bound_phi(runs):
    assert worst(runs["DN 0.001"], "phi") < 2e-11
    assert worst(runs["DN 0.001"], "phi") == pytest.approx(1.81e-11, rel=0.02)
    assert worst(runs["DN 0.01"], "phi") == pytest.approx(2.06e-7, rel=0.02)
    early, late = np.split(np.abs(runs["DN 0.001"]["phi"]), 2 * [len(runs["DN 0.001"]["phi"]) // 2])[::2]
    assert late.max() == pytest.approx(early.max(), rel=0.05)


def test_stabilised_constraints_cost_energy(runs):
    """Figure 17 against figure 14: the paper's own remark."""
    assert worst(runs["DN 0.001"], "dE") > 50 * worst(runs["N 0.001"], "dE")
    assert runs["DN 0.001"]["dE"][-1] < 0


def test_one_hour_at_a_coarse_step(runs):
    assert worst(runs["N 0.1"], "phi") > 2e4  # tens of kilometres off the track
    assert worst(runs["DN 0.1"], "phi") < 1e-2
    last = -200
    # The particle should swing over 0 <= y <= 1: the minimal equation does, the damped one is left with a fifth of it.
    assert runs["M 0.1"]["y"][last:].min() == pytest.approx(0.0, abs=0.05)
    assert runs["DN 0.1"]["y"][last:].min() > 0.7
    assert runs["DN 0.1"]["dE"][-1] < -7.0
    assert worst(runs["M 0.1"], "dE") < 0.7


def test_geometric_elimination_is_better_even_before_it_corrects(runs):
    """What one step of order 4 leaves, far above round-off, is still less than what Baumgarte's feedback leaves."""
    for label in ("Blajer 0.01", "Yoon 0.01"):
        assert worst(runs[label], "before") == pytest.approx(6.0e-8, rel=0.02)
        assert worst(runs[label], "before") < worst(runs["DN 0.01"], "phi") / 3


def test_geometric_elimination_is_better_than_the_paper_s_figure_18_says(runs):
    for label in ("Blajer 0.01", "Yoon 0.01"):
        assert worst(runs[label], "phi") < 1e-7 * worst(runs["DN 0.01"], "phi")
        assert worst(runs[label], "dE") < worst(runs["DN 0.01"], "dE") / 10
    assert worst(runs["Yoon 0.01"], "dE") < 1e-11
