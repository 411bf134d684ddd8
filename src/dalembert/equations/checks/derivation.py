"""Checks of the derived equations at random states: linearity, physical bodies, constraints that hold."""

from __future__ import annotations

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.checks.inertia import carriers_of, inertia_column, inertia_faults
from dalembert.equations.derive import Constraints, Derivation
from dalembert.equations.laws import Row
from dalembert.equations.probe import Probe, Probed
from dalembert.model.markers import Marker
from dalembert.model.reading import nodes
from dalembert.model.statement import Attitude, Body, Point, Statement
from dalembert.solve.decompositions import determinant_sign, least_squares


def check_derivation(
    derivation: Derivation, constraints: Constraints, rows: tuple[Row, ...], probe: Probe, probed: Probed
) -> list[str]:
    """All faults found by evaluating the derived equations at random states."""
    return [
        *_check_motion(derivation, probe),
        *_check_matrices(derivation, probe),
        *_check_dynamics(derivation, probed),
        *_check_rows(constraints, rows, probed),
        *_check_servos(derivation.statement, rows),
        *_check_inertias(derivation, probe),
        *_check_velocities(derivation, constraints, probe),
    ]


def _check_servos(statement: Statement, rows: tuple[Row, ...]) -> list[str]:
    """Faults: unknowns whose constraint restrains nothing."""
    kept = {row.name for row in rows}
    return [
        f"unknown `{c.servo}` is not determined: constraint `{c.name}` does not depend on how the system moves; give "
        "it a constraint that does, or leave both out"
        for c in statement.constraints
        if c.servo is not None and c.name not in kept
    ]


def _check_motion(derivation: Derivation, probe: Probe) -> list[str]:
    """Velocities linear in the speeds, and rotations that are some."""
    statement, u = derivation.statement, derivation.symbols.u
    points = [p for p in _points(statement) if p.velocity is not None]
    bodies = [b for b in statement.bodies if b.angular_velocity is not None]
    column = ca.vertcat(derivation.points.velocities(points), derivation.turning.angular_velocities(bodies))
    faults = []
    if ca.depends_on(ca.jacobian(column, u), u):  # then say which
        labels = [f"velocity of `{p.name}`" for p in points]
        labels += map(_angular, bodies)
        stated = zip(labels, ca.vertsplit(column, 3), strict=True)
        faults = [f"{label} is not linear in the speeds" for label, v in stated if ca.depends_on(ca.jacobian(v, u), u)]
    return faults + _check_rotations(derivation, probe)


def _angular(body: Body) -> str:
    return f"angular velocity of body `{body.name}`"


def _check_rotations(derivation: Derivation, probe: Probe) -> list[str]:
    """Rotations orthonormal and right-handed, those of all bodies at three states at once."""
    faults, bodies = [], derivation.statement.bodies
    R = probe(derivation.turning.attitudes(bodies)).reshape(3, -1, 3, 3)  # transposed, which does not matter here
    off = np.nan_to_num(np.abs(R @ R.transpose(0, 1, 3, 2) - np.eye(3))).max(axis=(0, 2, 3))
    left = (determinant_sign(np.nan_to_num(R)) < 0).any(axis=0)
    for k in np.flatnonzero((off > 1e-10) | left):
        if off[k] > 1e-10:
            words = f"is not orthonormal: R^T R differs from 1 by {off[k]:.3g}"
        else:
            words = "is left-handed: its determinant is -1; swap or flip an axis"
        faults.append(f"rotation of body `{bodies[k].name}` {words}")
    return faults


def _points(statement: Statement) -> list[Point]:
    """Particles, bodies and points of forces that do not move with a body, each once."""
    at = [load.at for load in (*statement.forces, *statement.nonideal_forces)] + [f.at for f in statement.frictions]
    points = [*statement.particles, *statement.bodies, *(p for p in at if not (isinstance(p, Marker) and p.fixed))]
    return list({id(point): point for point in points}.values())


def _check_matrices(derivation: Derivation, probe: Probe) -> list[str]:
    """Mass matrices and inertias symmetric."""
    statement = derivation.statement
    stated = [("matrices: mass", raw.mass) for raw in statement.matrices]
    stated += [
        (f"inertia of body `{b.name}`", sp.Matrix(3, 3, b.inertia))
        for b in statement.bodies
        if len(b.inertia) == 9 and not all(b.inertia[3 * i + j] == b.inertia[3 * j + i] for i, j in _PAIRS)
    ]
    faults = []
    for label, matrix in stated:
        M = derivation.low.matrix(matrix)
        skew = np.nan_to_num(np.abs(probe(M - M.T)).max(axis=0)).reshape(M.shape)
        i, j = sorted(int(k) for k in np.unravel_index(skew.argmax(), skew.shape))
        if skew[i, j] > 1e-10 * (1.0 + np.nan_to_num(np.abs(probe(M))).max()):
            faults.append(f"{label} is not symmetric: entries [{i}, {j}] and [{j}, {i}] differ by {skew[i, j]:.3g}")
    return faults


