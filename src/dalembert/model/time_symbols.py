"""Time and functions of time, equal to those of `sympy.physics.mechanics`, which is slow to import.

Vectors and dyadics, which only that package can make, cannot occur before it was imported.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef, UndefinedFunction

_VECTORS = "sympy.physics.vector"
_TIME = sp.Symbol("t")


def time_symbol() -> sp.Symbol:
    """The symbol of time: SymPy's, which a user may have exchanged."""
    vector = sys.modules.get(_VECTORS)
    return _TIME if vector is None else vector.dynamicsymbols._t  # noqa: SLF001 - it has no other name


class _OfTime(AppliedUndef):
    """Base class of functions of time. SymPy's slow setup of a class runs once, here, instead of for each function."""

    def __init_subclass__(cls) -> None:
        """Inherit the attributes that SymPy would determine again for every function."""


_BASES = (_OfTime,)  # shared by all functions, as the objects below: fewer objects for Python to track
_CONTENT = {key: sp.Function("f").__dict__[key] for key in ("_kwargs", "__module__", "_sage_", "_nargs")}


@functools.lru_cache(maxsize=4)
def _arguments(time: sp.Symbol) -> tuple[sp.Symbol]:
    return (time,)


@functools.lru_cache(maxsize=1024)
def _function(name: str) -> Any:
    """`sympy.Function(name)`, equal to it in every respect."""
    return type.__new__(UndefinedFunction, name, _BASES, {**_CONTENT, "name": name})


def function_of_time(name: str) -> sp.Expr:
    """The function of time of this name: `dynamicsymbols(name)`."""
    applied = sp.Expr.__new__(_function(name))
    applied._args = _arguments(time_symbol())  # noqa: SLF001 - as SymPy sets it, but one tuple for all
    applied.nargs = sp.S.Naturals0
    return applied


def is_undefined_function(value: Any) -> bool:
    """`isinstance(value, AppliedUndef)`, for which SymPy takes five times as long."""
    return isinstance(type(value), UndefinedFunction)


def is_vector(value: Any) -> bool:
    """Whether a value is a vector of SymPy's frames."""
    vector = sys.modules.get(_VECTORS)
    return vector is not None and isinstance(value, vector.Vector)


def is_dyadic(value: Any) -> bool:
    """Whether a value is a dyadic of SymPy's frames."""
    vector = sys.modules.get(_VECTORS)
    return vector is not None and isinstance(value, vector.Dyadic)
