"""Growth of the peak memory of a long run over a short one, each with 100 samples, and with every step stored."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.measure import Figure, run_apart
from benchmarks.models import appell_hamel

import dalembert as da

SHORT, LONG, STORED = 10_000, 5_000_000, 500_000
T_END = 10.0


def run() -> Iterator[Figure]:
    """The growth in MB, and as a multiple of the results."""
    sampled = json.loads(run_apart("memory", "sampled", environment=dict(os.environ)))
    detail = f"over {SHORT:,} steps; {sampled['peak']:.0f} MB at the peak"
    yield Figure("memory", f"{LONG:,} RK4 steps, 100 samples", sampled["growth"], "MB", "< 5", detail)
    stored = json.loads(run_apart("memory", "stored", environment=dict(os.environ)))
    detail = f"{stored['growth']:.0f} MB for {stored['output']:.0f} MB of results (t, q, u, u', multipliers, residuals)"
    ratio = stored["growth"] / stored["output"]
    yield Figure("memory", f"{STORED:,} RK4 steps, all stored", ratio, "x results", None, detail)


def measure(what: str) -> dict[str, float]:
    """Growth of the peak and size of the results, in MB."""
    problem = appell_hamel()
    system, state = problem.system, problem.state
    times = np.linspace(0.0, T_END, 100) if what == "sampled" else None
    system.simulate(state, T_END, t_eval=times, integrator=da.RK4(T_END / SHORT))
    before = reset_peak()
    steps = LONG if what == "sampled" else STORED
    motion = system.simulate(state, T_END, t_eval=times, integrator=da.RK4(T_END / steps))
    after = peak()
    evaluation = motion.evaluation
    arrays = [motion.t, motion.q, motion.u, motion.work, *vars(evaluation).values()]
    return {"growth": after - before, "output": sum(a.nbytes for a in arrays) / 2**20, "peak": after}


def reset_peak() -> float:
    """Memory in use, MB, and the peak set back to it where that is possible (Linux): start-up would hide the growth."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        resident = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmRSS"))
    except OSError:
        return peak()
    return int(resident.split()[1]) / 1024


def peak() -> float:
    """Largest memory in use so far, MB."""
    try:
        largest = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM"))
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    return int(largest.split()[1]) / 1024


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
