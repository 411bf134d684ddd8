"""Work against precision: problems with exact or 32-digit answers through every integrator at a ladder of tolerances.

Plots go to docs/images/work_precision_NAME.png. The figure kept for each pair is the time to reach the error bound of
the problem, in multiples of the time DOP853 takes in the same run.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from benchmarks.measure import ROOT, Figure

import dalembert as da
from dalembert import problems
from dalembert.view.plots import plot_work_precision

BOUNDS = dict.fromkeys(("pendulum", "knife_edge", "appell_hamel", "andrews", "car_axis"), 1e-6) | {"four_bar": 1e-5}
TOLERANCES = [10.0**-k for k in range(4, 13)]
COUNTS = [int(100 * 10.0 ** (k / 3)) for k in range(10)]
PATIENCE = 1.0  # seconds after which a ladder ends


def run() -> list[Figure]:
    """A figure for each problem and integrator, and a plot for each problem."""
    return [figure for name, bound in BOUNDS.items() for figure in _measure(name, bound)]


def _integrators(span: float) -> dict[str, list]:
    adaptive = [da.DOP853(), da.Tsit5(), da.KuttaMerson(rtol=1e-8), da.Radau(), da.StateSpaceSVD(), da.IDA()]
    ladders = {type(i).__name__: [replace(i, rtol=r, atol=r) for r in TOLERANCES] for i in adaptive}
    ladders["RK4"] = [da.RK4(span / count) for count in COUNTS]
    ladders["GeneralizedAlpha"] = [da.GeneralizedAlpha(step=span / count) for count in COUNTS]
    return ladders


def _measure(name: str, bound: float) -> list[Figure]:
    problem = problems.get(name)
    system = problem.system()
    state, t_end = problem.state(system), min(problem.t_end, 10.0)
    tight = system.simulate(state, t_end, t_eval=[t_end], integrator=da.DOP853(rtol=1e-14, atol=1e-14)).q[-1]
    curves, reached = {}, {}
    for label, ladder in _integrators(t_end).items():
        points = []
        for integrator in ladder:
            seconds, motion = _timed(lambda i=integrator: system.simulate(state, t_end, t_eval=[t_end], integrator=i))
            if motion.success:
                points.append((seconds, float(np.abs(motion.q[-1] - tight).max())))
            if seconds > PATIENCE:
                break
        if points:
            curves[label] = np.array(points)
            good = [seconds for seconds, error in points if error <= bound]
            reached[label] = min(good) if good else None
    figure = plot_work_precision(curves, title=f"{problem.title}, {t_end:g} s").get_figure()
    figure.savefig(ROOT / "docs" / "images" / f"work_precision_{name}.png")
    return [_figure(f"{name}, {label}, error {bound:g}", s, reached["DOP853"]) for label, s in reached.items()]


def _figure(case: str, seconds: float | None, unit: float) -> Figure:
    if seconds is None:
        return Figure("work_precision", case, None, "", None, "not reached")
    return Figure("work_precision", case, seconds / unit, "x the time of DOP853", None, f"{1e3 * seconds:.2f} ms")


def _timed(action):
    motion = action()
    best = float("inf")
    for _ in range(2):
        begin = time.process_time()
        motion = action()
        best = min(best, time.process_time() - begin)
    return best, motion
