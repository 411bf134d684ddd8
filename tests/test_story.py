"""The story without Python: `docs/without_python.md`, command by command, with its edits and what it prints."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalembert.cli import app
from test_docs import masked

PAGE = Path(__file__).parents[1] / "docs" / "without_python.md"
BLOCK = re.compile(r"^```(console|diff)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def edited(text, diff):
    """The text with one line replaced, which must be there once."""
    old, new = diff.splitlines()
    assert (old[0], new[0]) == ("-", "+")
    assert text.splitlines().count(old[1:]) == 1, old
    return text.replace(old[1:], new[1:])


def check_printed(want, got, where):
    """A line `...` stands for any lines; the rest must be as on the page, up to the digits of numbers."""
    want, got = masked(want), masked(got)
    if "..." not in want:
        assert got == want, where
        return
    cut = want.index("...")
    first, last = want[:cut], want[cut + 1 :]
    assert got[:cut] == first, where
    assert not last or got[-len(last) :] == last, where


def test_story_without_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    commands = []
    for kind, content in blocks:
        if kind == "diff":
            file = tmp_path / "engine.toml"
            file.write_text(edited(file.read_text(encoding="utf-8"), content), encoding="utf-8")
            continue
        command, _, printed = content.partition("\n")
        program, *arguments = shlex.split(command.removeprefix("$ "))
        assert program == "dalembert"
        result = CliRunner().invoke(app, arguments)
        assert (result.exit_code == 0) is not printed.startswith("error:"), result.output
        check_printed(printed, result.output, command)
        commands.append(arguments[0])
    assert commands == ["new", "check", "check", "run", "run", "live"]
    assert "engine" in (tmp_path / "engine_report.html").read_text(encoding="utf-8")
    assert "const kernels=" in (tmp_path / "engine_live.html").read_text(encoding="utf-8")
    table = (tmp_path / "out" / "engine.csv").read_text(encoding="utf-8").splitlines()
    row = dict(zip(table[0].split(","), map(float, table[-1].split(",")), strict=True))
    # the crank pin is 12 cm from the bearing and 36 cm from the slider
    assert abs(2 * complex(row["crank_x"], row["crank_y"])) == pytest.approx(0.12, rel=1e-9)
