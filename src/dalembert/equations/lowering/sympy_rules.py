"""Rules for SymPy classes: the operation of each class, and messages for those that are refused."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import sympy
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import BooleanAtom

from dalembert.equations.lowering.expression_graph import TRUTHS, Graph
from dalembert.errors import DalembertError
from dalembert.model.instances import DIFFERENCE, Instance
from dalembert.model.tables import Table, TableData
from dalembert.model.time_symbols import time_symbol
from dalembert.native.lookup import make_leaf

# Above this exponent repeated squaring is no shorter than the library's pow.
_LARGEST_SQUARED = 1024
# Numbers beyond this, and below its inverse, are put into the power or exponential beside them.
_LARGEST_NUMBER = 1e150
# sin(x)/x = sum (-1)^k x^2k / (2k+1)!; nine terms give the last bit, also of two derivatives, for |x| < 1.
_SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9))


class LoweringError(DalembertError, ValueError):
    """An expression that cannot be evaluated with real numbers; `.node` is the offending part of it."""

    def __init__(self, message: str, node: Any) -> None:
        self.node = node
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[str, Any]]:
        return type(self), (str(self), self.node)


def show(node: Any, most: int = 40) -> str:
    """The node as text; only its name if it is large, as SymPy's printer is slow and recursive."""
    if not isinstance(node, sympy.Basic):
        return f"`{node!r}`"
    stack, count = [node], 0
    while stack and count <= most:
        stack.extend(stack.pop().args)
        count += 1
    return f"`{node}`" if count <= most else f"`{type(node).__name__}(...)`"


Build: TypeAlias = Callable[[Graph, Any, Sequence[int]], int]


def _none(_: Any) -> tuple[()]:
    return ()


def _args(node: Any) -> Sequence[Any]:
    return node.args


def _check_numbers(graph: Graph, node: Any, parts: Sequence[int]) -> None:
    if not graph.odd.isdisjoint(parts):
        bad = next(k for k in parts if k in graph.odd)
        what = "a condition" if graph.ops[bad] in TRUTHS else "an infinity"
        raise LoweringError(f"{show(node)} calculates with {what}; it must hold finite numbers only.", node)


def _check_compared(graph: Graph, node: Any, parts: Sequence[int]) -> None:
    if any(graph.ops[k] in TRUTHS for k in parts):
        raise LoweringError(f"{show(node)} compares conditions; combine them by And, Or, Not or Xor.", node)


def _check_truths(graph: Graph, node: Any, parts: Sequence[int]) -> None:
    if any(graph.ops[k] not in TRUTHS for k in parts):
        raise LoweringError(f"{show(node)} uses a number as a condition; compare it, as in `Ne(x, 0)`.", node)


def _check_piecewise(graph: Graph, node: Any, parts: Sequence[int]) -> None:
    _check_truths(graph, node, parts[1::2])
    if any(graph.ops[k] in TRUTHS for k in parts[::2]):
        raise LoweringError(f"{show(node)} has a condition where a value belongs.", node)


REAL = (sympy.Float, sympy.Rational)


def _constant(graph: Graph, node: Any, value: Any) -> int:
    """The node of a number that SymPy worked out, refused unless it is real and finite."""
    try:
        number = complex(float(value) if isinstance(value, REAL) else value)  # SymPy seeks a real part for long
    except (TypeError, ValueError, OverflowError):
        number = complex(math.nan)
    if number.imag or not math.isfinite(number.real) or (number == 0.0 and getattr(value, "is_zero", True) is False):
        raise LoweringError(f"{show(node)} is not a finite real number in double precision.", node)
    return graph.const(number.real)


def _number(graph: Graph, node: Any, _: Sequence[int]) -> int:
    return _constant(graph, node, node)


def _infinity(graph: Graph, node: Any, _: Sequence[int]) -> int:
    return graph.const(math.inf if node is sympy.oo else -math.inf)


