"""Systems of 30 to 60 speeds, on which the formulations run in loops, and what lets tests look at their solves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.problems.closed_chain import closed_chain
from dalembert.problems.n_four_bar import n_four_bar
from dalembert.run.engine import Engine
from dalembert.run.formulations.choice import scaled
from dalembert.solve.tolerances import UNIT_ROW_RANK


@dataclass(frozen=True)
class InLoops:
    """A formulation whose graph is never used, as if it were too long."""

    formulation: Any

    def choose(self, *where):
        return self.formulation.choose(*where)

    def unroll(self, *_graphs):
        return None

    def workspace(self, *sizes):
        return self.formulation.workspace(*sizes)

    def accelerators(self):
        return self.formulation.accelerators()


@dataclass(frozen=True)
class Solved:
    """u' (nu,), la (nc,) as the formulation itself found them, and how many evaluations it did not do itself."""

    udot: np.ndarray
    multipliers: np.ndarray
    fallbacks: int


def solve(system, parameters, formulation, t, z):
    """One evaluation by a formulation, its choice made at the state."""
    engine = Engine(system, parameters, formulation, da.NoCorrection())
    rates = engine.rates(t, np.append(z, np.zeros(int(system.works))))
    first = engine.plan.multiplier
    multipliers = engine.mem[first : first + system.nc].copy()
    return Solved(rates[system.nq : system.nq + system.nu], multipliers, engine.fallbacks.evaluations)


def regular_state(system, rng):
    """A random (q, u), not near a singular position: nonzero singular values of the constraints above 1e-2.

    The four solves of the saddle system then leave (PROXIMAL / 1e-4)^4 = 1e-16 of its proximal shift; closer to a
    singular position they damp what the others amplify.
    """
    while True:
        z = rng.standard_normal(system.nq + system.nu)
        at = (0.3, z[: system.nq], z[system.nq :])
        values = np.linalg.svd(scaled(system.mass_matrix(*at), system.constraint_jacobian(*at)), compute_uv=False)
        if values[values > UNIT_ROW_RANK].min() > 1e-2:
            return z


def hinged_bodies(n):
    """Bodies in space hung from each other by hinges whose axes alternate: 6 n speeds, 5 n rows."""
    model = da.Model(f"{n} hinged bodies")
    below = model.ground
    for k in range(n):
        body = model.body(f"B{k}", mass=1.0 + 0.1 * k, inertia=[0.1, 0.2, 0.15 + 0.01 * k])
        axis = [1, 0, 0] if k % 2 else [0, 1, 0]
        upper = model.marker(body, [0, 0, 0.5], axis=axis)
        model.joints.revolute(f"hinge{k}", below if k == 0 else model.marker(below, [0, 0, -0.5], axis=axis), upper)
        below = body
    model.gravity([0, 0, -9.81])
    return model


def train(n):
    """Wagons in the plane, each on a skate and hitched to the one before: 3 n speeds, 2 (n - 1) + n rows."""
    model = da.Model(f"train of {n} wagons")
    ends = []
    for k in range(n):
        x, y, a = model.coordinates(f"x{k} y{k} a{k}")
        model.body(f"W{k}", mass=2.0, inertia=0.3, position=[x, y], rotation=a)
        model.constrain(y.diff() * sp.cos(a) - x.diff() * sp.sin(a), name=f"skate{k}")
        half = sp.Rational(1, 2)
        if ends:
            model.constrain(ends[-1][0] - x - half * sp.cos(a), name=f"hitch_x{k}")
            model.constrain(ends[-1][1] - y - half * sp.sin(a), name=f"hitch_y{k}")
        ends.append((x - half * sp.cos(a), y - half * sp.sin(a)))
    x0, a0 = sp.Function("x0")(model.t), sp.Function("a0")(model.t)
    model.generalized_force({"x0": 3 * sp.cos(a0), "y0": 3 * sp.sin(a0), "a0": sp.sin(x0)})
    return model


def repeated_rows(n):
    """Four-bar linkages in a row with every crank stated again, mixed with a coupler: more rows than speeds."""
    model = n_four_bar(n).build()
    rows = {c.name: c.expression for c in model.statement.constraints}
    for k in range(n):
        model.constrain(2 * rows[f"crank{k}"] - 3 * rows[f"coupler{k}"], name=f"again{k}")
    return model


LARGE = {
    "closed_chain_30": closed_chain(30).build,
    "closed_chain_60": closed_chain(60).build,
    "n_four_bar_15": n_four_bar(15).build,
    "n_four_bar_29": n_four_bar(29).build,
    "hinged_bodies_8": lambda: hinged_bodies(8),
    "train_12": lambda: train(12),
    "repeated_rows_15": lambda: repeated_rows(15),
}
