"""The command line as a user meets it: what it prints, what it writes, how it fails."""

import numpy as np
from typer.testing import CliRunner

from dalembert import problems
from dalembert.cli import app

runner = CliRunner()


def test_examples_are_listed():
    result = runner.invoke(app, ["examples"])
    assert result.exit_code == 0
    for problem in problems.all():
        assert problem.name in result.output


def test_run_prints_the_certificate_and_writes_files(tmp_path):
    result = runner.invoke(app, ["run", "four_bar", "--t-end", "1", "--set", "g=1.62", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "OK: constraints held" in result.output
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".html", ".npz"}
    with np.load(tmp_path / "four_bar.npz") as data:
        assert data["t"][-1] == 1.0
        assert 1.62 in data["parameters"]


def test_wrong_input_ends_with_status_2_and_a_hint():
    for arguments, words in (
        (["run", "four_bat"], "did you mean"),
        (["run", "four_bar", "--set", "gg=1"], "did you mean"),
        (["run", "four_bar", "--set", "g"], "NAME=VALUE"),
        (["run", "four_bar", "--set", "g=fast"], "NAME=VALUE"),
        (["run", "four_bar", "--t-end", "-1"], "not after"),
        (["run", "four_bar", "--set", "ln=50"], "cannot all be met"),
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 2, arguments
        assert words in " ".join(result.output.split()), result.output
        assert "Traceback" not in result.output


def test_help_teaches():
    assert "certificate" in runner.invoke(app, ["--help"]).output
    assert "--set" in runner.invoke(app, ["run", "--help"]).output
    assert "ready" in runner.invoke(app, ["warmup"]).output
