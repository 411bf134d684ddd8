"""What all tests need of the process they run in."""

import faulthandler
import os
import shutil
import signal
import tempfile
from pathlib import Path

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
