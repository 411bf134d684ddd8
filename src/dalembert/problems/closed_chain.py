"""A closed chain of n uniform links hung between two ground pins, swinging under gravity.

Link k has length l, mass m and absolute angle `ak`; the chain starts at the origin and ends at the pin (span n l, 0).
Two constraints close it, so n - 2 degrees of freedom stay. It is released at rest from an uneven bow above the pins and
tumbles; for n >= 5 the motion is chaotic, and what can be asked for is a closed loop and the energy kept.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sympy import cos, sin

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

SPAN = 0.6


def closed_chain(n: int) -> Problem:
    """The chain of `n` links."""
    angles = 1.5 - 2.4 * np.arange(n) / (n - 1)
    return Problem(
        name=f"closed_chain_{n}",
        title=f"closed chain of {n} links under gravity",
        source='J. K. Moore, "Learn Multibody Dynamics", four-bar linkage; chains of n links as its readers tried them',
        build=partial(build, n),
        given={f"w{k}": 0.0 for k in range(n)},
        guess={f"a{k}": float(a) for k, a in enumerate(angles)},
        t_end=30.0,
        note="Chaotic from five links on: compare energies and loop closure, not positions.",
    )


def build(n: int) -> Model:
    """Absolute angles a0, a1, ... with speeds w0, w1, ...; the loop closed in x and y."""
    model = Model(f"closed chain of {n} links")
    a = model.coordinates(" ".join(f"a{k}" for k in range(n)))
    model.speeds(" ".join(f"w{k}" for k in range(n)))
    m, l, g, span = model.parameters(m=1.0, l=1.0, g=9.81, span=SPAN)
    x, y = 0, 0
    joints = [[x, y]]
    for k in range(n):
        centre = [x + l * cos(a[k]) / 2, y + l * sin(a[k]) / 2]
        model.body(f"link{k}", mass=m, inertia=m * l**2 / 12, position=centre, rotation=a[k])
        x, y = x + l * cos(a[k]), y + l * sin(a[k])
        joints.append([x, y])
    model.gravity([0, -g])
    model.constrain(x - span * n * l, name="loop_x")
    model.constrain(y, name="loop_y")
    model.line(joints, name="chain")
    return model


PROBLEM = closed_chain(5)
