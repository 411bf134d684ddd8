"""The command as a process: its files, its exit status, and that all it prints arrives."""

import subprocess
import sys

import pytest


def command(*arguments: str, cwd) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_run_writes_its_files_and_prints_all_of_its_text(tmp_path):
    ended = command("run", "pendulum", "--t-end", "1", "--out", "out", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.rstrip().endswith("ms")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "pendulum.html", "pendulum.npz", "pendulum.png",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [(("run", "pendulu", "--out", "out"), 2, "did you mean `pendulum`"), (("run", "--out"), 2, "--out"),
     (("run",), 2, "MODEL"), (("--version",), 0, "")],
)  # fmt: skip
def test_exit_status_and_message_of_what_ends_early(arguments, status, said, tmp_path):
    ended = command(*arguments, cwd=tmp_path)
    assert ended.returncode == status
    assert said in ended.stderr
    assert list(tmp_path.iterdir()) == []
