"""Knife edge (a skate) on an inclined plane: Bloch, section 1.6.

A skate of mass m and moment of inertia J about its contact point, which is its mass centre, on a plane inclined by
alpha; x points down the slope, phi is the heading. It cannot move sideways: x' sin(phi) - y' cos(phi) = 0. Started at
rest but turning with Omega, it does not slide down: with A = g sin(alpha) it draws cycloids across the slope,

    x = A/(2 Omega^2) sin^2(Omega t),   y = A/(2 Omega^2) (Omega t - sin(2 Omega t)/2),   phi = Omega t,

and the multiplier of M u' = f + A^T la is la = -2 m A sin(Omega t).
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

MASS, GRAVITY = 1.25, 9.81
OMEGA, SLOPE = np.pi / 3, np.pi / 4


def build() -> Model:
    """Contact point (x, y) in the plane and heading phi, with speeds vx, vy, w."""
    model = Model("knife edge")
    x, y, phi = model.coordinates("x y phi")
    vx, vy, _ = model.speeds("vx vy w")
    m, J, g, alpha = model.parameters(m=MASS, J=0.13, g=GRAVITY, alpha=SLOPE)
    skate = model.body("skate", mass=m, inertia=J, position=[x, y], rotation=phi)
    model.gravity([g * sp.sin(alpha), 0])
    model.constrain(vx * sp.sin(phi) - vy * sp.cos(phi), name="edge")
    half = [0.4 * sp.cos(phi), 0.4 * sp.sin(phi)]
    model.line([[x - half[0], y - half[1]], skate, [x + half[0], y + half[1]]], name="blade")
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """x, y, phi, their rates, and the multiplier of `edge`, (nt,) each, at times (nt,)."""
    turn, pull = OMEGA * np.asarray(t, dtype=float), GRAVITY * np.sin(SLOPE)
    return {
        "x": pull / (2 * OMEGA**2) * np.sin(turn) ** 2,
        "y": pull / (2 * OMEGA**2) * (turn - np.sin(2 * turn) / 2),
        "phi": turn,
        "vx": pull / OMEGA * np.sin(turn) * np.cos(turn),
        "vy": pull / OMEGA * np.sin(turn) ** 2,
        "w": np.full_like(turn, OMEGA),
        "edge": -2 * MASS * pull * np.sin(turn),
    }


PROBLEM = Problem(
    name="knife_edge",
    title="knife edge on an inclined plane",
    source="A. M. Bloch, Nonholonomic Mechanics and Control, 2nd ed., Springer 2015, section 1.6",
    build=build,
    given={"x": 0.0, "y": 0.0, "phi": 0.0, "vx": 0.0, "w": float(OMEGA)},
    guess={},
    t_end=6.0,
    exact=exact,
    tolerance=1e-8,
    note="The skate does not slide down the slope: it moves across it, in cycloids.",
)
