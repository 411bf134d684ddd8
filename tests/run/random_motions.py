"""Random planar trees of links, with loops, knife edges, drives and redundant rows: stated once as data.

`system_of` hands a tree to the library, `reference` integrates it by hand-written NumPy: partial velocities of the
particles, M and f from them, A u' = b by least squares, SciPy's DOP853. The two share nothing but the data.
"""

from dataclasses import dataclass, field
from itertools import count

import numpy as np
from scipy.integrate import solve_ivp
from sympy import cos, diff, sin
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da

G = 9.81
REFERENCE_EVALUATIONS = 20_000  # about 2 s; references that agree with each other take up to 2,400


class SpentError(Exception):
    """The reference takes too many evaluations to be one."""


@dataclass
class Tree:
    """Link k hangs at the tip of link parent[k] (-1: the origin) at the absolute angle q[k]; its mass is at its tip."""

    parent: list[int]
    length: np.ndarray
    mass: np.ndarray
    loops: list[int] = field(default_factory=list)  # links whose tip is held where it starts
    edges: list[int] = field(default_factory=list)  # links whose tip moves along the link only
    drives: dict[int, tuple[float, float]] = field(default_factory=dict)  # angle = start + w t + c sin t
    copied: tuple[float, float] | None = None  # a further row, this combination of the first two
    relative: bool = False  # speeds are relative to the parent
    damping: float = 0.0
    spring: float = 0.0  # of the tip of the last link to the origin
    q0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    v0: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def n(self) -> int:
        return len(self.parent)

    def path(self, k):
        """The links from the origin to the tip of link k."""
        found = []
        while k >= 0:
            found.append(k)
            k = self.parent[k]
        return found[::-1]


def random_tree(seed):
    """A tree with a start; None if it cannot move or its rows are nearly dependent."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    parent = [int(rng.integers(-1, k)) if k else -1 for k in range(n)]
    tree = Tree(parent, rng.uniform(0.3, 1.5, n), rng.uniform(0.2, 2.0, n))
    tree.relative, tree.damping = bool(rng.random() < 0.4), float(rng.choice([0.0, 0.3]))
    tree.spring = float(rng.choice([0.0, 20.0]))
    far = [k for k in range(n) if len(tree.path(k)) >= 2]
    kind = rng.random()
    if kind < 0.45 and n >= 3 and far:
        tree.loops = [int(rng.choice(far))]
    if rng.random() < 0.35 and far and n >= 3:
        tree.edges = [int(rng.choice(far))]
    if rng.random() < 0.3:
        tree.drives = {int(rng.integers(n)): (float(rng.uniform(-2, 2)), float(rng.uniform(-1, 1)))}
    tree.q0 = rng.uniform(-np.pi, np.pi, n)
    if len(rows(tree, 0.0, tree.q0, np.zeros(n))[0]) >= 2 and rng.random() < 0.5:
        tree.copied = tuple(rng.uniform(0.5, 2.0, 2))
    A, _, speeds = rows(tree, 0.0, tree.q0, np.zeros(n))
    values = np.linalg.svd(A / np.linalg.norm(A, axis=1, keepdims=True), compute_uv=False) if len(A) else np.ones(1)
    rank = int((values > 1e-9).sum()) if len(A) else 0
    if rank >= n or values[max(rank - 1, 0)] < 0.05:
        return None
    guess = rng.normal(size=n)
    tree.v0 = guess - np.linalg.pinv(A, 1e-9) @ (A @ guess - speeds) if len(A) else guess
    if len(A) and np.abs(A @ tree.v0 - speeds).max() > 1e-9:  # a drive that the loop does not allow
        return None
    return tree


def tips(tree, q, v):
    """Positions (n, 2), partial velocities (n, 2, n) and accelerations for q'' = 0 (n, 2) of the tips."""
    place, J, bias = np.zeros((tree.n, 2)), np.zeros((tree.n, 2, tree.n)), np.zeros((tree.n, 2))
    for k in range(tree.n):
        for j in tree.path(k):
            along = tree.length[j] * np.array([np.cos(q[j]), np.sin(q[j])])
            place[k] += along
            J[k, :, j] += [-along[1], along[0]]
            bias[k] -= along * v[j] ** 2
    return place, J, bias


def rows(tree, t, q, v):
    """A (m, n) and b (m,) of A q'' = b, and what A q' is (m,)."""
    _, J, bias = tips(tree, q, v)
    A, b, speed = [], [], []
    for k in tree.loops:
        A += list(J[k])
        b += list(-bias[k])
        speed += [0.0, 0.0]
    for k, (w, c) in tree.drives.items():
        A.append(np.eye(tree.n)[k])
        b.append(-c * np.sin(t))
        speed.append(w + c * np.cos(t))
    for k in tree.edges:
        normal = np.array([-np.sin(q[k]), np.cos(q[k])])
        turning = -v[k] * np.array([np.cos(q[k]), np.sin(q[k])])
        A.append(normal @ J[k])
        b.append(-normal @ bias[k] - turning @ (J[k] @ v))
        speed.append(0.0)
    if tree.copied is not None:
        for column in (A, b, speed):
            column.append(tree.copied[0] * column[0] + tree.copied[1] * column[1])
    return np.array(A).reshape(-1, tree.n), np.array(b), np.array(speed)


