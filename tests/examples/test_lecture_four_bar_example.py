"""The lecture's example runs, and its table says what it should: phi follows the tolerance, projection removes it."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "lecture_four_bar.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("lecture_four_bar", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tolerance_against_constraint_residual(example):
    rows = example.study(t_end=6.0)
    for row in rows:
        assert 0.01 * row["rtol"] < row["|phi| raw"] < 30 * row["rtol"]
        assert row["|phi| projected"] < 1e-11
        assert row["error projected"] == pytest.approx(row["error raw"], rel=0.3, abs=10 * row["rtol"])
        assert row["error raw"] < 5e3 * row["rtol"]  # BDF over some thousand steps
    assert rows[-1]["error raw"] < 1e-3 * rows[0]["error raw"]


def test_figures_are_written(example, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(example, "TOLERANCES", (1e-5, 1e-6))
    example.main(tmp_path / "figures")
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {
        "lecture_four_bar.png",
        "lecture_four_bar_tolerances.png",
    }
    assert "|phi| projected" in capsys.readouterr().out
