"""A cantilever of n ANCF cable elements, struck in its first mode: a large sparse mass matrix and three rows.

By Euler and Bernoulli the modes of a cantilever are w(s) = cosh bs - cos bs - k (sinh bs - sin bs) with
cos(b) cosh(b) = -1 for length 1, and their frequencies b^2 sqrt(EI/(rho L^4)); the first b is 1.8751. The beam starts
straight, with the velocities of the first mode. Small swings stay in it: the end moves as sin(w t)/w of its speed, and
what the elements change falls with the fourth power of their size.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.model.beams import ROOTS
from dalembert.model.model import Model
from dalembert.problems.problem import Problem

LENGTH, DENSITY, AXIAL, BENDING = 1.0, 1.0, 1e3, 1.0
STRIKE = 1e-3  # speed of the end; the swing is as small as that


def beam(n: int) -> Problem:
    """The cantilever of `n` elements, its end struck across."""
    return Problem(
        name=f"beam_{n}",
        title=f"cantilever of {n} cable elements swinging in its first mode",
        source="Euler-Bernoulli beam; elements: J. Gerstmayr, H. Irschik, J. Sound Vib. 318 (2008) 461-487",
        build=partial(build, n),
        given={},
        guess=start(n),
        t_end=2.0,
        note="The fastest vibration grows with the square of the number of elements, and explicit steps get as short.",
    )


def build(n: int) -> Model:
    """The cable `beam` along x, its start clamped."""
    model = Model(f"beam of {n} elements")
    beam = model.beams.cable(
        "beam", start=[0, 0], end=[LENGTH, 0], elements=n, density=DENSITY, axial_stiffness=AXIAL,
        bending_stiffness=BENDING,
    )  # fmt: skip
    model.joints.fixed("clamp", model.ground, beam.start)
    return model


def frequency() -> float:
    """The first frequency of the cantilever, in rad/s."""
    return float(ROOTS[0] ** 2 / LENGTH**2 * np.sqrt(BENDING / DENSITY))


def start(n: int) -> dict[str, float]:
    """The velocities of the first mode by name: across and of the slope at each node."""
    b = ROOTS[0]
    k = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    s = b * np.arange(n + 1) / n
    shape = np.cosh(s) - np.cos(s) - k * (np.sinh(s) - np.sin(s))
    slope = b / LENGTH * (np.sinh(s) + np.sin(s) - k * (np.cosh(s) - np.cos(s)))
    values = dict[str, float]()
    for node in range(n + 1):
        values |= {f"beam_y{node}'": STRIKE * float(shape[node] / shape[-1])}
        values |= {f"beam_sy{node}'": STRIKE * float(slope[node] / shape[-1])}
    return values