def _truth(graph: Graph, node: Any, _: Sequence[int]) -> int:
    return graph.put("truth", 1.0 if node else 0.0)


def _add(graph: Graph, _: Any, parts: Sequence[int]) -> int:
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


def _scaled(node: Any) -> Any:
    """The whole power or exponential that takes a huge or tiny number of a product, which SymPy has taken out of it.

    As in (t/10)**400 and exp(-1000*(t - 5)); None if there is none.
    """
    number = node.args[0]
    if not isinstance(number, REAL) or number == 0:
        return None
    try:
        size = abs(float(number))
    except OverflowError:
        size = math.inf
    if 1.0 / _LARGEST_NUMBER <= size <= _LARGEST_NUMBER:
        return None
    whole = (f for f in node.args if f.is_Pow and f.exp.is_Integer and f.exp > 1)
    return next(whole, next((f for f in node.args if isinstance(f, sympy.exp)), None))


def _mul_needs(node: Any) -> Sequence[Any]:
    scaled = _scaled(node)
    factors = node.args if scaled is None else node.args[1:]
    inside = [factor for factor in factors if _divides(factor) or factor is scaled]
    return [f if f not in inside else f.exp if isinstance(f, sympy.exp) else f.base for f in factors]


def _mul(graph: Graph, node: Any, parts: Sequence[int]) -> int:
    scaled = _scaled(node)
    factors, divisors = [], []
    for factor, part in zip(node.args if scaled is None else node.args[1:], parts, strict=True):
        if _divides(factor):
            divisors.append(_positive_power(graph, factor, part, -(_halves(factor.exp) or 0), divisor=True))
        elif factor is scaled:
            number = sympy.Float(node.args[0])
            factors += [_with_number(graph, factor, part, abs(number)), graph.const(1.0 if number > 0 else -1.0)]
        else:
            factors.append(part)
    return graph.quotient(factors, divisors)


def _with_number(graph: Graph, factor: Any, part: int, number: Any) -> int:
    """The node of a power or an exponential times a positive number; `part` is its base or its argument."""
    if isinstance(factor, sympy.exp):
        return graph.put("exp", graph.add([part, graph.const(float(sympy.log(number)))]))
    base = graph.scale(float(number ** (1 / factor.exp)), [part])
    return _positive_power(graph, factor, base, 2 * int(factor.exp), divisor=False)


def _positive_power(graph: Graph, node: Any, base: int, halves: int, *, divisor: bool) -> int:
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


def _pow(graph: Graph, node: Any, parts: Sequence[int]) -> int:
    base, exponent = parts
    halves = _halves(node.exp)
    if node.base is sympy.E:
        return graph.put("exp", exponent)
    if halves is None:
        return graph.real_power(base, exponent)
    if halves == 0:
        return graph.const(1.0)
    if halves > 0:
        return _positive_power(graph, node, base, halves, divisor=False)
    return graph.quotient([], [_positive_power(graph, node, base, -halves, divisor=True)])


def _log(graph: Graph, node: Any, parts: Sequence[int]) -> int:
    x, *bases = [_log_of(graph, node, part) for part in parts]
    return graph.quotient([x], bases)


def _log_of(graph: Graph, node: Any, part: int) -> int:
    value = graph.value(part)
    return graph.log(part) if value is None else _constant(graph, node, sympy.log(sympy.Float(value)))


def _reciprocal(name: str) -> Build:
    return lambda graph, _, parts: graph.quotient([], [graph.put(name, *parts)])


def _cot(graph: Graph, _: Any, parts: Sequence[int]) -> int:
    return graph.quotient([graph.put("cos", *parts)], [graph.put("sin", *parts)])


def _mod(graph: Graph, _: Any, parts: Sequence[int]) -> int:
    # SymPy's Mod has the sign of the divisor: x - y*floor(x/y).
    x, y = parts
    floor = graph.put("floor", graph.quotient([x], [y]))
    return graph.add([x, graph.scale(-1.0, [graph.mul([y, floor])])])