_PAIRS = ((0, 1), (0, 2), (1, 2))  # entries of a 3x3 matrix that symmetry makes equal


def _check_dynamics(derivation: Derivation, probed: Probed) -> list[str]:
    """Forces linear in unknowns that do work, everything finite somewhere."""
    d, faults = derivation.dynamics, []
    laws = [constraint for constraint in derivation.statement.constraints if not constraint.law.restrains]
    read = {node for law in laws for node in nodes(law.expression)}
    determined = {law.servo for law in laws}
    for k, y in enumerate(derivation.statement.unknowns):
        bent = ca.depends_on(d.E, derivation.symbols.y[k])
        if bent and y not in determined:
            faults.append(
                f"the forces or masses are not linear in the servo unknown `{y}`; let a plain force enforce the "
                f"constraint, servo=F, and give `{y}` a law, model.law(F - ..., determines={y.func.__name__})"
            )
        elif not bent and ca.sparsify(d.B[:, k]).nnz() == 0 and y not in read:
            faults.append(f"unknown `{y}` does not act on any speed: no motion lets it do work")
    for label, values in (("mass matrix is", probed.M), ("forces are", probed.f)):
        if values.size and not np.isfinite(values).any():
            faults.append(f"the {label} not finite at any of three random states; check the parameters")
    return faults


def _check_rows(constraints: Constraints, rows: tuple[Row, ...], probed: Probed) -> list[str]:
    """Faults: constraints that restrain nothing."""
    values = np.abs(np.nan_to_num(probed.A, nan=1.0)).max(axis=0)
    largest = np.zeros(len(rows))
    np.maximum.at(largest, np.array(constraints.A.sparsity().row(), dtype=int), values)
    return [
        f"constraint `{rows[k].name}` does not restrain any speed: its gradient is zero"
        for k in np.flatnonzero(largest == 0.0)
        if rows[k].law.restrains
    ]


def _check_inertias(derivation: Derivation, probe: Probe) -> list[str]:
    """Masses and inertias of bodies that can exist, with the parameters' defaults."""
    statement = derivation.statement
    values = probe(inertia_column(statement, derivation.low))[0]
    return [words for _, words in inertia_faults(carriers_of(statement), values)]


def _check_velocities(derivation: Derivation, constraints: Constraints, probe: Probe) -> list[str]:
    """Faults: stated velocities and angular velocities that are not the rates of stated positions and rotations.

    They may differ by what the constraints forbid, as in Kane's method with a contact point that is given no velocity.
    """
    st, kinematics, turning = derivation.statement, derivation.kinematics, derivation.turning
    points = [item for item in (*st.particles, *st.bodies) if item.velocity is not None and item.position is not None]
    bodies = [b for b in st.bodies if b.angular_velocity is not None and b.attitude is not Attitude.NONE]
    if not points and not bodies:
        return []
    u = kinematics.symbols.u
    stated = ca.vertcat(derivation.points.velocities(points), turning.angular_velocities(bodies))
    placed = derivation.points.positions(points)
    gap = stated - ca.vertcat(kinematics.rate(placed), turning.rates(bodies))
    off = np.abs(np.nan_to_num(probe(gap))).max(axis=0)
    differing = sorted({int(k) // 3 for k in np.flatnonzero(off > 1e-8)})  # the others agree by themselves
    if not differing:
        return []
    A = ca.jacobian(constraints.psi, u)
    faults, parts = [], ca.vertsplit(gap, 3)
    for k in differing:
        label = f"velocity of `{points[k].name}`" if k < len(points) else _angular(bodies[k - len(points)])
        partial = ca.jacobian(parts[k], u)
        off = max(_outside(*values) for values in zip(probe(partial), probe(A), [u.shape[0]] * 3, strict=True))
        if off > 1e-8:
            faults.append(
                f"{label} contradicts the stated position or rotation: partial velocities differ by {off:.3g}; "
                "leave one of them out"
            )
    return faults


def _outside(gap: np.ndarray, A: np.ndarray, nu: int) -> float:
    """Largest part of a difference of partial velocities outside the row space of A (both column by column)."""
    D, rows = gap.reshape(nu, -1).T, A.reshape(nu, -1).T
    if not (np.isfinite(D).all() and np.isfinite(rows).all()):
        return 0.0
    if rows.size:
        D = D - least_squares(rows.T, D.T, 1e-10).T @ rows
    return float(np.abs(D).max(initial=0.0))
