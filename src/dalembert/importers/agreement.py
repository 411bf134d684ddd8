"""Redundant parts of a SymPy model: expressions that follow from others, found at random states of the graph.

Kane's method is based on velocities. Positions are used only where their rates agree with the velocities. Velocity
constraints often repeat the derivatives of holonomic ones; implied constraints are not stated twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.probe import probe_at_random, vanishes
from dalembert.equations.symbols import Symbols, kinematics_of
from dalembert.model.statement import Statement, Vector
from dalembert.solve.decompositions import least_squares

GRADIENT_ROUNDING = 1e-9  # relative part of a constraint gradient that counts as rounding


class Agreement:
    """Compares expressions at random states of a statement that has its coordinates, kinematics and parameters.

    Raises `LoweringError` for expressions that cannot be evaluated.
    """

    def __init__(self, statement: Statement) -> None:
        s = Symbols.of(statement)
        self._kinematics = kinematics_of(statement, s)
        self._low = self._kinematics.lowering(statement)
        self._probe = probe_at_random(statement, s)

    def of_position(self, position: Vector, velocity: Vector) -> bool:
        """Whether the rate of a position is this velocity."""
        v = self._low.vector(velocity)
        return self._vanishes(self._kinematics.rate(self._low.vector(position)) - v, v)

    def of_rotation(self, rotation: sp.Matrix, angular_velocity: Vector) -> bool:
        """Whether a matrix is a rotation everywhere, not only for unit quaternions, and its rate is R [w]."""
        R, w = ca.densify(self._low.matrix(rotation)), self._low.vector(angular_velocity)
        rate = ca.reshape(self._kinematics.rate(ca.vec(R)), 3, 3)
        orthonormal = self._vanishes(ca.vec(ca.mtimes(R.T, R) - ca.DM.eye(3)), ca.SX(1))
        return orthonormal and self._vanishes(ca.vec(rate - ca.mtimes(R, ca.skew(w))), w)

    def implied(
        self, position: Sequence[sp.Expr], velocity: Sequence[sp.Expr], acceleration: Sequence[sp.Expr]
    ) -> tuple[list[bool], list[bool]]:
        """Masks of velocity constraints implied by position ones, and of acceleration constraints implied by both."""
        k, s = self._kinematics, self._kinematics.symbols
        known = [k.rate(self._low(e)) for e in position]
        given = [self._low(e) for e in velocity]
        slow = self._follow(known, given, s.u)
        known += [e for e, follows in zip(given, slow, strict=True) if not follows]
        fast = self._follow([k.total_rate(e) for e in known], [self._low(e) for e in acceleration], s.ud)
        return slow, fast

    def _follow(self, known: list[ca.SX], given: list[ca.SX], variables: ca.SX) -> list[bool]:
        """Mask of the `given` residuals that are combinations of `known` and earlier ones, in value and gradient."""
        if not known or not given:
            return [False] * len(given)
        residuals = ca.vertcat(*known, *given)
        n, m = residuals.shape[0], variables.shape[0]
        gradients = self._probe(ca.jacobian(residuals, variables).T).reshape(3, n, m)
        values = self._probe(residuals)
        kept = list(range(len(known)))
        follows = []
        for row in range(len(known), n):
            follows.append(
                all(_combines(A[kept], v[kept], A[row], v[row]) for A, v in zip(gradients, values, strict=True))
            )
            if not follows[-1]:
                kept.append(row)
        return follows

    def _vanishes(self, difference: ca.SX, of: ca.SX) -> bool:
        return vanishes(self._probe(difference), float(np.nan_to_num(np.abs(self._probe(of))).max()))


def _combines(A: np.ndarray, v: np.ndarray, a: np.ndarray, value: float) -> bool:
    """Whether some weights w give a = A^T w and value = v . w."""
    if not (np.isfinite(A).all() and np.isfinite(a).all() and np.isfinite(value)):
        return False
    scale = np.linalg.norm(a)
    weights = least_squares(A.T, a)
    far = np.linalg.norm(A.T @ weights - a) > GRADIENT_ROUNDING * scale
    return bool(scale > 0.0 and not far and abs(v @ weights - value) <= GRADIENT_ROUNDING * (scale + abs(value)))
