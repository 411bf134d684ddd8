"""Spatial four-bar mechanism: the first example of Dinh Van Phong, after Haug.

Bar 1 (mass m1, 2 units long) turns by q1 in the x-y plane about its end at the origin. Bar 2 (m2, 2 units) is hinged to
the middle of bar 1, 1 unit out, and swings by q2 in the plane normal to bar 1; q2 = 0 hangs down, gravity acts along
-z. With e = (cos q1, sin q1, 0) and n = (-sin q1, cos q1, 0) its end is e + 2 (sin q2 n - cos q2 k), which a massless
rod of unit length ties to the point (0, 2, 0):

    8 - 8 cos q1 sin q2 - 4 sin q1 = 0                                                                       (3.1)
    M = [4 m1/3 + m2 (1 + 4/3 sin^2 q2),  m2 cos q2;   m2 cos q2,  4 m2/3]                                   (3.3)
    f = [m2 sin q2 (q2'^2 - 8/3 q1' q2' cos q2);   -m2 g sin q2 + 4/3 m2 q1'^2 sin q2 cos q2]

The rod keeps q1 within 0 .. 2 arctan(1/2) and q2 at 60 deg or more; the mechanism is lowest at q1 = 30, q2 = 60 deg.
Misprints: the second entry of f has q1' for q1'^2; (3.3) writes M q'' + G^T la = f, while (2.40) and this library have
M q'' = f + G^T la, so la changes its sign. The paper gives no masses: m1 = m2 = 1.
"""

from __future__ import annotations

import sympy as sp
from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.problems.problem import Problem


def build() -> Model:
    """Angles q1, q2 with speeds u1, u2; the rod as the square of its length minus one."""
    model = Model("spatial four-bar")
    q1, q2 = model.coordinates("q1 q2")
    model.speeds("u1 u2")
    m1, m2, g = model.parameters(m1=1.0, m2=1.0, g=9.81)
    middle = sp.Matrix([cos(q1), sin(q1), 0])
    turn = sp.rot_ccw_axis3(q1) * sp.rot_ccw_axis1(q2)
    down = turn * sp.Matrix([0, 0, -1])  # along bar 2, away from its hinge
    model.body("bar1", mass=m1, inertia=m1 / 3, position=list(middle), rotation=q1)
    model.body("bar2", mass=m2, inertia=[m2 / 3, m2 / 3, 0], position=list(middle + down), rotation=turn)
    model.gravity([0, 0, -g])
    end, anchor = middle + 2 * down, sp.Matrix([0, 2, 0])
    model.constrain(sp.trigsimp((end - anchor).dot(end - anchor) - 1), name="rod")
    model.line([[0, 0, 0], list(2 * middle)], name="bar 1")
    model.line([list(middle), list(end)], name="bar 2")
    model.line([list(end), list(anchor)], name="rod")
    return model


PROBLEM = Problem(
    name="spatial_four_bar",
    title="spatial four-bar mechanism in two dependent angles",
    source="Dinh Van Phong, Numerical solution for consistent initial conditions of constrained mechanical systems, "
    "Vietnam J. Mech., section 3.1; E. J. Haug, Intermediate Dynamics, Prentice Hall 1992",
    build=build,
    given={"q1": 0.3, "u1": 1.0},
    guess={"q2": 1.0},
    t_end=10.0,
    note="One angle and its rate are given; position, velocity and acceleration analysis find the rest.",
)
