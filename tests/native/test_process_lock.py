"""One process builds the engine; others wait, say so, and take what it made."""

import subprocess
import sys
import time

import pytest

from dalembert.native import process_lock
from dalembert.native.process_lock import locked

HOLDING = """
import sys, time
from pathlib import Path
from dalembert.native.process_lock import locked
with locked(Path(sys.argv[1]), lambda: None):
    print("locked", flush=True)
    time.sleep(600.0)
"""
ENGINE = """
import sys, time
from dalembert.native import engine_object
def build(natives):
    print("built", flush=True)
    time.sleep(1.0)
    return b"machine code"
engine_object.find_object = lambda *_: None
engine_object.build, engine_object.Library = build, bytes
engine_object.own_functions, engine_object._content_key = list, lambda _: 64 * "0"
print("ready", flush=True)
sys.stdin.readline()
assert engine_object.engine() == b"machine code"
"""


def test_of_many_processes_one_builds_and_the_others_say_that_they_wait(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    started = [subprocess.Popen([sys.executable, "-c", ENGINE], text=True, **pipes) for _ in range(4)]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=120.0) for process in started]
    assert [process.returncode for process in started] == [0] * 4, ended
    assert "".join(out for out, _ in ended) == "built\n"
    assert any("waiting for it" in " ".join(told.split()) for _, told in ended)


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of a folder."""
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"locked"
        yield process
        process.kill()


def test_a_holder_that_is_killed_holds_nothing(tmp_path, holder):
    told = []

    def wait():
        told.append("waiting")
        holder.kill()

    with locked(tmp_path, wait):
        assert told == ["waiting"]


def test_whoever_waits_too_long_goes_on(tmp_path, holder, monkeypatch):
    monkeypatch.setattr(process_lock, "LONGEST_WAIT", 0.2)
    begin = time.monotonic()
    with locked(tmp_path, lambda: None):
        assert 0.2 <= time.monotonic() - begin < 60.0
    assert holder.poll() is None


def test_without_a_folder_there_is_no_lock(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for place in (None, tmp_path / "file" / "below"):
        with locked(place, lambda: pytest.fail("nobody holds it")):
            pass
