"""Whether a state stays as it is: at rest, or with constant speeds for a clear part of the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.errors import Closest, InitialStateError
from dalembert.motion.state import State
from dalembert.solve.decompositions import least_squares
from dalembert.solve.tolerances import CANCELLED, RANK_TOLERANCE

STILL_RATE = 1e-7  # rates and residuals below this, relative to their terms or to size / period, are zero
WAITS = (0.37, 1.93)  # times after which a state at rest is looked at again
WAY = 0.3  # how far coordinates go while a steady motion is followed, relative to max(1, |q|)
RUNGE_KUTTA_STEPS = 24  # of the classical Runge-Kutta method on that way; its error is below 1e-7
CHANGED = 1e-5  # of a speed on that way, relative to the largest, above which the motion is not steady
PURSUIT = 8  # Newton steps that are taken from a root
# Distances from a root below this, relative to the largest coordinate and at least 1, are round-off.
ROOT_DISTANCE = 1e-9
# Ratio of the last to the first of these steps that tells a root, even a multiple one, from none.
CONVERGENCE_RATIO = 0.7


def check_balance(state: State, constant: Sequence[int], given: Sequence[int], what: str) -> None:
    """Raise if residuals of the `constant` speeds are neither round-off nor close to a point where they vanish.

    Towards such a point Newton's steps get shorter, even if forces vanish to a higher order there. They do not where
    forces only fade towards infinity. `given` are the indices in (q, u) of variables that must not move.
    """
    s, udot = state.system, state.udot.copy()
    udot[list(constant)] = 0.0
    M = s.mass_matrix(state.t, state.q, state.u, state.parameters)
    left = np.abs(M @ (state.udot - udot))
    terms = np.abs(s.forces(state.t, state.q, state.u, state.parameters)) + np.abs(state.reactions)
    if (left <= CANCELLED * (terms + np.abs(M) @ np.abs(udot))).all():
        return
    state = replace(state, udot=udot)
    d = differentiate(state)
    terms = np.maximum(terms, (np.abs(d.gradients) @ np.abs(d.y))[d.rows["balance"]])
    doubtful = np.flatnonzero(left > CANCELLED * terms)
    ways = _pursue(state, d, np.setdiff1d(np.arange(s.nq + s.nu + s.nc), given), doubtful)
    close = ROOT_DISTANCE * max(1.0, np.abs(state.z).max(initial=0.0))
    for k in doubtful[~((ways[0] <= close) | (ways[-1] < CONVERGENCE_RATIO * ways[0]))][:1]:
        place = zip(s.coordinates[:6], state.q, strict=False)
        raise InitialStateError(
            f"`{s.name}`: no {what} was found: {left[k]:.3g} is left on `{s.speeds[k]}` at "
            f"{', '.join(f'{q} = {value:.4g}' for q, value in place)}, and vanishes nowhere near: it is not balanced, "
            "or fades towards infinity. Give a guess elsewhere, or add the force that balances it",
            {f"balance of {s.speeds[k]}": float(left[k])},
            closest=Closest(state.q, state.u),
        )


def _pursue(state: State, d: EquationDerivatives, free: np.ndarray, doubtful: np.ndarray) -> np.ndarray:
    """Balance residuals of `doubtful` speeds (n,) along Newton's steps, as distances from zero, (steps, n).

    They are infinite outside the domain of the model. No step is taken if all of them are close to zero at once.
    """
    s, ways = state.system, list[np.ndarray]()
    n, rows = d.rows["rates"].start, d.rows["balance"].start + doubtful
    while len(ways) < PURSUIT:
        J = np.hstack([d.gradients[:n, d.columns[name]] for name in ("q", "u", "la")])[:, free]
        if not np.isfinite(J).all():
            return np.array([*ways, np.full(len(rows), np.inf)])
        lengths = np.linalg.norm(J, axis=1)
        told, left = lengths > 0.0, d.values[:n]
        off = np.where(told, left / np.where(told, lengths, 1.0), np.where(left == 0.0, 0.0, np.inf))
        ways.append(np.abs(off[rows]))
        if ways[0].max(initial=0.0) <= ROOT_DISTANCE:
            break
        v = np.concatenate([state.z, state.multipliers])
        v[free] -= least_squares(J[told] / lengths[told, None], off[told], RANK_TOLERANCE)
        q, u, la = np.split(v, [s.nq, s.nq + s.nu])
        state = replace(state, q=q, u=u, multipliers=la)
        d = differentiate(state)
    return np.array(ways)


def check_rest(state: State) -> None:
    s = state.system
    rates = s.coordinate_rates(state.t, state.q, state.u, state.parameters)
    if np.abs(rates).max(initial=0.0) > STILL_RATE:
        k = int(np.argmax(np.abs(rates)))
        raise InitialStateError(
            f"`{s.name}` has no equilibrium: with all speeds zero `{s.coordinates[k]}` still moves at {rates[k]:.3g}, "
            "as the kinematics depend on time",
            closest=Closest(state.q, state.u),
        )
    _check_time(state)


def _check_time(state: State) -> None:
    """Raise if the equations of a state at rest, met at its time, are not met later on."""
    s = state.system
    more = np.concatenate([state.udot, state.multipliers])
    names = (*s.speeds, *s.constraint_names)

    def left(t: float) -> np.ndarray:
        return s.evaluate("remainder", t, state.q, state.u, state.parameters, more=more)

    scale = 1.0 + np.abs(s.forces(state.t, state.q, state.u, state.parameters)).max(initial=0.0)
    for wait in WAITS:
        change = np.abs(left(state.t + wait) - left(state.t))
        if not change.max(initial=0.0) <= STILL_RATE * scale:
            k = int(np.argmax(np.nan_to_num(change, nan=np.inf)))
            raise InitialStateError(
                f"`{s.name}` has no equilibrium: at rest at t = {state.t:g}, it is pushed {wait:g} s later "
                f"({change[k]:.3g} in the equation of `{names[k]}`), as the model depends on time; make "
                "the time in it a parameter",
                closest=Closest(state.q, state.u),
            )


def check_steady(state: State, constant: Sequence[int]) -> None:
    """Follow the motion until coordinates have moved clearly, and see whether the speeds are still the same."""
    s, z = state.system, state.z
    nq = s.nq
    rates = s.coordinate_rates(state.t, state.q, state.u, state.parameters)
    fastest = (np.abs(rates) / np.maximum(1.0, np.abs(state.q))).max(initial=0.0)
    if not fastest > STILL_RATE:
        _check_time(state)
        return
    span = WAY / fastest
    end = _follow(state, span)
    change = np.abs(end[nq:] - z[nq:])[list(constant)]
    if not change.max(initial=0.0) <= CHANGED * max(1.0, np.abs(state.u).max(initial=0.0)):
        k = list(constant)[int(np.argmax(np.nan_to_num(change, nan=np.inf)))]
        moving = [s.coordinates[j] for j in np.flatnonzero(np.abs(rates) > STILL_RATE * max(1.0, np.abs(rates).max()))]
        raise InitialStateError(
            f"`{s.name}`: u' = 0 holds for an instant only: after {span:.3g} s `{s.speeds[k]}` has gone from "
            f"{state.u[k]:.6g} to {end[nq + k]:.6g}, as {', '.join(moving)} move. Give rates that must be zero, or "
            "another guess; speeds that change in a steady motion (such as x' of a circle) are left out by "
            "constant=[...]",
            {f"{s.speeds[k]}'": float(np.max(change))},
            closest=Closest(state.q, state.u),
        )


def _follow(state: State, span: float) -> np.ndarray:
    """(q, u) after a time `span`, by the classical Runge-Kutta method."""
    from dalembert.run.accelerations import accelerations

    s, p = state.system, state.parameters

    def rate(t: float, z: np.ndarray) -> np.ndarray:
        q, u = z[: s.nq], z[s.nq :]
        return np.concatenate([s.coordinate_rates(t, q, u, p), accelerations(s, t, q, u, p).udot])

    z, h = state.z, span / RUNGE_KUTTA_STEPS
    for k in range(RUNGE_KUTTA_STEPS):
        t = state.t + k * h
        k1 = rate(t, z)
        k2 = rate(t + h / 2, z + h / 2 * k1)
        k3 = rate(t + h / 2, z + h / 2 * k2)
        k4 = rate(t + h, z + h * k3)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return z
