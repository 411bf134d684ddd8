"""Attitudes: rotation matrices and angular velocities of bodies, many bodies at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.lowering.lower import Lowering
from dalembert.equations.rotations import (
    angular_velocities_of_quaternions,
    has_quaternion,
    rotations_about_z,
    rotations_of_quaternions,
)
from dalembert.equations.symbols import Kinematics
from dalembert.model.quaternion import rotation_matrix
from dalembert.model.statement import Attitude, Body, Statement

TOGETHER = frozenset({Attitude.ANGLE, Attitude.QUATERNION})


class ColumnsByBody:
    """A column (m, 1) for each of some bodies, all in one matrix (m, n). Bodies are compared by identity."""

    def __init__(self, height: int) -> None:
        self._height = height
        self._bodies: list[Body] = []  # kept alive, or their identity could be used again
        self._place: dict[int, int] = {}
        self._whole = ca.SX(height, 0)
        self._single: list[ca.SX] = []

    def add(self, bodies: Sequence[Body], columns: ca.SX) -> None:
        """ColumnsByBody (m, n) of n more bodies."""
        self._place |= {id(body): len(self._bodies) + k for k, body in enumerate(bodies)}
        self._bodies += bodies
        self._whole = ca.horzcat(self._whole, columns)
        self._single = []

    def __contains__(self, body: Body) -> bool:
        return id(body) in self._place

    def of(self, body: Body) -> ca.SX:
        """The column of one body."""
        if not self._single:  # all of them: CasADi takes long to hand out single ones
            self._single = ca.horzsplit(self._whole)
        return self._single[self._place[id(body)]]

    def among(self, bodies: Sequence[Body]) -> ca.SX:
        """The columns (m, n) of n bodies, dense."""
        places = np.array([self._place[id(body)] for body in bodies], dtype=int)
        whole = ca.densify(self._whole)
        if np.array_equal(places, np.arange(whole.shape[1])):
            return whole
        entries = (self._height * places[:, None] + np.arange(self._height)).ravel()
        return ca.reshape(whole.nz[entries.tolist()], self._height, len(bodies))


class Turning:
    """Rotation matrices and angular velocities of the bodies of a statement, and of others one by one."""

    def __init__(self, statement: Statement, kinematics: Kinematics, low: Lowering) -> None:
        self._statement, self._kinematics, self._low = statement, kinematics, low
        self._rotations, self._stated, self._rates = ColumnsByBody(9), ColumnsByBody(3), ColumnsByBody(3)

    def attitude(self, body: Body) -> ca.SX:
        """Rotation matrix (3, 3), body axes as columns; the identity where only an angular velocity was stated."""
        self._find(self._rotations, [body], self._turn)
        return ca.reshape(self._rotations.of(body), 3, 3)

    def attitudes(self, bodies: Sequence[Body]) -> ca.SX:
        """Rotation matrices of n bodies, column below column, (9, n)."""
        self._find(self._rotations, bodies, self._turn)
        return self._rotations.among(bodies)

    def angular_velocity(self, body: Body) -> ca.SX:
        """Angular velocity (3, 1) in body axes."""
        if body.angular_velocity is None:
            return self.rate(body)
        self._find(self._stated, [body], self._read)
        return self._stated.of(body)

    def angular_velocities(self, bodies: Sequence[Body]) -> ca.SX:
        """Angular velocities of n bodies, one below the other, (3 n, 1)."""
        if all(body.angular_velocity is not None for body in bodies):
            self._find(self._stated, bodies, self._read)
            return ca.vec(self._stated.among(bodies))
        if all(body.angular_velocity is None for body in bodies):
            return self.rates(bodies)
        return ca.vertcat(ca.SX(0, 1), *[self.angular_velocity(body) for body in bodies])

    def rate(self, body: Body) -> ca.SX:
        """Angular velocity (3, 1) in body axes as it follows from the rotation."""
        self._find(self._rates, [body], self._differentiate)
        return self._rates.of(body)

    def rates(self, bodies: Sequence[Body]) -> ca.SX:
        """Angular velocities as they follow from the rotations, of n bodies, one below the other, (3 n, 1)."""
        self._find(self._rates, bodies, self._differentiate)
        return ca.vec(self._rates.among(bodies))

    # -- by kind of rotation -----------------------------------------------------------------------------------------

    def _find(self, known: ColumnsByBody, wanted: Sequence[Body], add: Callable[[list[Body]], None]) -> None:
        """Compute columns of the requested bodies; bodies of a kind are computed together, at the first request."""
        missing = {id(body): body for body in wanted if body not in known}
        if missing:
            kinds = {body.attitude for body in missing.values()} & TOGETHER
            alike = (body for body in self._statement.bodies if body.attitude in kinds and body not in known)
            add(list((missing | {id(body): body for body in alike}).values()))

    def _turn(self, bodies: list[Body]) -> None:
        for together, rotate, group in (
            (has_quaternion, rotations_of_quaternions, 4),
            (_is_planar, rotations_about_z, 1),
        ):
            chosen = [body for body in bodies if together(body)]
            if chosen:
                entries = self._low.vector([e for body in chosen for e in body.rotation])
                matrices = rotate()(ca.reshape(entries, group, len(chosen)))
                self._rotations.add(chosen, ca.reshape(matrices, 9, len(chosen)))
        rest = [body for body in bodies if body not in self._rotations]
        self._rotations.add(rest, ca.horzcat(ca.SX(9, 0), *[ca.vec(self._matrix(body)) for body in rest]))

    def _matrix(self, body: Body) -> ca.SX:
        if body.attitude is Attitude.MATRIX:
            return self._low.matrix(sp.Matrix(3, 3, body.rotation))
        if body.attitude is Attitude.QUATERNION:
            return self._low.matrix(rotation_matrix(body.rotation))
        return ca.SX.eye(3)

    def _read(self, bodies: list[Body]) -> None:
        """Lower the angular velocities that were stated."""
        stated = [body for body in bodies if body.angular_velocity is not None]
        column = self._low.vector([w for body in stated for w in body.angular_velocity or ()])
        self._stated.add(stated, ca.reshape(column, 3, len(stated)))

    def _differentiate(self, bodies: list[Body]) -> None:
        """Rates of rotations, each kind by one sweep: one for each body would make all of them quadratic."""
        planar = [body for body in bodies if _is_planar(body)]
        if planar:
            rates = self._kinematics.rate(self._low.vector([body.rotation[0] for body in planar]))
            self._rates.add(planar, ca.vertcat(ca.SX.zeros(2, len(planar)), ca.densify(rates.T)))
        turned = [body for body in bodies if body.attitude is Attitude.QUATERNION]
        if turned:
            e = self._low.vector([component for body in turned for component in body.rotation])
            both = (ca.reshape(some, 4, len(turned)) for some in (e, self._kinematics.rate(e)))
            self._rates.add(turned, angular_velocities_of_quaternions()(*both))
        rest = [body for body in bodies if body not in self._rates]
        if rest:
            R = [self.attitude(body) for body in rest]
            changes = ca.horzsplit(ca.reshape(self._kinematics.rate(ca.vec(ca.horzcat(*R))), 3, 3 * len(rest)), 3)
            self._rates.add(rest, ca.horzcat(*[_vector(ca.mtimes(a.T, b)) for a, b in zip(R, changes, strict=True)]))


def _is_planar(body: Body) -> bool:
    return body.attitude is Attitude.ANGLE


def _vector(W: ca.SX) -> ca.SX:
    """The vector (3, 1) of a skew-symmetric matrix."""
    return ca.vertcat(W[2, 1], W[0, 2], W[1, 0])
