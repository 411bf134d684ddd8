"""Coulomb friction tied to multipliers: its generalised force per unit of |la|, regularised at small sliding speeds."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from dalembert.equations.derive import Constraints, Derivation
from dalembert.equations.laws import Row
from dalembert.model.statement import Friction
from dalembert.solve.decompositions import rank_of
from dalembert.solve.graphs import symmetric_pseudo_inverse
from dalembert.solve.tolerances import TINY


def derive_friction(
    derivation: Derivation, constraints: Constraints, rows: tuple[Row, ...], probe: Callable[[ca.SX], np.ndarray]
) -> tuple[ca.SX, list[str]]:
    """F (nc, nu) such that the reactions are W0^T la - F^T |la|, and the faults found."""
    s = derivation.symbols
    F = ca.SX(len(rows), s.u.shape[0])
    faults = []
    index = {row.name: k for k, row in enumerate(rows)}
    for friction in derivation.statement.frictions:
        k = index.get(friction.constraint)
        if k is None:
            faults.append(f"{friction.label}: the kinematics keep this constraint by themselves; it has no reaction")
        elif ca.depends_on(constraints.A[k, :], s.ud):
            faults.append(f"{friction.label}: the direction of its reaction depends on the accelerations")
        else:
            row, fault = _derive_one(friction, derivation, constraints.A[k, :], probe)
            F[k, :] += row
            faults += [fault] if fault else []
    return ca.sparsify(F), faults


def _derive_one(
    friction: Friction, derivation: Derivation, gradient: ca.SX, probe: Callable[[ca.SX], np.ndarray]
) -> tuple[ca.SX, str]:
    """mu |n| v^T J / sqrt(v.v + v0^2) with n the reaction at the point per unit of la, and v tangential to it."""
    low, u = derivation.low, derivation.symbols.u
    v = derivation.points.velocity(friction.at) - low.vector(friction.surface_velocity)
    J = ca.sparsify(ca.jacobian(v, u))
    zero, place = ca.SX(1, u.shape[0]), f"`{friction.at.name}`"
    if ca.depends_on(J, u):
        return zero, f"surface velocity of {friction.label} is not linear in the speeds"
    moving = [i for i in range(3) if J[i, :].nnz()]
    if not moving:
        return zero, f"{friction.label}: {place} does not move"
    v, J = v[moving], J[moving, :]
    values = np.nan_to_num(probe(J.T)).reshape(3, len(moving), -1)
    rank = max(rank_of(value) for value in values)
    n = ca.mtimes(symmetric_pseudo_inverse(ca.mtimes(J, J.T), rank), ca.mtimes(J, gradient.T))
    if not np.nan_to_num(probe(n), nan=1.0).any():
        return zero, (
            f"{friction.label}: this constraint exerts no force at {place}; give the point where it acts. For a ball, "
            "disc or ellipsoid that slides on a plane, state model.contacts.sphere(..., friction=mu)"
        )
    v -= n * (ca.dot(n, v) / (ca.dot(n, n) + TINY))
    if (np.abs(np.nan_to_num(probe(v), nan=1.0)) < 1e-12).all():
        return zero, f"{friction.label}: {place} cannot slide, it moves along the reaction only"
    mu, v0 = low(friction.coefficient), low(friction.regularisation)
    return mu * ca.norm_2(n) / ca.sqrt(ca.dot(v, v) + v0**2) * ca.mtimes(v.T, J), ""
