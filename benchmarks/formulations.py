"""One u' of Appell-Hamel in every formulation against the bare kernel call that fills M, f, A, b."""

from __future__ import annotations

from benchmarks.measure import Figure, best_in_turns
from benchmarks.models import appell_hamel

import dalembert as da

CALLS = 200_000


def run() -> list[Figure]:
    """One figure per formulation: time of an evaluation over that of the kernel call."""
    from benchmarks import native_loops as loops

    from dalembert.run.engine import Engine

    problem = appell_hamel()
    system, state = problem.system, problem.state
    cases = [
        (da.LagrangeMultipliers(), "< 6"),
        (da.NonminimalKane(), "< 6"),
        (da.MinimalKane(), "< 6"),
        (da.NullSpace(), "< 6"),
        (da.NullSpace(reduced=False), "< 6"),
        (da.UdwadiaKalaba(), "< 40"),
    ]
    figures = []
    for formulation, target in cases:
        engine = Engine(system, system.parameter_values(), formulation, da.NoCorrection())
        xs = loops.record(engine, state.z, (0.0, 10.0), da.RK4(0.01), what="accelerate", rows=4000).ravel()
        whole, bare = best_in_turns(
            [
                lambda engine=engine, xs=xs: loops.accelerate_loop(engine.plan, engine.mem, xs, CALLS),
                lambda engine=engine, xs=xs: loops.dynamics_loop(engine.plan, engine.mem, xs, CALLS),
            ],
            repeats=7,
        )
        detail = f"{1e9 * whole / CALLS:.0f} ns against {1e9 * bare / CALLS:.0f} ns"
        figures.append(Figure("formulations", repr(formulation), whole / bare, "x kernel call", target, detail))
    return figures
