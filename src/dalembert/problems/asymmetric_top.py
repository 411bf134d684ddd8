"""Torque-free asymmetric top, stated with a unit quaternion.

A rigid body with principal moments A < B < C turns freely about its mass centre. Started with (p, 0, r) in body axes,
C r^2 (C - B) > A p^2 (B - A), it follows Euler's solution (Landau and Lifshitz, Mechanics, section 37)

    wx = p cn(k t | m),   wy = p sqrt(A (C - A)/(B (C - B))) sn(k t | m),   wz = r dn(k t | m),
    k^2 = r^2 (C - B) (C - A)/(A B),   m = A p^2 (B - A)/(C r^2 (C - B)).

The component of the angular velocity along the angular momentum L is the constant 2 T/L: it defines a turn. Four
coordinates and three speeds; the norm of the quaternion is kept as an invariant. Energy and the inertial vector L are
conserved.
"""

from __future__ import annotations

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

A, B, C = 1.0, 2.0, 3.0
P, R = 2.0, 2.0
TURN = 2 * np.pi * np.hypot(A * P, C * R) / (A * P**2 + C * R**2)


def build() -> Model:
    """Quaternion e0..e3 with speeds wx, wy, wz: the angular velocity in body axes."""
    model = Model("asymmetric top")
    attitude = model.quaternion("e", speeds="wx wy wz")
    a, b, c = model.parameters(A=A, B=B, C=C)
    model.body("top", mass=1.0, inertia=[a, b, c], position=[0, 0, 0], rotation=attitude)
    for name, axis, half in (("long", 0, 1.2), ("middle", 1, 0.8), ("short", 2, 0.4)):
        tip = half * attitude.matrix[:, axis]
        model.line([list(-tip), list(tip)], name=name)
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """wx, wy, wz (nt,) at times (nt,)."""
    from scipy.special import ellipj

    rate = R * np.sqrt((C - B) * (C - A) / (A * B))
    sn, cn, dn, _ = ellipj(rate * np.asarray(t, dtype=float), A * P**2 * (B - A) / (C * R**2 * (C - B)))
    return {"wx": P * cn, "wy": P * np.sqrt(A * (C - A) / (B * (C - B))) * sn, "wz": R * dn}


PROBLEM = Problem(
    name="asymmetric_top",
    title="torque-free asymmetric top over 100 turns",
    source="L. D. Landau, E. M. Lifshitz, Mechanics, 3rd ed., section 37",
    build=build,
    given={"wx": P, "wy": 0.0, "wz": R},
    guess={},
    t_end=float(100 * TURN),
    exact=exact,
    tolerance=1e-6,
    note="Energy and the angular momentum vector in space are kept while the body tumbles.",
)
