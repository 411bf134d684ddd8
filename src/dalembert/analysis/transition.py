"""Small changes carried along a motion: the columns of its state transition matrix, by forward sensitivities.

The columns obey the variational equations of the motion, on the tangent space of all constraints (`run.variations`),
across events by their saltation matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, InitialStateError
from dalembert.motion.derivatives import Derivatives
from dalembert.motion.motion import Motion
from dalembert.motion.sequence import MotionSequence
from dalembert.motion.state import State
from dalembert.run.integrators.integrator import Integrator
from dalembert.run.jumps import check_crossed, check_differentiable
from dalembert.run.recipe import Recipe
from dalembert.run.simulate import differentiable, run_from

START = -1  # the column of a change of the start


def carry(
    recipe: Recipe,
    state: State,
    t_end: float,
    starts: np.ndarray,
    columns: Sequence[int] = (),
    *,
    events: Sequence[Any] = (),
    t_eval: np.ndarray | None = None,
) -> Motion | MotionSequence:
    """The motion from a state to `t_end` with the changes `starts` (k, nq + nu) of its start carried along.

    The last of them may go with changes of the parameters with the numbers `columns`. Raises `InitialStateError` if
    the motion does not reach its end.
    """
    check_differentiable(state.system)
    plain = (START,) * (len(starts) - len(columns))
    names = tuple(f"change {k}" for k in range(len(starts)))
    derivatives = Derivatives(names, (*plain, *columns), starts[None])
    motion, _ = run_from(
        recipe, state, (state.t, t_end), t_eval, events, None, known=state.report is not None, derivatives=derivatives
    )
    if not motion.success or motion.t[-1] != t_end:
        raise InitialStateError(
            f"`{state.system.name}`: the motion ended at t = {motion.t[-1]:g}, before t = {t_end:g}: {motion.message}"
        )
    for part in motion.segments:
        check_crossed(part)
    return motion


def changes_along(motion: Motion) -> np.ndarray:
    """The changes carried along a motion at its samples, (nt, k, nq + nu)."""
    if motion.derivatives is None:
        raise DalembertError(f"nothing was carried along this motion of `{motion.system.name}`")
    return motion.derivatives.S


def changes_at_end(motion: Motion | MotionSequence) -> np.ndarray:
    """The changes carried along a motion at its end, (k, nq + nu)."""
    return changes_along(motion.segments[-1])[-1]


def recipe_of(motion: Motion) -> Recipe:
    """Recipe of a motion, with an integrator that carries derivatives along. Raises an error if it is unknown."""
    if motion.recipe is None:
        raise DalembertError(
            f"this motion of `{motion.system.name}` does not know how it was made (it was put together or is of an "
            "older file), so that nothing can be carried along it; simulate it again"
        )
    return with_derivatives(*motion.recipe)


def with_derivatives(formulation: Any, drift: Any, integrator: Integrator) -> Recipe:
    """A recipe whose integrator carries derivatives along."""
    return Recipe(formulation, drift, differentiable(integrator))
