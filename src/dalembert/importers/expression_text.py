"""Expressions written as text, read without running them: a tree of known operations becomes SymPy."""

from __future__ import annotations

import ast
import operator
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any

import sympy as sp

from dalembert.errors import UnknownNameError
from dalembert.importers.expression_size import Size, measure
from dalembert.importers.limits import LARGEST_NUMBER, brief
from dalembert.importers.syntax_hints import expression_hint
from dalembert.model.time_symbols import is_undefined_function

FUNCTIONS: dict[str, tuple[Callable[..., sp.Expr], int, int]] = {  # least and largest number of arguments
    **{f.__name__: (f, 1, 1) for f in (sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.sinh, sp.cosh, sp.tanh)},
    **{name: (getattr(sp, name), 1, 1) for name in ("exp", "log", "sqrt", "Abs", "sign")},
    "atan2": (sp.atan2, 2, 2),
    "Min": (sp.Min, 2, 30),
    "Max": (sp.Max, 2, 30),
}
RATE = "diff"
CONSTANTS = {"pi": sp.pi, "deg": sp.pi / 180}
RESERVED = frozenset({*FUNCTIONS, RATE, *CONSTANTS, "t"})
LONGEST_EXPRESSION = 20_000  # characters
LARGEST_EXPONENT = 1000
LARGEST = Size(operations=30_000, depth=40)  # of an expression with its definitions written out
LARGEST_DERIVED = 400  # operations of the argument of `diff`, and ten times that for the second one
COMPARED_ARGUMENTS = 3  # arguments of Min and Max that SymPy compares with each other, which takes long for more
SIMPLIFIED = 50  # operations that SymPy is asked to simplify: its time may grow exponentially with them

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class ExpressionText:
    """Reader of expressions of `symbols`, by name. Faults go to `fault`; faulty expressions become dummies.

    `definitions` are texts that stand for themselves by name; they are read when first met.
    """

    def __init__(
        self, symbols: dict[str, sp.Expr], definitions: Mapping[str, Any], time: sp.Symbol, fault: Callable[[str], None]
    ) -> None:
        self.tables: dict[str, Callable[[sp.Expr], sp.Expr]] = {}  # functions given by data, by name
        self.symbols, self._definitions, self._time, self._fault = symbols, dict(definitions), time, fault
        self._open: list[str] = []  # definitions that are being read
        self._sizes: dict[str, Size] = {}  # of those that were

    def read(self, value: Any, where: str) -> sp.Expr:
        """The expression of a number or a text; `where` it stands goes into the message of a fault."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return sp.Integer(value) if isinstance(value, int) else sp.Float(value)
        if not isinstance(value, str):
            return self._refuse(f"{where}: an expression is a string or a number, got {brief(value)}")
        if len(value) > LONGEST_EXPRESSION or "#" in value:
            return self._refuse(
                f"{where}: `{brief(value)}` is longer than {LONGEST_EXPRESSION} characters or has a comment in it"
            )
        text = " ".join(value.split())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings of Python are refused here
                tree = ast.parse(text, mode="eval")
            size = self._size(tree.body)
            if size.depth > LARGEST.depth:
                return self._refuse(f"{where}: `{brief(text)}` is nested too deeply, {size.depth} > {LARGEST.depth}")
            if size.operations > LARGEST.operations:
                most = f"{LARGEST.operations:,}"
                return self._refuse(f"{where}: `{brief(text)}` has more than {most} operations when written out")
            if self._open:
                self._sizes[self._open[-1]] = size
            return self._walk(tree.body, f"{where}: ", brief(text))
        except SyntaxError as error:
            shown = f"`{brief(text)}` is not an expression: {brief(error.msg)}"
            place = f"at character {error.offset}" if error.offset else "at its end"
            return self._refuse(f"{where}: {shown} {place}{expression_hint(text)}")
        except (RecursionError, MemoryError):
            return self._refuse(f"{where}: `{brief(text)}` is nested too deeply; use [definitions]")
        except (ValueError, TypeError, ArithmeticError, AttributeError) as error:  # SymPy finds no sense in it
            return self._refuse(f"{where}: `{brief(text)}` cannot be read: {brief(str(error))}")

    def read_definitions(self) -> None:
        """Read the definitions that no expression has used, to find their faults as well."""
        for name in [*self._definitions]:
            self._named(name, "", name)

    def _size(self, tree: ast.expr) -> Size:
        """The size of an expression, after reading the definitions in it."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self._definitions:
                self._named(node.id, "", node.id)
        return measure(tree, self._sizes)

    def _refuse(self, message: str) -> sp.Expr:
        self._fault(message)
        return sp.Dummy("unread")

    def _walk(self, node: ast.expr, where: str, text: str) -> sp.Expr:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._in_range(self.read(number, where), where, text)
            case ast.Name(id=name):
                return self._named(name, where, text)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._walk(operand, where, text))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._in_range(sp.Add(*self._terms(node, where, text)), where, text)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._in_range(sp.Mul(*self._factors(node, where, text)), where, text)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                a, b = self._walk(left, where, text), self._walk(right, where, text)
                return self._in_range(self._power(a, b, where, text), where, text)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                made = (self._rate if name == RATE else partial(self._call, name))(args, where, text)
                return self._in_range(made, where, text)
        part = brief(ast.unparse(node))
        power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)
        hint = "; a power is written **" if power else expression_hint(part)
        return self._refuse(
            f"{where}`{part}` in `{text}` is not allowed{hint or '; use + - * / **, names, numbers and functions'}"
        )

    def _terms(self, node: ast.expr, where: str, text: str) -> list[sp.Expr]:
        """The terms of a sum, so that it is built at once: term by term takes a time that grows with their square."""
        terms: list[sp.Expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            term = self._walk(node.right, where, text)
            terms.append(-term if isinstance(node.op, ast.Sub) else term)
            node = node.left
        return [self._walk(node, where, text), *reversed(terms)]

    def _factors(self, node: ast.expr, where: str, text: str) -> list[sp.Expr]:
        """The factors of a product, so that it is built at once: SymPy multiplies a number into a sum alone."""
        factors: list[sp.Expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            factor = self._walk(node.right, where, text)
            factors.append(1 / factor if isinstance(node.op, ast.Div) else factor)
            node = node.left
        return [self._walk(node, where, text), *reversed(factors)]

    def _in_range(self, expression: sp.Expr, where: str, text: str) -> sp.Expr:
        """The expression, if its leading number can be one in double precision."""
        number = expression.as_coeff_Add()[0] if expression.is_Add else expression.as_coeff_Mul()[0]
        if number.is_Rational and max(abs(number.p), number.q).bit_length() > LARGEST_NUMBER:
            return self._refuse(f"{where}a number in `{text}` has too many digits; write it as 1.0e3 ** 2 instead")
        if number.is_Float and not abs(number) < sys.float_info.max:
            return self._refuse(f"{where}a number in `{text}` is beyond the range of double precision, 1.8e308")
        if expression.is_number and expression.is_extended_real is False and expression is not sp.zoo:
            return self._refuse(f"{where}`{brief(str(expression))}` in `{text}` is not a real number")
        return expression

    def _named(self, name: str, where: str, text: str) -> sp.Expr:
        if name in self._open:
            shown = brief(" -> ".join(self._open))
            return self._refuse(f"[definitions] {brief(name)}: it is given in terms of itself ({shown})")
        if name in self._definitions:
            self._open.append(name)
            read = self.read(self._definitions[name], f"[definitions] {name}")
            self._open.pop()
            del self._definitions[name]
            self.symbols[name] = read
        if name in self.tables:
            return self._refuse(f"{where}`{name}` in `{text}` is a table; apply it, as in {name}(t)")
        found = {**self.symbols, **CONSTANTS, "t": self._time}
        if name in found:
            return found[name]
        return self._refuse(where + str(UnknownNameError(name, [*{**found, **self._definitions}], f"`{text}`")))

    def _call(self, name: str, args: list[ast.expr], where: str, text: str) -> sp.Expr:
        known = FUNCTIONS | {table: (function, 1, 1) for table, function in self.tables.items()}
        if name not in known:
            return self._refuse(where + str(UnknownNameError(name, known, f"the functions (`{text}`)")))
        function, least, most = known[name]
        if not least <= len(args) <= most:
            need = str(least) if least == most else f"{least} to {most}"
            return self._refuse(f"{where}`{name}` in `{text}` takes {need} arguments, got {len(args)}")
        read = [self._walk(arg, where, text) for arg in args]
        return _applied(function, read, simplified=len(read) <= COMPARED_ARGUMENTS)

    def _rate(self, args: list[ast.expr], where: str, text: str) -> sp.Expr:
        """`diff(x)` or `diff(x, 2)`."""
        match args:
            case [of] | [of, ast.Constant(value=1)]:
                return self._derivative(self._walk(of, where, text), LARGEST_DERIVED, where, text)
            case [of, ast.Constant(value=2)]:
                rate = self._derivative(self._walk(of, where, text), LARGEST_DERIVED, where, text)
                return self._derivative(rate, 10 * LARGEST_DERIVED, where, text)
        return self._refuse(f"{where}`{RATE}` in `{text}` reads {RATE}(x) or {RATE}(x, 2)")

    def _derivative(self, expression: sp.Expr, largest: int, where: str, text: str) -> sp.Expr:
        """The time derivative of an expression that is not too large for that."""
        if _is_longer(expression, largest):
            return self._refuse(f"{where}`{RATE}` in `{text}` is taken of more than {largest} operations")
        return sp.diff(expression, self._time)

    def _power(self, base: sp.Expr, exponent: sp.Expr, where: str, text: str) -> sp.Expr:
        """`base` ** `exponent` of a size that can be written down."""
        if exponent.is_number and not abs(exponent) <= LARGEST_EXPONENT:
            return self._refuse(f"{where}an exponent in `{text}` is larger than {LARGEST_EXPONENT} or not a number")
        return _applied(sp.Pow, [base, exponent], simplified=True)


def _applied(function: Callable[..., sp.Expr], arguments: list[sp.Expr], *, simplified: bool) -> sp.Expr:
    """A function of arguments, simplified by SymPy if these are plain; of numbers that are not the value."""
    plain = all(map(_is_plain, arguments))
    if not plain and all(argument.is_number for argument in arguments):
        return function(*(argument.evalf() for argument in arguments))
    return function(*arguments) if plain and simplified else function(*arguments, evaluate=False)


def _is_plain(expression: sp.Expr) -> bool:
    """Whether an expression is short and has no function in it but those of time."""
    inside = islice(sp.preorder_traversal(expression), SIMPLIFIED + 1)
    return not _is_longer(expression, SIMPLIFIED) and not any(
        isinstance(node, sp.Function) and not is_undefined_function(node) for node in inside
    )


def _is_longer(expression: sp.Expr, most: int) -> bool:
    """Whether an expression has more operations when written out."""
    return sum(1 for _ in islice(sp.preorder_traversal(expression), most + 1)) > most
