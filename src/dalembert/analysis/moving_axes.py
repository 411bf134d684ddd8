"""`MovingAxes`: axes that go along with a motion of bodies: they turn with the world, and with what spins in it.

In (q, u) they are an affine field, z' = L z + c. Positions and their speeds turn at a rate `a` common to all of them; a
unit quaternion turns at `a` from the left and at the spin of its body beside `a` from the right, so that it does not
spin in these axes; all other coordinates run on at constant rates. L is skew-symmetric: what grows in such axes grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.derivatives import EquationDerivatives
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.model.statement import Attitude
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State
from dalembert.solve.decompositions import decompose

ROUND_OFF = 1e-9  # of directions about which nothing turns, relative to the speeds


@dataclass(frozen=True, eq=False)
class MovingAxes:
    """The field z' = L z + c with L (n, n) and c (n,), n = nq + nu, and how much of z' at the state it leaves (n,)."""

    L: np.ndarray
    c: np.ndarray
    left: np.ndarray

    def carry(self, z: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """exp(t L), and where a state (n,) is after a time t."""
        from scipy.linalg import expm

        n = len(z)
        field = np.zeros((n + 1, n + 1))
        field[:n, :n], field[:n, n] = self.L, self.c
        flow = expm(t * field)
        return flow[:n, :n], flow[:n, :n] @ z + flow[:n, n]


class _Vector(NamedTuple):
    """Places in (q, u) of the components of a position and of its speeds, in inertial axes; some may be missing."""

    axes: list[int]
    place: list[int]
    speed: list[int]


class _Attitude(NamedTuple):
    """Places in (q, u) of a unit quaternion and of the angular velocity in body axes."""

    place: list[int]
    speed: list[int]


def axes_along(state: State, d: EquationDerivatives) -> Iterator[MovingAxes]:
    """Axes that may go along with the motion through a state, those that turn least first.

    What is accelerated across its velocity says how fast they turn. Where that leaves an axis open, they may turn about
    it like any of the bodies or coordinates.
    """
    vectors, attitudes = _read(state.system, d)
    rates = np.concatenate([rates_of(state), state.udot])
    rows, sides = [np.zeros((0, 3))], [np.zeros(0)]
    for v in vectors:
        if len(v.speed) == len(v.place):
            rows.append(-_cross(state.z[v.speed], v.axes)[v.axes])
            sides.append(rates[v.speed])
    turning = []
    for e in attitudes:
        R, w = _rotation(state.z[e.place]), state.z[e.speed]
        rows.append(-_cross(w) @ R.T)
        sides.append(rates[e.speed])
        turning.append(R @ w)
    found = decompose(np.vstack([*rows, np.zeros((1, 3))]), ROUND_OFF)
    least = found.solve(np.concatenate([*sides, [0.0]])[:, None])[:, 0]
    scalar = np.setdiff1d(np.arange(state.system.nq), [k for e in attitudes for k in e.place])
    further = [n * (w @ n) for n in found.null.T for w in turning]
    further += [n * side * rates[k] for n in found.null.T for k in scalar for side in (1.0, -1.0)]
    tried: list[np.ndarray] = []
    for a in (least, *(least + more for more in sorted(further, key=np.linalg.norm))):
        axes = _axes(state, rates, a, vectors, attitudes)
        if not any(np.allclose(axes.L, L) for L in tried):
            tried.append(axes.L)
            yield axes


def _axes(
    state: State, rates: np.ndarray, a: np.ndarray, vectors: Sequence[_Vector], attitudes: Sequence[_Attitude]
) -> MovingAxes:
    """The axes that turn at a rate a (3,)."""
    z, c = state.z, np.zeros(len(rates))
    spins = [z[e.speed] - _rotation(z[e.place]).T @ a for e in attitudes]
    L = _turning(len(z), a, vectors, zip(attitudes, spins, strict=True))
    free = np.setdiff1d(np.arange(state.system.nq), [k for e in attitudes for k in e.place])
    c[free] = (rates - L @ z)[free]
    return MovingAxes(L, c, rates - L @ z - c)


def _turning(
    n: int, a: np.ndarray, vectors: Sequence[_Vector], spins: Iterable[tuple[_Attitude, np.ndarray]]
) -> np.ndarray:
    """L (n, n) of positions that turn at a rate a, and of attitudes that turn at a and spin at b in body axes."""
    L = np.zeros((n, n))
    for v in vectors:
        for places in (v.place, v.speed) if len(v.speed) == len(v.place) else (v.place,):
            L[np.ix_(places, places)] = _cross(a)[np.ix_(v.axes, v.axes)]
    for e, b in spins:
        L[np.ix_(e.place, e.place)] = (_product(a, 1.0) + _product(b, -1.0)) / 2
        L[np.ix_(e.speed, e.speed)] = -_cross(b)
    return L


def free_directions(state: State, d: EquationDerivatives) -> np.ndarray:
    """What coordinates that run on, motions of the world as a whole and spins of bodies change, (nq + nu, m)."""
    vectors, attitudes = _read(state.system, d)
    n, nq, none = len(state.z), state.system.nq, np.zeros(3)
    taken = {k for e in attitudes for k in e.place} | {k for v in vectors for k in v.place}
    found = [np.eye(n)[k] for k in range(nq) if k not in taken]
    for axis in range(3):
        unit = np.eye(3)[axis]
        found.append(sum((np.eye(n)[v.place[v.axes.index(axis)]] for v in vectors if axis in v.axes), np.zeros(n)))
        found.append(_turning(n, unit, vectors, [(e, none) for e in attitudes]) @ state.z)
        found += [_turning(n, none, (), [(e, unit)]) @ state.z for e in attitudes]
    return np.array(found).T


def _read(system: System, d: EquationDerivatives) -> tuple[list[_Vector], list[_Attitude]]:
    """Positions and quaternions whose components are coordinates of their own."""
    s, C = system.statement, d.of("rates", "u")
    coordinates = {q: k for k, q in enumerate(s.coordinates)}
    speeds = {u: system.nq + k for k, u in enumerate(s.speeds)}
    vectors: dict[tuple[int, ...], _Vector] = {}
    for point in (*s.bodies, *s.particles):
        ends = [sp.Add.make_args(entry) for entry in point.position or ()]
        found = [(axis, coordinates[q]) for axis, parts in enumerate(ends) for q in parts if q in coordinates]
        axes, places = [axis for axis, _ in found], [k for _, k in found]
        if len(set(axes)) == len(axes) > 1:
            own = [system.nq + int(np.argmax(C[k])) for k in places if _is_unit(C[k])]
            vectors[tuple(places)] = _Vector(axes, places, own)
    attitudes: dict[tuple[int, ...], _Attitude] = {}
    for body in s.bodies:
        w = body.angular_velocity or ()
        if body.attitude is Attitude.QUATERNION and {*body.rotation} <= {*coordinates} and w and {*w} <= {*speeds}:
            places = [coordinates[e] for e in body.rotation]
            attitudes[tuple(places)] = _Attitude(places, [speeds[u] for u in w])
    return list(vectors.values()), list(attitudes.values())


def _is_unit(row: np.ndarray) -> bool:
    return bool(np.count_nonzero(row) == 1 and row.max() == 1.0)


def _cross(a: np.ndarray, axes: Sequence[int] = (0, 1, 2)) -> np.ndarray:
    """The matrix (3, 3) of a x, of which the components `axes` are given."""
    x, y, z = np.bincount(axes, weights=a, minlength=3)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _product(a: np.ndarray, side: float) -> np.ndarray:
    """The matrix (4, 4) of the product of quaternions (0, a) e, or e (0, a) with `side` -1."""
    M = np.zeros((4, 4))
    M[0, 1:], M[1:, 0], M[1:, 1:] = -a, a, side * _cross(a)
    return M


def _rotation(e: np.ndarray) -> np.ndarray:
    """The rotation matrix (3, 3) of a unit quaternion."""
    cross = _cross(e[1:])
    return np.eye(3) + 2.0 * (e[0] * cross + cross @ cross)
