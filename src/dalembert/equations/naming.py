"""Names and numbers given by a user: the name behind a key, and checks of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ArrayError, OptionError


def real_numbers(values: Any, what: str, write: str) -> np.ndarray:
    """The values as an array of floats. Raises `OptionError`, with `what` and the advice `write`, for other values."""
    try:
        found = np.asarray(values)
        if found.dtype.kind in "iuf":
            return np.asarray(found, dtype=float)
        if found.dtype.kind == "O" and all(v is not None and not isinstance(v, str | bytes) for v in found.flat):
            return np.asarray(found.astype(float))  # numbers of SymPy and the like
    except (TypeError, ValueError):
        pass
    text = repr(values)
    raise OptionError(f"{what} must be real, got {text if len(text) <= 60 else f'{text[:57]}...'}; write {write}")


def finite_number(value: Any, what: str) -> float:
    """The value as a float. Raises `ArrayError`, with the name `what`, if it is not a finite real number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArrayError(f"{what} must be a real number, got {value!r}") from None
    if not math.isfinite(number):
        raise ArrayError(f"{what} is {number}; it must be finite")
    return number


def name_of(key: Any) -> str:
    """The name of a symbol or string; rates read x' and x''."""
    if isinstance(key, str):
        return key
    if isinstance(key, sp.Derivative):
        return f"{name_of(key.expr)}{chr(39) * int(key.derivative_count)}"
    if isinstance(key, sp.Function):
        return str(key.func.__name__)
    return str(key)
