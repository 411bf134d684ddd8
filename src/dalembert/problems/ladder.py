"""A hanging ladder of n four-bars: each storey two equal cranks and a coupler, hinged below the coupler of the last.

All storeys are parallelograms, so couplers stay level and the ladder has n degrees of freedom, the angles a_k of the
cranks from the vertical. It moves as a multiple pendulum: with cranks of mass m and length L, couplers of mass M, and
below storey k the mass B_k = (n - 1 - k) (2 m + M),

    T = sum_k m (v_k . v_k + v_k . w_k + w_k . w_k) / 3 + M w_k . w_k / 2,   V = -g L sum_k (m + M + B_k) cos a_k

with v_k, w_k the velocities of the upper and lower hinges of storey k. Bodies have absolute coordinates and every hinge
two rows: 9 n coordinates, 8 n rows, n loops. A storey is singular where its cranks are level; this motion stays away
from that.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

LENGTH, WIDTH, CRANK, COUPLER, GRAVITY, ANGLE = 0.5, 0.8, 0.5, 1.0, 9.81, 0.4


def ladder(n: int) -> Problem:
    """The ladder of `n` four-bars, released with all cranks at one angle."""
    return Problem(
        name=f"ladder_{n}",
        title=f"hanging ladder of {n} four-bars",
        source="our own example; it moves as the multiple pendulum whose energies the module states",
        build=partial(build, n),
        given={},
        guess=start(n, ANGLE),
        t_end=2.0,
        note="As many loops as degrees of freedom; couplers stay level all the time.",
    )


def build(n: int) -> Model:
    """Bodies `left{k}`, `right{k}` (x along the crank, down) and `coupler{k}`; hinges `lt lb rt rb` of storey k."""
    model = Model(f"ladder of {n} four-bars")
    g = model.parameters(g=GRAVITY)[0]
    model.gravity([0, -g])
    above, half = model.ground, WIDTH / 2
    for k in range(n):
        coupler = model.body(f"coupler{k}", mass=COUPLER, inertia=COUPLER * WIDTH**2 / 12)
        for side, x in (("left", -half), ("right", half)):
            crank = model.body(f"{side}{k}", mass=CRANK, inertia=CRANK * LENGTH**2 / 12)
            top, bottom = model.marker(crank, [-LENGTH / 2, 0]), model.marker(crank, [LENGTH / 2, 0])
            model.joints.revolute(f"{side[0]}t{k}", model.marker(above, [x, 0]), top)
            model.joints.revolute(f"{side[0]}b{k}", bottom, model.marker(coupler, [x, 0]))
            model.line([top, bottom], name=f"{side}{k}")
        model.line([model.marker(coupler, [-half, 0]), model.marker(coupler, [half, 0])], name=f"coupler{k}")
        above = coupler
    return model


def start(n: int, angle: float) -> dict[str, float]:
    """The coordinates with all cranks at one angle from the vertical, by name."""
    values = dict[str, float]()
    way = LENGTH * np.array([np.sin(angle), -np.cos(angle)])
    for k in range(n):
        x, y = ((k + 0.5) * way).tolist()
        for side, shift in (("left", -WIDTH / 2), ("right", WIDTH / 2)):
            values |= {f"{side}{k}_x": x + shift, f"{side}{k}_y": y, f"{side}{k}_a": angle - np.pi / 2}
        values |= {f"coupler{k}_x": 2 * x - k * way[0], f"coupler{k}_y": 2 * y - k * way[1], f"coupler{k}_a": 0.0}
    return {name: float(value) for name, value in values.items()}
