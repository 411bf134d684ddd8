"""Cost against the number of loops: N-four-bars at an error of 1e-6, seconds per simulated second, and its exponent."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from benchmarks.measure import Figure

import dalembert as da
from dalembert.problems.n_four_bar import n_four_bar

TARGETS = {10: None, 40: "<= 0.003", 160: "<= 0.01", 1000: "<= 0.08"}
LARGEST = 10_000  # takes minutes to state in SymPy; measured on its own: `measure(10_000)`
INTEGRATOR = da.DOP853(rtol=1e-7, atol=1e-7)
REPEATS = 5


def run() -> Iterator[Figure]:
    """Processor seconds of a run of one second, the time to its first result, and the exponent from 160 on."""
    costs: dict[int, float] = {}
    for n, target in TARGETS.items():
        costs[n], error, before = measure(n)
        detail = f"largest error {error:.1e}; {before:.2f} s from the statement to the first result, SymPy not counted"
        yield Figure("scaling", f"{n}-four-bar", costs[n], "s per simulated s", target, detail)
    exponent = math.log(costs[1000] / costs[160]) / math.log(1000 / 160)
    yield Figure("scaling", "exponent of cost from N = 160 to 1000", exponent, "", "<= 1.1", "1 is linear")


def measure(n: int) -> tuple[float, float, float]:
    """Processor seconds of a run, its error, and those from the stated model to the first run."""
    problem = n_four_bar(n)
    model = problem.build()
    begin = time.process_time()
    system = model.compile()
    state, times = problem.state(system), np.linspace(0.0, 1.0, 11)
    motion = system.simulate(state, 1.0, t_eval=times, integrator=INTEGRATOR)
    before, best = time.process_time() - begin, math.inf
    for _ in range(REPEATS):
        begin = time.process_time()
        motion = system.simulate(state, 1.0, t_eval=times, integrator=INTEGRATOR)
        best = min(best, time.process_time() - begin)
    exact = problem.exact(motion.t) if problem.exact else {}
    return best, max(float(np.abs(motion[name] - values).max()) for name, values in exact.items()), before
