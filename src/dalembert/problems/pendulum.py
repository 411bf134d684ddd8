"""Simple pendulum in Cartesian coordinates: problem A01 of the IFToMM library of benchmark problems.

A particle of mass m on a massless rod of length L, released at rest from the horizontal position (-L, 0); gravity along
-y. Two coordinates, one position constraint x^2 + y^2 = L^2. With theta from the downward vertical and k = sin 45 deg,

    sin(theta/2) = -k cd(w t | k^2),   theta' = 2 k k' w sd(w t | k^2),   w^2 = g/L,   k'^2 = 1 - k^2,

where cd = cn/dn and sd = sn/dn are Jacobi's elliptic functions.
"""

from __future__ import annotations

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

LENGTH, GRAVITY = 1.0, 9.81


def build() -> Model:
    """Particle (x, y) with speeds (vx, vy) at distance L from the origin."""
    model = Model("pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    m, L, g = model.parameters(m=1.0, L=LENGTH, g=GRAVITY)
    bob = model.particle("bob", mass=m, position=[x, y])
    model.gravity([0, -g])
    model.constrain(x**2 + y**2 - L**2, name="rod")
    model.line([[0, 0], bob], name="link")
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """x, y, vx, vy (nt,) at times (nt,)."""
    from scipy.special import ellipj

    k, w = np.sqrt(0.5), np.sqrt(GRAVITY / LENGTH)  # k = k' for a release at 90 deg
    sn, cn, dn, _ = ellipj(w * np.asarray(t, dtype=float), k**2)
    theta, rate = -2 * np.arcsin(k * cn / dn), 2 * k * k * w * sn / dn
    x, y = LENGTH * np.sin(theta), -LENGTH * np.cos(theta)
    return {"x": x, "y": y, "vx": -rate * y, "vy": rate * x}


PROBLEM = Problem(
    name="pendulum",
    title="simple pendulum in Cartesian coordinates",
    source="IFToMM benchmark A01; Gonzalez, Dopico, Lugris, Cuadrado, Multibody Syst. Dyn. 16 (2006) 179-190",
    build=build,
    given={"y": 0.0, "vy": 0.0},
    guess={"x": -1.0},
    t_end=10.0,
    exact=exact,
    tolerance=1e-8,
    note="The rod keeps its length to round-off while the energy stays that of the release at rest.",
)
