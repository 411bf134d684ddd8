"""`python -m benchmarks.peers`: measures all routes on all cases; writes RESULTS.md, results.json and docs/images/."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))  # before NumPy is loaded: one thread on every side

HERE = Path(__file__).resolve().parent
IMAGES = HERE.parent.parent / "docs" / "images"
FAMILIES = (
    "own",
    "hand_written",
    "derived",
    "casadi_routes",
    "dae_solvers",
    "pinocchio_route",
    "mujoco_route",
    "exudyn_route",
)
PACKAGES = (
    "dalembert", "numpy", "scipy", "numba", "sympy", "pydy", "casadi", "scikit-sundae", "scipy-dae", "pin", "mujoco",
    "exudyn",
)  # fmt: skip


def main() -> int:
    """Exit status 0; a missing peer or a missed aim is a result, not a failure."""
    from benchmarks.peers import report
    from benchmarks.peers.cases import CASES
    from benchmarks.peers.curve import measure

    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--case", action="append", choices=[c.key for c in CASES], help="only this; writes no tables")
    chosen = parser.parse_args().case
    routes = [route for family in FAMILIES for route in import_module(f"benchmarks.peers.{family}").ROUTES]
    results = []
    for case in CASES:
        if chosen and case.key not in chosen:
            continue
        doubt = case.reference.doubt
        print(f"{case.title}: reference in doubt by {doubt:.0e}", file=sys.stderr, flush=True)
        results.append((case, measure(case, routes)))
    about = _about()
    text = report.markdown(about, results)
    print(text)
    if not chosen:
        (HERE / "RESULTS.md").write_text(text)
        (HERE / "results.json").write_text(json.dumps(report.numbers(about, results), indent=1) + "\n")
        IMAGES.mkdir(parents=True, exist_ok=True)
        for case, curves in results:
            report.plot(case, curves, IMAGES / f"peers_{case.key}.png")
    return 0


def _about() -> dict[str, str]:
    from benchmarks.measure import machine
    from benchmarks.peers.route import installed

    found = {package: installed(package) for package in PACKAGES}
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **machine(),
        **{package: version for package, version in found.items() if version is not None},
    }


if __name__ == "__main__":
    sys.exit(main())
