"""`Comoving`: constant coefficients of small changes, seen from axes that go along with a steady motion.

A motion is steady if a field z' = L z + ... carries it and leaves the equations as they are. Changes x seen from axes
that are carried along obey x' = (A - L) x with constant coefficients; A is that of the instant, and changes are
exp(t L) x. This is verified, not assumed: at later times the carried state must meet the equations, and these must
answer to changes turned by exp(t L) as they do now.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.analysis.floquet import depends_on_time
from dalembert.analysis.linearization import ENTRY_ROUND_OFF, Linearization
from dalembert.analysis.linearize import INCONSISTENT_RESIDUAL
from dalembert.analysis.moving_axes import UNTOLD, MovingAxes, axes_along, symmetries
from dalembert.analysis.small_changes import SmallChanges, small_changes
from dalembert.analysis.steady_check import WAITS
from dalembert.errors import DalembertError, InitialStateError, LinearizationError
from dalembert.initial.accelerations import complete_state
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State
from dalembert.solve.decompositions import decompose, null_space, unit_rows

RESTING_RATE = 1e-6  # rates below this, relative to the largest speed and at least this, are zero
FOLLOWED = 0.1  # how far a motion is followed, in units of its coordinates and speeds
GROWTH = 5.0  # the same, in time constants of the fastest growth
# Difference of coefficients, relative to the largest terms of their row, below which they are the same.
COEFFICIENT_DIFFERENCE = 1e-8


class Comoving(NamedTuple):
    """The constant A (n, n) of changes in axes that turn with `L` (nq + nu, nq + nu), None if they do not turn.

    `steady` says whether the motion is, `driven` whether B is constant too. `free` (n, k) are orthonormal directions
    that lead to steady motions of the same kind: a turn or a shift of everything, a spin of a body.
    """

    A: np.ndarray
    steady: bool
    driven: bool
    L: np.ndarray | None = None
    free: np.ndarray | None = None

    @property
    def felt(self) -> np.ndarray:
        """Orthonormal directions across the free ones, (n, n - k)."""
        return null_space(self.free.T, UNTOLD) if self.free is not None else np.eye(len(self.A))

    def eigen(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (n,) and eigenvectors as columns.

        Changes across the free directions do not depend on those along them. Without that, the zeros of the free ones,
        many and of one chain, would take digits from small eigenvalues.
        """
        if self.free is None:
            values, vectors = np.linalg.eig(self.A)
            return values, vectors
        Q, k = np.hstack([self.free, self.felt]), self.free.shape[1]
        blocks = Q.T @ self.A @ Q
        blocks[k:, :k] = 0.0
        values, vectors = np.linalg.eig(blocks)
        return values, Q @ vectors


def comoving(lin: Linearization) -> Comoving:
    """The constant coefficients; raises `LinearizationError` where there are none."""
    state = lin.state
    still, rates = RESTING_RATE * max(np.abs(state.u).max(initial=0.0), 1.0), _rates(state)
    if np.abs(rates).max(initial=0.0) <= still and not depends_on_time(state.system):
        return Comoving(lin.A, steady=True, driven=True)
    d = differentiate(state)
    small, least = small_changes(d, state, lin.states, lin.inputs), rates
    for axes in axes_along(state, d):
        least = min(least, axes.left, key=lambda left: np.abs(left).max())
        found = _seen_from(axes, lin, small, still) if np.abs(axes.left).max() <= still else None
        if found is not None:
            return found
    followed = _followed(lin)
    if followed and all(is_alike(later.A, lin.A, None, RESTING_RATE) for later in followed):
        steady = all(_is_settled(later) for later in (lin, *followed))
        return Comoving(lin.A, steady, driven=all(is_alike(later.B, lin.B, None, RESTING_RATE) for later in followed))
    raise _none(state, least, still)


def _rates(state: State) -> np.ndarray:
    return np.concatenate([rates_of(state), state.udot])


def _followed(lin: Linearization) -> list[Linearization]:
    """The linearisation at later times of the motion; none if that has no result, or other states."""
    state = lin.state
    growth = float(np.linalg.eigvals(lin.A).real.max(initial=0.0))
    span = min(FOLLOWED / max(np.abs(_rates(state)).max(), FOLLOWED), GROWTH / growth if growth > 0.0 else np.inf)
    times = [state.t + part * span for part in WAITS]
    try:
        motion = state.system.simulate(state, (state.t, times[-1]), t_eval=times)
        found = [state.system.linearize(motion.at(t), states=lin.states, inputs=lin.inputs) for t in times]
    except DalembertError:
        return []
    return found if motion.success else []


def _is_settled(lin: Linearization) -> bool:
    """Whether no state changes but ignorable coordinates."""
    kept = [k for k, name in enumerate(lin.states) if name not in lin.ignorable]
    still = RESTING_RATE * max(np.abs(lin.state.u).max(initial=0.0), 1.0)
    return bool(np.abs(lin.rates[kept]).max(initial=0.0) <= still)


def _none(state: State, left: np.ndarray, still: float) -> LinearizationError:
    """Why there are no constant coefficients."""
    names = (*state.system.coordinates, *state.system.speeds)
    moving = [names[k] for k in np.flatnonzero(np.abs(left) > still)]
    shown = ", ".join(moving[:6]) + (" ..." if len(moving) > 6 else "")
    reason = (
        f"this state is no equilibrium and not on a steady motion: {shown} change (up to {np.abs(left).max():.3g}/s)"
        if moving
        else "this motion is not steady: in no axes that go along with it the equations stay as they are, as a body "
        "turns that is not symmetric about the axis, or they depend on time or on a coordinate that runs on"
    )
    return LinearizationError(
        f"`{state.system.name}`: {reason}. Small changes about it have no constant coefficients, and no eigenvalues; "
        "`A` is that of this instant. Get the state from system.equilibrium or system.steady, or take the Floquet "
        "multipliers of system.linearize(motion) if the motion is periodic",
        moving,
    )


