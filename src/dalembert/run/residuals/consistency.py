"""Numbers a residual form begins with: independent constraints, a consistent state, multipliers, at one state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.equations.system import System
from dalembert.run.formulations.choice import WEIGHTLESS, choose
from dalembert.solve.decompositions import least_squares, pseudo_inverse, row_space
from dalembert.solve.tolerances import UNIT_ROW_RANK

if TYPE_CHECKING:
    from dalembert.run.engine import Engine

CORRECTION_STEPS = 3  # of Newton's method from a state that nearly satisfies the constraints
REGULAR_DIRECTION = 1e-6  # relative singular value below which a direction is left alone, as at singular positions


def matrices(engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M (nu, nu) and A (nc, nu) at a state."""
    system = engine.system
    out = system.evaluate("dynamics", t, z[: system.nq], z[system.nq : engine.size], engine.parameters)
    M, A = (
        out[where].reshape(shape)
        for where, shape in (system.parts[name] for name in ("mass_matrix", "constraint_jacobian"))
    )
    return M, A


def independent_rows(system: System, M: np.ndarray, A: np.ndarray) -> tuple[int, ...]:
    """Constraints that do not repeat others; where levels repeat one another, positions are kept before velocities.

    Conditions that the equations of motion imply are left out.
    Rows that are not linear in u' are all kept: their A is not known beforehand.
    """
    n_p, linear = system.count("position"), system.nc - system.curved
    kept: list[int] = []
    solved = [row for row in range(linear) if row not in system.implied]
    for level in ([row for row in solved if row < n_p], [row for row in solved if row >= n_p]):
        if not level:
            continue
        free = A[level]
        if kept:  # the parts of the other rows outside the span of the kept ones, in the mass metric
            mass = np.sqrt(np.maximum(np.abs(np.diag(M)), WEIGHTLESS * np.abs(np.diag(M)).max()))
            basis = row_space(A[kept] / mass)
            rest = free / mass
            rest = rest - rest @ basis.T @ basis
            small = np.linalg.norm(rest, axis=1) < UNIT_ROW_RANK * np.linalg.norm(free / mass, axis=1)
            free = np.where(small[:, None], 0.0, rest * mass)
        kept += [level[row] for row in choose(M, free).rows]
    return (*sorted(kept), *range(linear, system.nc))


def kept_rows(engine: Engine, t: float, z: np.ndarray) -> tuple[int, ...] | None:
    """The independent constraints at a state; None if all are."""
    rows = independent_rows(engine.system, *matrices(engine, t, z))
    return None if len(rows) == engine.system.nc else rows


def positions(system: System, kept: Sequence[int] | None) -> int:
    """Number of position constraints among the kept ones."""
    n_p = system.count("position")
    return n_p if kept is None else sum(row < n_p for row in kept)


def needs_share(system: System, kept: Sequence[int] | None) -> bool:
    """Whether constraints that are left out take part in friction or laws."""
    return kept is not None and (system.friction or system.algebraic) and len(kept) < system.nc


def share_of(engine: Engine, t: float, z: np.ndarray, kept: Sequence[int]) -> np.ndarray:
    """Share matrix, (nc, n): maps the multipliers of the n kept constraints to minimum-norm multipliers of all.

    With A = T A_kept, the reaction A^T la is that of the kept rows with the multipliers T^T la. Hence
    la = T (T^T T)^-1 la_kept, all for unit rows. As long as the motion does not depend on how rows share a load, the
    matrix found at one state serves at others.
    """
    system, rows = engine.system, list(kept)
    M, A = matrices(engine, t, z)
    unit = A / _positive(np.sqrt(np.abs(np.diag(M))))
    lengths = np.linalg.norm(unit, axis=1)
    sizes = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    unit *= sizes[:, None]
    alone = [k for k, row in enumerate(system.rows) if not (row.law.ideal or row.law.rubs)]
    T = least_squares(unit[rows].T, unit.T).T
    T[rows] = np.eye(len(rows))
    T[[k for k in alone if k not in rows]] = 0.0
    share = pseudo_inverse(T).T
    return sizes[:, None] * share / sizes[rows]


def carried_multipliers(
    engine: Engine, t: float, z: np.ndarray, udot: np.ndarray, kept: Sequence[int] | None
) -> np.ndarray:
    """Multipliers of the kept constraints with the same reaction as the minimum-norm ones of all."""
    system = engine.system
    la = engine.evaluate(np.array([t]), z[None]).multipliers[0]
    if kept is None:
        return la
    if needs_share(system, kept):
        return least_squares(share_of(engine, t, z, kept), la)
    q, u = z[: system.nq], z[system.nq : engine.size]
    W = system.directions(t, q, u, engine.parameters, udot=udot, multipliers=la)
    return least_squares(W[list(kept)].T, W.T @ la)


def consistent(engine: Engine, t: float, z: np.ndarray) -> np.ndarray:
    """The state moved onto the constraints along the shortest way in the mass metric, (nz,).

    A solver that is begun, or begun again, has no error test to spare for what the state violates them by: its first
    step would jump by that much however short it is.
    """
    system, z = engine.system, np.array(z, dtype=float)
    q, u = z[: system.nq], z[system.nq : engine.size]  # views
    n_p, ni = system.count("position"), len(system.invariants)
    mass, inertia = weights(matrices(engine, t, z)[0], geometry(engine, t, z)[0])
    for _ in range(CORRECTION_STEPS if n_p + ni else 0):
        held = np.concatenate(
            [
                system.position_residual(t, q, engine.parameters),
                system.evaluate("invariant", t, q, u, engine.parameters)[:ni],
            ]
        )
        q -= _shortest(geometry(engine, t, z)[1], held, inertia)
    for _ in range(CORRECTION_STEPS if system.count("velocity") + n_p else 0):
        psi = system.velocity_residual(t, q, u, engine.parameters)
        u -= _shortest(matrices(engine, t, z)[1][: len(psi)], psi, mass)
    return z


def _shortest(G: np.ndarray, right: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """x of G x = right with the least sum of (weight x)^2."""
    return least_squares(G / weight, right, REGULAR_DIRECTION) / weight


def weights(M: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Square roots of the inertia against each speed (nu,) and against each coordinate rate (nq,)."""
    mass = _positive(np.sqrt(np.abs(np.diag(M))))
    return mass, _positive(np.linalg.norm(mass[:, None] * pseudo_inverse(C), axis=0))


def _positive(weights: np.ndarray) -> np.ndarray:
    """Weights in which zeros, from vanishing inertia, are replaced by the largest."""
    largest = weights.max(initial=0.0) or 1.0
    return np.where(weights > np.sqrt(WEIGHTLESS) * largest, weights, largest)


def geometry(engine: Engine, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C (nq, nu) of q' = C u + D, and the gradients (n, nq) of position constraints and invariants."""
    system = engine.system
    nq, nu = system.nq, system.nu
    n = system.count("position") + len(system.invariants)

    def build() -> ca.Function:
        m = system.mechanics
        phi_q = ca.jacobian(ca.vertcat(m.phi, m.h), m.q)
        out = ca.vertcat(ca.vec(m.C), ca.vec(phi_q))
        return ca.Function("geometry", [ca.vertcat(m.t, m.q, m.p)], [ca.densify(out)])

    out = system.derived_kernel("geometry", build)(np.concatenate([[t], z[:nq], engine.parameters]))
    return out[: nq * nu].reshape(nu, nq).T, out[nq * nu :].reshape(nq, n).T
