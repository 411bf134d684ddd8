"""What a table of 100,000 points costs per evaluation of the equations, against a constant in its place."""

from __future__ import annotations

import numpy as np
import sympy as sp
from benchmarks.measure import Figure, best_in_turns

import dalembert as da

POINTS, SPAN = 100_000, 100.0


def run() -> list[Figure]:
    """Ratios of seconds per evaluation, for uniform and for scattered points."""
    even = np.linspace(0.0, SPAN, POINTS)
    scattered = np.sort(np.r_[0.0, np.random.default_rng(2).uniform(0.0, SPAN, POINTS - 2), SPAN])
    cases = {
        "constant": _pendulum(None, "linear"),
        "even, linear": _pendulum(even, "linear"),
        "even, cubic": _pendulum(even, "cubic"),
        "scattered, linear": _pendulum(scattered, "linear"),
    }
    runs = [_Run(system) for system in cases.values()]
    seconds = best_in_turns([run.go for run in runs], repeats=40)
    each = [1e9 * s / run.evaluations for s, run in zip(seconds, runs, strict=True)]
    return [
        Figure(
            "tables", f"{POINTS:,} points, {case}", ns / each[0], "x", "< 2",
            f"{ns:.0f} ns against {each[0]:.0f} ns per evaluation of DOP853, all the run included",
        )
        for case, ns in list(zip(cases, each, strict=True))[1:]
    ]  # fmt: skip


class _Run:
    """A motion to be repeated, and how many evaluations it takes."""

    def __init__(self, system: da.System) -> None:
        self.system, self.state = system, system.initial({"a": 0.5, "a_dot": 0.0})
        self.evaluations = self.go().stats["nfev"]

    def go(self) -> da.Motion:
        return self.system.simulate(self.state, SPAN, t_eval=[SPAN], integrator=da.DOP853())


def _pendulum(times: np.ndarray | None, kind: str) -> da.System:
    """A pendulum driven by a torque: a constant, or a table of time."""
    model = da.Model("pendulum")
    (a,) = model.coordinates("a")
    (c,) = model.parameters(c=0.1)
    torque = c if times is None else model.table("torque", times, 0.1 * np.sin(0.7 * times), kind=kind)(model.t)
    model.energy(kinetic=a.diff() ** 2 / 2, potential=-9.81 * sp.cos(a))
    model.generalized_force({a: torque})
    return model.compile()
