"""Seconds of `import dalembert` in a fresh process with warm caches, and what the first simulation adds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

from benchmarks.measure import ROOT, Figure, run_apart

_LINE = re.compile(r"import time:\s*(\d+) \|\s*(\d+) \|( +)([\w.]+)")


def run() -> list[Figure]:
    """Two figures in seconds; their details say what dominates."""
    statements = {"dalembert": "import dalembert", "dependencies": "import numpy, sympy.physics.mechanics, casadi"}
    best = dict.fromkeys([*statements, "nothing"], float("inf"))
    for _ in range(6):
        for name in best:
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", statements.get(name, "pass")], check=True, cwd=ROOT)
            best[name] = min(best[name], time.perf_counter() - begin)
    first = min(float(run_apart("import_time", environment=dict(os.environ))) for _ in range(5))
    detail = (
        f"numpy, sympy.physics.mechanics and casadi alone {best['dependencies']:.2f} s, bare interpreter "
        f"{best['nothing']:.2f} s; dominated by {_dominating()}"
    )
    return [
        Figure("import_time", "import dalembert", best["dalembert"], "s", "< 1", detail),
        Figure("import_time", "extra of the first run", first, "s", "< 1", "loads Numba and the engine"),
    ]


def _dominating() -> str:
    """The packages that take longest when dalembert is imported, in ms, those they import themselves left out."""
    command = [sys.executable, "-X", "importtime", "-c", "import dalembert"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stderr
    own: dict[str, int] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            package = match[4].split(".")[0]
            own[package] = own.get(package, 0) + int(match[1])
    longest = sorted(own.items(), key=lambda item: -item[1])[:5]
    return ", ".join(f"{name} {microseconds / 1000:.0f} ms" for name, microseconds in longest)


def time_first_simulation() -> float:
    """Seconds by which the first state and simulation in a process take longer than the second."""
    from benchmarks.models import four_bar_model

    model, given, guess = four_bar_model()
    system = model.compile()
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        system.simulate(system.initial(given, guess=guess), 1.0)
        seconds.append(time.perf_counter() - begin)
    return seconds[0] - seconds[1]


if __name__ == "__main__":
    print(time_first_simulation())
