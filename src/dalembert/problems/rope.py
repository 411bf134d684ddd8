"""A rope of n rods in space, slung between two points: absolute coordinates, a spherical joint at every end.

Uniform rods of mass m/n and length l = L/n. At rest they hang in a vertical plane: with H the horizontal tension and V
the vertical one at the left end of a rod, the moment about its centre vanishes if its slope is (V + m g/(2 n))/H, and V
rises by m g/n from rod to rod. By symmetry V = -m g/2 at the left support, so H alone is open; the span fixes it. For
n -> infinity this is the catenary, L = (2 H/w) sinh(w span/(2 H)) with w = m g/L, approached with 1/n^2.

The rope starts in that shape and swings about the line through its supports like a rigid body, which its joints allow.
It does not stay rigid. Every rod may spin about itself; nothing drives that.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

MASS, LENGTH, SPAN, GRAVITY, RATE = 1.0, 2.0, 1.2, 9.81, 2.0
RADIUS = 0.01  # of the rods, for their inertia


def rope(n: int) -> Problem:
    """The rope of `n` rods, hanging at rest in the plane y = 0 and set swinging about the line of its supports."""
    return Problem(
        name=f"rope_{n}",
        title=f"rope of {n} rods slung between two points, swinging",
        source="our own example; at rest it hangs as the discrete catenary that the module derives",
        build=partial(build, n),
        given={},
        guess=start(n, RATE),
        t_end=1.0,
        note="Three rows per joint and no loop but one; the supports feel the swing, the energy stays.",
    )


def build(n: int) -> Model:
    """Rods B0..B(n-1) with their x axes along the rope; joints J0..Jn, the first and the last on the ground."""
    model = Model(f"rope of {n} rods")
    g = model.parameters(g=GRAVITY)[0]
    model.gravity([0, 0, -g])
    m, l = MASS / n, LENGTH / n
    across = m * (l**2 / 12 + RADIUS**2 / 4)
    inertia = [[m * RADIUS**2 / 2, 0, 0], [0, across, 0], [0, 0, across]]
    end = model.marker(model.ground, [0, 0, 0])
    for k in range(n):
        rod = model.body(f"B{k}", mass=m, inertia=inertia)
        first, last = model.marker(rod, [-l / 2, 0, 0]), model.marker(rod, [l / 2, 0, 0])
        model.joints.spherical(f"J{k}", end, first)
        model.line([first, last], name=f"rod{k}")
        end = last
    model.joints.spherical(f"J{n}", end, model.marker(model.ground, [SPAN, 0, 0]))
    return model


def slopes(n: int) -> tuple[np.ndarray, float]:
    """The angles of the rods at rest above the horizontal (n,), and the horizontal tension H."""
    from scipy.optimize import brentq

    weight = MASS * GRAVITY / n
    rise = weight * (np.arange(n) + 0.5 - n / 2)  # vertical tension in the middle of each rod

    def excess(logarithm: float) -> float:
        return float(LENGTH / n * np.cos(np.arctan2(rise, np.exp(logarithm))).sum() - SPAN)

    H = float(np.exp(brentq(excess, -20.0, 20.0, xtol=1e-15, rtol=1e-14)))
    return np.arctan2(rise, H), H


def start(n: int, rate: float) -> dict[str, float]:
    """Positions at rest and the velocities of a rotation about the x axis, by name."""
    angle, _ = slopes(n)
    l, values = LENGTH / n, dict[str, float]()
    x, z = (np.concatenate([[0.0], np.cumsum(l * way)]) for way in (np.cos(angle), np.sin(angle)))
    for k, a in enumerate(angle.tolist()):
        name, low = f"B{k}", float(z[k] + z[k + 1]) / 2
        values |= {f"{name}_x": float(x[k] + x[k + 1]) / 2, f"{name}_y": 0.0, f"{name}_z": low}
        values |= {f"{name}_e0": np.cos(a / 2), f"{name}_e1": 0.0, f"{name}_e2": -np.sin(a / 2), f"{name}_e3": 0.0}
        # (rate, 0, 0) in the axes of a rod that is turned by -a about y
        values |= {f"{name}_vy": -rate * low, f"{name}_wx": rate * np.cos(a), f"{name}_wz": -rate * np.sin(a)}
    return values
