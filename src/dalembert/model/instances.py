"""Expressions of a kind, stated once: a `Template` in symbols, and instances that put arguments in their place.

SymPy takes milliseconds for the rows of one joint. A model of thousands of joints has few kinds of them: the rows of a
kind are written out once, and a joint is the arguments. An `Instance` is a SymPy expression whose parts are its
arguments; `explicit` writes it out when somebody wants to read it, and lowering puts the arguments into the graph of
the template.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import sympy as sp

from dalembert.dataclass import dataclass


@dataclass(frozen=True)
class Frame:
    """A body of a template that turns by a quaternion: symbols of its position and of the quaternion.

    `matrix` are nine more symbols, its rotation matrix row by row; `entries` is what they are in terms of the four. In
    rows at velocity level `rates` are symbols too: of the rate of the position, then of its angular velocity.
    """

    position: tuple[sp.Expr, ...]
    quaternion: tuple[sp.Expr, ...]
    matrix: tuple[sp.Symbol, ...]
    entries: tuple[sp.Expr, ...]
    rates: tuple[sp.Expr, ...] = ()


class Template:
    """Expressions in symbols, and in those of the matrices of its `frames`; its `label` is the text of the key."""

    def __init__(
        self,
        key: Hashable,
        symbols: Sequence[sp.Symbol],
        expressions: Sequence[sp.Expr],
        frames: Sequence[Frame] = (),
    ) -> None:
        self.label, self.symbols, self.expressions = str(key), tuple(symbols), tuple(expressions)
        self.frames = tuple(frames)
        self.operations = tuple(f"{self.label}[{k}]" for k in range(len(self.expressions)))  # names of them, in graphs

    @property
    def rotations(self) -> dict[sp.Symbol, sp.Expr]:
        """Matrix entries of all frames in terms of `symbols`, by the symbols that stand for them."""
        return {r: entry for frame in self.frames for r, entry in zip(frame.matrix, frame.entries, strict=True)}

    def fill(self, arguments: Sequence[sp.Expr], count: int | None = None) -> tuple[sp.Expr, ...]:
        """The expressions, or the first `count`, with arguments substituted for the symbols. Numbers stay numbers."""
        shared = tuple(arguments)
        return tuple(e if e.is_Number else Instance(self, k, shared) for k, e in enumerate(self.expressions[:count]))


class FilledVectors(Sequence[tuple[sp.Expr, sp.Expr, sp.Expr]]):
    """The expressions of a template three by three, with arguments in the place of its symbols; filled in when read.

    Shapes are made of many vectors, for every element, and few models are drawn.
    """

    def __init__(self, template: Template, arguments: Sequence[sp.Expr]) -> None:
        self.template, self.arguments = template, tuple(arguments)

    @property
    def is_flat(self) -> bool:
        """True if all vectors are zero along z, for any arguments."""
        return all(e == 0 for e in self.template.expressions[2::3])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilledVectors) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        return self.template.label, self.arguments

    def __len__(self) -> int:
        return len(self.template.expressions) // 3

    def __getitem__(self, index: Any) -> Any:
        e = self.template.fill(self.arguments)
        return tuple((e[k], e[k + 1], e[k + 2]) for k in range(0, len(e), 3))[index]


class Instance(sp.Expr):
    """Expression `index` of a template with arguments in the place of its symbols."""

    __slots__ = ("index", "template")
    is_commutative = True
    template: Template
    index: int

    def __new__(cls, template: Template, index: int, arguments: Sequence[sp.Expr]) -> Self:
        """Make an instance, without writing it out."""
        new = sp.Expr.__new__(cls)
        new._args = tuple(arguments)  # noqa: SLF001 - as SymPy sets it, but the tuple itself: the rows of a joint share it
        new.template, new.index = template, index
        return new

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        return Instance, (self.template, self.index, self.args)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.template.label, self.index, *self.args)

    @property
    def is_varying(self) -> bool:
        """True if any argument is not a number. Does not write the expression out."""
        return any(part.free_symbols for part in self.args)

    @property
    def func(self) -> Callable[..., Instance]:
        """Constructor by which SymPy rebuilds the instance: the same expression with other arguments."""
        return lambda *arguments: Instance(self.template, self.index, arguments)

    @property
    def explicit(self) -> sp.Expr:
        """The expression written out."""
        values = dict(zip(self.template.symbols, map(explicit, self.args), strict=True))
        return self.template.expressions[self.index].xreplace(self.template.rotations).xreplace(values)

    def doit(self, **_: Any) -> sp.Expr:
        """The expression written out, as SymPy calls it."""
        return self.explicit

    def _eval_derivative(self, symbol: sp.Basic) -> sp.Expr:
        return self.explicit.diff(symbol)

    def _sympystr(self, printer: Any) -> str:
        return printer.doprint(self.explicit)

    def _latex(self, printer: Any) -> str:
        return printer.doprint(self.explicit)


def explicit(expression: sp.Expr) -> sp.Expr:
    """An expression as it is, an instance written out."""
    return expression.explicit if isinstance(expression, Instance) else expression


def _difference() -> Template:
    a, b = symbols = sp.symbols("a b")
    return Template("difference", symbols, [a - b])


DIFFERENCE = _difference()


def difference(a: sp.Expr, b: sp.Expr) -> Instance:
    """a - b, not written out."""
    return Instance(DIFFERENCE, 0, (a, b))
