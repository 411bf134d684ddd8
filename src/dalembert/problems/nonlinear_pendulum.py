"""Pendulum of varying length: example 2 of Kalaba and Udwadia.

A particle of unit mass under gravity g = 4 pi along +y (downwards), on the curve

    x^2 + y^2 = L^2 (1 - mu sin(x^2)),   L = 20,

starts at (0, L) with x' = a. For mu = 0 it is the plain pendulum, theta'' = -(g/L) sin(theta), which for a = 20 swings
to arccos(1 - a^2/(2 g L)) = 78.2 deg (the paper: about 80). Figures 2 and 3 have mu = -0.1 and a = 0.5, 1, 2, 4: the
lowest place of the curve is then not x = 0 but near x^2 = pi/2, and the particle starts on a hill between two valleys.
Misprints: the equations of examples 2 and 3 carry numbers (33)-(35) after (36)-(38); m y'' = g must read m y'' = m g.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

LENGTH, GRAVITY = 20.0, float(4 * np.pi)


def build() -> Model:
    """Particle (x, y) with speeds (vx, vy); y points down."""
    model = Model("nonlinear pendulum")
    x, y = model.coordinates("x y")
    model.speeds("vx vy")
    m, L, g, mu = model.parameters(m=1.0, L=LENGTH, g=GRAVITY, mu=-0.1)
    bob = model.particle("bob", mass=m, position=[x, y])
    model.gravity([0, g])
    model.constrain(x**2 + y**2 - L**2 * (1 - mu * sp.sin(x**2)), name="length")
    model.line([[0, 0], bob], name="link")
    places = [sp.Rational(k, 8) for k in range(-20, 21)]
    model.line([[s, sp.sqrt(L**2 * (1 - mu * sp.sin(s**2)) - s**2)] for s in places], name="curve")
    return model


PROBLEM = Problem(
    name="nonlinear_pendulum",
    title="pendulum whose length varies with its position",
    source="R. E. Kalaba, F. E. Udwadia, Equations of motion for nonholonomic, constrained dynamical systems via "
    "Gauss's principle, J. Appl. Mech. 60 (1993) 662-668, example 2",
    build=build,
    given={"x": 0.0, "vx": 4.0},
    guess={"y": LENGTH},
    t_end=10.0,
    note="Started on the hill between two valleys, it crosses from one to the other and back.",
)
