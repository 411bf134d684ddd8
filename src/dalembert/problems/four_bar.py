"""Planar four-bar linkage of Moore's lecture "Equations of Motion with Holonomic Constraints".

Three massless links of lengths la, lb, lc in a chain from the origin to the ground point (ln, 0); particles of mass m
at the two moving joints; gravity along -y. q1 is the angle of link a against the ground, q2 of b against a, q3 of c
against b, so with absolute angles q1, q1+q2, q1+q2+q3 the loop closes if

    la cos q1 + lb cos(q1+q2) + lc cos(q1+q2+q3) = ln,   la sin q1 + lb sin(q1+q2) + lc sin(q1+q2+q3) = 0.

It starts at rest with q1 = 10 deg; q2 and q3 follow near 10 and -150 deg. The lecture publishes figures only; digits at
t = 1 s are in the tests.
"""

from __future__ import annotations

import numpy as np
from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.problems.problem import Problem


def build() -> Model:
    """Relative angles q1, q2, q3 with speeds u1, u2, u3; two loop constraints."""
    model = Model("planar four-bar")
    q1, q2, q3 = model.coordinates("q1 q2 q3")
    model.speeds("u1 u2 u3")
    la, lb, lc, ln, m, g = model.parameters(la=0.8, lb=2.0, lc=1.0, ln=2.0, m=1.0, g=9.81)
    a, b, c = q1, q1 + q2, q1 + q2 + q3
    x2, y2 = la * cos(a), la * sin(a)
    x3, y3 = x2 + lb * cos(b), y2 + lb * sin(b)
    x4, y4 = x3 + lc * cos(c), y3 + lc * sin(c)
    P2 = model.particle("P2", mass=m, position=[x2, y2])
    P3 = model.particle("P3", mass=m, position=[x3, y3])
    model.gravity([0, -g])
    model.constrain(x4 - ln, name="loop_x")
    model.constrain(y4, name="loop_y")
    model.line([[0, 0], P2, P3, [x4, y4]], name="links")
    model.line([[0, 0], [ln, 0]], name="ground")
    return model


PROBLEM = Problem(
    name="four_bar",
    title="planar four-bar linkage with two particles",
    source='J. K. Moore, "Learn Multibody Dynamics", Equations of Motion with Holonomic Constraints',
    build=build,
    given={"q1": float(np.deg2rad(10.0)), "u1": 0.0},
    guess={"q2": float(np.deg2rad(10.0)), "q3": float(np.deg2rad(-150.0))},
    t_end=30.0,
    note="Drift control keeps the loop closed to 1e-12 m; with drift=NoCorrection() it opens by 3e-9 m in 30 s.",
)
