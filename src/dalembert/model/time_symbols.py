"""Time and functions of time, equal to those of `sympy.physics.mechanics`, which is slow to import.

What only that package can make, vectors and dyadics, cannot be met before it was imported.
"""

from __future__ import annotations

import sys
from typing import Any

import sympy as sp

_VECTORS = "sympy.physics.vector"


def time_symbol() -> sp.Symbol:
    """The symbol of time: SymPy's, which a user may have exchanged."""
    vector = sys.modules.get(_VECTORS)
    return sp.Symbol("t") if vector is None else vector.dynamicsymbols._t  # noqa: SLF001 - it has no other name


def function_of_time(name: str) -> sp.Expr:
    """The function of time of this name: `dynamicsymbols(name)`."""
    return sp.Function(name)(time_symbol())


def is_vector(value: Any) -> bool:
    """Whether a value is a vector of SymPy's frames."""
    vector = sys.modules.get(_VECTORS)
    return vector is not None and isinstance(value, vector.Vector)


def is_dyadic(value: Any) -> bool:
    """Whether a value is a dyadic of SymPy's frames."""
    vector = sys.modules.get(_VECTORS)
    return vector is not None and isinstance(value, vector.Dyadic)
