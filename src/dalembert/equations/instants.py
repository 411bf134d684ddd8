"""Known instants at which something bends or jumps; integrators end a step on each, or their order is lost there.

Of arguments rate t + offset (`kinks`) they are known in closed form; those of others, such as t^2 - h, are found by
bounds (`crossings`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.equations.crossings import EPSILON, crossing_times
from dalembert.equations.system import System

NO_INSTANTS = np.zeros(0)


def has_instants(system: System) -> bool:
    """Whether something may bend or jump at instants known beforehand."""
    return bool(system.kinks or system.crossings)


def instants(system: System, parameters: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    """The instants in `span`, its ends included, in order; those that are one in double precision count once.

    Raises `OptionError` if they cannot be told.
    """
    if not has_instants(system):
        return NO_INSTANTS
    known: dict[Any, np.ndarray] = system.kept("instants found last", dict)
    key = (parameters.tobytes(), span)
    found = known.get(key)
    if found is None:
        found = _instants(system, parameters, span)
        known.clear()  # run after run may have other parameters
        known[key] = found
    return found


def _instants(system: System, parameters: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    x = np.concatenate([[0.0], np.zeros(system.nq + system.nu), parameters])
    pairs = np.array(system.functions["kinks"](x)).reshape(-1, 2)
    times = []
    for (rate, offset), kinks in zip(pairs, system.kinks, strict=True):
        if rate == 0.0 or not np.isfinite([rate, offset]).all():
            continue
        low, high = sorted(rate * t + offset for t in span)
        slack = 4.0 * EPSILON * max(abs(low), abs(high))
        times.append((kinks.between(low - slack, high + slack) - offset) / rate)
    for k, crossing in enumerate(system.crossings if span[1] > span[0] else ()):
        edges = np.unique(np.concatenate([span, *times]).clip(*span))
        times.append(crossing_times(crossing, system.functions[f"crossing {k}"], x, edges))
    apart = 64.0 * EPSILON * max(abs(span[0]), abs(span[1]))
    found = np.concatenate([np.zeros(0), *times]).clip(*span)
    found = np.where(found - span[0] <= apart, span[0], np.where(span[1] - found <= apart, span[1], found))
    merged = np.unique(found)
    return merged[np.diff(merged, prepend=-np.inf) > apart]
