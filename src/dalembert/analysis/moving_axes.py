"""`MovingAxes`: axes that move along with bodies. They turn with the world, and with the spinning bodies in it.

In (q, u) they are an affine field, z' = L z + drift (1, t, t^2/2). Positions and their speeds turn at a rate `a` common
to all of them, beside a common fall; a unit quaternion turns at `a` from the left and at the spin of its body beside
`a` from the right, so that it does not spin in these axes; all other coordinates run on at constant rates. L is
skew-symmetric: exp(t L) neither grows nor decays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.derivatives import EquationDerivatives
from dalembert.analysis.floquet import depends_on_time
from dalembert.dataclass import dataclass
from dalembert.equations.system import System
from dalembert.model.statement import Attitude
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State
from dalembert.solve.decompositions import decompose, unit_rows

UNTOLD = 1e-9  # shares of directions below this are zero


@dataclass(frozen=True, eq=False)
class MovingAxes:
    """The field z' = L z + drift (1, t, t^2/2) with L (n, n) and drift (n, 3), n = nq + nu.

    `turn` (3,) is the rate of the world in it, `left` (n,) how much of z' at the state it does not make up.
    """

    turn: np.ndarray
    L: np.ndarray
    drift: np.ndarray
    left: np.ndarray

    def carry(self, z: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """exp(t L), and where a state (n,) is after a time t, and its rates."""
        from scipy.linalg import expm

        n = len(z)
        field = np.zeros((n + 3, n + 3))
        field[:n] = np.hstack([self.L, self.drift])
        field[n + 1, n] = field[n + 2, n + 1] = 1.0
        flow = expm(t * field)
        later = flow[:, :n] @ z + flow[:, n]
        return flow[:n, :n], later[:n], (field @ later)[:n]


class _Position(NamedTuple):
    """Places in (q, u) of the components of a position and of its speeds, in inertial axes; some may be missing."""

    axes: list[int]
    place: list[int]
    speed: list[int]


class _Attitude(NamedTuple):
    """Places in (q, u) of a unit quaternion and of the angular velocity in body axes."""

    place: list[int]
    speed: list[int]


def axes_along(state: State, d: EquationDerivatives) -> Iterator[MovingAxes]:
    """Axes that may move along with the motion through a state, the slowest first.

    Accelerations across velocities say how fast they turn. Where these leave an axis open, the axes may turn about
    it like any of the bodies or coordinates.
    """
    rates = np.concatenate([rates_of(state), state.udot])
    second = np.zeros(len(rates))
    if not depends_on_time(state.system):
        change = np.concatenate([rates, np.zeros(len(state.parameters))])[:, None]
        second[state.system.nq :] = d.response(change).udot[:, 0]
    motion, tried = _Motion(state, rates, second, *_read(state.system, d)), list[np.ndarray]()
    for falling in (False, True):
        least, null = motion.turn(falling=falling)
        for a in (least, *(least + more for more in motion.further(null))):
            axes = motion.axes(a, falling=falling)
            key = np.hstack([axes.L, axes.drift])
            if not any(np.allclose(key, other) for other in tried):
                tried.append(key)
                yield axes


class _Motion(NamedTuple):
    """A state, its z' and u'' (after nq zeros), and the vectors and attitudes that may turn."""

    state: State
    rates: np.ndarray
    second: np.ndarray
    vectors: list[_Position]
    attitudes: list[_Attitude]

    def turn(self, *, falling: bool) -> tuple[np.ndarray, np.ndarray]:
        """The smallest rate a (3,) at which speeds turn, and directions (3, k) about which it is undetermined.

        u' = a x u, u'' = a x u' of positions, unless they are falling; and of bodies, in their axes, w' = (R^T a) x w,
        w'' = (R^T a - w) x w'.
        """
        rows, sides = [np.zeros((1, 3))], [np.zeros(1)]
        z, first, second = self.state.z, self.rates, self.second
        time = 1.0 / max(np.abs(first).max(), 1.0)
        for v in () if falling else self.vectors:
            if v.speed:
                rows += [_across(z[v.speed], v.axes), time * _across(first[v.speed], v.axes)]
                sides += [first[v.speed], time * second[v.speed]]
        for e in self.attitudes:
            R, w, dw = _rotation(z[e.place]), z[e.speed], first[e.speed]
            rows += [_across(w) @ R.T, time * _across(dw) @ R.T]
            sides += [dw, time * (second[e.speed] + np.cross(w, dw))]
        found = decompose(np.vstack(rows), UNTOLD)
        a = found.solve(np.concatenate(sides)[:, None])[:, 0]
        return np.where(np.abs(a) > UNTOLD * np.abs(first).max(), a, 0.0), found.null

    def further(self, null: np.ndarray) -> list[np.ndarray]:
        """Further turns about open directions, as fast as a body or a coordinate, the slowest first."""
        z, nq = self.state.z, self.state.system.nq
        scalar = np.setdiff1d(np.arange(nq), [k for e in self.attitudes for k in e.place])
        spins = [_rotation(z[e.place]) @ z[e.speed] for e in self.attitudes]
        found = [n * (w @ n) for n in null.T for w in spins]
        found += [n * side * self.rates[k] for n in null.T for k in scalar for side in (1.0, -1.0)]
        return sorted(found, key=np.linalg.norm)

    def axes(self, a: np.ndarray, *, falling: bool) -> MovingAxes:
        """The axes that turn at a rate a (3,)."""
        z, nq = self.state.z, self.state.system.nq
        spins = [z[e.speed] - _rotation(z[e.place]).T @ a for e in self.attitudes]
        L, drift = _turning(len(z), a, self.vectors, zip(self.attitudes, spins, strict=True)), np.zeros((len(z), 3))
        left = self.rates - L @ z
        free = np.setdiff1d(np.arange(nq), [k for e in self.attitudes for k in e.place])
        drift[free, 0] = left[free]
        if falling:
            push = np.array([self._common(left), self._common(self.second - L @ self.rates)])
            for v in (v for v in self.vectors if v.speed):
                drift[v.speed, :2], drift[v.place, 1:] = push[:, v.axes].T, push[:, v.axes].T
        return MovingAxes(a, L, drift, left - drift[:, 0])

    def _common(self, values: np.ndarray) -> np.ndarray:
        """The means over the speeds along each axis, (3,)."""
        found: list[list[float]] = [[0.0], [0.0], [0.0]]
        for v in (v for v in self.vectors if v.speed):
            for axis, k in zip(v.axes, v.speed, strict=True):
                found[axis].append(values[k])
        return np.array([np.sum(one) / max(len(one) - 1, 1) for one in found])


