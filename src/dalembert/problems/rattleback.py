"""Rattleback (wobblestone, celt): an ellipsoid that rolls and reverses its spin, after Kane and Levinson.

A stone with the shape of an ellipsoid of half axes a, b, c rolls on a table. Its mass centre is h below the centre of
the ellipsoid, and its principal axes of inertia are turned against those of the ellipsoid by the product of inertia D:
spun clockwise it begins to rattle, stops, and turns back anticlockwise. Nothing is dissipated.

There is no closed form. In body axes, with the up-vector n and the angular velocity w, r from the mass centre to the
contact and v = r x w, the motion is that of six equations without constraints,

    n' = n x w,   I w' + w x I w = r x F,   F = m (v' + w x v + g n),   r = (0, 0, h) - (a^2 nx, b^2 ny, c^2 nz) / s,
    s^2 = a^2 nx^2 + b^2 ny^2 + c^2 nz^2,

which `tests/model/test_sliding_contacts.py` integrates at a tolerance of 1e-12: these are the reference values.
"""

from __future__ import annotations

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

HALF_AXES, CENTRE_DEPTH = (0.2, 0.03, 0.02), 0.01  # m
INERTIA = ((2e-4, -2e-5, 0.0), (-2e-5, 1.6e-3, 0.0), (0.0, 0.0, 1.7e-3))  # kg m^2, in the axes of the ellipsoid
LEAN, SPIN = float(np.deg2rad(0.5)), -5.0  # rad, rad/s
REFERENCE = {
    6.0: {"stone_wx": -6.468248021, "stone_wy": 0.04330937384, "stone_wz": 2.858075258},
    10.0: {"stone_wx": -0.1749017121, "stone_wy": -0.06323846221, "stone_wz": 4.997129372},
}


def build() -> Model:
    """The body `stone` in absolute coordinates, z up, on the contact `table`."""
    model = Model("rattleback")
    a, b, c, h, m, g = model.parameters(a=HALF_AXES[0], b=HALF_AXES[1], c=HALF_AXES[2], h=CENTRE_DEPTH, m=1.0, g=9.81)
    stone = model.body("stone", mass=m, inertia=[list(row) for row in INERTIA])
    model.contacts.ellipsoid("table", model.marker(stone, [0, 0, h]), half_axes=[a, b, c])
    model.gravity([0, 0, -g])
    return model


PROBLEM = Problem(
    name="rattleback",
    title="rattleback that reverses its spin",
    source="T. R. Kane, D. A. Levinson, Realistic mathematical modeling of the rattleback, Int. J. Non-Linear Mech. 17 "
    "(1982) 175-186: data without air resistance; values computed",
    build=build,
    given={
        **dict.fromkeys(("stone_x", "stone_y", "stone_wx", "stone_wy", "stone_e2", "stone_e3"), 0.0),
        "stone_e0": float(np.cos(LEAN / 2)),
        "stone_e1": float(np.sin(LEAN / 2)),
        "stone_wz": SPIN,
    },
    guess={},
    t_end=10.0,
    reference=REFERENCE,
    tolerance=1e-6,
    note="The spin of -5 rad/s is turned into rattling and comes back as +5 rad/s.",
)
