"""`python -m benchmarks.peers.large`: mechanisms of many parts beside other packages, one thread each.

Processor seconds per simulated second at the least effort found whose error at the end is at most ERROR; where
none is, the best error reached within the time allowed. Steps are doubled (or tolerances lowered) until the error is
met, or made fewer while it stays met; then the effort in between is tried. Writes LARGE.md beside this file and the
plot of cost against N into docs/images. Peers come with the extra `peers`; set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.peers.large_cases import FOUR_BAR, NET, ROPE, LargeCase, Solve
from benchmarks.peers.large_results import ERROR, LargeRoute, LargeRun, Measured, markdown, plot
from benchmarks.peers.route import installed

PATIENCE, SHORT, REPEATS = 8.0, 2.0, 3  # seconds of a search; runs below SHORT seconds are repeated
BRIEF = 0.05  # seconds of further repeats, for runs far shorter than that
FEWEST, MOST = 4.0, 1e12  # efforts
PASSAGE = "one singular position passed"
CASES = (
    *(LargeCase(FOUR_BAR, n, 0.5) for n in (10, 40, 160, 1000, 10_000)),
    *(LargeCase(FOUR_BAR, n, 1.0, PASSAGE) for n in (10, 40, 160, 1000, 10_000)),
    LargeCase(ROPE, 400, 0.1),
    LargeCase(NET, 30, 0.2),
)
OURS_ALONE = 5000  # four-bars from which on peers would take minutes

ROUTES = (
    LargeRoute("dalembert", "dalembert", "benchmarks.peers.large_own", 1e4, 10.0),
    LargeRoute("CasADi + SuperLU, SciPy's DOP853", "casadi", "benchmarks.peers.large_casadi", 1e4, 10.0),
    LargeRoute("MuJoCo RK4, stiff constraints", "mujoco", "benchmarks.peers.large_mujoco", 128.0, 2.0),
    LargeRoute("Exudyn, generalised-alpha, index 3", "exudyn", "benchmarks.peers.large_exudyn", 256.0, 2.0),
)


def measure(case: LargeCase, route: LargeRoute) -> Measured:
    """The cheapest run that is accurate enough, repeated; else the most accurate one."""
    solve = importlib.import_module(route.module).prepare(case)
    runs, failures = list[LargeRun](), list[str]()
    begin = time.process_time()

    def attempt(effort: float) -> bool:
        run = _timed(case, solve, effort)
        if isinstance(run, str):
            failures.append(f"{run}, effort {effort:.3g}")
            return False
        runs.append(run)
        return run.error <= ERROR

    effort = route.first
    if attempt(effort):
        while effort > FEWEST and attempt(effort / route.factor):
            effort /= route.factor
    else:
        effort *= route.factor
        while not attempt(effort) and time.process_time() - begin < PATIENCE and effort < MOST:
            effort *= route.factor
    met = any(run.error <= ERROR for run in runs)
    if runs and failures and not met:  # longer steps than those that failed
        effort = runs[-1].effort * route.factor
    if met or failures:
        attempt(effort / math.sqrt(route.factor))
    nearest = min(runs, key=lambda run: run.error, default=None)
    if nearest is None or nearest.error > ERROR:
        return Measured(case, route, nearest, "; ".join(failures[:1]))
    best = min((run for run in runs if run.error <= ERROR), key=lambda run: run.seconds)
    return Measured(case, route, _repeated(case, solve, best), "")


def _timed(case: LargeCase, solve: Solve, effort: float) -> LargeRun | str:
    """A run, or the reason why there is none."""
    begin = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            positions = solve(effort)
    except Exception as error:  # noqa: BLE001 - one run of a peer that fails must not cost the others
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return LargeRun(effort, time.process_time() - begin, case.error(positions))


def _repeated(case: LargeCase, solve: Solve, best: LargeRun) -> LargeRun:
    wanted = REPEATS + int(BRIEF / best.seconds) if best.seconds < SHORT else 1
    while best.repeats < wanted:
        again = _timed(case, solve, best.effort)
        if isinstance(again, LargeRun):
            best.seconds = min(best.seconds, again.seconds)
        best.repeats += 1
    return best


def measured(cases: tuple[LargeCase, ...]) -> Iterator[Measured]:
    """All routes on all cases, those whose package is missing left out."""
    for case in cases:
        routes = ROUTES[:1] if case.family == FOUR_BAR and case.size >= OURS_ALONE else ROUTES
        for route in routes:
            if installed(route.package):
                yield measure(case, route)


def main() -> int:
    """Print, and write the table and the plot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.large", description=__doc__)
    parser.add_argument("--busy", action="store_true", help="note that other work went on")
    parser.add_argument("--largest", type=int, default=10_000, help="leave out cases of more parts; print only")
    options = parser.parse_args()
    cases = tuple(case for case in CASES if case.size <= options.largest)
    results = []
    for result in measured(cases):
        results.append(result)
        best = result.best
        title = f"{result.case.title}, {result.case.t_end:g} s, {result.route.name}"
        said = (
            f"{best.seconds / result.case.t_end:.3g} s per simulated s, error {best.error:.1e} at {best.effort:.3g}"
            if best
            else f"no run: {result.note}"
        )
        print(f"{title}: {said}", flush=True)
    table, here = markdown(results, busy=options.busy), Path(__file__).parent
    if len(cases) < len(CASES):
        print(f"\n{table}")
        return 0
    (here / "LARGE.md").write_text(table, encoding="utf-8")
    plot(results, here.parents[1] / "docs" / "images" / "peers_large.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
