"""Names and numbers a user hands in: what a key stands for, and whether a value is a number."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from dalembert.errors import ArrayError


def finite_number(value: Any, what: str) -> float:
    """The value as a float; raises `ArrayError` naming `what` if it is not a finite real number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArrayError(f"{what} must be a real number, got {value!r}") from None
    if not math.isfinite(number):
        raise ArrayError(f"{what} is {number}; it must be finite")
    return number


def name_of(key: Any) -> str:
    """The name a symbol or string stands for; rates read x' and x''."""
    if isinstance(key, str):
        return key
    if isinstance(key, sp.Derivative):
        return f"{name_of(key.expr)}{chr(39) * int(key.derivative_count)}"
    if isinstance(key, sp.Function):
        return str(key.func.__name__)
    return str(key)