def _sinc(graph: Graph, _: Any, parts: Sequence[int]) -> int:
    # Near 0 by its series, as the derivatives of sin(x)/x cancel there; elsewhere the series gets 0, not to overflow.
    x, otherwise = parts[0], graph.put("truth", 1.0)
    near = graph.put("lt", graph.put("abs", x), graph.const(1.0))
    square = graph.put("sq", graph.put("select", near, x, otherwise, graph.const(0.0)))
    series = reduce(
        lambda s, c: graph.add([graph.const(c), graph.mul([square, s])]), _SINC[-2::-1], graph.const(_SINC[-1])
    )
    return graph.put("select", near, series, otherwise, graph.quotient([graph.put("sin", x)], [x]))


def _heaviside(graph: Graph, _: Any, parts: Sequence[int]) -> int:
    x, zero = parts[0], graph.const(0.0)
    at_zero = parts[1] if len(parts) > 1 else graph.const(0.5)
    positive, null, otherwise = graph.put("lt", zero, x), graph.put("eq", zero, x), graph.put("truth", 1.0)
    return graph.put("select", positive, graph.const(1.0), null, at_zero, otherwise, zero)


@functools.lru_cache(maxsize=32)
def _leaf(data: TableData) -> Any:
    """The function that a graph calls. Tables are compared by identity."""
    return make_leaf(data.knots, data.coefficients)


def _table(graph: Graph, node: Any, parts: Sequence[int]) -> int:
    table, x = type(node), parts[0]
    data, leaf = table.data, _leaf(table.data)
    if data.period is not None:
        first, period = float(data.knots[0]), data.period
        turns = graph.quotient([graph.add([x, graph.const(-first)])], [graph.const(period)])
        x = graph.add([x, graph.scale(-period, [graph.put("floor", turns)])])
    op = f"{leaf.name()}.{table.order}"
    graph.tables[op] = (leaf, table.order)
    return graph.put(op, x)


def _instance(graph: Graph, node: Any, parts: Sequence[int]) -> int:
    if node.template is DIFFERENCE:
        return graph.add([parts[0], graph.scale(-1.0, [parts[1]])])
    op = node.template.operations[node.index]
    graph.instances[op] = (node.template, node.index)
    return graph.put(op, *parts)


def _piecewise_needs(node: Any) -> Sequence[Any]:
    return [part for branch in node.args for part in branch.args]


def _piecewise(graph: Graph, _: Any, parts: Sequence[int]) -> int:
    chosen: list[int] = []
    for value, condition in zip(parts[::2], parts[1::2], strict=True):
        chosen += (condition, value)
        if graph.ops[condition] == "truth" and graph.args[condition][0]:
            break
    else:
        chosen += (graph.put("truth", 1.0), graph.const(math.nan))
    return chosen[1] if len(chosen) == 2 else graph.put("select", *chosen)


def _ite(graph: Graph, _: Any, parts: Sequence[int]) -> int:
    condition, yes, no = parts
    return graph.put("or", graph.put("and", condition, yes), graph.put("and", graph.put("not", condition), no))


def _operation(name: str) -> Build:
    return lambda graph, _, parts: graph.put(name, *parts)


def _swapped(name: str) -> Build:
    return lambda graph, _, parts: graph.put(name, *reversed(parts))


def _associative(name: str) -> Build:
    return lambda graph, _, parts: graph.put(name, *parts) if len(parts) > 1 else parts[0]


def _folding(build: Build) -> Build:
    """`build`, unless every argument is a number: SymPy then works out the value, and shows if it is not real."""

    def fold(graph: Graph, node: Any, parts: Sequence[int]) -> int:
        values = [graph.value(part) for part in parts]
        if None in values:
            return build(graph, node, parts)
        return _constant(graph, node, node.func(*map(sympy.Float, values)).evalf())

    return fold


