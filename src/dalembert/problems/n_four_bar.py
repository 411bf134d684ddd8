"""N-four-bar mechanism: problem A02 of the IFToMM library of benchmark problems.

N four-bar linkages in a row: 2N+1 uniform rods of mass m and length L, N+1 cranks on ground pivots at x = 0, L, .., N L
and N couplers. The cranks stand upright at t = 0 and the first joint B0 moves with (v, 0); gravity along -y. Twice in a
turn all rods lie in line, and there the rows of the constraint Jacobian become dependent: the mechanism could leave on
another branch. Coordinates are those of the joints B0..BN (natural coordinates); the mass matrix is constant because a
uniform rod with ends P, Q has T = m (vP.vP + vP.vQ + vQ.vQ) / 6.

On the branch of the parallelograms all cranks share the angle phi from the upright, and energy gives

    phi'^2 = w^2 + 4 kappa sin^2(phi/2),   kappa = (g/L) ((N+1)/2 + N) / ((N+1)/3 + N),   w = v/L,

so sin(phi/2) = sn(w t/2 | -n) with n = 4 kappa/w^2; with mu = n/(1+n) and z = (w t/2) sqrt(1+n) this is
sd(z | mu) / sqrt(1+n), cos(phi/2) = cd(z | mu) and phi' = w nd(z | mu) (Abramowitz and Stegun 16.10).
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.model.model import Model
from dalembert.problems.problem import Problem

LENGTH, GRAVITY, SPEED = 1.0, 9.81, 1.0


def n_four_bar(n: int) -> Problem:
    """The mechanism of `n` four-bar linkages in a row."""
    positions = {f"x{k}": LENGTH * k for k in range(1, n + 1)} | {f"y{k}": LENGTH for k in range(n + 1)}
    return Problem(
        name="n_four_bar" if n == 2 else f"n_four_bar_{n}",
        title=f"{n} four-bar linkages in a row, through their singular positions",
        source="IFToMM benchmark A02; Gonzalez, Dopico, Lugris, Cuadrado, Multibody Syst. Dyn. 16 (2006) 179-190",
        build=partial(build, n),
        given={"x0": 0.0, "x0'": SPEED},
        guess=positions | {f"vx{k}": SPEED for k in range(1, n + 1)},
        t_end=10.0,
        exact=partial(exact, n),
        tolerance=1e-6,
        note="Whenever the rods lie in line the constraints become dependent; the motion must stay on its branch.",
    )


def build(n: int) -> Model:
    """Joints B0..Bn as coordinates (xk, yk) with speeds (vxk, vyk); a length constraint per rod."""
    model = Model(f"{n}-four-bar")
    q = model.coordinates(" ".join(f"x{k} y{k}" for k in range(n + 1)))
    u = model.speeds(" ".join(f"vx{k} vy{k}" for k in range(n + 1)))
    m, L, g = model.parameters(m=1.0, L=LENGTH, g=GRAVITY)
    pivots = [((k * L, 0), (0, 0)) for k in range(n + 1)]
    joints = [((q[2 * k], q[2 * k + 1]), (u[2 * k], u[2 * k + 1])) for k in range(n + 1)]
    for k, (pivot, joint) in enumerate(zip(pivots, joints, strict=True)):
        _rod(model, f"crank{k}", pivot, joint, m, L, g)
    for k, (left, right) in enumerate(pairwise(joints)):
        _rod(model, f"coupler{k}", left, right, m, L, g)
    return model


def _rod(model: Model, name: str, start: Any, end: Any, m: Any, L: Any, g: Any) -> None:
    """A uniform rod between two points, each given as (position, velocity)."""
    (p, v), (r, w) = start, end
    squares = sum(a * a + a * b + b * b for a, b in zip(v, w, strict=True))
    model.energy(kinetic=m * squares / 6, potential=m * g * (p[1] + r[1]) / 2)
    model.constrain((r[0] - p[0]) ** 2 + (r[1] - p[1]) ** 2 - L**2, name=name)
    model.line([p, r], name=name)


def exact(n: int, t: np.ndarray) -> dict[str, np.ndarray]:
    """Positions and velocities of all joints, (nt,) each, at times (nt,)."""
    from scipy.special import ellipj

    kappa = ((n + 1) / 2 + n) / ((n + 1) / 3 + n) * GRAVITY / LENGTH
    w = SPEED / LENGTH
    ratio = 4 * kappa / w**2
    sn, cn, dn, _ = ellipj(0.5 * w * np.sqrt(1 + ratio) * np.asarray(t, dtype=float), ratio / (1 + ratio))
    sine, cosine, rate = sn / dn / np.sqrt(1 + ratio), cn / dn, w / dn
    x, y = LENGTH * 2 * sine * cosine, LENGTH * (cosine**2 - sine**2)
    values: dict[str, np.ndarray] = {}
    for k in range(n + 1):
        values |= {f"x{k}": k * LENGTH + x, f"y{k}": y, f"vx{k}": rate * y, f"vy{k}": -rate * x}
    return values


PROBLEM = n_four_bar(2)
