"""Coupled Duffing oscillators that track a prescribed relative motion: example 3 of Kalaba and Udwadia.

    m1 x1'' + k1 d + c1 d' + e1 d^3 = r1,                                   d = x1 - x2                      (35a)
    m2 x2'' + k2 x2 + c2 x2' + e2 x2^3 - k1 d - c1 d' - e1 d^3 = r2                                          (35b)
    x1 - x2 = s(t) = A exp(-alpha t) sin(omega t)                           rheonomic, position level        (35c)

The reactions (r1, r2) = (la, -la) are the control forces that make the masses follow. They add up to nothing, so x2
alone obeys (m1 + m2) x2'' + c2 x2' + k2 x2 + e2 x2^3 = -m1 s'', against which the tests check it, and
la = m1 x1'' + k1 s + c1 s' + e1 s^3. At t = 0: x1 = x2 = 1, x2' = 2; x1' = 2 + A omega follows from (35c). The paper
shows alpha = 4 and alpha = 0.4 and tracks to about 1e-9 at a tolerance of 1e-10.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem


def build() -> Model:
    """Displacements x1, x2 with speeds v1, v2; e1, e2 are the cubic stiffnesses."""
    model = Model("Duffing oscillators")
    x1, x2 = model.coordinates("x1 x2")
    v1, v2 = model.speeds("v1 v2")
    m1, m2, k1, k2 = model.parameters(m1=2.0, m2=1.0, k1=10.0, k2=12.0)
    e1, e2, c1, c2 = model.parameters(e1=1.0, e2=2.0, c1=0.1, c2=0.15)
    A, alpha, omega = model.parameters(A=1.0, alpha=4.0, omega=float(2 * np.pi))
    first = model.particle("first", mass=m1, position=[x1, 0])
    second = model.particle("second", mass=m2, position=[x2, 0])
    coupling = k1 * (x1 - x2) + c1 * (v1 - v2) + e1 * (x1 - x2) ** 3
    model.generalized_force({x1: -coupling, x2: coupling - k2 * x2 - c2 * v2 - e2 * x2**3})
    model.constrain(x1 - x2 - A * sp.exp(-alpha * model.t) * sp.sin(omega * model.t), name="track")
    model.line([[-3, 0], second, first], name="springs")
    return model


PROBLEM = Problem(
    name="duffing_tracking",
    title="coupled Duffing oscillators held to a decaying relative oscillation",
    source="R. E. Kalaba, F. E. Udwadia, Equations of motion for nonholonomic, constrained dynamical systems via "
    "Gauss's principle, J. Appl. Mech. 60 (1993) 662-668, example 3",
    build=build,
    given={"x2": 1.0, "v2": 2.0},
    guess={"x1": 1.0},
    t_end=10.0,
    note="The reactions are control forces: what has to push the two masses so that they track.",
)
