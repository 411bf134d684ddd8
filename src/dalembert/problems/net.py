"""A net of n x m knots joined by rods, pinned along one edge: a grid of loops in space.

Knots P(i, j), i < n across and j < m along, of equal mass; massless rods of length l join neighbours, the row j = 0 is
pinned. The net lies flat at first. Velocities normal to it stretch no rod, so it can start with any of them.

If all knots of a row start with one velocity, the columns move alike: rods across carry nothing, and each column is a
chain of m - 1 particles. Struck unevenly, the net folds in space. Knots have three coordinates and about two rods each,
and the elimination fills in as on any grid in the plane.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

SPACING, MASS, GRAVITY, STRIKE = 0.1, 0.01, 9.81, 0.5


def net(n: int, m: int) -> Problem:
    """The net of `n` knots across and `m` along, flat, struck so that one side goes up and the other down."""
    return Problem(
        name=f"net_{n}_{m}",
        title=f"net of {n} x {m} knots and {rods(n, m)} rods, pinned along an edge",
        source="our own example; struck evenly, its columns move as chains of particles",
        build=partial(build, n, m),
        given={},
        guess=start(n, m, STRIKE),
        t_end=0.5,
        note="A grid of loops: every inner mesh closes, so rods are about twice as many as knots.",
    )


def rods(n: int, m: int) -> int:
    """Number of rods of the net. No rod joins two pinned knots."""
    return n * (m - 1) + (n - 1) * (m - 1)


def build(n: int, m: int) -> Model:
    """Knots `x{i}_{j}` .. `z{i}_{j}` for j > 0; rods `along{i}_{j}` from (i, j) and `across{i}_{j}` to (i + 1, j)."""
    model = Model(f"net of {n} x {m} knots")
    g, l, mass = model.parameters(g=GRAVITY, l=SPACING, m=MASS)
    model.gravity([0, 0, -g])
    knots: dict[tuple[int, int], Any] = {(i, 0): (i * l, 0, 0) for i in range(n)}
    for j in range(1, m):
        for i in range(n):
            knots[i, j] = model.coordinates(f"x{i}_{j} y{i}_{j} z{i}_{j}")
            model.particle(f"P{i}_{j}", mass=mass, position=list(knots[i, j]))
    for j in range(m):
        for i in range(n):
            if j + 1 < m:
                _rod(model, f"along{i}_{j}", knots[i, j], knots[i, j + 1], l)
            if j and i + 1 < n:
                _rod(model, f"across{i}_{j}", knots[i, j], knots[i + 1, j], l)
    return model


def _rod(model: Model, name: str, start: Any, end: Any, length: Any) -> None:
    gaps = [b - a for a, b in zip(start, end, strict=True)]
    model.constrain(sum(gap**2 for gap in gaps) - length**2, name=name)
    model.line([list(start), list(end)], name=name)


def start(n: int, m: int, strike: float) -> dict[str, float]:
    """The flat net by name, with normal velocities that rise along it and change sign across it, up to `strike`."""
    values = dict[str, float]()
    for j in range(1, m):
        for i in range(n):
            side = 1.0 - 2.0 * i / (n - 1) if n > 1 else 0.0
            values |= {f"x{i}_{j}": SPACING * i, f"y{i}_{j}": SPACING * j, f"z{i}_{j}": 0.0}
            values[f"z{i}_{j}'"] = strike * side * j / (m - 1)
    return values
