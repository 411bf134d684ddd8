"""500,000 RK4 steps of Appell-Hamel with the default drift control against 2,000,000 bare calls of its kernel."""

from __future__ import annotations

import numpy as np
from benchmarks.measure import Figure, best_in_turns
from benchmarks.models import appell_hamel

import dalembert as da

STEPS = 500_000
T_END = 10.0


def run() -> list[Figure]:
    """One figure: time of the run over that of the calls."""
    from benchmarks import native_loops as loops

    from dalembert.run.engine import Engine

    problem = appell_hamel()
    system, state = problem.system, problem.state
    engine = Engine(system, system.parameter_values(), da.LagrangeMultipliers(), da.Projection())
    integrator, end = da.RK4(T_END / STEPS), np.array([T_END])
    # Recorded from a coarser run, so that the rows cover all of the motion.
    xs = loops.record(engine, state.z, (0.0, T_END), da.RK4(T_END / 1000), what="accelerate", rows=4000).ravel()
    whole, bare = best_in_turns(
        [
            lambda: system.simulate(state, T_END, t_eval=end, integrator=integrator),
            lambda: loops.dynamics_loop(engine.plan, engine.mem, xs, 4 * STEPS),
        ],
        repeats=9,
    )
    step, call = 1e9 * whole / STEPS, 1e9 * bare / (4 * STEPS)
    detail = f"{whole:.3f} s ({step:.0f} ns per step) against {bare:.3f} s ({call:.0f} ns per call)"
    return [Figure("rk4_steps", "Appell-Hamel, 500,000 steps", whole / bare, "x 2,000,000 kernel calls", "< 6", detail)]
