"""`python -m benchmarks`: runs all benchmarks, or those named by `--only`, and writes RESULTS.md and results.json."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import REGRESSION, Figure, machine, slowdown

HERE = Path(__file__).resolve().parent
NAMES = (
    "kernel_vs_c",
    "time_in_kernels",
    "rk4_steps",
    "formulations",
    "compile_time",
    "from_sympy",
    "bodies",
    "bodies_large",
    "import_time",
    "tables",
    "memory",
    "work_precision",
    "initial_states",
    "linearization",
    "sweeps",
    "scaling",
    "sensitivities",
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = ("dalembert", "numpy", "scipy", "sympy", "casadi", "numba", "llvmlite")


def main() -> int:
    """Exit status 1 if a benchmark could not run; a missed target is a result, not a failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    chosen = parser.parse_args().only or NAMES
    os.environ.update(dict.fromkeys(THREADS, "1"))  # NumPy is not loaded yet: one thread on every side of a comparison
    store = HERE / "results.json"
    kept = json.loads(store.read_text())["figures"] if store.exists() else []
    figures = [Figure(**{key: f[key] for key in Figure.__dataclass_fields__}) for f in kept if f["benchmark"] in NAMES]
    failed = False
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        new: list[Figure] = []
        try:
            new.extend(importlib.import_module(f"benchmarks.{name}").run())
        except Exception as error:  # noqa: BLE001 - one that cannot run must not cost the others
            failed = True
            new.append(Figure(name, "-", None, "", None, f"failed: {type(error).__name__}: {error}".splitlines()[0]))
        before = {f.case: f for f in figures if f.benchmark == name}
        figures = [f for f in figures if f.benchmark != name] + new
        for figure in new:
            print(_row(figure), flush=True)
            worse = slowdown(before[figure.case], figure) if figure.case in before else None
            if worse is not None and worse > REGRESSION:
                print(f"  REGRESSION: {worse:.2f} times worse than the figure kept before", flush=True)
    figures.sort(key=lambda f: NAMES.index(f.benchmark))
    about = _about()
    rows = [{**asdict(f), "met": f.met} for f in figures]
    store.write_text(json.dumps({"about": about, "figures": rows}, indent=1) + "\n")
    (HERE / "RESULTS.md").write_text(_report(about, figures))
    return int(failed)


def _about() -> dict[str, str]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **machine(),
        **{package: version(package) for package in PACKAGES},
    }


def _row(figure: Figure) -> str:
    value = "-" if figure.value is None else f"{figure.value:.3g} {figure.unit}"
    met = {True: "yes", False: "**no**", None: "-"}[figure.met]
    return f"| {figure.benchmark} | {figure.case} | {value} | {figure.target or '-'} | {met} | {figure.detail} |"


def _report(about: dict[str, str], figures: list[Figure]) -> str:
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", *PACKAGES))
    head = [
        "# Results",
        "",
        "Written by `python -m benchmarks`; do not edit. Best of several repeats taken in turns, one thread.",
        "",
        f"{about['machine']}; {versions}; {about['date']}.",
        "",
        "| benchmark | case | measured | target | met | from |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *map(_row, figures), ""])


if __name__ == "__main__":
    sys.exit(main())
