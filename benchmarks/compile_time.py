"""From the statement of a 20-link pendulum on a cart to its first u', against SymPy's KanesMethod and lambdify.

Each side runs in a process of its own, with its imports done and, for dalembert, an empty cache of object code.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from benchmarks.measure import Figure, empty_cache, run_apart

LINKS = 20


def run() -> list[Figure]:
    """Two figures: SymPy's time over ours, until u' is known, and until a simulation can start."""
    ours = [_apart("first_acceleration") for _ in range(5)]
    ready = [_apart("ready_to_simulate") for _ in range(3)]
    sympy = _apart("sympy")
    difference = np.abs(np.subtract(ours[0]["udot"], sympy["udot"])).max()
    if difference > 1e-6 * np.abs(sympy["udot"]).max():
        raise RuntimeError(f"the accelerations differ by {difference:.3g}")
    best, best_ready = (min(runs, key=lambda r: r["seconds"]) for runs in (ours, ready))
    parts = "; ".join(f"{name} {seconds:.3f}" for name, seconds in best["parts"].items())
    case, slow = f"{LINKS}-link pendulum on a cart", sympy["seconds"]
    detail = f"{best['seconds']:.3f} s ({parts}) against {slow:.1f} s"
    ready_detail = f"{best_ready['seconds']:.3f} s; the right-hand side with its solve unrolled, residuals, energy"
    return [
        Figure("compile_time", f"{case}, first u'", slow / best["seconds"], "x faster", ">= 50", detail),
        Figure("compile_time", f"{case}, ready to run", slow / best_ready["seconds"], "x faster", None, ready_detail),
    ]


def _apart(what: str) -> dict:
    with empty_cache() as environment:
        return json.loads(run_apart("compile_time", what, environment=environment))


def _state() -> tuple[np.ndarray, np.ndarray]:
    return -0.5 + 0.02 * np.arange(LINKS + 1), np.linspace(-0.5, 0.5, LINKS + 1)


def time_dalembert(*, simulation: bool) -> dict:
    """Seconds until u' is known from M and f, or until an engine stands ready to run."""
    from benchmarks.models import pendulum_on_cart_model

    if simulation:
        import dalembert as da
        from dalembert.run.engine import Engine

        ingredients = da.LagrangeMultipliers(), da.Projection()
    pendulum_on_cart_model(1).compile()  # imports what is imported when it is first needed
    q, u = _state()
    begin = time.perf_counter()
    model = pendulum_on_cart_model(LINKS)
    stated = time.perf_counter()
    system = model.compile()
    compiled = time.perf_counter()
    if simulation:
        engine = Engine(system, system.parameter_values(), *ingredients)
        udot = engine.rates(0.0, np.concatenate([q, u]))[len(q) : 2 * len(q)]
    else:
        kernel = system.evaluate("dynamics", 0.0, q, u)
        (m, square), (f, _) = system.parts["mass_matrix"], system.parts["forces"]
        udot = np.linalg.solve(kernel[m].reshape(square), kernel[f])
    end = time.perf_counter()
    parts = {"statement": stated - begin, "compile": compiled - stated, "machine code": end - compiled}
    return {"seconds": end - begin, "parts": parts, "udot": udot.tolist()}


def time_sympy() -> dict:
    """Seconds until u' is known, from SymPy's own example."""
    import sympy as sm
    import sympy.physics.mechanics as me
    from sympy.physics.mechanics.models import n_link_pendulum_on_cart

    q, u = _state()
    begin = time.perf_counter()
    kane = n_link_pendulum_on_cart(LINKS, cart_force=False)
    derived = time.perf_counter()
    matrix, forcing = kane.mass_matrix, kane.forcing
    constants = sorted((matrix.free_symbols | forcing.free_symbols) - {me.dynamicsymbols._t}, key=str)
    f = sm.lambdify([list(kane.q), list(kane.u), constants], [matrix, forcing], cse=True)
    m, r = f(q, u, [9.81 if str(c) == "g" else 1.0 for c in constants])
    udot = np.linalg.solve(m, np.ravel(r))
    end = time.perf_counter()
    parts = {"derive": derived - begin, "lambdify": end - derived}
    return {"seconds": end - begin, "parts": parts, "udot": udot.tolist()}


if __name__ == "__main__":
    what = sys.argv[1]
    result = time_sympy() if what == "sympy" else time_dalembert(simulation=what == "ready_to_simulate")
    print(json.dumps(result))
