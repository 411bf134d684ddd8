"""A planar chain of 50 bodies on revolute joints in absolute coordinates: from its statement to its equations.

Measured in a process of its own with its imports done and an empty cache of object code. Compiling ends when machine
code has given the first u'. An evaluation is one call of the equations (q', M, f, A, b: 150 speeds, 100 constraints)
from a native loop; u' adds the factorisation and the solve.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from benchmarks.measure import Figure, best_in_turns, empty_cache, run_apart

BODIES = 50
CALLS = 200
CASE = f"planar chain, {BODIES} bodies with joints"


def run() -> list[Figure]:
    """Seconds to compile, microseconds of an evaluation and of u'; the best of several runs."""
    runs = [_apart() for _ in range(3)]
    best = min(runs, key=lambda r: r["compile"] + r["machine_code"])
    stated = min(r["statement"] for r in runs)
    evaluation, accelerations = (1e6 * min(r[name] for r in runs) for name in ("evaluation", "accelerations"))
    detail = f"of it machine code {best['machine_code']:.2f} s; the statement before it {stated:.2f} s"
    return [
        Figure("bodies", f"{CASE}, compile", best["compile"] + best["machine_code"], "s", "< 3", detail),
        Figure("bodies", f"{CASE}, evaluation", evaluation, "us", "< 100", "q', M, f, A and b"),
        Figure("bodies", f"{CASE}, u'", accelerations, "us", None, "evaluation, factorisation and solve"),
    ]


def _apart() -> dict:
    with empty_cache() as environment:
        return json.loads(run_apart("bodies", environment=environment))


def time_chain() -> dict:
    """Seconds of every stage."""
    from benchmarks import native_loops as loops

    import dalembert as da
    from dalembert.run.engine import Engine

    ingredients = da.LagrangeMultipliers(), da.Projection()  # loads the engine
    begin = time.perf_counter()
    model = da.Model("chain")
    (g,) = model.parameters(g=9.81)
    model.gravity([0, -g])
    before = model.marker(model.ground, [0, 0])
    for k in range(BODIES):
        body = model.body(f"B{k}", mass=1.0, inertia=1 / 12)
        model.joints.revolute(f"J{k}", before, model.marker(body, [-0.5, 0]))
        before = model.marker(body, [0.5, 0])
    stated = time.perf_counter()
    system = model.compile()
    compiled = time.perf_counter()
    q = np.zeros(3 * BODIES)
    q[::3] = np.arange(BODIES) + 0.5  # stretched out along x, at rest
    u = np.zeros_like(q)
    engine = Engine(system, system.parameter_values(), *ingredients)
    udot = engine.rates(0.0, np.concatenate([q, u]))[len(q) : 2 * len(q)]
    ready = time.perf_counter()
    off = np.abs(system.constraint_jacobian(0.0, q, u) @ udot - system.constraint_bias(0.0, q, u)).max()
    if off > 1e-8 or udot[1] >= 0.0:  # joints hold, and the chain falls
        raise RuntimeError(f"joints open at {off:.3g}, the first link falls at {udot[1]:.3g}")
    x = np.concatenate([[0.0], q, u])
    evaluation, accelerations = best_in_turns(
        [
            lambda: loops.dynamics_loop(engine.plan, engine.mem, x, CALLS),
            lambda: loops.accelerate_loop(engine.plan, engine.mem, x, CALLS),
        ],
        repeats=5,
    )
    return {
        "statement": stated - begin, "compile": compiled - stated, "machine_code": ready - compiled,
        "evaluation": evaluation / CALLS, "accelerations": accelerations / CALLS,
    }  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(json.dumps(time_chain()) + "\n")
