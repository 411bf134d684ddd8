"""A steered vehicle with stiff springs on a wavy road, for methods made for such systems; not in the catalogue.

`rolling`, its wheels do not slip sideways: two constraints on velocities. `guided`, two constraints on positions hold
it to the circle on which it would roll. Springs and tyre have 109 and 935 rad/s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from dalembert.model.model import Model

if TYPE_CHECKING:
    from dalembert.motion.state import State

BASE, STEER = 2.5, 0.1  # wheelbase [m], angle of the front wheel [rad]
RADIUS = float(BASE / np.tan(STEER))  # of the circle that results [m]


def build(kind: str) -> Model:
    """The vehicle, `rolling` or `guided`."""
    model = Model(f"{kind} vehicle")
    x, y, theta, z, w = model.coordinates("x y theta z w")  # middle of the rear axle, heading; heights of body and axle
    vx, vy, turn, vz, vw = model.speeds("vx vy turn vz vw")
    along, across = sp.Matrix([sp.cos(theta), sp.sin(theta)]), sp.Matrix([-sp.sin(theta), sp.cos(theta)])
    rear = sp.Matrix([x, y])
    model.body("chassis", mass=1200.0, inertia=1500.0, position=list(rear + 1.2 * along), rotation=theta)
    road = 0.01 * sp.sin(x) * sp.cos(y / 2)
    springs = 2e7 * (z - w) ** 2 / 2 + 5e7 * (w - road) ** 2 / 2
    model.energy(kinetic=600 * vz**2 + 40 * vw**2, potential=springs)
    model.generalized_force({z: -2e4 * (vz - vw), w: -2e4 * (vw - vz)})
    front = sp.cos(STEER) * across - sp.sin(STEER) * along  # across the front wheel
    if kind == "rolling":
        model.constrain(across.dot(sp.Matrix([vx, vy])), name="rear_wheel")
        model.constrain(front.dot(sp.Matrix([vx, vy])) + BASE * turn * sp.cos(STEER), name="front_wheel")
    else:
        model.constrain(x**2 + (y - RADIUS) ** 2 - RADIUS**2, name="circle")
        model.constrain(x * along[0] + (y - RADIUS) * along[1], name="heading")
    corners = [
        rear + u * along + v * across for u, v in ((-0.8, -0.8), (3.3, -0.8), (3.3, 0.8), (-0.8, 0.8), (-0.8, -0.8))
    ]
    model.line([list(corner) for corner in corners], name="body")
    return model


def start(kind: str) -> State:
    """The vehicle at 10 m/s, its springs without load."""
    given = {"x": 0, "y": 0, "theta": 0, "z": 0, "w": 0, "vx": 10.0, "vz": 0, "vw": 0}
    return build(kind).compile().initial(given)
