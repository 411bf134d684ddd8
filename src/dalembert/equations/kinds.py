"""Kinds of coordinates: which are angles, which are lengths, and which the geometry does not depend on.

Nobody states units, but angles show themselves: a full turn leaves constraints, inertia and kinematics as they were.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.dataclass import dataclass
from dalembert.equations.functions import nonzeros
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.system import System
from dalembert.scattered import Scattered
from dalembert.solve.elimination_order import lower_triangle

ANGLE, LENGTH, FREE = range(3)  # components of quaternions count as angles
PERIODIC = 1e-9  # a change by a full turn below this part of other changes is none
ROUND_OFF = 1e-13  # of numbers in which terms may have cancelled, relative to their neighbours
MOVED = 0.7  # not a part of a turn


def kinds_of(system: System) -> np.ndarray:
    """The kind of each coordinate, (nq,), found once per system."""
    found: np.ndarray = system.kept("kinds of coordinates", lambda: _find_kinds(system))
    return found


def _find_kinds(system: System) -> np.ndarray:
    """Kinds by what the geometry does at two places when a coordinate is moved a little and by a full turn.

    Coordinates that no entry has in common are moved together: a colouring of the columns of its Jacobian.
    """
    m, nq = system.mechanics, system.nq
    geometry, rng = _Geometry.of(m), Scattered(11)
    depends = ca.jacobian_sparsity(geometry.column, m.q)
    entry, coordinate = np.array(depends.row(), dtype=int), np.array(depends.get_col(), dtype=int)
    colours = depends.uni_coloring(depends.T)
    together = np.zeros((colours.size2(), nq))
    together[colours.get_col(), colours.row()] = 1.0
    colour = together.argmax(axis=0)[coordinate]
    aperiodic, present = np.zeros(nq, dtype=bool), np.zeros(nq, dtype=bool)
    for _ in range(2):
        x = np.concatenate([rng.uniform(-1.0, 1.0, 1 + nq + system.nu), system.parameter_defaults])
        here = geometry.at(x)
        moved = np.zeros((len(together), len(x)))
        moved[:, 1 : 1 + nq] = together
        change, turned = (
            np.array([np.abs(geometry.at(x + way * move) - here) for move in moved]).reshape(len(together), len(here))
            for way in (MOVED, 2.0 * np.pi)
        )
        change, turned, least = change[colour, entry], turned[colour, entry], ROUND_OFF * geometry.sizes(here)[entry]
        np.logical_or.at(present, coordinate, change > least)
        np.logical_or.at(aperiodic, coordinate, turned > PERIODIC * change + least)
    kinds = np.where(present, np.where(aperiodic, LENGTH, ANGLE), FREE)
    kinds[m.invariant_gradients.sparsity().get_col()] = ANGLE
    return kinds


@dataclass(frozen=True)
class _Geometry:
    """q', M (lower triangle), A^T, phi and the invariants, and their gradients G^T: one column of their nonzeros."""

    column: ca.SX
    function: ca.Function
    M: ca.Sparsity
    A: ca.Sparsity
    G: ca.Sparsity

    @classmethod
    def of(cls, m: Mechanics) -> _Geometry:
        M, A, G = ca.project(m.M, lower_triangle(m.M.sparsity())), m.known(m.A), m.position_gradients
        column = ca.densify(ca.vertcat(m.qdot, M.nz[:], nonzeros(A), m.phi, m.h, nonzeros(G)))
        return cls(column, ca.Function("geometry", [m.x], [column]), M.sparsity(), A.T.sparsity(), G.T.sparsity())

    def at(self, x: np.ndarray) -> np.ndarray:
        """The values at x, zero where undefined."""
        x, values = np.ascontiguousarray(x), np.zeros(self.column.shape[0])
        buffer: Any
        buffer, evaluate = self.function.buffer()  # without a list of all numbers on the way
        buffer.set_arg(0, x.data)
        buffer.set_res(0, values.data)
        evaluate()
        values[~np.isfinite(values)] = 0.0  # a place at random may be outside the domain of the model
        return values

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """The sizes that rounding of these values goes by."""
        counts = self.G.size1(), self.M.nnz(), self.A.nnz(), self.G.size2()
        qdot, M, A, phi, G = np.split(np.abs(values), np.cumsum(counts))
        i, j = np.array(self.M.row(), dtype=int), np.array(self.M.get_col(), dtype=int)
        root = np.sqrt(M[i == j])
        rows, levels = _largest(self.A, A), _largest(self.G, G)
        sizes = qdot, root[i] * root[j], rows[self.A.get_col()], np.maximum(phi, levels), levels[self.G.get_col()]
        return np.concatenate(sizes)


def _largest(pattern: ca.Sparsity, values: np.ndarray) -> np.ndarray:
    """The largest value in each column of a pattern."""
    found = np.zeros(pattern.size2())
    np.maximum.at(found, pattern.get_col(), values)
    return found
