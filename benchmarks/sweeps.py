"""Many runs: a sweep against as many runs one after the other, a Python loop and joblib beside it; and its memory.

The ideal is what the runs themselves take, `simulate` from states that are known, divided by the number of threads.
A loop by hand finds the state, simulates, asks the certificate and reads the same outputs from 20,000 samples.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.measure import Figure, run_apart
from benchmarks.memory import peak, reset_peak

import dalembert as da
from dalembert import problems
from dalembert.analysis.sweep.pool import cores

RUNS, SOME, MANY, T_END = 10_000, 100, (10_000, 1_000_000), 30.0
OUTPUTS = (da.Final("q1"), da.Final("u1"), da.Maximum("u1"), da.Maximum("q2"))


def run() -> Iterator[Figure]:
    """Ratios of times within one run, and the growth of memory."""
    taken = json.loads(run_apart("sweeps", "time", environment=dict(os.environ)))
    threads, ideal = taken["threads"], taken["simulate"] * RUNS / taken["threads"]
    alone, complete = (f"{1e3 * taken[name]:.2f} ms" for name in ("simulate", "whole"))
    detail = (
        f"{taken['sweep']:.2f} s on {threads} threads; a run {alone}, with initial state and certificate {complete}"
    )
    case = f"four-bar, {RUNS} runs of {T_END:g} s, 2 final values, 2 maxima"
    yield Figure("sweeps", f"{case}: over the bare runs", taken["sweep"] / ideal, "x ideal", "<= 1.15", detail)
    ratio = taken["cpu sweep"] / RUNS / taken["cpu simulate"]
    detail = "processor time of both, which a busy machine disturbs less; it includes initial states and verdicts"
    yield Figure("sweeps", f"{case}: over the bare runs, processor time", ratio, "x ideal", None, detail)
    whole = taken["whole"] * RUNS / threads
    detail = "ideal: initial state, run and certificate of each"
    yield Figure("sweeps", f"{case}: over whole runs", taken["sweep"] / whole, "x ideal", None, detail)
    for other, name in (("loop", "Python loop"), ("joblib", f"joblib, {threads} processes")):
        if other in taken:
            ratio = taken[other] / SOME / (taken["sweep"] / RUNS)
            yield Figure("sweeps", f"{case}: {name}", ratio, "x faster", None, f"{SOME} runs by it, per run")
    yield from _beside_others()
    grown = json.loads(run_apart("sweeps", "memory", environment=dict(os.environ)))
    detail = (
        f"{grown['growth']:.1f} MB over what {MANY[0]:,} runs left, {grown['results']:.1f} MB of it results; "
        f"{grown['seconds']:.0f} s, {grown['cpu']:.0f} s of processor time"
    )
    case, beyond = f"Appell-Hamel, {MANY[1]:,} runs of 10 s", grown["growth"] - grown["results"]
    yield Figure("sweeps", f"{case}: growth beyond the results", beyond, "MB", "< 10", detail)


def _beside_others() -> Iterator[Figure]:
    """The same sweep by other ways, at equal error."""
    case = "four-bar of uniform bars, final angles after 30 s, equal error"
    try:
        taken = json.loads(run_apart("sweep_peers", environment=dict(os.environ)))
    except RuntimeError as error:
        yield Figure("sweeps", case, None, "x faster", None, f"not measured: {error}")
        return
    errors = f"errors {taken['own error']:.0e} and {taken['error']:.0e}"
    alone = f"a run of the sweep {1e3 * taken['sweep']:.2f} ms; {errors}"
    for name in ("loop", "joblib", "MuJoCo rollout"):
        if name in taken:
            yield Figure("sweeps", f"{case}: {name}", taken[name] / taken["sweep"], "x faster", None, alone)


def measure_time() -> dict[str, float]:
    """Seconds of the sweep, of one bare run, of one whole run, and of `SOME` runs by a loop and by joblib."""
    problem = problems.get("four_bar")
    system, lengths = problem.system(), np.linspace(0.75, 0.85, RUNS)
    options = {"given": problem.given, "guess": problem.guess, "outputs": OUTPUTS}
    system.sweep({"la": lengths[:4]}, T_END, **options)
    some = lengths[:: RUNS // SOME]
    states = [system.initial(problem.given, guess=problem.guess, parameters={"la": la}) for la in some]

    def bare(k: int) -> object:
        return system.simulate(states[k], T_END)

    def whole(k: int) -> object:
        state = system.initial(problem.given, guess=problem.guess, parameters={"la": some[k]})
        return system.simulate(state, T_END).certificate.ok

    taken: dict[str, float] = {"threads": cores()}
    actions = {
        "simulate": lambda: [bare(k) for k in range(SOME)],
        "whole": lambda: [whole(k) for k in range(SOME)],
        "sweep": lambda: system.sweep({"la": lengths}, T_END, **options),
    }
    taken |= {clock + name: np.inf for clock in ("", "cpu ") for name in actions}
    for _ in range(3):  # in turn, so that a busy machine disturbs all alike
        for name, action in actions.items():
            begin, runs = time.process_time(), 1 if name == "sweep" else SOME
            taken[name] = min(taken[name], _seconds(action) / runs)
            taken[f"cpu {name}"] = min(taken[f"cpu {name}"], (time.process_time() - begin) / runs)
    taken["loop"] = _seconds(lambda: [by_hand(la) for la in some])
    try:
        from joblib import Parallel, delayed
    except ImportError:
        return taken
    with Parallel(n_jobs=cores()) as pool:
        pool(delayed(by_hand)(la) for la in some[: 2 * cores()])  # the workers compile
        taken["joblib"] = _seconds(lambda: pool(delayed(by_hand)(la) for la in some))
    return taken


_SYSTEMS: dict[str, da.System] = {}


def by_hand(la: float) -> tuple[float, ...]:
    """The outputs of one run as a user's loop finds them."""
    problem = problems.get("four_bar")
    if not _SYSTEMS:
        _SYSTEMS["four_bar"] = problem.system()
    system = _SYSTEMS["four_bar"]
    state = system.initial(problem.given, guess=problem.guess, parameters={"la": la})
    motion = system.simulate(state, T_END, t_eval=np.linspace(0.0, T_END, 20_000))
    return motion["q1"][-1], motion["u1"][-1], motion["u1"].max(), motion["q2"].max(), motion.certificate.ok


def measure_memory() -> dict[str, float]:
    """Growth of the peak from few to many runs of Appell-Hamel's mechanism, the size of the results, and seconds."""
    problem = problems.get("appell_hamel")
    system = problem.system()
    state = problem.state(system)
    name = system.parameters[0]

    outputs = [da.Final(system.coordinates[0]), da.Maximum(system.coordinates[1])]
    few, many = (np.linspace(0.9, 1.1, count) * float(state.parameters[0]) for count in MANY)
    system.sweep({name: few}, 10.0, state=state, outputs=outputs)
    before, begin, processor = reset_peak(), time.perf_counter(), time.process_time()
    runs = system.sweep({name: many}, 10.0, state=state, outputs=outputs)
    return {
        "growth": peak() - before, "results": runs.nbytes / 2**20, "seconds": time.perf_counter() - begin,
        "cpu": time.process_time() - processor,
    }  # fmt: skip


def _seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


if __name__ == "__main__":
    print(json.dumps(measure_time() if sys.argv[1] == "time" else measure_memory()))
