"""Consistent initial states: positions, then velocities, then accelerations with multipliers.

Algorithms A.1 and A.2 of Dinh Van Phong: what is given is held, the rest is solved for by damped Gauss-Newton steps of
least length, so that it stays close to the guess. Redundant constraints are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.equations.system import System, finite_number, name_of
from dalembert.errors import InitialStateError, UnknownNameError
from dalembert.initial.diagnosis import describe_motions, diagnose
from dalembert.initial.servo import check_servos
from dalembert.state import State

TOLERANCE = 1e-12
ITERATIONS = 60
RESTARTS = 8

Residual = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # x -> residual (m,), Jacobian (m, n)


def find_state(
    system: System,
    given: Mapping[Any, float],
    *,
    guess: Mapping[Any, float] | None = None,
    t0: float = 0.0,
    parameters: Mapping[Any, float] | None = None,
) -> State:
    """A state that satisfies every constraint at every level.

    `given` values (by symbol or name: coordinates, speeds, or coordinate rates such as `x.diff()`) are held; everything
    else is found near `guess`, which is zero where nothing is said. Raises `InitialStateError` naming the constraints
    that cannot be met.
    """
    t0 = finite_number(t0, "t0")
    p = system.parameter_values(parameters)
    held, near = _read(system, given, "given"), _read(system, guess or {}, "guess")
    q = _positions(system, t0, p, held, near)
    u = _velocities(system, t0, p, q, held, near)
    return complete_state(system, t0, q, u, p)


def complete_state(system: System, t: float, q: np.ndarray, u: np.ndarray, parameters: np.ndarray) -> State:
    """The state with these positions and velocities, its accelerations and multipliers solved for."""
    from dalembert.numerics.drift.no_correction import NoCorrection
    from dalembert.numerics.engine import Engine
    from dalembert.numerics.formulations.lagrange_multipliers import LagrangeMultipliers

    engine = Engine(system, parameters, LagrangeMultipliers(), NoCorrection())
    found = engine.evaluate(np.array([t]), np.concatenate([q, u, np.zeros(int(system.works))])[None])
    if engine.unsolved:
        raise InitialStateError(f"`{system.name}` at t = {t:g}: {engine.unsolved.message}")
    if not np.isfinite(found.udot).all():
        raise InitialStateError(
            f"`{system.name}`: the accelerations are not finite at t = {t:g}; the model is undefined in this state"
        )
    check_servos(system, t, q, u, parameters)
    state = State(system, float(t), q, u, found.udot[0], found.multipliers[0], parameters)
    left = np.abs(found.acceleration[0])
    if left.size and left.max() > 1e-6:
        bad = {system.constraint_names[k]: float(left[k]) for k in np.argsort(-left) if left[k] > 1e-6}
        conflicts = [str(conflict) for conflict in diagnose(system, state).conflicting]
        raise InitialStateError(
            f"`{system.name}`: no acceleration satisfies all constraints in this state: "
            f"{'; '.join(conflicts) or 'left over: ' + _list(bad)}. Remove or change one of them",
            bad,
        )
    if found.balance[0] > 1e-6:
        raise InitialStateError(
            f"`{system.name}`: M u' = f + r cannot be solved in this state: some motion has neither inertia nor a "
            f"constraint{_which(state)}; give every coordinate inertia or a constraint"
        )
    return state


def _read(system: System, values: Mapping[Any, float], what: str) -> dict[str, float]:
    """Values by name, checked: declared and finite."""
    known = {*system.coordinates, *system.speeds, *(f"{q}'" for q in system.coordinates)}
    read = {}
    for key, value in values.items():
        name = name_of(key)
        if name not in known:
            raise UnknownNameError(name, (*system.coordinates, *system.speeds), f"the {what} values of `{system.name}`")
        read[name] = finite_number(value, f"{what} value of `{name}`")
    return read


def _positions(
    system: System, t: float, p: np.ndarray, held: Mapping[str, float], near: Mapping[str, float]
) -> np.ndarray:
    names = system.coordinates
    start = np.array([held.get(n, near.get(n, g)) for n, g in zip(names, system.guess, strict=True)])
    free = np.array([n not in held for n in names])
    n_p, n_i, nq = system.count("position"), len(system.invariants), system.nq
    labels = [row.name for row in system.rows if row.level == "position"] + list(system.invariants)
    if not labels:
        return start

    def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = start.copy()
        q[free] = x
        out = system.evaluate("assembly", t, q, np.zeros(system.nu), p)
        phi, rows = out[:n_p], out[n_p : n_p + n_p * nq].reshape(n_p, nq)
        h = out[n_p + n_p * nq :]
        J = np.vstack([rows, h[n_i:].reshape(n_i, nq)])
        return np.concatenate([phi, h[:n_i]]), J[:, free]

    x = _solve(residual, start[free])
    left = residual(x)[0]
    _check(system, "position", labels, left, held)
    start[free] = x
    return start


def _velocities(
    system: System, t: float, p: np.ndarray, q: np.ndarray, held: Mapping[str, float], near: Mapping[str, float]
) -> np.ndarray:
    names = system.speeds
    start = np.array([held.get(n, near.get(n, 0.0)) for n in names])
    free = np.array([n not in held for n in names])
    rates = [k for k, n in enumerate(system.coordinates) if f"{n}'" in held]
    wanted = np.array([held[f"{system.coordinates[k]}'"] for k in rates])
    first = system.count("position")
    n = system.count("velocity") + first
    labels = [f"rate of {row.name}" if k < first else row.name for k, row in enumerate(system.rows[:n])]
    labels += [f"given {system.coordinates[k]}'" for k in rates]
    if not labels:
        return start
    drift = system.coordinate_rates(t, q, np.zeros(system.nu), p)
    columns = system.coordinate_rates(t, q, np.eye(system.nu), p) - drift  # row j: C[:, j]

    def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = start.copy()
        u[free] = x
        psi = system.velocity_residual(t, q, u, p)
        A = system.constraint_jacobian(t, q, u, p)[:n]
        rows = columns.T[rates]
        return np.concatenate([psi, rows @ u + drift[rates] - wanted]), np.vstack([A, rows])[:, free]

    x = _solve(residual, start[free])
    _check(system, "velocity", labels, residual(x)[0], held)
    start[free] = x
    return start


def _solve(residual: Residual, start: np.ndarray) -> np.ndarray:
    """A zero near `start`, or the best point found after restarts from perturbed guesses."""
    rng = np.random.default_rng(1717)
    best, best_norm = start, np.inf
    for attempt in range(RESTARTS if start.size else 1):
        spread = 0.0 if attempt == 0 else 0.05 * 2.0**attempt
        x = _descend(residual, start + spread * rng.standard_normal(start.size))
        norm = float(np.abs(residual(x)[0]).max(initial=0.0))
        if norm < best_norm:
            best, best_norm = x, norm
        if best_norm <= TOLERANCE:
            break
    return best


def _descend(residual: Residual, x: np.ndarray) -> np.ndarray:
    """Damped Gauss-Newton with steps of least length; stops at round-off or when no step helps."""
    r, J = residual(x)
    for _ in range(ITERATIONS):
        norm = float(r @ r)
        if not np.isfinite(norm) or norm <= 1e-32 or x.size == 0 or not np.isfinite(J).all():
            break
        step = np.linalg.lstsq(J, -r, rcond=1e-10)[0]
        damping = 1.0
        while damping > 1e-6:
            trial = x + damping * step
            r_new, J_new = residual(trial)
            if float(r_new @ r_new) < norm * (1.0 - 1e-4 * damping):
                break
            damping *= 0.5
        else:
            break
        x, r, J = trial, r_new, J_new
    return x


def _check(system: System, level: str, labels: list[str], left: np.ndarray, held: Mapping[str, float]) -> None:
    size = np.abs(left)
    if np.isfinite(size).all() and size.max(initial=0.0) <= TOLERANCE * 10:
        return
    bad = {labels[k]: float(size[k]) for k in np.argsort(-size) if not size[k] <= TOLERANCE * 10}
    hold = f" with {', '.join(held)} held" if held else ""
    raise InitialStateError(
        f"`{system.name}`: the {level} constraints cannot all be met{hold}; left over: {_list(bad)}. "
        "Change or release a given value, or give a guess closer to an assembled state",
        bad,
    )


def _which(state: State) -> str:
    """The motions without inertia, in brackets; nothing if there are none."""
    massless = diagnose(state.system, state).massless
    return f" ({describe_motions(massless)})" if massless else ""


def _list(bad: Mapping[str, float]) -> str:
    shown = list(bad.items())[:5]
    more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
    return ", ".join(f"`{name}` {value:.3g}" for name, value in shown) + more
