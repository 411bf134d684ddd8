"""Attributes whose SymPy expressions are written out at the first access."""

from __future__ import annotations

from typing import Any


class WhenAsked:
    """An attribute that may be set to a function of its owner, which is called when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return None  # the default of the field
        value = instance.__dict__[self._name]
        if callable(value):
            value = instance.__dict__[self._name] = value(instance)
        return value
