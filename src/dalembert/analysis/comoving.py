"""`Comoving`: constant coefficients of small changes, seen from axes that go along with a steady motion.

A motion is steady if it is carried by a field z' = L z + c under which the equations stay as they are. Changes x about
it, seen from axes that are carried along too, obey x' = (A - L) x with constant coefficients, A being that of the
instant: y = exp(t L) x. That is verified and not assumed: at later times of exp(t L) z the equations must be met, and
answer to changes that were turned by exp(t L) as they do now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.analysis.floquet import depends_on_time
from dalembert.analysis.moving_axes import MovingAxes, axes_along
from dalembert.analysis.small_changes import SmallChanges, small_changes
from dalembert.errors import DalembertError, InitialStateError, LinearizationError
from dalembert.initial.accelerations import complete_state
from dalembert.motion.outputs import rates_of
from dalembert.motion.state import State

if TYPE_CHECKING:
    from dalembert.analysis.linearization import Linearization

RESTING = 1e-6  # rates below this, relative to the largest speed and at least this, are zero
TIMES = (0.37, 1.93)  # when the equations are looked at again, in units of the time of the fastest turn
ALIKE = 1e-8  # difference of coefficients, relative to the largest terms of their row, below which they are the same
ROUND_OFF = 1e-12  # the same, relative to the largest of all


class Comoving(NamedTuple):
    """The constant A (n, n) of changes, in axes that turn with L (nq + nu, nq + nu), and whether the motion is steady.

    Where A is constant as it is, it is that of the linearisation, and L is None.
    """

    A: np.ndarray
    steady: bool
    L: np.ndarray | None = None


def comoving(lin: Linearization) -> Comoving:
    """The constant coefficients; raises `LinearizationError` where there are none."""
    state = lin.state
    rates = np.concatenate([rates_of(state), state.udot])
    still = RESTING * max(np.abs(state.u).max(initial=0.0), 1.0)
    resting = np.abs(rates).max(initial=0.0) <= still
    if resting and not depends_on_time(state.system):
        return Comoving(lin.A, True)
    d = differentiate(state)
    small = small_changes(d, state, lin.states, lin.inputs)
    left = rates
    for axes in axes_along(state, d):
        left = axes.left if np.abs(axes.left).max() < np.abs(left).max() else left
        if np.abs(axes.left).max() <= still:
            found = _seen_from(axes, lin, small, state)
            if found is not None:
                return found
    if not resting and lin.is_constant:
        return Comoving(lin.A, lin.settled)
    names = (*state.system.coordinates, *state.system.speeds)
    moving = [names[k] for k in np.flatnonzero(np.abs(left) > still)]
    raise LinearizationError(
        f"`{state.system.name}`: {_reason(moving, left)}, so that the equations of small changes have no constant "
        "coefficients and no eigenvalues. `A` is that of this instant. Take a state from system.equilibrium or "
        "system.steady, or, if the motion is periodic, the Floquet multipliers of system.linearize(motion)",
        moving,
    )


def _reason(moving: Sequence[str], left: np.ndarray) -> str:
    if not moving:
        return (
            "nothing is accelerated in this state, but in no axes that go along with the motion the equations stay as "
            "they are: a body turns that is not symmetric about that axis, the model depends on time, or the motion "
            "depends on a coordinate that runs on"
        )
    shown = ", ".join(moving[:6]) + (" ..." if len(moving) > 6 else "")
    return f"the state is on no steady motion: {shown} change (by up to {np.abs(left).max():.3g}/s)"


def _seen_from(axes: MovingAxes, lin: Linearization, small: SmallChanges, state: State) -> Comoving | None:
    """The coefficients seen from some axes; None if they are not constant."""
    fastest = max(np.abs(axes.L).max(), (np.abs(axes.c[: state.system.nq]) / np.maximum(1.0, np.abs(state.q))).max())
    own = not axes.L.any()  # A is constant as it is
    turned, constant = axes.L @ small.changes[: len(axes.L), : len(small.space.independent)], True
    for time in TIMES:
        t = time / fastest if fastest > 0.0 else time
        E, z = axes.carry(state.z, t)
        try:
            q, u = np.split(z, [state.system.nq])
            later = complete_state(state.system, state.t + t, q, u, state.parameters)
            d = differentiate(later)
            carried = small.carried(d, E)
        except (LinearizationError, InitialStateError):
            return None
        n = len(small.space.independent)
        if not (_are_met(d, carried.changes[: len(z), :n]) and _agree(carried.rates[:, :n], E, small.rates[:, :n])):
            return None
        constant = constant and not own and _is_same(lin, later, d)
    if own or constant:
        return Comoving(lin.A, True)
    turned = turned[list(small.space.independent)]
    if np.abs(turned[: small.count, small.count :]).max(initial=0.0) > ROUND_OFF * np.abs(axes.L).max():
        return None
    return Comoving(lin.A - turned[: small.count, : small.count], True, axes.L)


def _are_met(d: EquationDerivatives, changes: np.ndarray) -> bool:
    """Whether the constraints are met, and by small changes too."""
    n = d.rows["velocity"].stop
    J = d.gradients[:n, d.columns["q"].start : d.columns["u"].stop]
    beside = np.abs(J) @ np.abs(d.y[d.columns["q"].start : d.columns["u"].stop])
    met = np.abs(d.values[:n]) <= ALIKE * np.maximum(beside, 1.0)
    return bool(met.all() and (np.abs(J @ changes) <= ALIKE * (np.abs(J) @ np.abs(changes)) + ROUND_OFF).all())


def _agree(rates: np.ndarray, E: np.ndarray, before: np.ndarray) -> bool:
    """Whether rates are those of before, turned by E."""
    size = (np.abs(E) @ np.abs(before)).max(axis=1, initial=0.0, keepdims=True)
    return bool((np.abs(rates - E @ before) <= ALIKE * size + ROUND_OFF * size.max(initial=0.0)).all())


def _is_same(lin: Linearization, later: State, d: EquationDerivatives) -> bool:
    """Whether A of the same states is the same later on."""
    try:
        small = small_changes(d, later, lin.states, lin.inputs)
    except DalembertError:  # other states would be independent then
        return False
    A = small.rates[list(small.space.independent)][: small.count, : small.count]
    return _agree(A, np.eye(len(A)), lin.A)
