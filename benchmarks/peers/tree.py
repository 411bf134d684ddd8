"""The planar mechanisms as engines want them: bodies on revolute joints in a tree, and points that close the loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.peers.cases import Case
from benchmarks.peers.route import CannotStateError
from benchmarks.peers.statements import GROUND_LINK, LINKS, PARTICLES, UNIFORM, Bars, G

from dalembert.problems.andrews import DRIVE, GROUND, INERTIAS, LENGTHS, MASSES

WORLD = -1
Point = tuple[float, float]


@dataclass(frozen=True)
class Body:
    """A body that turns about `pivot`, a point of `parent`; its own frame has the pivot as origin."""

    parent: int
    pivot: Point
    mass: float
    centre: Point
    inertia: float


@dataclass(frozen=True)
class Closure:
    """A point of one body that is held at a point of another, or of the ground."""

    body: int
    point: Point
    other: int
    other_point: Point


@dataclass(frozen=True)
class Spring:
    """A spring from a point of a body to a point of the ground."""

    body: int
    point: Point
    ground: Point
    stiffness: float
    length: float


@dataclass(frozen=True)
class Tree:
    """Bodies in an order in which parents come first; `columns[k]` is the coordinate of the case that turns body k."""

    bodies: tuple[Body, ...]
    closures: tuple[Closure, ...]
    columns: tuple[int, ...]
    gravity: float = 0.0
    springs: tuple[Spring, ...] = ()
    torque: float = 0.0  # on the first body

    @property
    def massless(self) -> bool:
        """Whether a body has no mass, or none about its pivot."""
        return any(b.mass <= 0.0 for b in self.bodies)

    def absolute(self, turns: np.ndarray) -> np.ndarray:
        """Absolute angles from relative ones, both (nb,)."""
        angles = np.zeros(len(self.bodies))
        for k, body in enumerate(self.bodies):
            angles[k] = turns[k] + (0.0 if body.parent == WORLD else angles[body.parent])
        return angles

    def relative(self, angles: np.ndarray) -> np.ndarray:
        """Relative angles from absolute ones, both (nt, nb)."""
        turns = np.array(angles)
        for k, body in enumerate(self.bodies):
            if body.parent != WORLD:
                turns[:, k] -= angles[:, body.parent]
        return turns

    def pivots(self, turns: np.ndarray) -> np.ndarray:
        """Where the pivots are, (nb, 2)."""
        angles, at = self.absolute(turns), np.zeros((len(self.bodies), 2))
        for k, body in enumerate(self.bodies):
            at[k] = body.pivot
            if body.parent != WORLD:
                at[k] = at[body.parent] + turned(body.pivot, angles[body.parent])
        return at

    def to_case(self, turns: np.ndarray) -> np.ndarray:
        """Angles of the joints (nt, nb) in the order of the case's coordinates."""
        q = np.empty_like(turns)
        q[:, list(self.columns)] = turns
        return q

    def start(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        """Angles and rates of the joints at the start."""
        n, order = case.equations.nq, list(self.columns)
        return case.z0[:n][order], case.z0[n:][order]


def turned(point: Point, angle: float) -> np.ndarray:
    """A point of a body in the directions of the ground."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])


def tree_of(case: Case) -> Tree:
    """The mechanism of a case; refused if it is none of joints and loops."""
    if case.key == "appell_hamel":
        raise CannotStateError("no constraint that is nonlinear in the velocities")
    return {"four_bar": _four_bar(PARTICLES), "four_bar_uniform": _four_bar(UNIFORM), "andrews": _andrews()}[case.key]


def _four_bar(bars: Bars) -> Tree:
    pivots = [(0.0, 0.0), (LINKS[0], 0.0), (LINKS[1], 0.0)]
    bodies = tuple(
        Body(k - 1, pivots[k], mass, (centre, 0.0), inertia) for k, (mass, centre, inertia) in enumerate(bars)
    )
    return Tree(bodies, (Closure(2, (LINKS[2], 0.0), WORLD, (GROUND_LINK, 0.0)),), (0, 1, 2), gravity=G)


def _andrews() -> Tree:
    """Bodies 1, 2, 3, 5, 4, 7, 6 of the test set."""
    p, (m1, m2, m3, m4, m5, m6, m7), (i1, i2, i3, i4, i5, i6, i7) = (
        {**GROUND, **LENGTHS, **DRIVE}, MASSES.values(), INERTIAS.values(),
    )  # fmt: skip
    a, b, end = (p["xa"], p["ya"]), (p["xb"], p["yb"]), (-p["d"], 0.0)
    bodies = (
        Body(WORLD, (0.0, 0.0), m1, (p["ra"], 0.0), i1),
        Body(0, (p["rr"], 0.0), m2, (-p["da"], 0.0), i2),
        Body(WORLD, b, m3, (p["sb"], -p["sa"]), i3),
        Body(WORLD, a, m5, (p["ta"], p["tb"]), i5),
        Body(3, (p["zt"], 0.0), m4, (0.0, p["ea"] - p["e"]), i4),
        Body(WORLD, a, m7, (-p["ub"], -p["ua"]), i7),
        Body(5, (0.0, -p["u"]), m6, (p["zf"] - p["fa"], 0.0), i6),
    )
    closures = (
        Closure(1, end, 2, (0.0, -p["ss"])),
        Closure(1, end, 4, (0.0, -p["e"])),
        Closure(1, end, 6, (p["zf"], 0.0)),
    )
    spring = Spring(2, (p["sd"], -p["sc"]), (p["xc"], p["yc"]), p["c0"], p["l0"])
    return Tree(bodies, closures, (0, 1, 2, 4, 3, 6, 5), springs=(spring,), torque=p["mom"])
