"""Linearisation of chains of 50 bodies and eigenvalues of a bicycle, against central differences of the accelerations.

The chains hang at rest: in angles, as particles with rods, as planar bodies with hinges. The differences perturb each
independent state, find the consistent state beside it and solve for its accelerations: what one writes by hand.
"""

from __future__ import annotations

import time

import numpy as np
import sympy as sp
from benchmarks.measure import Figure, best_in_turns

import dalembert as da
from dalembert.problems import benchmark_bicycle as bicycle

COUNT = 50


def run() -> list[Figure]:
    """Three chains, then the bicycle from its statement to its eigenvalues."""
    chains = ((angles, {}), (rods, {f"y{k}": -(k + 1.0) for k in range(COUNT)}))
    chains += ((hinges, {f"B{k}_y": -(k + 0.5) for k in range(COUNT)}),)
    return [*(_chain(make, guess) for make, guess in chains), _bicycle()]


def angles() -> da.Model:
    """Point masses in a row, one angle each."""
    model, x, y = da.Model("angles"), sp.Integer(0), sp.Integer(0)
    for k in range(COUNT):
        (a,) = model.coordinates(f"a{k}")
        x, y = x + sp.sin(a), y - sp.cos(a)
        model.particle(f"P{k}", mass=2.0, position=[x, y])
    model.gravity([0, -9.81])
    return model


def rods() -> da.Model:
    """The same in natural coordinates, with 50 constraints."""
    model, x, y = da.Model("particles and rods"), sp.Integer(0), sp.Integer(0)
    for k in range(COUNT):
        here = model.coordinates(f"x{k} y{k}")
        model.constrain((here[0] - x) ** 2 + (here[1] - y) ** 2 - 1, name=f"rod{k}")
        x, y = here
        model.particle(f"P{k}", mass=2.0, position=[x, y])
    model.gravity([0, -9.81])
    return model


def hinges() -> da.Model:
    """Rigid bodies in absolute coordinates, with 100 constraints."""
    model = da.Model("bodies and hinges")
    above = model.ground
    for k in range(COUNT):
        body = model.body(f"B{k}", mass=1.0, inertia=0.1)
        model.joints.revolute(f"hinge{k}", above, model.marker(body, [0, 0.5, 0]))
        above = model.marker(body, [0, -0.5, 0])
    model.gravity([0, -9.81])
    return model


def _chain(make, guess) -> Figure:
    system = make().compile()
    state = system.initial({}, guess=guess)
    names = system.linearize(state).states
    x = np.array([state[name] for name in names])

    def one_column() -> np.ndarray:
        ends = [
            system.initial(dict(zip(names, x + h, strict=True)), guess=state) for h in (1e-6 * np.eye(len(x))[0], 0.0)
        ]
        return ends[0].udot - ends[1].udot

    whole, column = best_in_turns([lambda: system.linearize(state).eigenvalues, one_column], repeats=9)
    ratio = len(x) * column / whole
    detail = f"{whole * 1e3:.1f} ms with eigenvalues, asked for: 20 ms; {len(x)} states, {system.nc} constraints"
    return Figure("linearization", f"{COUNT} bodies, {system.name}", ratio, "x faster than differences", ">= 1", detail)


def _bicycle() -> Figure:
    """From the statement to the eigenvalues; kernels from the cache, the engine built."""

    def whole() -> np.ndarray:
        system = bicycle.build().compile()
        state = system.steady(bicycle.straight(5.0), guess=bicycle.GUESS)
        return system.linearize(state, states=bicycle.STATES).eigenvalues

    whole()
    begin = time.process_time()
    whole()
    seconds = time.process_time() - begin
    return Figure("linearization", "bicycle, statement to eigenvalues", seconds, "s of CPU", "<= 1", "kernels cached")
