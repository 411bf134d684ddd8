"""Free bodies: those with a place and a unit quaternion as coordinates, and velocities of their own as speeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.probe import Probe
from dalembert.equations.symbols import Kinematics
from dalembert.model.statement import Attitude, Body, Statement
from dalembert.solve.tolerances import SAME

# e' = e * (0, w) / 2, scalar first: row k, column l of d e'/d w is SIGN/2 times component PART of the quaternion
PART = np.array([[1, 2, 3], [0, 3, 2], [3, 0, 1], [2, 1, 0]])
SIGN = np.array([[-1, -1, -1], [1, -1, 1], [1, 1, -1], [-1, 1, 1]])


class FreeBody(NamedTuple):
    """A body, where its coordinates are (x, then the quaternion) and where its speeds are (x', then w in body axes)."""

    body: Body
    coordinates: tuple[int, ...]
    speeds: tuple[int, ...]


def find_free_bodies(statement: Statement, kinematics: Kinematics, probe: Probe) -> dict[tuple[int, ...], FreeBody]:
    """The free bodies by the identity of their coordinates, x and the quaternion."""
    C = _Entries(kinematics.C)
    drifting = set(kinematics.D.sparsity().row())
    found = [body for body in _candidates(statement, C) if drifting.isdisjoint(body.coordinates)]
    if not found:
        return {}
    q, u = (np.array([body[k] for body in found]) for k in (1, 2))
    places = C.places(np.broadcast_to(q[:, 3:, None], (len(q), 4, 3)), np.broadcast_to(u[:, None, 3:], (len(q), 4, 3)))
    complete = (C.counts[q[:, 3:]] == 3).all(axis=1) & (places >= 0).all(axis=(1, 2))
    values, at = probe(kinematics.C.nz[:]), probe(kinematics.symbols.q)
    carried = np.abs(values[:, C.first[q[:, :3]]] - 1.0).max(axis=(0, 2)) <= SAME
    turned = np.abs(values[:, places] - SIGN * at[:, q[:, 3:]][:, :, PART] / 2).max(axis=(0, 2, 3)) <= SAME
    free = complete & carried & turned
    named = (((*(body.body.position or ()), *body.body.rotation), body) for k, body in enumerate(found) if free[k])
    return {tuple(map(id, coordinates)): body for coordinates, body in named}


class _Entries:
    """The nonzeros of C (nq, nu) by row: how many there are, which is the first, where that of a column is."""

    def __init__(self, C: ca.SX) -> None:
        pattern = C.sparsity()
        row, self.columns = np.array(pattern.row(), dtype=np.int64), np.array(pattern.get_col(), dtype=np.int64)
        self._width = C.shape[1]
        self._keys = row * self._width + self.columns
        self._order = np.argsort(self._keys)
        self.counts = np.bincount(row, minlength=C.shape[0])
        self.first = np.zeros(C.shape[0], dtype=np.int64)
        self.first[row[::-1]] = np.arange(len(row))[::-1]

    def places(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Numbers of the nonzeros in these rows and columns; -1 where there is none."""
        keys = rows * self._width + columns
        at = self._order[np.searchsorted(self._keys, keys, sorter=self._order).clip(max=len(self._order) - 1)]
        return np.where(self._keys[at] == keys, at, -1)


def _candidates(statement: Statement, C: _Entries) -> list[FreeBody]:
    """Bodies whose place, quaternion and angular velocity are coordinates and speeds, each rate of x one speed."""
    coordinates, speeds = _Numbered(statement.coordinates), _Numbered(statement.speeds)
    found = []
    for body in statement.bodies:
        if body.attitude is not Attitude.QUATERNION or body.position is None or body.angular_velocity is None:
            continue
        q, w = coordinates.of((*body.position, *body.rotation)), speeds.of(body.angular_velocity)
        if q is None or w is None or body.axes_angular_velocity is not None or body.velocity is not None:
            continue
        if (C.counts[list(q[:3])] == 1).all():
            v = C.columns[C.first[list(q[:3])]]
            found.append(FreeBody(body, q, (*v.tolist(), *w)))
    return found


class _Numbered:
    """The numbers of symbols, found by identity first: SymPy takes long to compare."""

    def __init__(self, symbols: Sequence[sp.Expr]) -> None:
        self._symbols = symbols
        self._objects = {id(symbol): k for k, symbol in enumerate(symbols)}
        self._equal: dict[sp.Expr, int] = {}

    def of(self, symbols: Sequence[sp.Expr]) -> tuple[int, ...] | None:
        """The numbers of symbols, None if one is not known."""
        numbers = tuple(self._objects.get(id(symbol), -1) for symbol in symbols)
        if -1 not in numbers:
            return numbers
        self._equal = self._equal or {symbol: k for k, symbol in enumerate(self._symbols)}
        numbers = tuple(self._equal.get(symbol, -1) for symbol in symbols)
        return None if -1 in numbers else numbers
