"""Every example draws its figures, explains itself, and gives the numbers of its document."""

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Module, result of `main` and folder of figures of an example, run once."""
    done = {}

    def run_once(name):
        if name not in done:
            spec = importlib.util.spec_from_file_location(f"{name}_in_gallery", FOLDER / f"{name}.py")
            example = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(example)
            folder = tmp_path_factory.mktemp(name)
            done[name] = example, example.main(folder), folder
        return done[name]

    return run_once


@pytest.mark.parametrize("name", NAMES)
def test_stands_in_the_gallery(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    title, line, *rest = ast.get_docstring(ast.parse(text), clean=False).splitlines()
    assert title
    assert line == "=" * len(title)
    assert "to see" in " ".join(rest)
    code = text.split('"""', 2)[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) < 60
    assert "pyplot" not in text


def test_appell_hamel(run):
    """K8: theta settles (figures 2, 4), the load sinks from 30 m (8), energy errors stay small in both models (9)."""
    _, runs, folder = run("appell_hamel")
    motion = runs["NC"]
    assert motion["z"][0] == 30.0
    assert abs(motion["theta'"][-1]) < 1e-3
    assert np.ptp(motion["theta"][-100:]) < 2e-3
    np.testing.assert_allclose(runs["LC"].q, motion.q, atol=1e-7)
    assert all(np.abs(m.energy - m.energy[0]).max() < 5e-9 for m in runs.values())
    assert (folder / "appell_hamel.png").stat().st_size > 10_000


def test_gauss_principle(run):
    """G6, G7: an amplitude of about 80 degrees (figure 1), phase plots that close (3), tracking to 1e-9 (5)."""
    _, runs, folder = run("gauss_principle")
    swing = runs["1"]
    assert np.rad2deg(np.arctan2(np.abs(swing["x"]), swing["y"]).max()) == pytest.approx(78.2, abs=0.5)
    for a in (0.5, 1.0, 2.0, 4.0):
        assert np.abs(runs[f"3, a={a:g}"]["vx"][0]) == a
        assert np.abs(runs[f"3, a={a:g}"]["x"]).max() < 2.0
    for alpha in (4.0, 0.4):
        assert np.abs(runs[f"4, alpha={alpha:g}"].violation["position"]["track"]).max() < 1e-9
    assert len(list(folder.glob("kalaba_udwadia_*.png"))) == 5


def test_consistent_starts(run):
    """I7, I8: (3.1) and (3.5) hold at the start; the car comes round once on the circle of radius 20 m."""
    _, runs, folder = run("consistent_starts")
    q1, q2, u1, u2 = (runs["spatial_four_bar"][name][0] for name in ("q1", "q2", "u1", "u2"))
    assert 8 - 8 * np.cos(q1) * np.sin(q2) - 4 * np.sin(q1) == pytest.approx(0.0, abs=1e-11)
    slope = 8 * np.sin(q1) * np.sin(q2) - 4 * np.cos(q1)
    assert slope * u1 - 8 * np.cos(q1) * np.cos(q2) * u2 == pytest.approx(0.0, abs=1e-11)
    car = runs["car"]
    np.testing.assert_allclose(np.hypot(car["x"], car["y"] - 20.0), 20.0, atol=1e-10)
    assert car["y"].max() == pytest.approx(40.0, abs=0.01)
    assert car["Md"][0] == pytest.approx(-106.268, abs=1e-3)
    assert (folder / "consistent_starts.png").stat().st_size > 10_000


def test_events(run):
    """Bounces at the exact times, and the angular momentum that a latch keeps."""
    example, figure, _ = run("events")
    assert example.latch()["wa"][-1] == pytest.approx(0.7 * 3 / 1.3, rel=1e-12)
    ball = example.bouncing_ball()
    assert len(ball.events) == 6
    assert ball.events[0].t == pytest.approx(np.sqrt(2 / 9.81), rel=1e-9)
    assert figure.stat().st_size > 10_000


def test_lecture_four_bar(run):
    """L2, L4: the residual follows the tolerance of IDA, and projection takes it away."""
    _, rows, folder = run("lecture_four_bar")
    assert all(0.01 * row["rtol"] < row["|phi| raw"] < 30 * row["rtol"] for row in rows)
    assert all(row["|phi| projected"] < 1e-11 for row in rows)
    assert len(list(folder.glob("lecture_four_bar*.png"))) == 2
