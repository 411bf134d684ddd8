"""Kane's quantities at plain arrays: partial velocities, generalised active and inertia forces, for all or some speeds.

Notation as in Bajodah, Hodges, Chen, eq. (34)-(40): u = (u_I, u_D), u_D' = A u_I' + B, A2 = [I A^T]. For all speeds the
quantities are called holonomic: v_r, w_r, F and F*. For independent speeds u_I they are nonholonomic: v_r A2^T,
w_r A2^T, A2 F and A2 F*, and Kane's equations read A2 (F + F*) = 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import PairingError
from dalembert.run.formulations.partition import check_names, choose_partition
from dalembert.solve.decompositions import solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Names = Iterable[Any] | None


def partial_velocities(
    system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *, u_ind: Names = None
) -> dict[str, np.ndarray]:
    """v_r of every particle and mass centre by name, (..., 3, nu); with `u_ind` those of (34), (..., 3, p)."""
    names = (*system.particles, *system.bodies)
    V = _all_partial_velocities(system, t, q, u, parameters, u_ind)
    return {name: V[..., k, :, :] for k, name in enumerate(names)}


def partial_angular_velocities(
    system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *, u_ind: Names = None
) -> dict[str, np.ndarray]:
    """w_r of every body by name, (..., 3, nu), in inertial axes; with `u_ind` those of (35), (..., 3, p).

    For a body of which only an angular velocity was stated, they are in body axes.
    """
    first = len(system.particles) + len(system.bodies)
    V = _all_partial_velocities(system, t, q, u, parameters, u_ind)
    return {name: V[..., first + k, :, :] for k, name in enumerate(system.bodies)}


def generalized_active_forces(
    system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any = None, *, u_ind: Names = None
) -> np.ndarray:
    """F (..., nu): generalised forces of forces, torques and potentials; with `u_ind` A2 F of (36), (..., p).

    Unknowns of servo constraints and prescribed non-ideal parts are reactions here, and not in it.
    """
    F = system.evaluate("active_forces", t, q, u, parameters)
    return F if u_ind is None else _projected(F, admissible_directions(system, t, q, u, parameters, u_ind))


def generalized_inertia_forces(
    system: System,
    t: ArrayLike,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    parameters: Any = None,
    *,
    u_ind: Names = None,
) -> np.ndarray:
    """F* = -Q u' - L (41), (..., nu), at any accelerations u' (..., nu); with `u_ind` A2 F* of (37), (..., p).

    At the accelerations of the motion F + F* = -r, the reaction with its sign turned round.
    """
    at = (t, q, u, parameters)
    L = system.evaluate("active_forces", *at) - system.forces(*at)
    F = -np.einsum("...ij,...j->...i", system.mass_matrix(*at), np.asarray(udot, dtype=float)) - L
    return F if u_ind is None else _projected(F, admissible_directions(system, *at, u_ind))


def admissible_directions(
    system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any, u_ind: Iterable[Any]
) -> np.ndarray:
    """A2^T of (40) with its rows in the order of the speeds, (..., nu, p): A A2^T = 0; columns in the order of `u_ind`.

    Raises `OptionError` naming the speeds that the constraints tie together if they cannot be independent.
    """
    if system.curved:
        raise PairingError(
            f"`{system.name}` has constraints that are not linear in the accelerations, so no speeds are independent "
            "in the sense of (34)-(38); leave `u_ind` out for the holonomic quantities"
        )
    names = check_names(u_ind if isinstance(u_ind, str) else tuple(u_ind)) or ()
    M = system.mass_matrix(t, q, u, parameters)
    A = system.constraint_jacobian(t, q, u, parameters)
    lead = M.shape[:-2]
    found = [_directions(system, M[k], A[k], names) for k in np.ndindex(lead)]
    return np.array(found).reshape(*lead, system.nu, len(names))


def _directions(system: System, M: np.ndarray, A: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """A2^T (nu, p) at one state."""
    choice = choose_partition(system, M, A, names)
    rows, dependent = list(choice.rows), list(choice.dependent)
    independent = [system.speeds.index(name) for name in names]
    Z = np.zeros((system.nu, len(names)))
    Z[independent, range(len(names))] = 1.0
    Z[dependent] = -solve(A[np.ix_(rows, dependent)], A[np.ix_(rows, independent)])
    return Z


def _all_partial_velocities(
    system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, parameters: Any, u_ind: Names
) -> np.ndarray:
    """Gradients of every velocity and angular velocity, (..., n, 3, nu), or along A2^T, (..., n, 3, p)."""
    out = system.evaluate("partial_velocities", t, q, u, parameters)
    count = len(system.particles) + 2 * len(system.bodies)
    V = out.reshape(*out.shape[:-1], count, 3, system.nu)
    if u_ind is None:
        return V
    return V @ admissible_directions(system, t, q, u, parameters, u_ind)[..., None, :, :]


def _projected(F: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """A2 F, (..., p), with Z = A2^T."""
    return np.einsum("...ij,...i->...j", Z, F)
