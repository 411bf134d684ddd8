"""How much of a long run is spent in model kernels and linear algebra.

The fraction is nfev times the time of one bare evaluation plus the steps times that of one drift correction (which is
made of kernels and solves too), over the time of the whole run. Both are timed in a loop over the very states a run
asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.measure import Figure, best_in_turns
from benchmarks.models import Problem, appell_hamel, four_bar, pendulum

import dalembert as da

ROWS = 4096
CALLS = 100_000


@dataclass(frozen=True)
class Case:
    name: str
    problem: Problem
    t_end: float
    integrator: object


def run() -> list[Figure]:
    """A figure for each long run."""
    hamel, bar = appell_hamel(), four_bar()
    cases = [
        Case("Appell-Hamel, DOP853 1e-10, 1000 s", hamel, 1000.0, da.DOP853(rtol=1e-10)),
        Case("Appell-Hamel, RK4, 500,000 steps", hamel, 10.0, da.RK4(10.0 / 500_000)),
        Case("four-bar, DOP853 1e-10, 900 s", bar, 900.0, da.DOP853(rtol=1e-10)),
        Case("four-bar, RK4, 200,000 steps", bar, 30.0, da.RK4(30.0 / 200_000)),
        Case("10-link pendulum, DOP853 1e-10, 30 s", pendulum(10), 30.0, da.DOP853(rtol=1e-10)),
    ]
    return [_measure(case) for case in cases]


def _measure(case: Case) -> Figure:
    from benchmarks import native_loops as loops

    from dalembert.run.engine import Engine

    system, state = case.problem.system, case.problem.state
    engine = Engine(system, system.parameter_values(), da.LagrangeMultipliers(), da.Projection())
    span, samples = (0.0, case.t_end), np.linspace(0.0, case.t_end, 11)
    arguments = (state.z, span, case.integrator)
    evaluated = loops.record(engine, *arguments, what="accelerate", rows=ROWS).ravel()
    corrected = loops.record(engine, *arguments, what="correct", rows=ROWS).ravel()
    motion = system.simulate(state, case.t_end, t_eval=samples, integrator=case.integrator)
    if not motion.success:
        raise RuntimeError(motion.message)
    whole, accelerate, correct = best_in_turns(
        [
            lambda: system.simulate(state, case.t_end, t_eval=samples, integrator=case.integrator),
            lambda: loops.accelerate_loop(engine.plan, engine.mem, evaluated, CALLS),
            lambda: loops.correct_loop(engine.plan, engine.mem, corrected, CALLS),
        ],
        repeats=9,
    )
    nfev, steps = motion.stats["nfev"], motion.stats["steps"]
    evaluation, correction = accelerate / CALLS, correct / CALLS
    fraction, drift = nfev * evaluation / whole, steps * correction / whole
    detail = (
        f"{nfev:,} evaluations of {1e9 * evaluation:.0f} ns ({100 * fraction:.0f} %) and {steps:,} corrections of "
        f"{1e9 * correction:.0f} ns ({100 * drift:.0f} %) in {whole:.3f} s"
    )
    return Figure("time_in_kernels", case.name, 100 * (fraction + drift), "%", ">= 80", detail)
