"""Parameters that are given in terms of others, and follow them: the one place where parameter values are completed.

A parameter follows as long as its value is that of its expression. One that was given another value keeps it. Changes
of parameters, of a state or of a derivative, are completed by this rule wherever they are made.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import casadi as ca
import numpy as np

from dalembert.equations.mechanics import Mechanics
from dalembert.equations.naming import finite_number
from dalembert.solve.tolerances import SAME


def follow(
    function: ca.Function, places: Sequence[int], names: Sequence[str],
    before: np.ndarray, values: np.ndarray, changed: Collection[int],
) -> np.ndarray:  # fmt: skip
    """Values (np,) of all parameters after some have `changed`; those at `places` follow `function` of x = (.., p)."""
    x, values = np.zeros(function.size1_in(0)), values.copy()

    def stated(p: np.ndarray) -> np.ndarray:
        x[-len(p) :] = p
        return np.asarray(function(x).full()).ravel()

    first = stated(before)
    free = np.abs(before[[*places]] - first) <= SAME * np.maximum(np.abs(before[[*places]]), np.abs(first))
    for k, place in enumerate(places):
        if free[k] and place not in changed:
            values[place] = finite_number(stated(values)[k], f"parameter `{names[place]}`")
    return values


def parameter_direction(
    m: Mechanics, function: ca.Function | None, places: Sequence[int], index: int, held: Collection[int]
) -> ca.SX:
    """Direction of all parameters when one changes, (np, 1), as a graph of p. Those `held` do not follow it."""
    direction = ca.SX(m.p.shape[0], 1)
    direction[index] = 1
    stated = None if function is None else function(m.x)
    for k, place in enumerate(places):
        if stated is None or place == index or place in held:
            continue
        rate, value = ca.jtimes(stated[k], m.p, direction), m.p[place]
        follows = ca.fabs(value - stated[k]) <= SAME * ca.fmax(ca.fabs(value), ca.fabs(stated[k]))
        direction[place] = ca.if_else(follows, rate, 0)
    return direction
