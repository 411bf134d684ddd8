"""Particle on the parabola y = l0 - x^2/l0: example 2 of Bajodah, Hodges and Chen.

Gravity acts along +y, so the particle oscillates about x = 0, the lowest place of the track; it starts at rest at
x = l0, which is y = 0. Misprint: (128) must read u1 i - 2 x u1 j, as (129) has it.

Energy, (1 + 4 x^2/l0^2) x'^2 = (2 g/l0) (l0^2 - x^2), is solved by x = l0 cos(psi) with

    t = sqrt(5 l0/(2 g)) E(psi | 4/5),   psi' = sqrt(2 g/(l0 (5 - 4 sin^2 psi))),

where E is Legendre's incomplete integral of the second kind.
"""

from __future__ import annotations

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

LENGTH, GRAVITY = 1.0, 9.81


def build() -> Model:
    """Particle (x, y) with speeds (u1, u2) on its track."""
    model = Model("sliding particle")
    x, y = model.coordinates("x y")
    model.speeds("u1 u2")
    l0, m, g = model.parameters(l0=LENGTH, m=1.0, g=GRAVITY)
    model.particle("P", mass=m, position=[x, y])
    model.gravity([0, g])
    model.constrain(y + x**2 / l0 - l0, name="track")
    places = [l0 * k / 10 for k in range(-12, 13)]
    model.line([[place, l0 - place**2 / l0] for place in places], name="parabola")
    return model


def exact(t: np.ndarray) -> dict[str, np.ndarray]:
    """x, y, u1, u2 (nt,) at times (nt,)."""
    from scipy.special import ellipe, ellipeinc

    arc = np.asarray(t, dtype=float) / np.sqrt(5 * LENGTH / (2 * GRAVITY))
    psi = arc * (np.pi / 2) / ellipe(0.8)
    for _ in range(50):  # Newton: E' lies between sqrt(1/5) and 1, and the start is right at every quarter period
        psi = psi - (ellipeinc(psi, 0.8) - arc) / np.sqrt(1 - 0.8 * np.sin(psi) ** 2)
    x = LENGTH * np.cos(psi)
    rate = np.sqrt(2 * GRAVITY / (LENGTH * (5 - 4 * np.sin(psi) ** 2)))
    u1 = -LENGTH * np.sin(psi) * rate
    return {"x": x, "y": LENGTH - x**2 / LENGTH, "u1": u1, "u2": -2 * x * u1 / LENGTH}


PROBLEM = Problem(
    name="sliding_particle",
    title="particle sliding on a parabola",
    source="Bajodah, Hodges, Chen: nonminimal Kane's equations with nonlinear nonholonomic constraints, example 2",
    build=build,
    given={"x": LENGTH, "u1": 0.0},
    guess={},
    t_end=10.0,
    exact=exact,
    tolerance=1e-8,
    note="How far the particle leaves its track: this is where Baumgarte's gains are compared.",
)
