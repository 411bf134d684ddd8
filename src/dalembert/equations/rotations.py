"""Rotations of many bodies at once: CasADi's functions of one are mapped over the columns of a matrix."""

from __future__ import annotations

import functools

import casadi as ca
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.equations.lowering.lower import Lowering
from dalembert.model.quaternion import rotation_matrix
from dalembert.model.statement import Attitude, Body


@functools.cache
def rotations_of_quaternions() -> ca.Function:
    """The rotation matrix (3, 3) of four coordinates, lowered once for all bodies."""
    symbols, e = sp.symbols("e0:4"), ca.SX.sym("e", 4)
    low = Lowering({symbol: e[k] for k, symbol in enumerate(symbols)})
    return ca.Function("rotation", [e], [low.matrix(rotation_matrix(symbols))])


@functools.cache
def rotations_about_z() -> ca.Function:
    """The rotation matrix (3, 3) of an angle."""
    a = ca.SX.sym("a")
    rows = ca.horzcat(ca.cos(a), -ca.sin(a), 0), ca.horzcat(ca.sin(a), ca.cos(a), 0), ca.horzcat(0, 0, 1)
    return ca.Function("rotation", [a], [ca.vertcat(*rows)])


@functools.cache
def turned_vectors() -> ca.Function:
    """The vector R w of a matrix R, column below column, and a vector w."""
    R, w = ca.SX.sym("R", 9), ca.SX.sym("w", 3)
    return ca.Function("turned", [R, w], [ca.mtimes(ca.reshape(R, 3, 3), w)])


@functools.cache
def turned_back_vectors() -> ca.Function:
    """The vector R^T a of a matrix R, column below column, and a vector a."""
    R, a = ca.SX.sym("R", 9), ca.SX.sym("a", 3)
    return ca.Function("turned_back", [R, a], [ca.mtimes(ca.reshape(R, 3, 3).T, a)])


@functools.cache
def angular_velocities_of_quaternions() -> ca.Function:
    """Angular velocity in body axes of e and e': the vector part of 2 conj(e) e' / (e.e)."""
    e, ed = ca.SX.sym("e", 4), ca.SX.sym("ed", 4)
    e0, v, d0, dv = e[0], e[1:4], ed[0], ed[1:4]
    return ca.Function("rate", [e, ed], [2 * (e0 * dv - d0 * v - ca.cross(v, dv)) / ca.dot(e, e)])


def crossed(a: ca.SX, b: ca.SX) -> ca.SX:
    """a x b of vectors below each other, (3 n, 1)."""
    return ca.vec(ca.cross(ca.reshape(a, 3, -1), ca.reshape(b, 3, -1), 1)) if a.shape[0] else ca.SX(0, 1)


def has_quaternion(body: Body) -> bool:
    """Whether a body is turned by four coordinates."""
    return body.attitude is Attitude.QUATERNION and all(isinstance(e, AppliedUndef) for e in body.rotation)