def _refuse(message: str) -> Build:
    def refuse(_: Graph, node: Any, __: Sequence[int]) -> int:
        raise LoweringError(message.format(show(node)), node)

    return refuse


def _derivative(_: Graph, node: Any, __: Sequence[int]) -> int:
    time = time_symbol()
    others = [variable for variable in node.variables if variable != time]
    if not isinstance(node.expr, AppliedUndef):
        message = f"{show(node)} is a derivative not carried out; call `.doit()` on the expression."
    elif others:
        message = f"{show(node)} is a derivative with respect to `{others[0]}`; only those with respect to time exist."
    else:
        message = f"{show(node)} is undeclared; declare {show(node.expr)} as a coordinate, or replace the derivative."
    raise LoweringError(message, node)


def _unsupported(graph: Graph, node: Any, _: Sequence[int]) -> int:
    if isinstance(node, sympy.Expr) and not node.free_symbols and node.is_number:
        return _constant(graph, node, node.evalf())
    name = type(node).__name__
    raise LoweringError(f"{show(node)} cannot be evaluated: `{name}` is not supported; rewrite it without.", node)


class Rule(NamedTuple):
    """A rule that turns a SymPy node into a graph node: `build` it from its `needs`, after a `check` of these."""

    build: Build
    needs: Callable[[Any], Sequence[Any]] = _none
    check: Callable[[Graph, Any, Sequence[int]], None] = _check_numbers


NO_RULE = Rule(_unsupported)
_SAME = "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp sign floor erf"
_FUNCTIONS: dict[type, Build] = {
    **{getattr(sympy, name): _operation(name) for name in _SAME.split()},
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
_RULES: dict[type, Rule] = {
    **{kind: Rule(_folding(build), _args) for kind, build in _FUNCTIONS.items()},
    sympy.Number: Rule(_number),
    sympy.NumberSymbol: Rule(_number),
    type(sympy.oo): Rule(_infinity),
    type(-sympy.oo): Rule(_infinity),
    type(sympy.zoo): Rule(_refuse("{} (`zoo`) is not a number: something divides by zero.")),
    type(sympy.nan): Rule(_refuse("{} is not a number.")),
    type(sympy.I): Rule(_refuse("{} is imaginary; expressions must be real.")),
    BooleanAtom: Rule(_truth),
    sympy.Symbol: Rule(_refuse("{} is undeclared.")),
    AppliedUndef: Rule(_refuse("{} is undeclared.")),
    sympy.Derivative: Rule(_derivative),
    Table: Rule(_table, _args),
    Instance: Rule(_instance, _args),
    sympy.Add: Rule(_add, _args),
    sympy.Mul: Rule(_mul, _mul_needs),
    sympy.Piecewise: Rule(_piecewise, _piecewise_needs, _check_piecewise),
    sympy.Not: Rule(_operation("not"), _args, _check_truths),
    sympy.And: Rule(_associative("and"), _args, _check_truths),
    sympy.Or: Rule(_associative("or"), _args, _check_truths),
    sympy.Xor: Rule(_associative("xor"), _args, _check_truths),
    sympy.ITE: Rule(_ite, _args, _check_truths),
    sympy.Lt: Rule(_operation("lt"), _args, _check_compared),
    sympy.Le: Rule(_operation("le"), _args, _check_compared),
    sympy.Gt: Rule(_swapped("lt"), _args, _check_compared),
    sympy.Ge: Rule(_swapped("le"), _args, _check_compared),
    sympy.Eq: Rule(_operation("eq"), _args, _check_compared),
    sympy.Ne: Rule(_operation("ne"), _args, _check_compared),
}


def rule_of(kind: type) -> Rule:
    """The rule of a SymPy class or of the nearest class it derives from."""
    return next((_RULES[base] for base in kind.__mro__ if base in _RULES), NO_RULE)
