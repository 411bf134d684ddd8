"""The mass metric: moves are measured by the kinetic energy they would carry if made in unit time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dalembert.equations.system import System
from dalembert.solve.decompositions import pseudo_inverse

if TYPE_CHECKING:
    from dalembert.run.scales import Scales

LIGHT = 1e-12  # a diagonal entry of M below this fraction of the largest counts as none
DIAGONAL_SHIFT = 1e-6  # added to the diagonal of M, relative to its entries, where M may be singular


def speed_metric(system: System, x: np.ndarray, scales: Scales) -> np.ndarray:
    """M (nu, nu) at x = (t, q, u, p), made positive definite where it is not: G of the distance d^T G d of speeds."""
    where, shape = system.parts["mass_matrix"]
    M = system.kernel("dynamics")(x)[where].reshape(shape)
    if not math.isfinite(M.sum()):
        return np.eye(system.nu)
    masses, squares = [abs(m) for m in M.diagonal().tolist()], [size * size for size in scales.u.tolist()]
    energies = [m * square for m, square in zip(masses, squares, strict=True)]  # so units do not matter
    typical = max(energies, default=0.0) or 1.0
    if system.singular_mass or min(energies, default=1.0) <= LIGHT * typical:
        M.reshape(-1)[:: system.nu + 1] = [
            (1.0 + DIAGONAL_SHIFT) * m if energy > LIGHT * typical else typical / square
            for m, square, energy in zip(masses, squares, energies, strict=True)
        ]
    return M


def position_metric(system: System, x: np.ndarray, scales: Scales) -> np.ndarray:
    """G (nq, nq) of the distance of coordinates: M where q' = u, else M of the speeds that lead from one to the other.

    Directions in which no speed leads, such as the length of a quaternion, count like the others on average.
    """
    M = speed_metric(system, x, scales)
    if system.trivial_kinematics:
        return M
    nq, nu = system.nq, system.nu
    first = system.count("position") + system.count("velocity")
    C = system.kernel("speeds")(x)[(1 + nu) * first + nq :].reshape(nq, nu)
    if not np.isfinite(C).all():
        return np.eye(nq)
    C = C / scales.q[:, None] * scales.u  # in units of the sizes
    back = pseudo_inverse(C)
    G = back.T @ (M * scales.u[:, None] * scales.u) @ back
    off = np.eye(nq) - C @ back
    typical = float(np.trace(G)) / max(nu, 1) or 1.0
    return (G + typical * (off.T @ off) + DIAGONAL_SHIFT * typical * np.eye(nq)) / scales.q[:, None] / scales.q


def weighted(G: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """G with each variable counted `weights` (n,) times."""
    if weights is None:
        return G
    root = np.sqrt(weights)
    return G * root[:, None] * root
