"""`find_state`: a consistent state from given values and a guess, or every branch of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.equations.system import System
from dalembert.errors import OptionError
from dalembert.initial.request import Values, read_task
from dalembert.initial.solution import solve_task
from dalembert.motion.state import State


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # trials may leave the domain of the model
def find_state(
    system: System,
    given: Values | None = None,
    *,
    guess: Values | State | None = None,
    weights: Values | None = None,
    hold: Any = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    t0: float | None = None,
    parameters: Values | None = None,
    all_branches: bool = False,
) -> State | tuple[State, ...]:
    """A state that satisfies every constraint at every level; see `System.initial`."""
    task = read_task(
        system, given, guess=guess, weights=weights, hold=hold, bounds=bounds, t0=t0, parameters=parameters
    )
    if not all_branches:
        return solve_task(task)
    if system.is_large:
        n = system.nu + system.nc
        raise OptionError(f"`{system.name}` has {n:,} speeds and constraints; `all_branches` is for smaller systems")
    from dalembert.initial.branches import find_branches

    return find_branches(task)
