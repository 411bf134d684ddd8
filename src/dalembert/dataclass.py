"""`dataclass` of the standard library, with methods that are shared, or made when the first instance is.

The standard decorator writes and compiles the source of six methods for each frozen class: half a millisecond, and a
start needs a hundred classes. Here its fields are found in the same way, `__eq__`, `__hash__`, `__repr__` and what
refuses assignments are the same functions for all classes, and `__init__` is compiled when it is first asked for. To
`fields`, `replace`, subclasses, `inspect` and type checkers it is a dataclass like any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


def _dataclass(
    cls: type | None = None,
    /,
    *,
    repr: bool = True,  # noqa: A002 - the name it has in the standard library
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
) -> Any:
    """Make a dataclass of a class, or a decorator that does."""

    def make(cls: type) -> type:
        _find_fields(cls, kw_only=kw_only)
        methods: dict[str, Any] = {"__init__": _Initialiser(cls)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            equal, hashed = _comparison(tuple(f.name for f in fields(cls) if f.compare))
            methods |= {"__eq__": equal, "__hash__": hashed if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        own = vars(cls)
        for name, method in methods.items():
            # A class with an `__eq__` of its own has a `__hash__` of None that nobody wrote.
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(cls, name, method)
        parameters = cls.__dataclass_params__  # type: ignore[attr-defined]
        parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, repr, eq, frozen
        return cls

    return make if cls is None else make(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _find_fields(cls: Any, *, kw_only: bool) -> None:
    """The fields of a class: those of its bases, then its own, as the standard library reads them."""
    annotations = cls.__annotations__
    stated = {name: value for name, value in vars(cls).items() if name in annotations}
    # Without bases: the standard library would want them to be as frozen as what it is asked for here, which is not.
    content = {"__annotations__": annotations, "__module__": cls.__module__, "__doc__": cls.__doc__, **stated}
    own: Any = type(cls.__name__, (), content)
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(own)
    found: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= vars(base).get("__dataclass_fields__", {})
    cls.__dataclass_fields__ = found | own.__dataclass_fields__
    cls.__dataclass_params__ = own.__dataclass_params__
    for name, value in stated.items():
        if not isinstance(value, Field):
            continue
        if value.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, value.default)
    names = tuple(f.name for f in fields(cls) if f.init and not f.kw_only)
    cls.__match_args__ = names  # type: ignore[misc]


class _Factory:
    """Stands in a signature for a default that is made anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


class _Initialiser:
    """Placeholder for `__init__` of a class, replaced by a compiled function at the first access."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: Any) -> Callable[..., None]:
        function = _compile_initialiser(self._cls)
        self._cls.__init__ = function
        return function.__get__(instance, owner)


def _compile_initialiser(cls: Any) -> Any:
    """`__init__` with the signature that the fields say."""
    scope: dict[str, Any] = {"put": object.__setattr__, "FACTORY": _FACTORY}
    plain, keywords = ["self"], ["*"]
    body = ["__dict__ = self.__dict__"] if cls.__dataclass_params__.frozen else []
    for f in fields(cls):
        value, default = f.name, ""
        if f.default_factory is not MISSING:
            scope[f"make_{f.name}"] = f.default_factory
            default, made = "=FACTORY", f"make_{f.name}()"
            value = f"{made} if {f.name} is FACTORY else {f.name}" if f.init else made
        elif f.default is not MISSING:
            scope[f"default_{f.name}"] = f.default
            default = f"=default_{f.name}"
        if f.init:
            (keywords if f.kw_only else plain).append(f.name + default)
        if f.init or f.default_factory is not MISSING:
            body.append(_assignment(cls, f.name).format(f.name, value))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = plain + (keywords if len(keywords) > 1 else [])
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), scope)  # noqa: S102
    function = scope["__init__"]
    function.__qualname__, function.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    function.__annotations__ = {f.name: f.type for f in fields(cls) if f.init} | {"return": None}
    return function


def _assignment(cls: Any, name: str) -> str:
    """Code by which `__init__` sets a field, bypassing a frozen `__setattr__`. A descriptor of the field is used."""
    if not cls.__dataclass_params__.frozen:
        return "self.{0} = {1}"
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return "put(self, {0!r}, {1})" if hasattr(type(found), "__set__") else "__dict__[{0!r}] = {1}"


def _comparison(names: tuple[str, ...]) -> tuple[Callable[..., bool], Callable[..., int]]:
    """`__eq__` and `__hash__` of instances with the same values under these names."""
    values = attrgetter("__class__", *names)

    def equal(self: Any, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return values(self) == values(other)

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equal, hashed


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    if _is_frozen(type(self), name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _is_frozen(type(self), name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(cls: Any, name: str) -> bool:
    """Whether an attribute may not change: a field; in a dataclass, and not a plain subclass of one, any."""
    return "__dataclass_fields__" in vars(cls) or name in cls.__dataclass_fields__
