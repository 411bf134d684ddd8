"""`linearize`: x' = A x + B w, y = C x + D w on the tangent space of all constraints, with exact derivatives.

x are changes of independent coordinates and speeds, w of inputs, y of outputs, all against the motion through a state.
Changes of accelerations and multipliers follow from the equations by the implicit function theorem, reactions included;
see `analysis.derivatives`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.analysis.linearization import ZERO_ENTRY, Linearization
from dalembert.analysis.output_gradients import output_gradients
from dalembert.analysis.small_changes import small_changes
from dalembert.analysis.smoothness import check_smooth
from dalembert.analysis.tangent_space import TangentSpace
from dalembert.equations.system import System
from dalembert.errors import (
    InconsistentStateError,
    LinearizationError,
    OptionError,
    PairingError,
)
from dalembert.initial.vanished import vanished_rows
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.solve.decompositions import least_squares

if TYPE_CHECKING:
    from dalembert.analysis.linearized_motion import LinearizedMotion

INCONSISTENT_RESIDUAL = 1e-7  # residuals above this fraction of their terms make a state inconsistent


def linearize(
    system: System,
    about: State | Motion | MotionSequence,
    *,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    states: Sequence[Any] | None = None,
) -> Linearization | LinearizedMotion:
    """The equations of motion linearised about a state, or along a motion; see `System.linearize`."""
    if isinstance(about, State):
        return linearize_at(system, about, inputs=inputs, outputs=outputs, states=states)
    if not isinstance(about, Motion | MotionSequence):
        raise PairingError(f"linearize needs a State or a Motion, got {type(about).__name__}; call system.initial(...)")
    from dalembert.analysis.linearized_motion import linearize_along  # what it needs takes a while to import

    return linearize_along(partial(linearize_at, system), about, inputs, outputs, states)


def linearize_at(
    system: System,
    state: State,
    *,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    states: Sequence[Any] | None = None,
) -> Linearization:
    """The equations of motion linearised about a state."""
    if state.system.speeds != system.speeds or state.system.coordinates != system.coordinates:
        raise PairingError(f"the state belongs to `{state.system.name}`, not to `{system.name}`")
    d = differentiate(state)
    _check_consistent(d)
    _check_gradients(state)
    check_smooth(d)
    small = small_changes(d, state, states, inputs)
    space, count, changes, response = small.space, small.count, small.changes, small.response
    n, full = len(space.independent), small.rates[list(space.independent)]
    labels, Y = output_gradients(d, outputs, response)
    every = np.vstack([np.zeros((1, changes.shape[1])), changes, response.udot, response.la])
    y = Y @ every
    _check_closed(system, full[:, :n], space, count)
    _check_observed(system, y[:, :n], labels, space, count)
    return Linearization(
        state=state,
        states=tuple((*system.coordinates, *system.speeds)[k] for k in space.independent[:count]),
        inputs=small.inputs,
        outputs=labels,
        A=full[:count, :count].copy(),
        B=full[:count, n:].copy(),
        C=y[:, :count].copy(),
        D=y[:, n:].copy(),
        rates=_rates(state, d)[list(space.independent[:count])],
        basis=space.basis[:, :count].copy(),
        projected_mass=_projected_mass(d, space, count),
    )


def _rates(state: State, d: EquationDerivatives) -> np.ndarray:
    """(q', u') at the state, (nq + nu,)."""
    return np.concatenate([d.values[d.rows["rates"]], state.udot])


def _check_consistent(d: EquationDerivatives) -> None:
    """Raise if the state does not satisfy its own equations, so that their derivatives would be meaningless."""
    n = d.rows["rates"].start
    terms = np.abs(d.gradients[:n]) @ np.abs(d.y)
    bad = {
        ("equation", d.labels[k]): float(d.values[k])
        for k in np.flatnonzero(~(np.abs(d.values[:n]) <= INCONSISTENT_RESIDUAL * np.maximum(terms, 1.0)))
    }
    if bad:
        (_, name), worst = max(bad.items(), key=lambda item: abs(item[1]))
        raise InconsistentStateError(
            f"the state to linearise about violates {len(bad)} equations of `{d.system.name}` (worst: `{name}`, "
            f"{worst:.3g}); get it from system.initial(...), system.equilibrium(...) or system.steady(...)",
            bad,
        )


def _check_gradients(state: State) -> None:
    """Raise if the gradient of a constraint vanishes in the state: several motions leave it, each with its rates."""
    vanished = [state.system.constraint_names[k] for k in np.flatnonzero(vanished_rows(state))]
    if vanished:
        raise LinearizationError(
            f"`{state.system.name}`: the gradient of {', '.join(f'`{name}`' for name in vanished)} vanishes in this "
            "state, which is a singular one: motions branch there; linearise next to it",
            vanished,
        )


# -- the reduced state ------------------------------------------------------------------------------------------------


def _check_closed(system: System, A: np.ndarray, space: TangentSpace, count: int) -> None:
    """Raise if the rates of the named states depend on a state that was left out."""
    coupling, least = np.abs(A[:count, count:]), ZERO_ENTRY * max(np.abs(A[:count, :count]).max(initial=0.0), 1.0)
    if not coupling.size or coupling.max() <= least:
        return
    names = (*system.coordinates, *system.speeds)
    i, k = divmod(int(np.argmax(coupling)), coupling.shape[1])
    first, other = names[space.independent[i]], names[space.independent[count + k]]
    missing = [names[space.independent[count + j]] for j in np.flatnonzero(coupling.max(axis=0) > least)]
    raise OptionError(
        f"`{system.name}`: states leave out {', '.join(f'`{m}`' for m in missing)}, on which the rate of `{first}` "
        f"depends (d{first}'/d{other} = {A[i, count + k]:.3g}); only ignorable variables may be left out; "
        "name the others too"
    )


def _check_observed(system: System, C: np.ndarray, labels: Sequence[str], space: TangentSpace, count: int) -> None:
    """Raise if an output depends on a state that was left out."""
    unseen = np.abs(C[:, count:])
    if not unseen.size or unseen.max() <= ZERO_ENTRY * max(np.abs(C).max(), 1.0):
        return
    i, k = divmod(int(np.argmax(unseen)), unseen.shape[1])
    missing = (*system.coordinates, *system.speeds)[space.independent[count + k]]
    raise OptionError(
        f"`{system.name}`: output `{labels[i]}` depends on `{missing}`, which states leave out; name it too"
    )


def _projected_mass(d: EquationDerivatives, space: TangentSpace, count: int) -> np.ndarray:
    """Inertia of the independent speeds, N^T M N, with the omitted ones free to follow (Schur complement)."""
    s = d.system
    speeds = [k for k, place in enumerate(space.independent) if place >= s.nq]
    kept = [i for i, k in enumerate(speeds) if k < count]
    rest = [i for i, k in enumerate(speeds) if k >= count]
    N = space.basis[s.nq :, speeds]
    M = N.T @ d.of("balance", "udot") @ N
    inner = M[np.ix_(kept, kept)]
    if rest and np.any(M[np.ix_(kept, rest)]):
        inner = inner - M[np.ix_(kept, rest)] @ least_squares(M[np.ix_(rest, rest)], M[np.ix_(rest, kept)])
    return inner
