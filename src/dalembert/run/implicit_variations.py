"""Derivatives along a motion by an implicit integrator: its steps made again, and their exact derivatives applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import DalembertError
from dalembert.motion.derivatives import Derivatives
from dalembert.run.integrators.radau import Radau
from dalembert.run.integrators.radau_variations import StepDerivatives, Steps
from dalembert.run.recipe import Recipe
from dalembert.run.scales import Scales
from dalembert.solve.decompositions import UNIT, rank_of, unit_rows
from dalembert.solve.tolerances import SAME, UNIT_ROW_RANK

if TYPE_CHECKING:
    from dalembert.motion.state import State


def carry_by_steps(
    recipe: Recipe, state: State, t0: float, times: np.ndarray, start: Derivatives, scales: Scales | None
) -> np.ndarray:
    """S at `times` (nt,) of the motion from a state at t0, (nt, k, nq + nu), from that at its start.

    `scales` are the sizes the motion went by.
    """
    integrator, s = recipe.integrator, state.system
    if not isinstance(integrator, Radau):
        raise TypeError(f"{type(integrator).__name__} has no derivatives of its steps")
    size, last = s.nq + s.nu, float(times[-1]) if len(times) else t0
    S0 = start.S[-1]
    if not last > t0:
        return np.repeat(S0[None], len(times), axis=0)
    _check_independent(state)
    t, z = _steps(recipe, state, (t0, last), scales)
    equations = StepDerivatives.of(s, integrator.form)
    columns = [k for k in start.columns if k >= 0]
    moved = [i for i, k in enumerate(start.columns) if k >= 0]
    along, by_parameter = equations(Steps(t[:-1], z[:-1], np.diff(t), z[1:]), state.parameters, columns)
    S = np.zeros((len(t), z.shape[1], len(S0)))
    S[0, :size] = S0.T
    for k in range(len(t) - 1):
        S[k + 1] = along[k] @ S[k]
        S[k + 1][:, moved] += by_parameter[k]
    found = np.empty((len(times), len(S0), size))
    inside = _on_steps(t, S, times, found, size)
    if inside.size:
        before = np.searchsorted(t, times[inside]) - 1
        part = (times[inside] - t[before]) / (t[before + 1] - t[before])
        ends = z[before] + part[:, None] * (z[before + 1] - z[before])
        along, by_parameter = equations(
            Steps(t[before], z[before], times[inside] - t[before], ends), state.parameters, columns
        )
        there = along @ S[before]
        there[:, :, moved] += by_parameter
        found[inside] = there[:, :size].transpose(0, 2, 1)
    return found


def _check_independent(state: State) -> None:
    """Raise if constraints depend on each other: the equations of a step are singular then."""
    s = state.system
    rows = [k for k in range(s.nc) if k not in s.implied]
    A = s.constraint_jacobian(state.t, state.q, state.u, state.parameters)[rows]
    if rank_of(unit_rows(A), UNIT_ROW_RANK, UNIT) < len(rows):
        raise DalembertError(
            f"`{s.name}`: no sensitivities by Radau: constraints depend on each other; use an explicit integrator such "
            "as DOP853()"
        )


def _on_steps(t: np.ndarray, S: np.ndarray, times: np.ndarray, found: np.ndarray, size: int) -> np.ndarray:
    """Fill in `found` at times that are ends of steps; returns the numbers of the others."""
    nearest = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    nearest -= np.abs(t[nearest - 1] - times) < np.abs(t[nearest] - times)
    close = np.abs(t[nearest] - times) <= SAME * (t[-1] - t[0])
    found[close] = S[nearest[close], :size].transpose(0, 2, 1)
    return np.flatnonzero(~close)


def _steps(
    recipe: Recipe, state: State, span: tuple[float, float], scales: Scales | None
) -> tuple[np.ndarray, np.ndarray]:
    """Times and states (q, u, work) of all steps of the run."""
    engine = recipe.engine(state.system, state.parameters)
    engine.take_scales(scales)
    z0 = np.concatenate([state.z, np.zeros(engine.nz - engine.size)])
    samples = recipe.integrator.run(engine, z0, span, None, None)
    if samples.t[-1] != span[1] or engine.passages:
        raise DalembertError(
            f"`{state.system.name}`: sensitivities by {type(recipe.integrator).__name__} end at t = "
            f"{samples.t[-1]:g}, in a singular position or where steps collapse; use an explicit integrator such as "
            "DOP853()"
        )
    return samples.t, samples.z
