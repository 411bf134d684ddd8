"""Samples of distributions: random ones and Latin hypercubes, with their seed recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.sweep.design import RUN
from dalembert.analysis.sweep.tables import import_xarray
from dalembert.equations.naming import name_of
from dalembert.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr


def monte_carlo(distributions: Mapping[Any, Any], count: int, *, seed: int | None = None) -> xr.Dataset:
    """Independent random values by name along the dimension `run`; pass them to `System.sweep`.

    `distributions` maps names or symbols to frozen distributions of scipy.stats, or to (lowest, highest) for a uniform
    one. The seed is in `.attrs["seed"]`, also if it was chosen here: the same seed gives the same values.
    """
    used = _seed(seed)
    rng = np.random.default_rng(used)
    return _sample("monte_carlo", distributions, rng.random((_count(count), len(distributions))), used)


def latin_hypercube(distributions: Mapping[Any, Any], count: int, *, seed: int | None = None) -> xr.Dataset:
    """Like `monte_carlo`, but stratified: each of `count` equally likely ranges of each name holds one value."""
    from scipy.stats import qmc

    used = _seed(seed)
    points = qmc.LatinHypercube(len(distributions), rng=np.random.default_rng(used)).random(_count(count))
    return _sample("latin_hypercube", distributions, points, used)


def _sample(method: str, distributions: Mapping[Any, Any], points: np.ndarray, seed: int) -> xr.Dataset:
    """The quantiles of points (count, names) in the unit cube."""
    xr = import_xarray()
    columns, told = {}, []
    for k, (key, distribution) in enumerate(distributions.items()):
        name = name_of(key)
        columns[name] = RUN, _quantiles(name, distribution, points[:, k])
        told.append(f"{name}: {_described(distribution)}")
    attrs = {"sampling": method, "seed": seed, "distributions": "; ".join(told)}
    return xr.Dataset(columns, coords={RUN: np.arange(len(points))}, attrs=attrs)


def _quantiles(name: str, distribution: Any, points: np.ndarray) -> np.ndarray:
    if hasattr(distribution, "ppf"):
        return np.asarray(distribution.ppf(points), dtype=float)
    try:
        low, high = (float(v) for v in distribution)
    except (TypeError, ValueError):
        raise OptionError(
            f"the distribution of `{name}` is {distribution!r}; pass (lowest, highest) or a frozen distribution of "
            "scipy.stats such as scipy.stats.norm(1.0, 0.1)"
        ) from None
    if not low < high:
        raise OptionError(f"the range of `{name}` is {low:g} .. {high:g}; the first must be below the second")
    return low + (high - low) * points


def _described(distribution: Any) -> str:
    if not hasattr(distribution, "ppf"):
        return f"uniform {distribution[0]:g} .. {distribution[1]:g}"
    numbers = [*map(repr, distribution.args), *(f"{key}={value!r}" for key, value in distribution.kwds.items())]
    return f"{distribution.dist.name}({', '.join(numbers)})"


def _count(count: int) -> int:
    if count < 1:
        raise OptionError(f"a sample of {count} runs is empty; ask for at least 1")
    return int(count)


def _seed(seed: int | None) -> int:
    return int(np.random.SeedSequence().entropy % 2**53) if seed is None else int(seed)  # type: ignore[operator]
