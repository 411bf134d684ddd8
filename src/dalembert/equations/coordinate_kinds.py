"""Kinds of coordinates: which are angles, which are lengths, and which the geometry does not depend on.

Units are not stated, but angles can be detected: a full turn leaves constraints, inertia and kinematics unchanged.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.blocks import nonzeros
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System
from dalembert.scattered import Scattered
from dalembert.solve.elimination_order import lower_triangle
from dalembert.solve.tolerances import SUM_ROUND_OFF

ANGLE, LENGTH, FREE = range(3)  # components of quaternions count as angles
PERIODIC_CHANGE = 1e-9  # a change by a full turn below this part of other changes is none
TRIAL_CHANGE = 0.7  # not a part of a turn


def kinds_of(system: System) -> np.ndarray:
    """The kind of each coordinate, (nq,), found once per system."""
    found: np.ndarray = system.kept("kinds of coordinates", lambda: _find_kinds(system))
    return found


def _find_kinds(system: System) -> np.ndarray:
    """Kinds of coordinates: a length where it is one in any graph, an angle where it is one in others."""
    summed = system.functions.kinds
    if summed is None:
        return _kinds_in(system.mechanics, np.array(system.parameter_defaults))
    found = np.full(system.nq, FREE)
    for m, parameters, coordinates in summed.samples():
        own = np.broadcast_to(_kinds_in(m, parameters), coordinates.shape)
        found[coordinates[own == LENGTH]] = LENGTH
        angles = coordinates[own == ANGLE]
        found[angles[found[angles] == FREE]] = ANGLE
    found[np.array(summed.invariant_pattern.row(), dtype=int)] = ANGLE
    return found


def _kinds_in(m: Mechanics, parameters: np.ndarray) -> np.ndarray:
    """Kinds of coordinates from the geometry at two places, after a small move and a full turn of each coordinate.

    Coordinates that no entry has in common are moved together: a colouring of the columns of its Jacobian.
    """
    nq, nu = m.q.shape[0], m.u.shape[0]
    geometry, rng = _Geometry.of(m), Scattered(11)
    depends = geometry.function.jac_sparsity(0, 0)
    entry, coordinate = np.array(depends.row(), dtype=int), np.array(depends.get_col(), dtype=int)
    groups = depends.uni_coloring(depends.T)  # (nq, colours)
    members = np.split(np.array(groups.row(), dtype=int), groups.colind()[1:-1])
    colour = np.zeros(nq, dtype=int)
    colour[groups.row()] = groups.get_col()
    pairs = [np.flatnonzero(colour[coordinate] == k) for k in range(len(members))]
    aperiodic, present = np.zeros(nq, dtype=bool), np.zeros(nq, dtype=bool)
    for _ in range(2):
        x = np.concatenate([rng.uniform(-1.0, 1.0, 1 + nq + nu), parameters])
        q, rest = x[1 : 1 + nq], np.concatenate([x[:1], x[1 + nq :]])
        here = geometry.at(q, rest)
        changes = np.zeros((2, len(entry)))  # of an entry by a coordinate: moved a little, and by a full turn
        for group, own in zip(members, pairs, strict=True):
            for change, way in zip(changes, (TRIAL_CHANGE, 2.0 * np.pi), strict=True):
                moved = q.copy()
                moved[group] += way
                change[own] = np.abs(geometry.at(moved, rest) - here)[entry[own]]
        change, turned = changes
        least = SUM_ROUND_OFF * geometry.sizes(here, entry, change)[entry]
        present[coordinate[change > least]] = True
        aperiodic[coordinate[turned > PERIODIC_CHANGE * change + least]] = True
    kinds = np.where(present, np.where(aperiodic, LENGTH, ANGLE), FREE)
    kinds[m.invariant_gradients.sparsity().get_col()] = ANGLE
    return kinds


@dataclass(frozen=True)
class _Geometry:
    """q', M (lower triangle), A^T, phi and the invariants as a function of q and of the rest of x: their nonzeros."""

    function: ca.Function
    M: ca.Sparsity
    A: ca.Sparsity

    @classmethod
    def of(cls, m: Mechanics) -> _Geometry:
        M, A = ca.project(m.M, lower_triangle(m.M.sparsity())), m.known(m.A)
        column = ca.densify(ca.vertcat(m.qdot, M.nz[:], nonzeros(A), m.phi, m.h))
        function = ca.Function("geometry", [m.q, ca.vertcat(m.t, m.u, m.p)], [column])
        return cls(function, M.sparsity(), A.sparsity().T)

    def at(self, q: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """The values at q and the rest of x, zero where undefined."""
        values = np.zeros(self.function.size1_out(0))
        buffer: Any
        buffer, evaluate = self.function.buffer()  # without a list of all numbers on the way
        buffer.set_arg(0, q.data)
        buffer.set_arg(1, rest.data)
        buffer.set_res(0, values.data)
        evaluate()
        values[~np.isfinite(values)] = 0.0  # a place at random may be outside the domain of the model
        return values

    def sizes(self, values: np.ndarray, entry: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Sizes to which rounding of the values is relative; `change` is the effect of moves on the entries `entry`."""
        moved = np.zeros(len(values))
        np.maximum.at(moved, entry, change)
        counts = self.function.size1_in(0), self.M.nnz(), self.A.nnz()
        qdot, M, A, _ = np.split(np.abs(values), np.cumsum(counts))
        i, j = np.array(self.M.row(), dtype=int), np.array(self.M.get_col(), dtype=int)
        root = np.sqrt(M[i == j])
        rows = np.zeros(self.A.size2())
        np.maximum.at(rows, self.A.get_col(), A)
        levels = np.maximum(np.abs(values), moved)[sum(counts) :]
        return np.concatenate([qdot, root[i] * root[j], rows[self.A.get_col()], levels])
