"""Particle with the nonholonomic constraint y' = z x': example 1 of Kalaba and Udwadia, after Rosenberg.

A free particle of unit mass in space. Gauss's principle gives

    (x'', y'', z'') = z' x'/(1 + z^2) (-z, 1, 0),                                                            (38)

whose motion, with z = z0 + w t and the constant k = sqrt(x'^2 + y'^2), is

    x' = k/sqrt(1 + z^2),   y' = z x',   x = (k/w) arsinh z + const,   y = (k/w) sqrt(1 + z^2) + const,

and the multiplier of M u' = f + A^T la is la = w k (1 + z^2)^(-3/2). Misprints: the paper calls the constraint
"catastrophic" where it is catastatic, and says (29) where (30) is used.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

START, RISE, SPEED = -1.0, 0.5, 1.0  # z0, w, k


def build() -> Model:
    """Particle (x, y, z) with speeds (vx, vy, vz)."""
    model = Model("Kalaba-Udwadia particle")
    x, y, z = model.coordinates("x y z")
    vx, vy, _ = model.speeds("vx vy vz")
    particle = model.particle("P", mass=1, position=[x, y, z])
    model.constrain(vy - z * vx, name="slope")
    step = 1 / sp.sqrt(1 + z**2)
    model.line([particle, [x + step, y + z * step, z]], name="direction")
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """Coordinates, speeds and the multiplier of `slope`, (nt,) each, at times (nt,)."""
    z = START + RISE * np.asarray(t, dtype=float)
    root = np.sqrt(1 + z**2)
    return {
        "x": SPEED / RISE * (np.arcsinh(z) - np.arcsinh(START)),
        "y": SPEED / RISE * (root - np.sqrt(1 + START**2)),
        "z": z,
        "vx": SPEED / root,
        "vy": SPEED * z / root,
        "vz": np.full_like(z, RISE),
        "slope": RISE * SPEED / root**3,
    }


PROBLEM = Problem(
    name="kalaba_udwadia_particle",
    title="particle whose direction of motion turns as it rises",
    source="R. E. Kalaba, F. E. Udwadia, Equations of motion for nonholonomic, constrained dynamical systems via "
    "Gauss's principle, J. Appl. Mech. 60 (1993) 662-668, example 1",
    build=build,
    given={"x": 0.0, "y": 0.0, "z": START, "vx": SPEED / float(np.sqrt(1 + START**2)), "vz": RISE},
    guess={},
    t_end=10.0,
    exact=exact,
    tolerance=1e-8,
    note="The acceleration is explicit and has no multiplier in it: ask for system.equations(UdwadiaKalaba()).",
)
