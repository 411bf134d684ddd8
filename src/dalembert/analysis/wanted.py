"""Prescribed motions of coordinates: expressions of time or tables, with their first and second rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.equations.naming import name_of
from dalembert.equations.system import System
from dalembert.errors import ArrayError, OptionError, UnknownNameError
from dalembert.model.time_symbols import time_symbol


@dataclass(frozen=True, eq=False)
class Wanted:
    """Coordinates by their `places` in q, and values, rates and second rates, (nt, n) each."""

    places: tuple[int, ...]
    values: np.ndarray
    rates: np.ndarray
    seconds: np.ndarray


def read_wanted(system: System, wanted: Mapping[Any, Any], times: np.ndarray) -> Wanted:
    """The wanted motion at `times` (nt,): each value is an expression of t, a number, or a table (times, values).

    Tables are joined by a cubic spline, so that accelerations are continuous.
    """
    if not isinstance(wanted, Mapping):
        raise OptionError(
            f"wanted must map coordinates of `{system.name}` to expressions of t or tables, got {wanted!r}"
        )
    places, columns = [], []
    for key, value in wanted.items():
        name = name_of(key)
        if name not in system.coordinates:
            raise UnknownNameError(name, system.coordinates, f"the coordinates of `{system.name}`")
        places.append(system.coordinates.index(name))
        columns.append(
            _table(name, value, times) if isinstance(value, tuple | list) else _expression(name, value, times)
        )
    if not columns:
        none = np.zeros((len(times), 0))
        return Wanted((), none, none, none)
    stacked = np.array(columns)
    if not np.isfinite(stacked).all():
        raise ArrayError(f"the motion wanted of {', '.join(map(name_of, wanted))} is not finite at all times")
    return Wanted(tuple(places), stacked[:, 0].T, stacked[:, 1].T, stacked[:, 2].T)


def _expression(name: str, value: Any, times: np.ndarray) -> np.ndarray:
    """Values and rates, (3, nt)."""
    t = time_symbol()
    try:
        expression = sp.sympify(value)
    except (sp.SympifyError, TypeError):
        raise OptionError(f"what is wanted of `{name}` must be an expression of t or a table, got {value!r}") from None
    others = sorted(map(str, expression.free_symbols - {t}))
    if others or expression.atoms(sp.core.function.AppliedUndef):
        raise OptionError(
            f"what is wanted of `{name}` may contain t and numbers only, not {', '.join(others) or expression}"
        )
    forms = [expression, expression.diff(t), expression.diff(t, 2)]
    return np.array([np.broadcast_to(sp.lambdify(t, form, "numpy")(times), times.shape) for form in forms], dtype=float)


def _table(name: str, value: Any, times: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    try:
        knots, values = (np.asarray(column, dtype=float) for column in value)
        spline = CubicSpline(knots, values)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the table of `{name}` must be (times, values) with times that increase: {error}") from error
    if times.min() < knots[0] or times.max() > knots[-1]:
        raise OptionError(
            f"the table of `{name}` spans t = {knots[0]:g} .. {knots[-1]:g}, but t = {times.min():g} .. "
            f"{times.max():g} is asked for; extend it"
        )
    return np.array([spline(times), spline(times, 1), spline(times, 2)])