def _seen_from(axes: MovingAxes, lin: Linearization, small: SmallChanges, still: float) -> Comoving | None:
    """The coefficients seen from some axes; None if they are not constant."""
    state, nq, L = lin.state, lin.state.system.nq, axes.L
    ways = np.abs(axes.drift[:nq, 0]) / np.maximum(1.0, np.abs(state.q))
    fastest = max(np.abs(L).max(initial=0.0), ways.max(initial=0.0))
    constant, driven, n = True, True, len(small.space.independent)
    for time in WAITS:
        t = time / fastest if fastest > 0.0 else time
        E, z, rates = axes.carry(state.z, t)
        found = _carried(small, state, E, z, state.t + t)
        if found is None or not np.abs(_rates(found[0]) - rates).max(initial=0.0) <= 2.0 * still:
            return None
        driven = driven and is_alike(found[1].rates[:, n:], small.rates[:, n:], E)
        constant = constant and (not L.any() or _is_same(lin, found[0]))
    if constant:
        return Comoving(lin.A, steady=True, driven=driven)
    turned = (L @ small.space.basis)[list(small.space.independent)]
    if np.abs(turned[: small.count, small.count :]).max(initial=0.0) > ENTRY_ROUND_OFF * np.abs(L).max():
        return None  # states that were named mix with others
    A = lin.A - turned[: small.count, : small.count]
    return Comoving(A, steady=True, driven=driven, L=L, free=_free(A, axes, lin, small))


def _carried(
    small: SmallChanges, state: State, E: np.ndarray, z: np.ndarray, t: float
) -> tuple[State, SmallChanges] | None:
    """The state z and small changes about it, turned by E; None if the rates of these are not turned by E too."""
    s, n = state.system, len(small.space.independent)
    try:
        later = complete_state(s, t, z[: s.nq], z[s.nq :], state.parameters)
        d = differentiate(later)
        after = small.carried(d, E)
    except (InitialStateError, LinearizationError):
        return None
    met = _are_met(d, after.changes[: len(z), :n]) and is_alike(after.rates[:, :n], small.rates[:, :n], E)
    return (later, after) if met else None


def _free(A: np.ndarray, axes: MovingAxes, lin: Linearization, small: SmallChanges) -> np.ndarray:
    """Directions that lead from the steady motion to another of the same kind, (n, k), orthonormal."""
    state = lin.state
    d, rates = differentiate(state), _rates(state)
    ways = [rates]
    for field in symmetries(state, d, axes):
        way = field.L @ state.z + field.drift[:, 0]
        for time in WAITS if _are_met(d, way[:, None]) else ():
            E, z, _ = field.carry(state.z, time)
            found = _carried(small, state, E, z, state.t)
            if found is None or not is_alike(_rates(found[0])[:, None], rates[:, None], E):
                break
        else:
            ways += [way] if _are_met(d, way[:, None]) else []
    shares = decompose(np.hstack([lin.basis, -unit_rows(np.array(ways)).T]), UNTOLD).null[: len(A)]
    space = decompose(shares, UNTOLD)
    return _invariant(A, space.left[:, : space.rank])


def _invariant(A: np.ndarray, space: np.ndarray) -> np.ndarray:
    """The largest part of a space (n, k), orthonormal, that A leads back into it."""
    leaving = A @ space - space @ (space.T @ A @ space)
    staying = decompose(leaving, UNTOLD, np.abs(A).max(initial=0.0)).null
    return space if staying.shape[1] == space.shape[1] else _invariant(A, space @ staying)


def _are_met(d: EquationDerivatives, changes: np.ndarray) -> bool:
    """Whether the constraints are met, and by small changes too."""
    n = d.rows["velocity"].stop
    J = d.gradients[:n, d.columns["q"].start : d.columns["u"].stop]
    beside = np.abs(J) @ np.abs(d.y[d.columns["q"].start : d.columns["u"].stop])
    met = np.abs(d.values[:n]) <= INCONSISTENT_RESIDUAL * np.maximum(beside, 1.0)
    return bool(
        met.all()
        and (np.abs(J @ changes) <= COEFFICIENT_DIFFERENCE * (np.abs(J) @ np.abs(changes)) + ENTRY_ROUND_OFF).all()
    )


def is_alike(
    rates: np.ndarray, before: np.ndarray, E: np.ndarray | None = None, tolerance: float = COEFFICIENT_DIFFERENCE
) -> bool:
    """Whether rates are those of before, turned by E."""
    E = np.eye(len(before)) if E is None else E
    size = (np.abs(E) @ np.abs(before)).max(axis=1, initial=0.0, keepdims=True)
    return bool((np.abs(rates - E @ before) <= tolerance * size + ENTRY_ROUND_OFF * size.max(initial=0.0)).all())


def _is_same(lin: Linearization, later: State) -> bool:
    """Whether A of the same states is the same later on."""
    try:
        small = small_changes(differentiate(later), later, lin.states, lin.inputs)
    except DalembertError:  # other states would be independent then
        return False
    A = small.rates[list(small.space.independent)][: small.count, : small.count]
    return is_alike(A, lin.A)
