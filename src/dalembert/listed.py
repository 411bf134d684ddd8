"""Class decorator that keeps names out of `dir()`: users see the names they write, not those that other stages use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def unlisted(names: str) -> Callable[[Class], Class]:
    """Class decorator: `dir()`, and with it completion, leaves out these attributes. They still exist."""
    hidden = frozenset(names.split())

    def listed(self: Any) -> list[str]:
        return [name for name in object.__dir__(self) if name not in hidden]

    def decorate(cls: Class) -> Class:
        cls.__dir__ = listed  # type: ignore[assignment]
        return cls

    return decorate
