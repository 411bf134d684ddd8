"""Names of a model, each given to one object."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import sympy as sp

from dalembert.model.time_symbols import function_of_time

_FUNCTIONS_OF_TIME = ("coordinate", "speed", "unknown")
_UNFIT = re.compile(r"[\s'`]")


def split_names(names: Any) -> list[str]:
    """The names in `names`, separated by blanks or commas; a range `q1:4` is written out as SymPy does; [] if none."""
    if not isinstance(names, str):
        return []
    parts = [part for part in re.split(r"[\s,]+", names) if part]
    try:
        return [str(symbol) for part in parts for symbol in (sp.symbols(part, seq=True) if ":" in part else [part])]
    except ValueError:  # a range SymPy cannot read
        return []


class Names:
    """The names of a model and the kind of object each belongs to. Notes a fault if a name is taken or malformed."""

    def __init__(self, fault: Callable[[str], None]) -> None:
        self._fault = fault
        self._kinds: dict[str, str] = {}

    def kind(self, name: str) -> str | None:
        """Kind of the object that has this name, such as "parameter"; None if the name is free."""
        return self._kinds.get(name)

    def check(self, name: Any, kind: str) -> bool:
        """True if the name is well-formed; it may be taken. Notes a fault otherwise."""
        fits = isinstance(name, str) and bool(name) and _UNFIT.search(name) is None
        if not fits:
            self._fault(f"{kind} {name!r}: a name must be a non-empty string without blanks or quotes")
        return fits

    def claim(self, name: Any, kind: str) -> None:
        """Reserve the name for an object of this kind. Notes a fault if it is taken or malformed."""
        if not self.check(name, kind):
            return
        if name == "t" and kind in (*_FUNCTIONS_OF_TIME, "parameter"):
            self._fault(f"{kind} `t`: this is the name of time; choose another name")
        if name in self._kinds:
            self._fault(f"{kind} `{name}` is already declared as a {self._kinds[name]}; choose another name")
        self._kinds[name] = kind

    def symbol(self, key: Any) -> Any:
        """The function of time of a declared name. Other keys are returned unchanged."""
        return function_of_time(key) if isinstance(key, str) and self.kind(key) in _FUNCTIONS_OF_TIME else key