def acceleration(tree, t, q, v):
    """q'' by the equations of motion with least multipliers."""
    place, J, bias = tips(tree, q, v)
    M = np.einsum("k,kdi,kdj->ij", tree.mass, J, J)
    pull = tree.mass[:, None] * (np.array([0.0, -G]) - bias)
    pull[-1] -= tree.spring * place[-1]
    f = np.einsum("kdi,kd->i", J, pull) - tree.damping * v
    A, b, _ = rows(tree, t, q, v)
    root = np.linalg.cholesky(M)
    free = np.linalg.solve(M, f)
    if not len(A):
        return free
    scaled = np.linalg.solve(root, A.T).T
    return free + np.linalg.solve(root.T, np.linalg.pinv(scaled, 1e-8) @ (b - A @ free))


def reference(tree, t_end, rtol=1e-11):
    """q (n,) at the end; NaN if it does not get there by `REFERENCE_EVALUATIONS`, as from a singular position on."""
    evaluations = count(1)

    def rates(t, z):
        if next(evaluations) > REFERENCE_EVALUATIONS:
            raise SpentError
        return np.concatenate([z[tree.n :], acceleration(tree, t, z[: tree.n], z[tree.n :])])

    start = np.concatenate([tree.q0, tree.v0])
    try:
        found = solve_ivp(rates, (0.0, t_end), start, "DOP853", rtol=rtol, atol=0.1 * rtol)
    except SpentError:
        return np.full(tree.n, np.nan)
    return found.y[: tree.n, -1] if found.success else np.full(tree.n, np.nan)


def system_of(tree):
    """The tree as a system of the library, and its state at the start."""
    model, names = da.Model("random tree"), [f"q{k}" for k in range(tree.n)]
    q = model.coordinates(" ".join(names))
    w = dynamicsymbols(" ".join(f"w{k}" for k in range(tree.n)))
    relative = [tree.path(k) if tree.relative else [k] for k in range(tree.n)]
    model.speeds(
        " ".join(f"w{k}" for k in range(tree.n)),
        kinematics={q[k]: sum(w[j] for j in relative[k]) for k in range(tree.n)},
    )
    place, points = [], []
    for k in range(tree.n):
        at = (0, 0) if tree.parent[k] < 0 else place[tree.parent[k]]
        place.append((at[0] + tree.length[k] * cos(q[k]), at[1] + tree.length[k] * sin(q[k])))
        points.append(model.particle(f"P{k}", mass=tree.mass[k], position=list(place[k])))
    model.gravity([0, -G])
    if tree.spring:
        model.force([-tree.spring * x for x in place[-1]], at=points[-1])
    if tree.damping:  # of the absolute rates, as power -d q'^2: along w_j by the chain rule
        model.generalized_force(
            {w[j]: -tree.damping * sum(q[k].diff() for k in range(tree.n) if j in relative[k]) for j in range(tree.n)}
        )
    _constrain(model, tree, q, place)
    system = model.compile()
    speeds = tree.v0.copy()
    if tree.relative:
        speeds -= [0.0 if p < 0 else tree.v0[p] for p in tree.parent]
    guess = {**dict(zip(names, tree.q0, strict=True)), **{f"w{k}": speed for k, speed in enumerate(speeds)}}
    return system, system.initial({}, guess=guess)


def _constrain(model, tree, q, place):
    stated = []
    for k in tree.loops:
        start = sum(tree.length[j] * np.array([np.cos(tree.q0[j]), np.sin(tree.q0[j])]) for j in tree.path(k))
        stated += [place[k][d] - start[d] for d in range(2)]
    stated += [q[k] - tree.q0[k] - w * model.t - c * sin(model.t) for k, (w, c) in tree.drives.items()]
    for k in tree.edges:
        velocity = [diff(x, model.t) for x in place[k]]
        stated.append(-sin(q[k]) * velocity[0] + cos(q[k]) * velocity[1])
    if tree.copied is not None:
        stated.append(tree.copied[0] * stated[0] + tree.copied[1] * stated[1])
    for k, row in enumerate(stated):
        model.constrain(row, name=f"row{k}")
