"""Expressions written as text, read without running them: a tree of known operations becomes SymPy."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import sympy as sp

from dalembert.errors import UnknownNameError

FUNCTIONS: Mapping[str, tuple[Callable[..., sp.Expr], int, int]] = {  # least and largest number of arguments
    **{f.__name__: (f, 1, 1) for f in (sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.sinh, sp.cosh, sp.tanh)},
    **{name: (getattr(sp, name), 1, 1) for name in ("exp", "log", "sqrt", "Abs", "sign")},
    "atan2": (sp.atan2, 2, 2),
    "Min": (sp.Min, 2, 99),
    "Max": (sp.Max, 2, 99),
}
RATE = "diff"
RESERVED = frozenset({*FUNCTIONS, RATE, "pi", "t"})
LONGEST = 20_000  # characters of one expression
LARGEST_EXPONENT = 1000
LARGEST_NUMBER = 4096  # bits of a fraction: more is a slip, and could take all memory

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class ExpressionText:
    """Reads expressions of `symbols`, by name; what cannot be read is told to `fault` and replaced by a dummy.

    `definitions` are texts that stand for themselves by name; they are read when first met.
    """

    def __init__(
        self, symbols: dict[str, sp.Expr], definitions: Mapping[str, Any], time: sp.Symbol, fault: Callable[[str], None]
    ) -> None:
        self.symbols, self._definitions, self._time, self._fault = symbols, dict(definitions), time, fault
        self._open: list[str] = []  # definitions that are being read

    def read(self, value: Any, where: str) -> sp.Expr:
        """The expression of a number or a text; `where` it stands goes into the message of a fault."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return sp.Integer(value) if isinstance(value, int) else sp.Float(value)
        if not isinstance(value, str):
            return self._refuse(f"{where}: an expression is a string or a number, got {value!r}")
        text = " ".join(value.split())
        if len(text) > LONGEST or "#" in text:
            return self._refuse(f"{where}: `{text[:60]}` is longer than {LONGEST} characters or has a comment in it")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python would only warn of is refused here
                tree = ast.parse(text, mode="eval")
            return self._walk(tree.body, f"{where}: ", text)
        except SyntaxError as error:
            return self._refuse(f"{where}: `{text}` is not an expression: {error.msg} at character {error.offset}")
        except (RecursionError, MemoryError):
            return self._refuse(f"{where}: `{text[:60]}` ... is nested too deeply; use [definitions]")
        except (ValueError, TypeError) as error:  # SymPy finds no sense in it
            return self._refuse(f"{where}: `{text}` cannot be read: {error}")

    def read_definitions(self) -> None:
        """Read what no expression asked for, so that its faults are told as well."""
        for name in [*self._definitions]:
            self._named(name, "", name)

    def _refuse(self, message: str) -> sp.Expr:
        self._fault(message)
        return sp.Dummy("unread")

    def _walk(self, node: ast.expr, where: str, text: str) -> sp.Expr:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self.read(number, where)
            case ast.Name(id=name):
                return self._named(name, where, text)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._walk(operand, where, text))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS or isinstance(op, ast.Pow):
                a, b = self._walk(left, where, text), self._walk(right, where, text)
                return self._power(a, b, where, text) if isinstance(op, ast.Pow) else _OPERATORS[type(op)](a, b)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return (self._rate if name == RATE else partial(self._call, name))(args, where, text)
        part = ast.get_source_segment(text, node) or text
        hint = "; a power is written **" if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor) else ""
        return self._refuse(
            f"{where}`{part}` in `{text}` is not allowed{hint or '; use + - * / **, names, numbers and functions'}"
        )

    def _named(self, name: str, where: str, text: str) -> sp.Expr:
        if name in self._open:
            return self._refuse(f"[definitions] {name}: it is given in terms of itself ({' -> '.join(self._open)})")
        if name in self._definitions:
            self._open.append(name)
            read = self.read(self._definitions[name], f"[definitions] {name}")
            self._open.pop()
            del self._definitions[name]
            self.symbols[name] = read
        found = {**self.symbols, "pi": sp.pi, "t": self._time}
        if name in found:
            return found[name]
        return self._refuse(where + str(UnknownNameError(name, [*{**found, **self._definitions}], f"`{text}`")))

    def _call(self, name: str, args: list[ast.expr], where: str, text: str) -> sp.Expr:
        if name not in FUNCTIONS:
            return self._refuse(where + str(UnknownNameError(name, FUNCTIONS, f"the functions (`{text}`)")))
        function, least, most = FUNCTIONS[name]
        if not least <= len(args) <= most:
            need = str(least) if least == most else f"{least} or more"
            return self._refuse(f"{where}`{name}` in `{text}` takes {need} arguments, got {len(args)}")
        return function(*(self._walk(arg, where, text) for arg in args))

    def _rate(self, args: list[ast.expr], where: str, text: str) -> sp.Expr:
        """`diff(x)` or `diff(x, 2)`."""
        match args:
            case [of] | [of, ast.Constant(value=1)]:
                return sp.diff(self._walk(of, where, text), self._time)
            case [of, ast.Constant(value=2)]:
                return sp.diff(self._walk(of, where, text), self._time, 2)
        return self._refuse(f"{where}`{RATE}` in `{text}` reads {RATE}(x) or {RATE}(x, 2)")

    def _power(self, base: sp.Expr, exponent: sp.Expr, where: str, text: str) -> sp.Expr:
        """`base` ** `exponent` of a size that can be written down."""
        if exponent.is_number and not abs(exponent) <= LARGEST_EXPONENT:
            return self._refuse(f"{where}an exponent in `{text}` is larger than {LARGEST_EXPONENT} or not a number")
        power = base**exponent
        factor = power.as_coeff_Mul()[0]
        if factor.is_Rational and max(abs(factor.p), factor.q).bit_length() > LARGEST_NUMBER:
            return self._refuse(f"{where}a number in `{text}` has too many digits; write it as 1.0e3 ** 2 instead")
        return power
