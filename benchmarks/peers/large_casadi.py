"""Large mechanisms by CasADi: it evaluates A, b and f, SciPy's SuperLU solves the saddle system, DOP853 integrates."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from benchmarks.peers.large_cases import FOUR_BAR, NET, LargeCase, Solve
from scipy.integrate import solve_ivp
from scipy.sparse import bmat, csc_matrix, diags_array
from scipy.sparse.linalg import splu

from dalembert.problems import net, rope
from dalembert.problems.n_four_bar import GRAVITY, LENGTH, SPEED


@dataclass(frozen=True)
class Stated:
    """q' = rates(q, u), M u' + A^T la = f(q, u), d(psi)/dt = 0 with psi(q, u) linear in u; the start and its points."""

    q: ca.SX
    u: ca.SX
    rates: ca.SX
    M: csc_matrix
    f: ca.SX
    psi: ca.SX
    z0: np.ndarray
    columns: int  # of q, for each point; the first three are its position


def prepare(case: LargeCase) -> Solve:
    """`solve` is given 1/rtol; every evaluation factorises the saddle matrix anew."""
    s = {FOUR_BAR: _four_bars, NET: _net}.get(case.family, _rope)(case.size)
    nq, nu = s.q.shape[0], s.u.shape[0]
    A = ca.jacobian(s.psi, s.u)
    values = ca.Function(
        "values", [s.q, s.u], [ca.densify(s.rates), A, ca.densify(s.f), -ca.jtimes(s.psi, s.q, s.rates)]
    )

    def rates(_t: float, z: np.ndarray) -> np.ndarray:
        qdot, J, f, b = values(z[:nq], z[nq:])
        J = csc_matrix(J.sparse())
        saddle = bmat([[s.M, J.T], [J, None]], format="csc")
        right = np.concatenate([np.array(f).ravel(), np.array(b).ravel()])
        return np.concatenate([np.array(qdot).ravel(), splu(saddle).solve(right)[:nu]])

    def solve(effort: float) -> np.ndarray:
        rtol = 1.0 / effort
        run = solve_ivp(rates, (0.0, case.t_end), s.z0, "DOP853", [case.t_end], rtol=rtol, atol=rtol)
        return run.y[:nq, -1].reshape(-1, s.columns)[:, :3]

    return solve


def _four_bars(n: int) -> Stated:
    size = 2 * (n + 1)
    q, u = ca.SX.sym("q", size), ca.SX.sym("u", size)
    x, y, vx, vy = (v[start::2] for v in (q, u) for start in (0, 1))
    phi = ca.vertcat((x - LENGTH * ca.DM(range(n + 1))) ** 2 + y**2, (x[1:] - x[:-1]) ** 2 + (y[1:] - y[:-1]) ** 2)
    squares = vx**2 + vy**2
    kinetic = (ca.sum1(squares) + ca.sum1(squares[1:] + squares[:-1] + vx[1:] * vx[:-1] + vy[1:] * vy[:-1])) / 6
    M = ca.Function("M", [], [ca.hessian(kinetic, u)[0]])()["o0"].sparse()
    weight = -GRAVITY * (ca.sum1(y) / 2 + ca.sum1(y[1:] + y[:-1]) / 2)
    z0 = np.zeros(2 * size)
    z0[0:size:2], z0[1:size:2], z0[size::2] = LENGTH * np.arange(n + 1), LENGTH, SPEED
    return Stated(q, u, u, M, ca.gradient(weight, q), ca.jtimes(phi, q, u), z0, 2)


def knots(n: int) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Positions and velocities (n^2, 3) of a net's knots at the start, the n pinned first, and pairs with a rod."""
    i, j = np.tile(np.arange(n), n), np.repeat(np.arange(n), n)
    at = net.SPACING * np.column_stack([i, j, 0 * i])
    speed = np.zeros_like(at)
    speed[:, 2] = net.STRIKE * (1.0 - 2.0 * i / (n - 1)) * j / (n - 1)
    along = [(k, k + n) for k in range(n * (n - 1))]
    return at, speed, along + [(k, k + 1) for k in range(n, n * n) if (k + 1) % n]


