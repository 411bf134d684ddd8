"""Chaplygin sleigh: Bloch, section 1.7.

A rigid body (m, I about its mass centre) slides on a plane on two smooth legs and a blade at A = (x, y), a distance a
behind the mass centre on the heading phi. Speeds are Kane's: v along the blade, s across it, w = phi', so that
x' = v cos(phi) - s sin(phi), y' = v sin(phi) + s cos(phi), and the constraint reads s = 0. Then

    v' = a w^2,   (I + m a^2) w' = -m a v w,

and with J = (I + m a^2)/m, E^2 = v^2 + J w^2, z = (a E/J) t + artanh(v0/E) and w0 > 0

    v = E tanh z,   w = E/(sqrt(J) cosh z),   phi = (sqrt(J)/a) (gd(z) - gd(z0)),   la = m v w I/(I + m a^2).

Energy is kept, and yet every motion ends as straight gliding, mass centre ahead.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

MASS, INERTIA, OFFSET = 1.0, 0.1, 0.1
FORWARD, TURNING = -1.0, 0.5  # at the start: blade ahead of the mass centre, the unstable way round


def build() -> Model:
    """Blade at (x, y) and heading phi, with speeds v, s in the axes of the sleigh and w."""
    model = Model("Chaplygin sleigh")
    x, y, phi = model.coordinates("x y phi")
    v, s, w = (sp.Function(name)(model.t) for name in ("v", "s", "w"))
    c, n = sp.cos(phi), sp.sin(phi)
    _, s, _ = model.speeds("v s w", kinematics={x: v * c - s * n, y: v * n + s * c, phi: w})
    m, inertia, a = model.parameters(m=MASS, I=INERTIA, a=OFFSET)
    model.body("sleigh", mass=m, inertia=inertia, position=[x + a * c, y + a * n], rotation=phi)
    model.constrain(s, name="blade")
    legs = [[x + 3 * a * c - side * a * n, y + 3 * a * n + side * a * c] for side in (1, -1)]
    model.line([[x, y], *legs, [x, y]], name="frame")
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """phi, v, s, w and the multiplier of `blade`, (nt,) each, at times (nt,)."""
    J = (INERTIA + MASS * OFFSET**2) / MASS
    E = np.sqrt(FORWARD**2 + J * TURNING**2)
    z0 = np.arctanh(FORWARD / E)
    z = OFFSET * E / J * np.asarray(t, dtype=float) + z0
    v, w = E * np.tanh(z), E / np.sqrt(J) / np.cosh(z)
    phi = 2 * np.sqrt(J) / OFFSET * (np.arctan(np.tanh(z / 2)) - np.arctan(np.tanh(z0 / 2)))
    return {"phi": phi, "v": v, "s": np.zeros_like(v), "w": w, "blade": v * w * INERTIA / J}


PROBLEM = Problem(
    name="chaplygin_sleigh",
    title="Chaplygin sleigh turning round its blade",
    source="A. M. Bloch, Nonholonomic Mechanics and Control, 2nd ed., Springer 2015, section 1.7",
    build=build,
    given={"x": 0.0, "y": 0.0, "phi": 0.0, "v": FORWARD, "w": TURNING},
    guess={},
    t_end=6.0,
    exact=exact,
    tolerance=1e-8,
    note="Nothing dissipates, and yet it settles: it turns round and glides straight with the mass centre ahead.",
)
