"""How soon a fresh process is ready, against what it cannot do without: processor time, warm caches."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import ROOT, Figure

_LINE = re.compile(r"import time:\s*(\d+) \|\s*(\d+) \|( +)([\w.]+)")
REPEATS = 8


def run() -> list[Figure]:
    """The first motion of the README and `dalembert --help`, as multiples of the imports behind them."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)print\(", page, re.DOTALL)
    programs = {
        "first motion": example[1] if example else "",
        "sympy, casadi": "import sympy, casadi",
        "help": "from dalembert.cli import app; app(['--help'])",
        "typer, rich": "import typer, rich",
        "import": "import dalembert; dalembert.Model",
        "nothing": "pass",
    }
    with tempfile.TemporaryDirectory() as compiled:
        best = dict.fromkeys(programs, float("inf"))
        for _ in range(REPEATS):
            for name, program in programs.items():
                best[name] = min(best[name], _processor_time(program, compiled))
        detail = (
            f"{best['first motion']:.2f} s of processor time against {best['sympy, casadi']:.2f} s; import of the "
            f"model {best['import']:.2f} s, bare interpreter {best['nothing']:.2f} s; beside SymPy and CasADi "
            f"{_dominating(programs, compiled)}"
        )
    return [
        Figure(
            "import_time", "README to its first motion / import sympy, casadi",
            best["first motion"] / best["sympy, casadi"], "x", "<= 1.6", detail,
        ),
        Figure(
            "import_time", "dalembert --help / import typer, rich", best["help"] / best["typer, rich"], "x", "<= 2",
            f"{best['help']:.3f} s against {best['typer, rich']:.3f} s",
        ),
    ]  # fmt: skip


def _environment(compiled: str) -> dict[str, str]:
    """Bytecode is kept, as in an installation, but not beside the sources."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": compiled}


def _processor_time(program: str, compiled: str) -> float:
    """Seconds of processor time of a process of its own, which a busy machine changes least."""
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=ROOT, env=_environment(compiled), stdout=nowhere
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{program!r} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _dominating(programs: dict[str, str], compiled: str) -> str:
    """The packages that take longest to import for the first motion beside SymPy and CasADi, in ms."""
    own: dict[str, int] = {}
    for sign, name in ((1, "first motion"), (-1, "sympy, casadi")):
        command = [sys.executable, "-X", "importtime", "-c", programs[name]]
        text = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=ROOT, env=_environment(compiled)
        ).stderr
        for match in filter(None, map(_LINE.match, text.splitlines())):
            package = match[4].split(".")[0]
            own[package] = own.get(package, 0) + sign * int(match[1])
    longest = sorted(own.items(), key=lambda item: -item[1])[:4]
    return ", ".join(f"{name} {microseconds / 1000:.0f} ms" for name, microseconds in longest)
