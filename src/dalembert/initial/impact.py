"""Sudden changes of velocity: the impulse that makes speeds satisfy constraints they did not satisfy before.

Within an impact positions stand still and every force but those of the constraints is negligible:

    M (u+ - u-) = W^T Lambda + E^T J,     psi(q, u+, t) = 0,     E u+ = the speeds that are given,

with the directions W of the reactions (A, if they are ideal). It is d'Alembert's principle integrated over the instant:
the momentum along every motion the constraints allow is kept, and so is the angular momentum about a free axis. For
ideal constraints u+ is the velocity nearest to u- in the mass metric, and the kinetic energy lost is that of the
velocity lost (Carnot). Velocity constraints that are not linear in u take the impulse along their gradient at u+;
friction has no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.equations.nonlinear_unknowns import check_known_mass
from dalembert.equations.system import System
from dalembert.errors import InitialStateError
from dalembert.initial.request import measured
from dalembert.run.evaluate import OFF_CONSTRAINTS
from dalembert.solve.least_squares import solve_least

IMPACT_ITERATIONS = 30


def strike(
    system: System, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, given: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Speeds (nu,) after an impact and the impulses (nc,) of the constraints.

    `given` are speeds after it, or coordinate rates such as `x'`, by name.
    """
    n = system.count("position") + system.count("velocity")
    impulses = np.zeros(system.nc)
    E, wanted = _rows(system, t, q, p, given)
    if not n and not given:
        return u.copy(), impulses
    check_known_mass(system.name, system.mechanics, "an impact")
    M, scales = system.mass_matrix(t, q, u, p), measured()(system, t, q, u, p, 0.0)
    after = u.copy()
    for _ in range(IMPACT_ITERATIONS):
        psi = system.velocity_residual(t, q, after, p)
        left = np.concatenate([psi, E @ after - wanted])
        A = np.vstack([system.constraint_jacobian(t, q, after, p)[:n], E])
        W = np.vstack([system.directions(t, q, after, p)[:n], E])
        # A u+ = A u - left to first order, with M (u+ - u-) = W^T Lambda.
        moved, Lambda = solve_least(M, A, W, A @ (after - u) - left)
        step = u + moved - after
        after, impulses[:n] = u + moved, Lambda[:n]
        if (np.abs(step) <= 1e-15 * (scales.u + np.abs(after).max(initial=0.0))).all():
            break
    after[[system.speeds.index(name) for name in given if name in system.speeds]] = [
        value for name, value in given.items() if name in system.speeds
    ]
    left = np.concatenate([system.velocity_residual(t, q, after, p), E @ after - wanted])
    sizes = np.concatenate([np.abs(A[:n]) @ np.abs(after) + scales.velocity, np.abs(E) @ scales.u + np.abs(wanted)])
    _check(system, left, sizes, tuple(given))
    return after, impulses


def _rows(
    system: System, t: float, q: np.ndarray, p: np.ndarray, given: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """E (n, nu) and the given values of E u+."""
    drift = system.coordinate_rates(t, q, np.zeros(system.nu), p)
    C = (system.coordinate_rates(t, q, np.eye(system.nu), p) - drift).T
    E, wanted = np.zeros((len(given), system.nu)), np.array([*given.values()], dtype=float)
    for k, name in enumerate(given):
        if name in system.speeds:
            E[k, system.speeds.index(name)] = 1.0
        else:
            j = system.coordinates.index(name.removesuffix("'"))
            E[k], wanted[k] = C[j], wanted[k] - drift[j]
    return E, wanted


def _check(system: System, left: np.ndarray, sizes: np.ndarray, given: tuple[str, ...]) -> None:
    names = [row.name for row in system.rows if row.level != "acceleration"] + [f"given {name}" for name in given]
    share = np.abs(left) / sizes
    if np.isfinite(share).all() and share.max(initial=0.0) <= OFF_CONSTRAINTS:
        return
    bad = {names[k]: float(abs(left[k])) for k in np.argsort(-share) if not share[k] <= 0.1 * OFF_CONSTRAINTS}
    listed = ", ".join(f"`{name}` {value:.3g}" for name, value in bad.items())
    raise InitialStateError(
        f"`{system.name}`: no impulse brings the speeds onto all velocity constraints; left over: "
        f"{listed}. Change or release a given speed",
        bad,
    )
