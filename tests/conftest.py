"""What all tests need of the process they run in."""

import faulthandler
import os
import shutil
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

# A shell starts processes in the background with Ctrl-C ignored; tests of interruptions want it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The processes that share the tests write here where native code ended one of them: the folder is in their environment.
TRACES = Path(os.environ.get("DALEMBERT_TEST_TRACES") or tempfile.mkdtemp(prefix="traces-"))
os.environ["DALEMBERT_TEST_TRACES"] = str(TRACES)


WORKER = os.environ.get("PYTEST_XDIST_WORKER")


def pytest_sessionstart():
    if WORKER:
        faulthandler.enable(os.open(TRACES / f"{WORKER}.txt", os.O_WRONLY | os.O_CREAT))


def pytest_terminal_summary(terminalreporter):
    """Show what crashed processes left: where they were."""
    if WORKER:
        return
    for file in sorted(TRACES.glob("*.txt")):
        if trace := file.read_text():
            terminalreporter.section(f"{file.stem} crashed")
            terminalreporter.write_line("\n".join(trace.splitlines()[:20]))
    shutil.rmtree(TRACES, ignore_errors=True)


@pytest.fixture
def bounded():
    """A context that fails after so many seconds of processor time, where the system can tell: what would never end."""

    def give_up(*_):
        pytest.fail("it takes too long, perhaps for ever")

    @contextmanager
    def within(seconds=30.0):
        if not hasattr(signal, "SIGVTALRM"):
            yield
            return
        before = signal.signal(signal.SIGVTALRM, give_up)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, before)

    return within
