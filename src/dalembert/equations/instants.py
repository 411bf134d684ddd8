"""Instants of kinks and jumps, known beforehand. Integrators end a step on each, to keep their order.

Of arguments rate t + offset (`kinks`) they are known in closed form; those of others, such as t^2 - h, are found by
bounds (`crossings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.equations.crossings import crossing_times
from dalembert.equations.system import System
from dalembert.native.enclosures import bounds
from dalembert.native.precision import EPSILON
from dalembert.native.series_tape import SeriesTape, read_tape

GAP = 4.0 * EPSILON  # of the largest time: how far from an instant both sides are seen
NO_INSTANTS = np.zeros(0)


def has_instants(system: System) -> bool:
    """True if expressions may bend or jump at instants known beforehand."""
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


def seen_from_before(system: System, parameters: np.ndarray, begin: float, t: np.ndarray) -> np.ndarray:
    """The times at which to evaluate samples t (n,) of a run from `begin`: just before instants that they lie on.

    Kinks and jumps there are still ahead: steps end just before an instant.
    """
    if not has_instants(system) or not t.size or not t[-1] > begin:
        return t
    at = np.isin(t, instants(system, parameters, (begin, float(t[-1])))) & (t > begin)
    return np.where(at, t - GAP * max(abs(begin), abs(t[-1])), t)


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
        times.append(crossing_times(crossing, _tape(system, k).at(x), edges))
    apart = 64.0 * EPSILON * max(abs(span[0]), abs(span[1]))
    found = np.concatenate([np.zeros(0), *times]).clip(*span)
    found = np.where(found - span[0] <= apart, span[0], np.where(span[1] - found <= apart, span[1], found))
    merged = np.unique(found)
    return merged[np.diff(merged, prepend=-np.inf) > apart]


def moving_parameters(
    system: System,
    k: int,
    parameters: np.ndarray,
    span: tuple[float, float],
    ranges: Mapping[str, tuple[float, float]],
) -> list[str]:
    """Names of the parameters with `ranges` that move the instants of crossing k in `span`.

    Empty if the crossing can have no instants there, for any values within the ranges.
    """
    function, first = system.functions[f"crossing {k}"], 1 + system.nq + system.nu
    read = {j - first for j in function.jac_sparsity(0, 0).get_triplet()[1]}
    moved = [name for name in system.parameters if name in ranges and system.parameters.index(name) in read]
    low = np.concatenate([np.zeros(first), parameters])
    high = low.copy()
    for name in moved:
        k_p = first + system.parameters.index(name)
        low[k_p], high[k_p] = ranges[name]
    ((least, most, *_),) = bounds(_tape(system, k).at(low, high), *np.array(span)[:, None])
    return moved if system.crossings[k].kinks.touched(np.array([least]), np.array([most])).all() else []


def _tape(system: System, k: int) -> SeriesTape:
    """The argument of crossing k as a function of time."""
    tape: SeriesTape = system.kept(("crossing", k), lambda: read_tape(system.functions[f"crossing {k}"], 0))
    return tape