def _net(n: int) -> Stated:
    at, speed, rods = knots(n)
    size = 3 * n * (n - 1)
    q, u = ca.SX.sym("q", size), ca.SX.sym("u", size)
    x = ca.vertcat(ca.SX(ca.DM(at[:n].ravel())), q)
    phi = ca.vertcat(*[ca.sumsqr(x[3 * b : 3 * b + 3] - x[3 * a : 3 * a + 3]) for a, b in rods])
    M = diags_array(np.full(size, net.MASS)).tocsc()
    f = ca.SX(ca.DM(np.tile([0.0, 0.0, -net.MASS * net.GRAVITY], n * (n - 1))))
    return Stated(q, u, u, M, f, ca.jtimes(phi, q, u), np.concatenate([at[n:].ravel(), speed[n:].ravel()]), 3)


@dataclass(frozen=True)
class Rods:
    """Rods of a rope at the start: centres, quaternions, velocities and rates of turn in their own axes, by rows."""

    at: np.ndarray
    turn: np.ndarray
    speed: np.ndarray
    spin: np.ndarray
    mass: float
    length: float
    inertia: tuple[float, float, float]


def rods(n: int) -> Rods:
    """The rope of `dalembert.problems.rope`."""
    values = rope.start(n, rope.RATE)

    def table(*names: str) -> np.ndarray:
        return np.array([[values.get(f"B{k}_{name}", 0.0) for name in names] for k in range(n)])

    m, l = rope.MASS / n, rope.LENGTH / n
    across = m * (l**2 / 12 + rope.RADIUS**2 / 4)
    return Rods(
        table("x", "y", "z"), table("e0", "e1", "e2", "e3"), table("vx", "vy", "vz"), table("wx", "wy", "wz"), m, l,
        (m * rope.RADIUS**2 / 2, across, across),
    )  # fmt: skip


def _rope(n: int) -> Stated:
    """Quaternions e and rates of turn w in the rods' axes: e' = e o (0, w)/2."""
    start = rods(n)
    q, u = ca.SX.sym("q", 7 * n), ca.SX.sym("u", 6 * n)
    half, I = start.length / 2, ca.DM(start.inertia)
    rates, f, left, right = [], [], [], []
    for k in range(n):
        e, v, w = q[7 * k + 3 : 7 * k + 7], u[6 * k : 6 * k + 3], u[6 * k + 3 : 6 * k + 6]
        rates += [v, (ca.vertcat(0, e[0] * w) + ca.vertcat(-ca.dot(e[1:], w), ca.cross(e[1:], w))) / 2]
        f += [ca.DM([0.0, 0.0, -start.mass * rope.GRAVITY]), -ca.cross(w, I * w)]
        # the velocity of the end (half, 0, 0): v + R (w x (half, 0, 0))
        way = half * (_axis(e, 1) * w[2] - _axis(e, 2) * w[1])
        left.append(v - way)
        right.append(v + way)
    joints = [left[0], *[b - a for a, b in zip(right[:-1], left[1:], strict=True)], right[-1]]
    M = diags_array(np.tile([start.mass] * 3 + list(start.inertia), n)).tocsc()
    z0 = np.concatenate([np.hstack([start.at, start.turn]).ravel(), np.hstack([start.speed, start.spin]).ravel()])
    return Stated(q, u, ca.vertcat(*rates), M, ca.vertcat(*f), ca.vertcat(*joints), z0, 7)


def _axis(e: ca.SX, k: int) -> ca.SX:
    """Column k of the rotation matrix of a unit quaternion."""
    a, b, c, d = e[0], e[1], e[2], e[3]
    if k == 1:
        return ca.vertcat(2 * (b * c - a * d), a**2 - b**2 + c**2 - d**2, 2 * (c * d + a * b))
    return ca.vertcat(2 * (b * d + a * c), 2 * (c * d - a * b), a**2 - b**2 - c**2 + d**2)
