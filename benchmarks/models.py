"""The mechanisms that are measured, with a state to start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sympy import Matrix, cos, sin

import dalembert as da


@dataclass(frozen=True)
class Problem:
    """A compiled system and a consistent state."""

    system: da.System
    state: da.State


def appell_hamel() -> Problem:
    """Hamel's wheel with a falling weight: 5 coordinates, a position and two velocity constraints, one nonlinear."""
    model = da.Model("Appell-Hamel")
    th, ph, x, y, z = model.coordinates("theta phi x y z")
    u1, u2, u3, u4, u5 = model.speeds("u1 u2 u3 u4 u5")
    a, b, rho, m, M, I, g, z0 = model.parameters(a=1, b=0.5, rho=5, m=1, M=5, I=1, g=9.81, z0=30)
    model.particle("P", mass=m, position=[x, y, z])
    rotation = Matrix(
        [
            [cos(ph) * cos(th), -sin(th), sin(ph) * cos(th)],
            [cos(ph) * sin(th), cos(th), sin(ph) * sin(th)],
            [-sin(ph), 0, cos(ph)],
        ]
    )
    model.body("W", mass=M, inertia=[I, I, I], position=[x - rho * cos(th), y - rho * sin(th), a], rotation=rotation)
    model.gravity([0, 0, -g])
    model.constrain((u3 + rho * u1 * sin(th)) ** 2 + (u4 - rho * u1 * cos(th)) ** 2 - a**2 * u2**2, name="rolling")
    model.constrain(u3 * sin(th) - u4 * cos(th) + rho * u1, name="skid")
    model.constrain(z + b * ph - z0, name="thread")
    system = model.compile()
    given = {th: 0, ph: 0, x: 0, y: 0, z: 30, u1: 1, u2: 1, u3: 1, u4: 5, u5: -0.5}
    return Problem(system, system.initial(given))


def four_bar_model() -> tuple[da.Model, dict, dict]:
    """Planar four-bar linkage of two point masses in relative angles; the state it falls from, given and guessed."""
    model = da.Model("four-bar")
    q1, q2, q3 = model.coordinates("q1 q2 q3")
    la, lb, lc, ln, m, g = model.parameters(la=0.8, lb=2, lc=1, ln=2, m=1, g=9.81)
    p2 = [la * cos(q1), la * sin(q1)]
    p3 = [p2[0] + lb * cos(q1 + q2), p2[1] + lb * sin(q1 + q2)]
    p4 = [p3[0] + lc * cos(q1 + q2 + q3), p3[1] + lc * sin(q1 + q2 + q3)]
    model.particle("P2", mass=m, position=p2)
    model.particle("P3", mass=m, position=p3)
    model.gravity([0, -g])
    model.constrain([p4[0] - ln, p4[1]], name="loop")
    return model, {q1: np.deg2rad(10)}, {q2: np.deg2rad(10), q3: np.deg2rad(-150)}


def four_bar() -> Problem:
    """The linkage at rest."""
    model, given, guess = four_bar_model()
    system = model.compile()
    return Problem(system, system.initial(given, guess=guess))


def pendulum_model(n: int) -> da.Model:
    """A chain of n point masses on massless links, in absolute angles from the vertical."""
    model = da.Model(f"{n}-link pendulum")
    angles = model.coordinates(" ".join(f"q{k}" for k in range(n)))
    l, m, g = model.parameters(l=1.0, m=1.0, g=9.81)
    x = y = 0
    for k, angle in enumerate(angles):
        x, y = x + l * sin(angle), y - l * cos(angle)
        model.particle(f"P{k}", mass=m, position=[x, y])
    model.gravity([0, -g])
    return model


def pendulum(n: int) -> Problem:
    """The chain, stretched out along a slightly curved line."""
    system = pendulum_model(n).compile()
    return Problem(system, system.initial({f"q{k}": 1.0 + 0.02 * k for k in range(n)}))


def pendulum_on_cart_model(n: int) -> da.Model:
    """SymPy's `n_link_pendulum_on_cart(n, cart_force=False)`: every length and mass is a parameter of its own."""
    model = da.Model(f"{n}-link pendulum on a cart")
    x, *angles = model.coordinates(" ".join(f"q{k}" for k in range(n + 1)))
    model.speeds(" ".join(f"u{k}" for k in range(n + 1)))
    masses = model.parameters(**{f"m{k}": 1.0 for k in range(n + 1)})
    lengths = model.parameters(**{f"l{k}": 1.0 for k in range(n)})
    (g,) = model.parameters(g=9.81)
    y = 0
    model.particle("cart", mass=masses[0], position=[x, y])
    for k, (angle, m, l) in enumerate(zip(angles, masses[1:], lengths, strict=True)):
        x, y = x - l * sin(angle), y + l * cos(angle)
        model.particle(f"P{k}", mass=m, position=[x, y])
    model.gravity([0, -g])
    return model