def _turning(
    n: int, a: np.ndarray, vectors: Sequence[_Position], spins: Iterable[tuple[_Attitude, np.ndarray]]
) -> np.ndarray:
    """L (n, n) of positions that turn at a rate a, and of attitudes that turn at a and spin at b in body axes."""
    L = np.zeros((n, n))
    for v in vectors:
        for places in (v.place, v.speed) if v.speed else (v.place,):
            L[np.ix_(places, places)] = _cross(a)[np.ix_(v.axes, v.axes)]
    for e, b in spins:
        L[np.ix_(e.place, e.place)] = (_product(a, 1.0) + _product(b, -1.0)) / 2
        L[np.ix_(e.speed, e.speed)] = -_cross(b)
    return L


def symmetries(state: State, d: EquationDerivatives, axes: MovingAxes) -> Iterator[MovingAxes]:
    """Fields that may carry a steady motion into another: shifts, turns of the world, and spins relative to `axes`."""
    vectors, attitudes = _read(state.system, d)
    n, nq, none = len(state.z), state.system.nq, np.zeros(3)
    taken = {k for e in attitudes for k in e.place} | {k for v in vectors for k in v.place}
    shifts = [[k] for k in range(nq) if k not in taken]
    shifts += [[v.place[v.axes.index(axis)] for v in vectors if axis in v.axes] for axis in range(3)]
    for places in filter(None, shifts):
        drift = np.zeros((n, 3))
        drift[places, 0] = 1.0
        yield MovingAxes(none, np.zeros((n, n)), drift, np.zeros(n))
    spins = [state.z[e.speed] - _rotation(state.z[e.place]).T @ axes.turn for e in attitudes]
    fields = [
        _turning(n, a, vectors, [(e, none) for e in attitudes]) for a in unit_rows(np.vstack([np.eye(3), axes.turn]))
    ]
    fields += [_turning(n, none, (), [(e, unit_rows(b))]) for e, b in zip(attitudes, spins, strict=True)]
    for L in fields:
        yield MovingAxes(none, L, np.zeros((n, 3)), np.zeros(n))


def _read(system: System, d: EquationDerivatives) -> tuple[list[_Position], list[_Attitude]]:
    """Positions and quaternions whose components are coordinates of their own."""
    s, C = system.statement, d.of("rates", "u")
    if s is None:
        return [], []
    coordinates = {q: k for k, q in enumerate(s.coordinates)}
    speeds = {u: system.nq + k for k, u in enumerate(s.speeds)}
    vectors: dict[tuple[int, ...], _Position] = {}
    for point in (*s.bodies, *s.particles):
        ends = [sp.Add.make_args(entry) for entry in point.position or ()]
        found = [(axis, coordinates[q]) for axis, parts in enumerate(ends) for q in parts if q in coordinates]
        axes, places = [axis for axis, _ in found], [k for _, k in found]
        if len(set(axes)) == len(axes) > 1:
            own = [system.nq + int(np.argmax(C[k])) for k in places if _is_unit(C[k])]
            vectors[tuple(places)] = _Position(axes, places, own if len(own) == len(places) else [])
    attitudes: dict[tuple[int, ...], _Attitude] = {}
    for body in s.bodies:
        w = body.angular_velocity or ()
        if body.attitude is Attitude.QUATERNION and {*body.rotation} <= {*coordinates} and w and {*w} <= {*speeds}:
            places = [coordinates[e] for e in body.rotation]
            attitudes[tuple(places)] = _Attitude(places, [speeds[u] for u in w])
    return list(vectors.values()), list(attitudes.values())


def _across(u: np.ndarray, axes: Sequence[int] = (0, 1, 2)) -> np.ndarray:
    """The rows of a x u in a, of which the components `axes` are given, (n, 3)."""
    return -_cross(u, axes)[list(axes)]


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
