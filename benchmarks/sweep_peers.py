"""One sweep by four ways at equal error: `sweep`, a Python loop, joblib's processes, MuJoCo's rollout.

The four-bar of three uniform bars, started from angles of its first bar between 8 and 12 degrees, for 30 s; what is
kept are the final angles. MuJoCo runs RK4 at a fixed step with stiff closures (see `peers.mujoco_route`), `FEW` runs of
it; the others get the loosest tolerance whose largest error in these is no larger, and make `MANY`. The reference is a
sweep at 1e-14. Seconds are per run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np
from benchmarks.peers.cases import CASES, uniform_four_bar
from benchmarks.peers.mujoco_route import _xml
from benchmarks.peers.tree import tree_of

import dalembert as da
from dalembert.analysis.sweep.pool import cores

FEW, MANY, T_END, STEP, REPEATS = 8, 400, 30.0, 30.0 / 64_000, 2
MUJOCO = "MuJoCo rollout"
NAMES = ("q1", "q2", "q3")
LADDER = 10.0 ** -np.arange(4.0, 12.5, 0.5)
CASE = next(case for case in CASES if case.key == "four_bar_uniform")
_MADE: list[tuple[da.System, da.State]] = []


def made() -> tuple[da.System, da.State]:
    """The system and its usual start, compiled once per process."""
    if not _MADE:
        _MADE.append(uniform_four_bar())
    return _MADE[0]


def angles(count: int) -> np.ndarray:
    """Where the first bar starts, (count,)."""
    return np.deg2rad(np.linspace(8.0, 12.0, count))


def by_sweep(rtol: float, count: int) -> np.ndarray:
    """Final angles by a sweep, (count, 3)."""
    system, state = made()
    integrator = da.DOP853(rtol=rtol, atol=rtol / 100)
    runs = system.sweep({"q1": angles(count)}, T_END, state=state, outputs=list(NAMES), integrator=integrator)
    return np.column_stack([runs[f"{name}_final"].values for name in NAMES])


def by_hand(angle: float, rtol: float) -> np.ndarray:
    """Final angles of one run as a user's loop finds them, its certificate looked at."""
    system, state = made()
    begin = system.initial({"q1": angle}, guess=state)
    motion = system.simulate(begin, T_END, integrator=da.DOP853(rtol=rtol, atol=rtol / 100))
    return motion.q[-1] if motion.certificate.ok else np.full(3, np.nan)


def rollout() -> Callable[[], np.ndarray]:
    """A function for the final angles by MuJoCo's rollout, on as many threads."""
    import mujoco
    from mujoco.rollout import Rollout

    system, state = made()
    model = mujoco.MjModel.from_xml_string(_xml(tree_of(CASE), STEP))
    datas = [mujoco.MjData(model) for _ in range(cores())]
    starts = [system.initial({"q1": angle}, guess=state) for angle in angles(FEW)]
    begin = np.array([[0.0, *start.q, *start.u] for start in starts])
    steps = round(T_END / STEP)
    pool = Rollout(nthread=cores())

    def run() -> np.ndarray:
        states, _ = pool.rollout(model, datas, begin, nstep=steps)
        return states[:, -1, 1:4]

    return run


def error(q: np.ndarray, reference: np.ndarray) -> float:
    """Largest difference of final angles, up to whole turns."""
    return float(np.abs((q - reference + np.pi) % (2 * np.pi) - np.pi).max())


def measure() -> dict[str, float]:
    """Seconds per run by each way, and errors."""
    reference, others = by_sweep(1e-14, FEW), rollout()
    allowed = error(others(), reference)
    rtol = next((r for r in LADDER if error(by_sweep(r, FEW), reference) <= allowed), float(LADDER[-1]))
    reached = error(by_sweep(rtol, FEW), reference)
    taken = {"error": allowed, "own error": reached, "rtol": float(rtol), "threads": cores()}
    ways: dict[str, Callable[[], object]] = {
        "sweep": lambda: by_sweep(rtol, MANY),
        "loop": lambda: [by_hand(angle, rtol) for angle in angles(MANY)],
        MUJOCO: others,
    }
    try:
        from joblib import Parallel, delayed
    except ImportError:
        return taken | _seconds(ways)
    with Parallel(n_jobs=cores()) as pool:
        pool(delayed(by_hand)(angle, rtol) for angle in angles(MANY))  # the workers compile
        ways["joblib"] = lambda: pool(delayed(by_hand)(angle, rtol) for angle in angles(MANY))
        return taken | _seconds(ways)


def _seconds(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least wall time per run of each way, taken in turn so that a busy machine disturbs all alike."""
    least = dict.fromkeys(ways, np.inf)
    for _ in range(REPEATS):
        for name, action in ways.items():
            begin = time.perf_counter()
            action()
            runs = FEW if name == MUJOCO else MANY
            least[name] = min(least[name], (time.perf_counter() - begin) / runs)
    return least


if __name__ == "__main__":
    print(json.dumps(measure()))
