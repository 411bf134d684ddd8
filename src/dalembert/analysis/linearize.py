"""`linearize`: x' = A x + B w, y = C x + D w on the tangent space of all constraints, with exact derivatives.

x are changes of independent coordinates and speeds, w of inputs, y of outputs, all against the motion through a state.
What the accelerations and multipliers do follows from the equations by the implicit function theorem, reactions
included; see `analysis.derivatives`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.analysis.derivatives import EquationDerivatives, differentiate
from dalembert.analysis.linearization import Linearization
from dalembert.analysis.output_gradients import output_gradients
from dalembert.analysis.smoothness import check_smooth
from dalembert.analysis.tangent_space import TangentSpace, tangent_space
from dalembert.equations.laws import rows_by_unknown
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import (
    InconsistentStateError,
    LinearizationError,
    OptionError,
    PairingError,
    UnknownNameError,
)
from dalembert.initial.vanished import vanished_rows
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.solve.decompositions import least_squares

if TYPE_CHECKING:
    from dalembert.analysis.linearized_motion import LinearizedMotion

CONSISTENT = 1e-7  # residuals above this fraction of their terms make a state inconsistent
COUPLED = 1e-9  # entries of A above this fraction of the largest couple states


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
    names, directions, freed = _read_inputs(d, inputs)
    space, count = tangent_space(d, state, states, freed)
    n, nz = len(space.independent), system.nq + system.nu
    changes = np.zeros((nz + len(system.parameters), n + len(names)))
    changes[:nz, :n] = space.basis
    pushed = np.zeros((system.nc, n + len(names)))
    changes[nz:, n:] = system.parameter_directions(
        state.parameters, [place if kind == "p" else -1 for kind, place in directions]
    )
    for k, (kind, place) in enumerate(directions):
        if kind == "la":
            pushed[place, n + k] = 1.0
    response = d.response(changes, freed, pushed)
    rates = d.of("rates", "q") @ changes[: system.nq] + d.of("rates", "u") @ changes[system.nq : nz]
    rates += d.of("rates", "p") @ changes[nz:]
    full = np.vstack([rates, response.udot])[list(space.independent)]
    labels, Y = output_gradients(d, outputs, response)
    every = np.vstack([np.zeros((1, changes.shape[1])), changes, response.udot, response.la])
    y = Y @ every
    _check_closed(system, full[:, :n], space, count)
    _check_observed(system, y[:, :n], labels, space, count)
    return Linearization(
        state=state,
        states=tuple((*system.coordinates, *system.speeds)[k] for k in space.independent[:count]),
        inputs=names,
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
    """Raise if the state does not satisfy its own equations: their derivatives would be those of something else."""
    n = d.rows["rates"].start
    terms = np.abs(d.gradients[:n]) @ np.abs(d.y)
    bad = {
        ("equation", d.labels[k]): float(d.values[k])
        for k in np.flatnonzero(~(np.abs(d.values[:n]) <= CONSISTENT * np.maximum(terms, 1.0)))
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


# -- inputs -----------------------------------------------------------------------------------------------------------


def _read_inputs(
    d: EquationDerivatives, inputs: Sequence[Any]
) -> tuple[tuple[str, ...], list[tuple[str, int]], tuple[int, ...]]:
    """Names; ("p", index of a parameter) or ("la", row) for each; and rows whose unknown has become an input."""
    s, enforced = d.system, rows_by_unknown(d.system.rows)
    if isinstance(inputs, str) or not isinstance(inputs, Sequence):
        raise OptionError(f"inputs must be a list of parameters or unknowns of `{s.name}`, got {inputs!r}")
    names, places = [], []
    for key in inputs:
        name = name_of(key)
        if name in s.parameters:
            _check_force(s, s.parameters.index(name))
            places.append(("p", s.parameters.index(name)))
        elif name in s.unknowns:
            places.append(("la", enforced[s.unknowns.index(name)]))
        else:
            raise UnknownNameError(name, (*s.parameters, *s.unknowns), f"the parameters and unknowns of `{s.name}`")
        names.append(name)
    if len(set(names)) < len(names):
        raise OptionError(f"inputs of `{s.name}` name something twice: {', '.join(names)}")
    return tuple(names), places, tuple(sorted(row for kind, row in places if kind == "la"))


def _check_force(system: System, index: int) -> None:
    """An input in a position or velocity constraint would act by its rates too, which B cannot say."""
    m = system.mechanics
    names = (*system.constraint_names[: system.count("position")], *system.invariants)
    names += (*system.constraint_names[: m.psi.shape[0]], *system.coordinates)
    rows = ca.vertcat(m.phi, m.h, m.psi, m.qdot)
    moved = [name for k, name in enumerate(names) if ca.depends_on(rows[k], m.p[index])]
    if moved:
        what = f"constraint `{moved[0]}`" if moved[0] not in system.coordinates else f"the kinematics of `{moved[0]}`"
        raise OptionError(
            f"input `{system.parameters[index]}` is in {what}: if it changes with time its rates act too, and "
            "x' = A x + B w has no place for them. Use lin.sweep for another constant value, or a force as the input"
        )


# -- the reduced state ------------------------------------------------------------------------------------------------


def _check_closed(system: System, A: np.ndarray, space: TangentSpace, count: int) -> None:
    """Raise if the named states do not move by themselves: they depend on one that was left out."""
    coupling = np.abs(A[:count, count:])
    if not coupling.size or coupling.max() <= COUPLED * max(np.abs(A[:count, :count]).max(initial=0.0), 1.0):
        return
    names = (*system.coordinates, *system.speeds)
    i, k = divmod(int(np.argmax(coupling)), coupling.shape[1])
    first, other = names[space.independent[i]], names[space.independent[count + k]]
    missing = [
        names[space.independent[count + j]]
        for j in np.flatnonzero(coupling.max(axis=0) > COUPLED * max(np.abs(A).max(), 1.0))
    ]
    raise OptionError(
        f"`{system.name}`: states leave out {', '.join(f'`{m}`' for m in missing)}, on which the rate of `{first}` "
        f"depends (d{first}'/d{other} = {A[i, count + k]:.3g}); only ignorable variables may be left out; "
        "name the others too"
    )


def _check_observed(system: System, C: np.ndarray, labels: Sequence[str], space: TangentSpace, count: int) -> None:
    """Raise if an output depends on a state that was left out."""
    unseen = np.abs(C[:, count:])
    if not unseen.size or unseen.max() <= COUPLED * max(np.abs(C).max(), 1.0):
        return
    i, k = divmod(int(np.argmax(unseen)), unseen.shape[1])
    missing = (*system.coordinates, *system.speeds)[space.independent[count + k]]
    raise OptionError(
        f"`{system.name}`: output `{labels[i]}` depends on `{missing}`, which states leave out; name it too"
    )


def _projected_mass(d: EquationDerivatives, space: TangentSpace, count: int) -> np.ndarray:
    """Inertia of the independent speeds, N^T M N, those left out being free to follow (Schur complement)."""
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
