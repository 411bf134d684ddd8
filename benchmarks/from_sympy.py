"""From the SymPy objects of the Whipple bicycle to its first u', against SymPy's own route.

The clock starts when the `KanesMethod` stands: `from_sympy`, compilation, evaluation and solve on our side;
`kanes_equations`, `lambdify` with common subexpressions, and solve on SymPy's. Each side runs in a process of its own
with its imports done, ours with an empty cache of object code.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from benchmarks.measure import Figure, empty_cache, run_apart

SPEEDS = ("u1", "u2", "u3", "u4", "u5", "u6")
# What is held of the state; the rest is found consistent with it.
GIVEN = {"q1": 0.4, "q2": 0.1, "q5": -0.2, "u2": 0.3, "u3": -12.0, "u5": 0.5}


def run() -> list[Figure]:
    """SymPy's time over ours, best of several runs of each, taken in turns."""
    state = _apart("state")
    ours, theirs = [], []
    for _ in range(3):
        ours.append(_apart("dalembert", json.dumps(state)))
        theirs.append(_apart("sympy", json.dumps(state)))
    a, b = np.array(ours[0]["udot"]), np.array(theirs[0]["udot"])
    if np.abs(a - b).max() > 1e-10 * np.abs(b).max():
        raise RuntimeError(f"the accelerations differ by {np.abs(a - b).max():.3g}")
    best, slow = (min(runs, key=lambda r: r["seconds"]) for runs in (ours, theirs))
    parts, slow_parts = (
        "; ".join(f"{name} {seconds:.3f}" for name, seconds in r["parts"].items()) for r in (best, slow)
    )
    detail = f"{best['seconds']:.3f} s ({parts}) against {slow['seconds']:.2f} s ({slow_parts})"
    return [
        Figure(
            "from_sympy", "Whipple bicycle, first u'", slow["seconds"] / best["seconds"], "x faster", ">= 10", detail
        )
    ]


def _apart(what: str, *more: str) -> dict:
    with empty_cache() as environment:
        return json.loads(run_apart("from_sympy", what, *more, environment=environment))


def find_state() -> dict:
    """A consistent state by name, for both sides."""
    import dalembert as da
    from dalembert.problems.whipple_bicycle import state_bicycle

    bicycle = state_bicycle()
    model = da.from_sympy(bicycle.kane, bodies=bicycle.bodies, loads=bicycle.loads, parameters=bicycle.parameters)
    system = model.compile()
    state = system.initial(GIVEN)
    return dict(zip((*system.coordinates, *system.speeds), (*state.q, *state.u), strict=True))


def _particle():
    """SymPy's equations of one particle on a line."""
    import sympy as sm
    import sympy.physics.mechanics as me

    x, v = me.dynamicsymbols("x v")
    frame, origin = me.ReferenceFrame("N"), me.Point("O")
    point = origin.locatenew("P", x * frame.x)
    origin.set_vel(frame, 0)
    point.set_vel(frame, v * frame.x)
    t = me.dynamicsymbols._t
    return me.KanesMethod(
        frame, [x], [v], [x.diff(t) - v], bodies=[me.Particle("P", point, sm.Integer(1))], forcelist=[]
    )


def time_dalembert(state: dict) -> dict:
    """Seconds until u' is known from M, f, A and b."""
    import dalembert as da
    from dalembert.problems.whipple_bicycle import state_bicycle

    da.from_sympy(_particle()).compile()  # imports what is imported when it is first needed
    bicycle = state_bicycle()
    begin = time.perf_counter()
    model = da.from_sympy(bicycle.kane, bodies=bicycle.bodies, loads=bicycle.loads, parameters=bicycle.parameters)
    stated = time.perf_counter()
    system = model.compile()
    compiled = time.perf_counter()
    out = system.evaluate("dynamics", 0.0, [state[q] for q in system.coordinates], [state[u] for u in system.speeds])
    M, f, A, b = (
        out[where].reshape(shape)
        for where, shape in (
            system.parts[name] for name in ("mass_matrix", "forces", "constraint_jacobian", "constraint_bias")
        )
    )
    saddle = np.block([[M, A.T], [A, np.zeros((len(b), len(b)))]])
    udot = np.linalg.solve(saddle, np.concatenate([f, b]))
    end = time.perf_counter()
    parts = {"import": stated - begin, "compile": compiled - stated, "first evaluation": end - compiled}
    return {"seconds": end - begin, "parts": parts, "udot": [udot[system.speeds.index(u)] for u in SPEEDS]}


def time_sympy(state: dict) -> dict:
    """Seconds until u' is known from SymPy's mass matrix and forcing."""
    import sympy as sm
    import sympy.physics.mechanics as me

    from dalembert.problems.whipple_bicycle import state_bicycle

    bicycle = state_bicycle()
    kane = bicycle.kane
    begin = time.perf_counter()
    kane.kanes_equations(bicycle.bodies, bicycle.loads)
    derived = time.perf_counter()
    matrix, forcing = kane.mass_matrix, kane.forcing
    constants = sorted((matrix.free_symbols | forcing.free_symbols) - {me.dynamicsymbols._t}, key=str)
    functions = [*kane.q, *kane.u]
    f = sm.lambdify([functions, constants], [matrix, forcing], cse=True)
    m, r = f([state[g.func.__name__] for g in functions], [bicycle.parameters[c.name] for c in constants])
    udot = dict(zip((u.func.__name__ for u in kane.u), np.linalg.solve(m, np.ravel(r)), strict=True))
    end = time.perf_counter()
    parts = {"derive": derived - begin, "lambdify": end - derived}
    return {"seconds": end - begin, "parts": parts, "udot": [float(udot[u]) for u in SPEEDS]}


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "state":
        result = find_state()
    else:
        result = {"dalembert": time_dalembert, "sympy": time_sympy}[what](json.loads(sys.argv[2]))
    print(json.dumps(result))
