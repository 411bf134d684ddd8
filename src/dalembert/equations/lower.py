"""SymPy expressions as CasADi graphs: one memoised walk, each distinct subexpression lowered once.

Two steps, both without Python recursion, so that neither depth nor size of an expression matters:

1. *Interning.* The SymPy expression is read bottom-up into a small graph of elementary operations in which equal
   operations are one node (`_Graph`). Quotients, negations and powers get their shortest form here.
2. *Emission.* Graph nodes become `casadi.SX` in topological order (`Lowering`).

Piecewise functions need care. CasADi evaluates every branch and multiplies derivatives by the 0/1 condition; at points
where an inactive branch has an infinite slope (`sqrt(0)`, `1/0`) reverse differentiation then meets `0*inf = nan`.
So every operation that can be infinite and is *only* used inside branches gets a harmless argument while none of the
branches that use it is active (`_HARMLESS`); value and derivatives of all orders stay those of the active branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import casadi
import numpy as np
import sympy
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import BooleanAtom
from sympy.physics.vector import Dyadic, Vector, dynamicsymbols

from dalembert.errors import DalembertError

Nested: TypeAlias = Sequence[Sequence[Any]]


class LoweringError(DalembertError, ValueError):
    """An expression that cannot be evaluated with real numbers; `.node` is the offending part of it."""

    def __init__(self, message: str, node: Any) -> None:
        self.node = node
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[str, Any]]:
        return type(self), (str(self), self.node)


# --------------------------------------------------------------------------------------------------------------------
# The graph of elementary operations

_UNARY = {
    "neg": casadi.OP_NEG,
    "sq": casadi.OP_SQ,
    "sqrt": casadi.OP_SQRT,
    "sin": casadi.OP_SIN,
    "cos": casadi.OP_COS,
    "tan": casadi.OP_TAN,
    "asin": casadi.OP_ASIN,
    "acos": casadi.OP_ACOS,
    "atan": casadi.OP_ATAN,
    "sinh": casadi.OP_SINH,
    "cosh": casadi.OP_COSH,
    "tanh": casadi.OP_TANH,
    "asinh": casadi.OP_ASINH,
    "acosh": casadi.OP_ACOSH,
    "atanh": casadi.OP_ATANH,
    "exp": casadi.OP_EXP,
    "log": casadi.OP_LOG,
    "abs": casadi.OP_FABS,
    "sign": casadi.OP_SIGN,
    "floor": casadi.OP_FLOOR,
    "ceil": casadi.OP_CEIL,
    "erf": casadi.OP_ERF,
    "not": casadi.OP_NOT,
}
_BINARY = {  # those that associate take any number of arguments
    "add": casadi.OP_ADD,
    "mul": casadi.OP_MUL,
    "div": casadi.OP_DIV,
    "pow": casadi.OP_POW,
    "atan2": casadi.OP_ATAN2,
    "min": casadi.OP_FMIN,
    "max": casadi.OP_FMAX,
    "lt": casadi.OP_LT,
    "le": casadi.OP_LE,
    "eq": casadi.OP_EQ,
    "ne": casadi.OP_NE,
    "and": casadi.OP_AND,
    "or": casadi.OP_OR,
    "xor": casadi.OP_NE,
}
_LEAVES = frozenset({"const", "truth", "atom"})
_TRUTHS = frozenset({"truth", "lt", "le", "eq", "ne", "and", "or", "xor", "not"})

# Operations that can be infinite, have an infinite slope or be undefined: which argument is replaced, and by what,
# while the operation is not in use.
_HARMLESS = {
    "div": (1, 1.0),
    "sqrt": (0, 1.0),
    "log": (0, 1.0),
    "pow": (0, 1.0),
    "asin": (0, 0.0),
    "acos": (0, 0.0),
    "acosh": (0, 2.0),
    "atanh": (0, 0.0),
    "atan2": (1, 1.0),
    "exp": (0, 0.0),
    "sinh": (0, 0.0),
    "cosh": (0, 0.0),
}

# Above this exponent repeated squaring is no shorter than the library's pow.
_LARGEST_SQUARED = 1024
# sin(x)/x = sum (-1)^k x^2k / (2k+1)!; nine terms give the last bit, also of two derivatives, for |x| < 1.
_SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9))


class _Graph:
    """Elementary operations in topological order, each distinct one once; a node is its position."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self.branches: list[bool] = []  # has a `select` at or below it
        self.wild: list[bool] = []  # has a `select`, or an operation that can be infinite, at or below it
        self.odd: set[int] = set()  # truth values and infinities: not to be calculated with
        self._index: dict[tuple[str, tuple[Any, ...]], int] = {}

    def put(self, op: str, *args: Any) -> int:
        """The node of this operation, made unless there is one. `select` takes condition, value, condition, value."""
        key = (op, args)
        node = self._index.get(key)
        if node is None:
            node = self._index[key] = len(self.ops)
            self.ops.append(op)
            self.args.append(args)
            self._mark(node, op)
        return node

    def _mark(self, node: int, op: str) -> None:
        below = self.children(node)
        branches, wild = op == "select", op == "select"
        for k in below:
            branches |= self.branches[k]
            wild |= self.wild[k]
        self.branches.append(branches)
        self.wild.append(wild or (op in _HARMLESS and self.value(below[_HARMLESS[op][0]]) is None))
        if op in _TRUTHS or (op == "const" and math.isinf(self.args[node][0])):
            self.odd.add(node)

    def children(self, node: int) -> tuple[int, ...]:
        return () if self.ops[node] in _LEAVES else self.args[node]

    def value(self, node: int) -> float | None:
        """The number a constant node holds; None for any other node."""
        return self.args[node][0] if self.ops[node] == "const" else None

    def const(self, value: float) -> int:
        return self.put("const", value)

    def add(self, terms: Iterable[int]) -> int:
        numbers, rest = self._split(terms)
        number = sum(numbers, start=0.0)
        if number or not rest:
            rest.insert(0, self.const(number))
        return rest[0] if len(rest) == 1 else self.put("add", *rest)

    def mul(self, factors: Iterable[int]) -> int:
        numbers, rest = self._split(factors)
        return self.scale(math.prod(numbers, start=1.0), rest)

    def scale(self, number: float, factors: Sequence[int]) -> int:
        """The product of a number and nodes that are not constant."""
        if not factors or number == 0:
            return self.const(number)
        # The number stays outside the product, so that 2*x*y and -x*y share x*y.
        product = factors[0] if len(factors) == 1 else self.put("mul", *factors)
        if number == 1:
            return product
        return self.put("neg", product) if number == -1 else self.put("mul", self.const(number), product)

    def quotient(self, factors: Sequence[int], divisors: Sequence[int]) -> int:
        """The product of `factors` over the product of `divisors`, by one division at most."""
        numbers, factors = self._split(factors)
        number = math.prod(numbers, start=1.0)
        if divisors:
            numbers, divisors = self._split(divisors)
            number /= math.prod(numbers, start=1.0)
        if not divisors or number == 0:
            return self.scale(number, factors)
        divisor = self.mul(divisors)
        if not factors:
            return self.put("div", self.const(number), divisor)
        return self.scale(number, [self.put("div", self.scale(1.0, factors), divisor)])

    def power(self, base: int, exponent: int) -> int:
        """The positive integer power, by repeated squaring."""
        if exponent == 1:
            return base
        if exponent % 2:
            return self.mul([self.power(base, exponent - 1), base])
        return self.put("sq", self.power(base, exponent // 2))

    def _split(self, nodes: Iterable[int]) -> tuple[list[float], list[int]]:
        """The numbers among the nodes, and the rest of the nodes."""
        ops, numbers, rest = self.ops, [], []
        for node in nodes:
            if ops[node] == "const":
                numbers.append(self.args[node][0])
            else:
                rest.append(node)
        return numbers, rest

    def reach(self, roots: Iterable[int], follow: Callable[[int], Iterable[int]], seen: Collection[int]) -> list[int]:
        """The nodes met from `roots` along `follow` and not in `seen`, arguments before what uses them."""
        met: set[int] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node not in met and node not in seen:
                met.add(node)
                stack.extend(follow(node))
        return sorted(met)


# --------------------------------------------------------------------------------------------------------------------
# Rules: one SymPy class each, which parts it needs, and which operations it is


class _Rule(NamedTuple):
    needs: Callable[[Any], Sequence[Any]]
    build: Callable[[_Graph, Any, Sequence[int]], int]
    check: Callable[[_Graph, Any, Sequence[int]], None]


def _none(_: Any) -> tuple[()]:
    return ()


def _args(node: Any) -> Sequence[Any]:
    return node.args


def _check_numbers(graph: _Graph, node: Any, parts: Sequence[int]) -> None:
    if not graph.odd.isdisjoint(parts):
        bad = next(k for k in parts if k in graph.odd)
        what = "a condition" if graph.ops[bad] in _TRUTHS else "an infinity"
        raise LoweringError(f"{_show(node)} calculates with {what}; it must hold finite numbers only.", node)


def _check_compared(graph: _Graph, node: Any, parts: Sequence[int]) -> None:
    if any(graph.ops[k] in _TRUTHS for k in parts):
        raise LoweringError(f"{_show(node)} compares conditions; combine them by And, Or, Not or Xor.", node)


def _check_truths(graph: _Graph, node: Any, parts: Sequence[int]) -> None:
    if any(graph.ops[k] not in _TRUTHS for k in parts):
        raise LoweringError(f"{_show(node)} uses a number as a condition; compare it, as in `Ne(x, 0)`.", node)


def _check_piecewise(graph: _Graph, node: Any, parts: Sequence[int]) -> None:
    _check_truths(graph, node, parts[1::2])
    if any(graph.ops[k] in _TRUTHS for k in parts[::2]):
        raise LoweringError(f"{_show(node)} has a condition where a value belongs.", node)


def _constant(graph: _Graph, node: Any, value: Any) -> int:
    """The node of a number that SymPy worked out, refused unless it is real and finite."""
    try:
        number = complex(value)
    except (TypeError, ValueError, OverflowError):
        number = complex(math.nan)
    if number.imag or not math.isfinite(number.real):
        raise LoweringError(f"{_show(node)} is not a finite real number in double precision.", node)
    return graph.const(number.real)


def _number(graph: _Graph, node: Any, _: Sequence[int]) -> int:
    return _constant(graph, node, node)


def _infinity(graph: _Graph, node: Any, _: Sequence[int]) -> int:
    return graph.const(math.inf if node is sympy.oo else -math.inf)


def _truth(graph: _Graph, node: Any, _: Sequence[int]) -> int:
    return graph.put("truth", 1.0 if node else 0.0)


def _add(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    return graph.add(parts)


def _halves(exponent: Any) -> int | None:
    """Twice the exponent where that is a whole number, as square roots and products reach only those."""
    if exponent.is_Rational and exponent.q <= 2:
        return int(2 * exponent)
    if exponent.is_Float and abs(exponent) <= _LARGEST_SQUARED and float(2 * exponent).is_integer():
        return int(2 * exponent)
    return None


def _divides(factor: Any) -> bool:
    """Whether a factor is better a divisor: x**-1, x**-2, x**(-1/2) ..."""
    return factor.is_Pow and not factor.base.is_Number and (_halves(factor.exp) or 0) < 0


def _mul_needs(node: Any) -> Sequence[Any]:
    return [factor.base if _divides(factor) else factor for factor in node.args]


def _mul(graph: _Graph, node: Any, parts: Sequence[int]) -> int:
    factors, divisors = [], []
    for factor, part in zip(node.args, parts, strict=True):
        if _divides(factor):
            divisors.append(_positive_power(graph, factor, part, -(_halves(factor.exp) or 0), divisor=True))
        else:
            factors.append(part)
    return graph.quotient(factors, divisors)


def _positive_power(graph: _Graph, node: Any, base: int, halves: int, *, divisor: bool) -> int:
    """The node of base**(halves/2)."""
    value = graph.value(base)
    if value is not None:
        return _constant(graph, node, sympy.Float(value) ** sympy.Rational(halves, 2))
    whole, half = divmod(halves, 2)
    if whole > _LARGEST_SQUARED or (half and whole and not divisor):
        # x**(3/2) is left to pow: as x*sqrt(x) its slope at 0 would be 0/0, and Hertzian contact starts there.
        return graph.put("pow", base, graph.const(halves / 2))
    if not half:
        return graph.power(base, whole)
    root = graph.put("sqrt", base)
    return graph.mul([graph.power(base, whole), root]) if whole else root


def _pow(graph: _Graph, node: Any, parts: Sequence[int]) -> int:
    base, exponent = parts
    halves = _halves(node.exp)
    if node.base is sympy.E:
        return graph.put("exp", exponent)
    if halves is None:
        return graph.put("pow", base, exponent)
    if halves == 0:
        return graph.const(1.0)
    if halves > 0:
        return _positive_power(graph, node, base, halves, divisor=False)
    return graph.quotient([], [_positive_power(graph, node, base, -halves, divisor=True)])


def _log(graph: _Graph, node: Any, parts: Sequence[int]) -> int:
    x, *bases = [_log_of(graph, node, part) for part in parts]
    return graph.quotient([x], bases)


def _log_of(graph: _Graph, node: Any, part: int) -> int:
    value = graph.value(part)
    return graph.put("log", part) if value is None else _constant(graph, node, sympy.log(sympy.Float(value)))


def _reciprocal(name: str) -> Callable[[_Graph, Any, Sequence[int]], int]:
    return lambda graph, _, parts: graph.quotient([], [graph.put(name, *parts)])


def _cot(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    return graph.quotient([graph.put("cos", *parts)], [graph.put("sin", *parts)])


def _mod(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    # SymPy's Mod has the sign of the divisor: x - y*floor(x/y).
    x, y = parts
    floor = graph.put("floor", graph.quotient([x], [y]))
    return graph.add([x, graph.scale(-1.0, [graph.mul([y, floor])])])


def _sinc(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    # Near 0 by its series, as the derivatives of sin(x)/x cancel there; elsewhere the series gets 0, not to overflow.
    x, otherwise = parts[0], graph.put("truth", 1.0)
    near = graph.put("lt", graph.put("abs", x), graph.const(1.0))
    square = graph.put("sq", graph.put("select", near, x, otherwise, graph.const(0.0)))
    series = reduce(
        lambda s, c: graph.add([graph.const(c), graph.mul([square, s])]), _SINC[-2::-1], graph.const(_SINC[-1])
    )
    return graph.put("select", near, series, otherwise, graph.quotient([graph.put("sin", x)], [x]))


def _heaviside(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    x, zero = parts[0], graph.const(0.0)
    at_zero = parts[1] if len(parts) > 1 else graph.const(0.5)
    positive, null, otherwise = graph.put("lt", zero, x), graph.put("eq", zero, x), graph.put("truth", 1.0)
    return graph.put("select", positive, graph.const(1.0), null, at_zero, otherwise, zero)


def _piecewise_needs(node: Any) -> Sequence[Any]:
    return [part for branch in node.args for part in branch.args]


def _piecewise(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    chosen: list[int] = []
    for value, condition in zip(parts[::2], parts[1::2], strict=True):
        chosen += (condition, value)
        if graph.ops[condition] == "truth" and graph.args[condition][0]:
            break
    else:
        chosen += (graph.put("truth", 1.0), graph.const(math.nan))
    return chosen[1] if len(chosen) == 2 else graph.put("select", *chosen)


def _ite(graph: _Graph, _: Any, parts: Sequence[int]) -> int:
    condition, yes, no = parts
    return graph.put("or", graph.put("and", condition, yes), graph.put("and", graph.put("not", condition), no))


def _operation(name: str) -> Callable[[_Graph, Any, Sequence[int]], int]:
    return lambda graph, _, parts: graph.put(name, *parts)


def _swapped(name: str) -> Callable[[_Graph, Any, Sequence[int]], int]:
    return lambda graph, _, parts: graph.put(name, *reversed(parts))


def _associative(name: str) -> Callable[[_Graph, Any, Sequence[int]], int]:
    return lambda graph, _, parts: graph.put(name, *parts) if len(parts) > 1 else parts[0]


def _folding(build: Callable[[_Graph, Any, Sequence[int]], int]) -> Callable[[_Graph, Any, Sequence[int]], int]:
    """`build`, unless every argument is a number: SymPy then works out the value, and shows if it is not real."""

    def fold(graph: _Graph, node: Any, parts: Sequence[int]) -> int:
        values = [graph.value(part) for part in parts]
        if None in values:
            return build(graph, node, parts)
        return _constant(graph, node, node.func(*map(sympy.Float, values)).evalf())

    return fold


def _refuse(message: str) -> Callable[[_Graph, Any, Sequence[int]], int]:
    def refuse(_: _Graph, node: Any, __: Sequence[int]) -> int:
        raise LoweringError(message.format(_show(node)), node)

    return refuse


def _derivative(_: _Graph, node: Any, __: Sequence[int]) -> int:
    time = dynamicsymbols._t  # noqa: SLF001 - SymPy gives its time symbol no other name
    others = [variable for variable in node.variables if variable != time]
    if not isinstance(node.expr, AppliedUndef):
        message = f"{_show(node)} is a derivative not carried out; call `.doit()` on the expression."
    elif others:
        message = f"{_show(node)} is a derivative with respect to `{others[0]}`; only those with respect to time exist."
    else:
        message = f"{_show(node)} is undeclared; declare {_show(node.expr)} as a coordinate, or replace the derivative."
    raise LoweringError(message, node)


def _unsupported(graph: _Graph, node: Any, _: Sequence[int]) -> int:
    if isinstance(node, sympy.Expr) and not node.free_symbols and node.is_number:
        return _constant(graph, node, node.evalf())
    name = type(node).__name__
    raise LoweringError(f"{_show(node)} cannot be evaluated: `{name}` is not supported; rewrite it without.", node)


def _rules() -> dict[type, _Rule]:
    rules: dict[type, _Rule] = {
        sympy.Number: _Rule(_none, _number, _check_numbers),
        sympy.NumberSymbol: _Rule(_none, _number, _check_numbers),
        type(sympy.oo): _Rule(_none, _infinity, _check_numbers),
        type(-sympy.oo): _Rule(_none, _infinity, _check_numbers),
        type(sympy.zoo): _Rule(
            _none, _refuse("{} (`zoo`) is not a number: something divides by zero."), _check_numbers
        ),
        type(sympy.nan): _Rule(_none, _refuse("{} is not a number."), _check_numbers),
        type(sympy.I): _Rule(_none, _refuse("{} is imaginary; expressions must be real."), _check_numbers),
        BooleanAtom: _Rule(_none, _truth, _check_numbers),
        sympy.Symbol: _Rule(_none, _refuse("{} is undeclared."), _check_numbers),
        AppliedUndef: _Rule(_none, _refuse("{} is undeclared."), _check_numbers),
        sympy.Derivative: _Rule(_none, _derivative, _check_numbers),
        sympy.Add: _Rule(_args, _add, _check_numbers),
        sympy.Mul: _Rule(_mul_needs, _mul, _check_numbers),
        sympy.Piecewise: _Rule(_piecewise_needs, _piecewise, _check_piecewise),
        sympy.Not: _Rule(_args, _operation("not"), _check_truths),
        sympy.And: _Rule(_args, _associative("and"), _check_truths),
        sympy.Or: _Rule(_args, _associative("or"), _check_truths),
        sympy.Xor: _Rule(_args, _associative("xor"), _check_truths),
        sympy.ITE: _Rule(_args, _ite, _check_truths),
        sympy.Lt: _Rule(_args, _operation("lt"), _check_compared),
        sympy.Le: _Rule(_args, _operation("le"), _check_compared),
        sympy.Gt: _Rule(_args, _swapped("lt"), _check_compared),
        sympy.Ge: _Rule(_args, _swapped("le"), _check_compared),
        sympy.Eq: _Rule(_args, _operation("eq"), _check_compared),
        sympy.Ne: _Rule(_args, _operation("ne"), _check_compared),
    }
    functions: dict[type, Callable[[_Graph, Any, Sequence[int]], int]] = {
        sympy.Pow: _pow,
        sympy.log: _log,
        sympy.sec: _reciprocal("cos"),
        sympy.csc: _reciprocal("sin"),
        sympy.cot: _cot,
        sympy.Mod: _mod,
        sympy.sinc: _sinc,
        sympy.Heaviside: _heaviside,
        sympy.Abs: _operation("abs"),
        sympy.ceiling: _operation("ceil"),
        sympy.Min: _associative("min"),
        sympy.Max: _associative("max"),
    }
    same = "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp sign floor erf"
    functions.update({getattr(sympy, name): _operation(name) for name in same.split()})
    rules.update({kind: _Rule(_args, _folding(build), _check_numbers) for kind, build in functions.items()})
    return rules


_RULES = _rules()
_NO_RULE = _Rule(_none, _unsupported, _check_numbers)


def _rule_of(kind: type) -> _Rule:
    return next((_RULES[base] for base in kind.__mro__ if base in _RULES), _NO_RULE)


def _show(node: Any, most: int = 40) -> str:
    """The node as text; only its name if it is large, as SymPy's printer is slow and recursive."""
    if not isinstance(node, sympy.Basic):
        return f"`{node!r}`"
    stack, count = [node], 0
    while stack and count <= most:
        stack.extend(stack.pop().args)
        count += 1
    return f"`{node}`" if count <= most else f"`{type(node).__name__}(...)`"


# --------------------------------------------------------------------------------------------------------------------
# Emission


def _blend(selectors: Sequence[casadi.SX], values: Sequence[casadi.SX]) -> casadi.SX:
    """The value whose selector is true; an infinite or undefined other one does not spoil it."""
    parts = map(_kept, selectors, values)
    return reduce(lambda total, part: casadi.SX.binary(casadi.OP_ADD, total, part), parts)


def _kept(condition: casadi.SX, value: casadi.SX) -> casadi.SX:
    """`value` where the condition holds and 0 elsewhere, whatever the value is there."""
    return casadi.SX.binary(casadi.OP_IF_ELSE_ZERO, condition, value)


def _both(a: casadi.SX, b: casadi.SX) -> casadi.SX:
    return casadi.SX.binary(casadi.OP_AND, a, b)


def _not(a: casadi.SX) -> casadi.SX:
    return casadi.SX.unary(casadi.OP_NOT, a)


def _any_of(conditions: Iterable[casadi.SX]) -> casadi.SX:
    return reduce(lambda a, b: casadi.SX.binary(casadi.OP_OR, a, b), conditions)


class _Uses:
    """When each node of an emission is in use: always, or under one of several conditions."""

    def __init__(self, roots: Iterable[int]) -> None:
        # Conditions are kept by identity: all arguments of one branch hold the same object, and need no `or`.
        self._conditions: dict[int, dict[int, casadi.SX] | None] = dict.fromkeys(roots)

    def __contains__(self, node: int) -> bool:
        return node in self._conditions

    def add(self, node: int, condition: casadi.SX | None) -> None:
        if condition is None:
            self._conditions[node] = None
            return
        known = self._conditions.setdefault(node, {})
        if known is not None:
            known[id(condition)] = condition

    def settle(self, node: int) -> casadi.SX | None:
        """The one condition under which the node is in use, or None for always; to be called after the last `add`."""
        known = self._conditions[node]
        if known is None:
            return None
        condition = _any_of(known.values())
        self._conditions[node] = {id(condition): condition}
        return condition


class Lowering:
    """SymPy expressions as `casadi.SX` in which the symbols stand for `atoms`; subexpressions are shared between calls.

    `atoms` maps symbols, applied undefined functions `q(t)`, and their derivatives to scalar `casadi.SX`.
    """

    def __init__(self, atoms: Mapping[sympy.Basic, casadi.SX]) -> None:
        self._atoms = {key: _check_atom(key, value) for key, value in atoms.items()}
        self._graph = _Graph()
        self._rules: dict[type, _Rule] = {}
        # By identity, as comparing deep SymPy expressions is recursive; the node is kept alive beside its number.
        self._interned: dict[int, tuple[int, Any]] = {}
        self._plain: dict[int, casadi.SX] = {}  # without guards: what has no branches, and conditions
        self._safe: dict[int, casadi.SX] = {}  # with branches, guarded; always in use
        self._selectors: dict[int, list[casadi.SX]] = {}

    def __call__(self, expr: sympy.Expr | float) -> casadi.SX:
        """The scalar (1, 1) of an expression or a number."""
        return self._emit([self._root(expr)])[0]

    def vector(self, exprs: Sequence[Any]) -> casadi.SX:
        """The dense column (n, 1) of n expressions."""
        if isinstance(exprs, sympy.MatrixBase) and 1 not in exprs.shape and len(exprs):
            raise LoweringError(f"a matrix of shape {exprs.shape} is not a vector; use `matrix`.", exprs)
        entries = self._emit([self._root(expr) for expr in exprs])
        return casadi.densify(casadi.vertcat(*entries)) if entries else casadi.SX(0, 1)

    def matrix(self, m: sympy.MatrixBase | Nested) -> casadi.SX:
        """The matrix (r, c); entries that are exactly zero are left out of its sparsity pattern."""
        shape, cells = _cells(m)
        entries = self._emit([self._root(expr) for _, _, expr in cells])
        kept = [(col, row, entry) for (row, col, _), entry in zip(cells, entries, strict=True) if not entry.is_zero()]
        kept.sort(key=lambda cell: cell[:2])  # CasADi stores columns
        pattern = casadi.Sparsity.triplet(*shape, [row for _, row, _ in kept], [col for col, _, _ in kept])
        return casadi.SX(pattern, casadi.vertcat(*(entry for _, _, entry in kept))) if kept else casadi.SX(pattern)

    # Interning -------------------------------------------------------------------------------------------------------

    def _root(self, expr: Any) -> int:
        if not isinstance(expr, sympy.Basic) or isinstance(expr, sympy.MatrixBase):
            return self._graph.const(_python_number(expr))
        node = self._intern(expr)
        if node in self._graph.odd:
            what = "a condition" if self._graph.ops[node] in _TRUTHS else "infinite"
            raise LoweringError(f"{_show(expr)} is {what}, not a finite number.", expr)
        return node

    def _intern(self, root: sympy.Basic) -> int:
        interned = self._interned
        stack: list[tuple[Any, _Rule, Sequence[Any] | None]] = [(root, _NO_RULE, None)]
        while stack:
            node, rule, needs = stack.pop()
            if id(node) in interned:
                continue
            if needs is None:
                rule = self._rule(node)
                needs = rule.needs(node)
                missing = [need for need in needs if id(need) not in interned]
                if missing:
                    stack.append((node, rule, needs))
                    stack.extend((need, _NO_RULE, None) for need in missing)
                    continue
            parts = [interned[id(need)][0] for need in needs]
            interned[id(node)] = (self._build(rule, node, parts), node)
        return interned[id(root)][0]

    def _build(self, rule: _Rule, node: Any, parts: Sequence[int]) -> int:
        rule.check(self._graph, node, parts)
        try:
            return rule.build(self._graph, node, parts)
        except ZeroDivisionError:  # among the numbers of a product
            raise LoweringError(f"{_show(node)} divides by zero.", node) from None

    def _rule(self, node: Any) -> _Rule:
        kind = type(node)
        if isinstance(node, _ATOMS):
            return _Rule(_none, self._atom, _check_numbers)
        if kind not in self._rules:
            self._rules[kind] = _rule_of(kind)
        return self._rules[kind]

    def _atom(self, graph: _Graph, node: Any, parts: Sequence[int]) -> int:
        if node in self._atoms:
            return graph.put("atom", node)
        if any(_show(key) == _show(node) for key in self._atoms):
            message = f"{_show(node)} is undeclared: what is declared under that name has other assumptions."
            raise LoweringError(message, node)
        return _rule_of(type(node)).build(graph, node, parts)

    # Emission --------------------------------------------------------------------------------------------------------

    def _emit(self, roots: Sequence[int]) -> list[casadi.SX]:
        branches = self._graph.branches
        self._emit_plain(root for root in roots if not branches[root])
        guarded = self._emit_guarded([root for root in roots if branches[root]], roots)
        return [guarded[root] if branches[root] else self._plain[root] for root in roots]

    def _emit_plain(self, roots: Iterable[int]) -> None:
        for node in self._graph.reach(roots, self._graph.children, self._plain):
            self._plain[node] = self._operate(node, [self._plain[k] for k in self._graph.children(node)])

    def _emit_guarded(self, branching: Sequence[int], roots: Sequence[int]) -> Mapping[int, casadi.SX]:
        """The SX of nodes that hold branches, each possibly infinite operation guarded unless it is always in use."""
        if not branching:
            return {}
        order = self._graph.reach(roots, self._wild_children, ())
        selects = [node for node in order if self._graph.ops[node] == "select"]
        self._emit_plain(k for node in selects for k in self._graph.args[node][::2])
        uses = self._propagate(order, _Uses(roots))
        done: dict[int, casadi.SX] = {}
        for node in order:
            if node in uses:
                self._emit_used(node, uses.settle(node), done)
        return done

    def _emit_used(self, node: int, condition: casadi.SX | None, done: dict[int, casadi.SX]) -> None:
        always = condition is None
        if not self._graph.wild[node] or (always and not self._graph.branches[node]):
            self._emit_plain([node])
            done[node] = self._plain[node]
        elif always and node in self._safe:
            done[node] = self._safe[node]
        else:
            children = self._value_children(node)
            self._emit_plain(k for k in children if k not in done)
            values = [done[k] if k in done else self._plain[k] for k in children]
            done[node] = self._operate(node, self._guard(node, condition, values))
            if always:
                self._safe[node] = done[node]

    def _propagate(self, order: Sequence[int], uses: _Uses) -> _Uses:
        """`uses` completed from the roots down."""
        for node in reversed(order):
            # What is emitted already, once and for all, uses nothing anew.
            if node not in uses or (node in self._safe and uses.settle(node) is None):
                continue
            condition = uses.settle(node)
            for child, own in self._used_by(node, condition):
                uses.add(child, own)
        return uses

    def _used_by(self, node: int, condition: casadi.SX | None) -> Iterator[tuple[int, casadi.SX | None]]:
        values = self._value_children(node)
        if self._graph.ops[node] != "select":
            owns: Sequence[casadi.SX | None] = [condition] * len(values)
        elif condition is None:
            owns = self._selectors_of(node)
        else:
            owns = [_both(condition, selector) for selector in self._selectors_of(node)]
        return ((child, own) for child, own in zip(values, owns, strict=True) if self._graph.wild[child])

    def _guard(self, node: int, condition: casadi.SX | None, values: list[casadi.SX]) -> list[casadi.SX]:
        """`values`, but with a harmless one for an operation that can be infinite while `condition` does not hold."""
        op = self._graph.ops[node]
        if (
            condition is None
            or op not in _HARMLESS
            or self._graph.value(self._graph.args[node][_HARMLESS[op][0]]) is not None
        ):
            return values
        place, harmless = _HARMLESS[op]
        guarded = _kept(condition, values[place])
        if harmless:
            instead = _not(condition) if harmless == 1 else _kept(_not(condition), casadi.SX(harmless))
            guarded = casadi.SX.binary(casadi.OP_ADD, guarded, instead)
        return [*values[:place], guarded, *values[place + 1 :]]

    def _operate(self, node: int, values: Sequence[casadi.SX]) -> casadi.SX:
        op = self._graph.ops[node]
        if op in _UNARY:
            return casadi.SX.unary(_UNARY[op], *values)
        if op == "select":
            # Conditions are not among the values of a guarded emission, and come first in pairs in a plain one.
            own = values if len(values) < len(self._graph.args[node]) else values[1::2]
            return _blend(self._selectors_of(node), own)
        if op in _BINARY:
            result = values[0]
            for value in values[1:]:
                result = casadi.SX.binary(_BINARY[op], result, value)
            return result
        leaf = self._graph.args[node][0]
        return self._atoms[leaf] if op == "atom" else casadi.SX(leaf)

    def _selectors_of(self, node: int) -> list[casadi.SX]:
        """One 0/1 per branch: its condition holds and none before it does. Needs the conditions emitted."""
        if node not in self._selectors:
            selectors, rest = [], None
            for k in self._graph.args[node][::2]:
                condition, certain = self._plain[k], self._graph.ops[k] == "truth"
                selectors.append(condition if rest is None else rest if certain else _both(rest, condition))
                rest = _not(condition) if rest is None else _both(rest, _not(condition))
            self._selectors[node] = selectors
        return self._selectors[node]

    def _value_children(self, node: int) -> tuple[int, ...]:
        return self._graph.args[node][1::2] if self._graph.ops[node] == "select" else self._graph.children(node)

    def _wild_children(self, node: int) -> Iterator[int]:
        return (k for k in self._value_children(node) if self._graph.wild[k])


_ATOMS = (sympy.Symbol, AppliedUndef, sympy.Derivative)


def _check_atom(key: Any, value: Any) -> casadi.SX:
    if not isinstance(key, _ATOMS):
        raise LoweringError(f"{_show(key)} cannot stand for a value; only symbols, q(t) and its derivatives can.", key)
    if not isinstance(value, casadi.SX) or value.shape != (1, 1):
        raise LoweringError(f"{_show(key)} must stand for a scalar casadi.SX.", key)
    return value


def _python_number(value: Any) -> float:
    if isinstance(value, Vector | Dyadic):
        raise LoweringError(f"{_show(value)} is a vector; give its components, `.to_matrix(frame)`.", value)
    if isinstance(value, sympy.MatrixBase | np.ndarray | list | tuple):
        raise LoweringError("a scalar is needed here, not a matrix or a sequence; use `vector` or `matrix`.", value)
    if not isinstance(value, Real) or isinstance(value, bool):
        raise LoweringError(f"{_show(value)} ({type(value).__name__}) is neither an expression nor a number.", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise LoweringError(f"{_show(value)} is not a finite number in double precision.", value)
    return number


def _cells(m: Any) -> tuple[tuple[int, int], list[tuple[int, int, Any]]]:
    """The shape of a matrix and its entries `(row, column, expression)`, without most of the zeros."""
    if isinstance(m, sympy.MatrixBase):
        return m.shape, [(row, col, expr) for (row, col), expr in m.todok().items()]
    try:
        rows = [list(row) for row in m]
    except TypeError:
        raise LoweringError(f"{_show(m)} is not a matrix: a sequence of rows is needed.", m) from None
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise LoweringError(f"the rows of a matrix differ in length: {sorted(widths)}.", m)
    cells = [(i, j, expr) for i, row in enumerate(rows) for j, expr in enumerate(row)]
    return (len(rows), widths.pop() if widths else 0), cells


def undeclared(exprs: Iterable[Any], atoms: Collection[sympy.Basic]) -> list[sympy.Basic]:
    """The symbols, applied undefined functions and derivatives of these that are not in `atoms`, sorted by name.

    What is in `atoms` hides its inside: with q(t) in it, t need not be.
    """
    atoms = frozenset(atoms)
    found: dict[sympy.Basic, None] = {}
    seen: dict[int, Any] = {}
    stack = list(exprs)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node  # kept alive, or its id could be used again
        if isinstance(node, sympy.MatrixBase):
            stack.extend(node.todok().values())
        elif _is_leaf(node):
            if node not in atoms:
                found[node] = None
        elif isinstance(node, sympy.Basic) and not (isinstance(node, sympy.Derivative) and node in atoms):
            stack.extend(node.args)
    return sorted(found, key=_show)


def _is_leaf(node: Any) -> bool:
    if isinstance(node, sympy.Derivative):
        return isinstance(node.expr, AppliedUndef)
    return isinstance(node, sympy.Symbol | AppliedUndef)
