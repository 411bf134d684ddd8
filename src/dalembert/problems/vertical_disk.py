"""Vertical rolling disk: Bloch, section 1.4.

A disk of radius R, mass m, moments of inertia I about its axle and J about a diameter rolls upright without slipping:
theta is the roll, phi the heading, (x, y) the contact point, and

    x' = R theta' cos(phi),   y' = R theta' sin(phi).

Both rates stay constant, theta' = Omega and phi' = w, so the disk runs in a circle of radius R Omega/w; the multipliers
of M u' = f + A^T la are the forces of the ground, (m x'', m y'').
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem
from dalembert.problems.wheel import wheel_rim, wheel_rotation

MASS, RADIUS = 1.0, 0.5
ROLLING, TURNING = 3.0, 0.7


def build() -> Model:
    """Contact point (x, y), roll theta, heading phi; rates x', y', theta', phi' are vx, vy, Omega, w."""
    model = Model("vertical disk")
    x, y, theta, phi = model.coordinates("x y theta phi")
    vx, vy, rolling, _ = model.speeds("vx vy Omega w")
    m, R, axial, diametral = model.parameters(m=MASS, R=RADIUS, I=0.125, J=0.0625)
    attitude = wheel_rotation(phi, theta)
    model.body("disk", mass=m, inertia=[diametral, axial, diametral], position=[x, y, R], rotation=attitude)
    model.gravity([0, 0, -9.81])
    model.constrain(vx - R * rolling * sp.cos(phi), name="roll_x")
    model.constrain(vy - R * rolling * sp.sin(phi), name="roll_y")
    model.line(wheel_rim([x, y, R], attitude, R), name="rim")
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """Coordinates, speeds and multipliers, (nt,) each, at times (nt,)."""
    t = np.asarray(t, dtype=float)
    phi, speed = TURNING * t, RADIUS * ROLLING
    vx, vy = speed * np.cos(phi), speed * np.sin(phi)
    return {
        "x": speed / TURNING * np.sin(phi),
        "y": speed / TURNING * (1 - np.cos(phi)),
        "theta": ROLLING * t,
        "phi": phi,
        "vx": vx,
        "vy": vy,
        "Omega": np.full_like(t, ROLLING),
        "w": np.full_like(t, TURNING),
        "roll_x": -MASS * TURNING * vy,
        "roll_y": MASS * TURNING * vx,
    }


PROBLEM = Problem(
    name="vertical_disk",
    title="disk rolling upright without slipping",
    source="A. M. Bloch, Nonholonomic Mechanics and Control, 2nd ed., Springer 2015, section 1.4",
    build=build,
    given={"x": 0.0, "y": 0.0, "theta": 0.0, "phi": 0.0, "Omega": ROLLING, "w": TURNING},
    guess={},
    t_end=float(2 * np.pi / TURNING),
    exact=exact,
    tolerance=1e-8,
    note="The disk comes back to where it started after one turn of its heading, its rates unchanged.",
)
