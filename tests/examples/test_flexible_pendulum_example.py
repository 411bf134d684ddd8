"""The example of the flexible pendulum: both methods draw the same curves, at very different costs if it is stiff."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from dalembert.problems import flexible_pendulum as problem

FILE = Path(__file__).parents[2] / "examples" / "flexible_pendulum.py"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, saved):
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location("flexible_pendulum_example", FILE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    runs = example.main(tmp_path_factory.mktemp("figures"))
    return {(beam.split(",")[0], name.split()[0]): motion for (beam, name), motion in runs.items()}


@pytest.mark.parametrize(("beam", "apart", "bent_apart"), [("soft", 1e-3, 2e-3), ("stiff", 1e-5, 5e-5)])
def test_curves_coincide(runs, beam, apart, bent_apart):
    explicit, implicit = runs[beam, "explicit"], runs[beam, "state"]
    assert explicit.certificate.ok, explicit.certificate
    assert implicit.certificate.ok, implicit.certificate
    np.testing.assert_allclose(problem.end_of(implicit), problem.end_of(explicit), atol=apart)
    np.testing.assert_allclose(problem.deformation_of(implicit), problem.deformation_of(explicit), atol=bent_apart)


def test_figure_shows_both_methods_for_both_beams(runs, saved):
    *panels, soft, stiff = saved["flexible_pendulum.png"].axes
    assert all(len(axes.get_legend().get_texts()) == 4 for axes in (soft, stiff))  # the beams at four instants
    assert [axes.get_title().split(",")[0] for axes in panels] == ["soft", "stiff", "", ""]
    for beam, end, deformation in zip(("soft", "stiff"), panels[:2], panels[2:], strict=True):
        motions = [runs[beam, "explicit"], runs[beam, "state"]]
        assert [text.get_text() for text in deformation.get_legend().get_texts()] == [
            f"{name}, {motion.stats['nfev']:,} evaluations"
            for name, motion in zip(("explicit RK", "state space SVD"), motions, strict=True)
        ]
        for line, motion in zip(end.lines, motions, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), problem.end_of(motion)[:, 1])
        for line, motion in zip(deformation.lines, motions, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), problem.deformation_of(motion))


def test_what_is_seen(runs):
    soft, stiff = runs["soft", "explicit"], runs["stiff", "explicit"]
    assert np.abs(problem.deformation_of(soft)).max() > 1.0  # the tangent at the pin turns away from the end
    assert np.abs(problem.deformation_of(stiff)).max() == pytest.approx(5.8e-3, rel=0.03)
    assert problem.end_of(soft)[:, 1].min() < -1.35  # stretched by its own weight
    assert problem.end_of(stiff)[:, 1].min() == pytest.approx(-1.2, abs=2e-3)


def test_stiffness_costs_the_explicit_method(runs):
    count = {key: motion.stats["nfev"] for key, motion in runs.items()}
    assert count["stiff", "explicit"] > 10 * count["stiff", "state"]
    assert count["soft", "explicit"] < 2 * count["soft", "state"]
