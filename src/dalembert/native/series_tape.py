"""Functions of one variable in the elementary operations that have interval Taylor series (see `enclosures`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from dalembert.native.operations import PARTS, TABLE
from dalembert.native.program import Program, read_program

(
    CONSTANT, VARIABLE, ADD, NEGATIVE, PRODUCT, SQUARE, INVERSE, EXP, POWER, SINE, TANH, INTEGRAL, ABSOLUTE, SIGN,
    FLOOR, CEILING, TRUNCATE, LESS, LESS_EQUAL, EQUAL, NOT, AND, OR, CHOSEN, LEAST, MOST, PIECE, PART, ARC_OF_TWO,
    POSITIVE, COLUMN, TANGENT,
) = range(32)  # fmt: skip
UNBOUNDED = (-math.inf, math.inf) * 2
LOG, ARC_TANGENT, ARC_SINE, AREA_SINE, AREA_COSINE, AREA_TANGENT, ERF = range(7)  # values of INTEGRAL


class SeriesTape(NamedTuple):
    """Functions of one variable in elementary operations: `code` (4 n,) and `numbers`, constants and tables.

    Operation k writes the series k, SINE, TANH and TANGENT also the one behind it; the last `results` series are the
    functions. `columns` are the inputs that change with the variable: their bounds come first among the numbers, four
    each: least and largest value, least and largest rate. `parameters` are the places of the other inputs among the
    numbers, least and largest value, -1 of those that it does not read.
    """

    code: np.ndarray
    numbers: np.ndarray
    parameters: np.ndarray
    columns: tuple[int, ...]
    results: int

    @property
    def size(self) -> int:
        """Number of series."""
        return len(self.code) // 4

    def at(self, low: np.ndarray, high: np.ndarray | None = None) -> SeriesTape:
        """The same function with all inputs but the variable (n_in,) given, or within bounds."""
        numbers, read = self.numbers.copy(), self.parameters >= 0
        numbers[self.parameters[read]] = low[read]
        numbers[self.parameters[read] + 1] = (low if high is None else high)[read]
        return self._replace(numbers=numbers)


def read_tape(function: ca.Function, variable: int | None, columns: Sequence[int] = ()) -> SeriesTape:
    """The tape of the functions in a column, as functions of the entry `variable` of their input.

    Instead, or besides, its entries `columns` change, within bounds to be given of them and of their rates.
    """
    return _Translation(read_program(function), variable, columns, function.nnz_in()).tape


class _Translation:
    """A program in the operations of a tape."""

    def __init__(self, program: Program, variable: int | None, columns: Sequence[int], n_in: int) -> None:
        self.code: list[int] = []
        self.numbers = [0.0] * (4 * len(columns))
        self.columns = {k: 4 * j for j, k in enumerate(columns)}
        self.parameters = np.full(n_in, -1)
        self.variable, self.tables = variable, [self._table(table.rows) for table in program.tables]
        places: dict[int, int] = {}
        for value, (op, arguments) in enumerate(zip(program.operations, program.arguments, strict=True)):
            places[value] = self._value(op, arguments, places)
        results = {row: places[value] for value, rows in program.outputs.items() for row in rows}
        zero = self.constant(0.0)
        for row in sorted(results):
            self.put(ADD, results[row], zero)
        self.tape = SeriesTape(
            np.array(self.code, dtype=np.int64), np.array(self.numbers), self.parameters, tuple(columns), len(results)
        )

    def put(self, op: int, first: int = 0, second: int = 0, third: int = 0) -> int:
        self.code += [op, first, second, third]
        return len(self.code) // 4 - 1

    def constant(self, number: float) -> int:
        self.numbers.append(number)
        return self.put(CONSTANT, len(self.numbers) - 1, len(self.numbers) - 1)

    def _table(self, rows: np.ndarray) -> int:
        """The place of a table among the numbers: pieces and numbers of each, then these."""
        self.numbers += [*map(float, rows.shape), *rows.ravel().tolist()]
        return len(self.numbers) - rows.size - 2

    def _value(self, op: int, arguments: tuple[int, ...], places: dict[int, int]) -> int:
        if op == ca.OP_CONST:
            return self.constant(float(np.uint64(arguments[0]).view(np.float64)))
        if op == ca.OP_INPUT:
            return self._input(arguments[0])
        operands = [places[a] for a in arguments]
        if op >= TABLE:
            table, part = divmod(op - TABLE, PARTS)
            return self.put(PIECE if part == 0 else PART, operands[0], self.tables[table], part - 1)
        if op in (ca.OP_POW, ca.OP_CONSTPOW):
            return self._power(*operands)
        return _RULES[op](self, *operands) if op in _RULES else self.column(*UNBOUNDED)

    def _input(self, k: int) -> int:
        if k == self.variable:
            return self.put(VARIABLE)
        if k in self.columns:
            return self.put(COLUMN, self.columns[k])
        self.parameters[k] = len(self.numbers)
        self.numbers += [0.0, 0.0]
        return self.put(CONSTANT, len(self.numbers) - 2, len(self.numbers) - 1)

    def _power(self, x: int, y: int) -> int:
        """x^y: by multiplication for a whole number, else exp(y log x) or the series of a power."""
        if self.code[4 * y] != CONSTANT or self.code[4 * y + 1] in self.parameters:
            general = self.put(EXP, self.product(y, self.integral(LOG, x, self.put(INVERSE, x))))
            return self.put(POSITIVE, general, x)
        exponent = self.numbers[self.code[4 * y + 1]]
        if exponent != round(exponent) or abs(exponent) > 2**20:
            return self.put(POWER, x, self.code[4 * y + 1])
        power: int | None = None
        factor, left = x, int(abs(exponent))
        while left:
            if left % 2:
                power = factor if power is None else self.product(power, factor)
            factor, left = self.put(SQUARE, factor) if left > 1 else factor, left // 2
        power = self.constant(1.0) if power is None else power
        return self.put(INVERSE, power) if exponent < 0 else power

    def column(self, *bounds: float) -> int:
        """A quantity within bounds of its value and of its rate."""
        self.numbers += bounds
        return self.put(COLUMN, len(self.numbers) - 4)

    def root(self, x: int, exponent: float) -> int:
        self.numbers.append(exponent)
        return self.put(POWER, x, len(self.numbers) - 1)

    def product(self, x: int, y: int) -> int:
        return self.put(PRODUCT, x, y)

    def plus(self, x: int, number: float) -> int:
        return self.put(ADD, x, self.constant(number))

    def minus(self, x: int, y: int) -> int:
        return self.put(ADD, x, self.put(NEGATIVE, y))

    def integral(self, kind: int, x: int, slope: int) -> int:
        """The function `kind` of x, whose derivative is the series `slope`."""
        return self.put(INTEGRAL, x, slope, kind)

    def pair(self, op: int, x: int) -> int:
        """The series of an operation that writes another one behind it: the cosine, or the derivative in x."""
        first = self.put(op, x)
        self.put(CONSTANT, -1)  # written by the operation
        return first

    def sinh(self, x: int) -> int:
        rise, fall = self.put(EXP, x), self.put(EXP, self.put(NEGATIVE, x))
        return self.product(self.minus(rise, fall), self.constant(0.5))

    def cosh(self, x: int) -> int:
        """1 + 2 sinh(x/2)^2, so that it is known to be at least 1."""
        half = self.put(SQUARE, self.sinh(self.product(x, self.constant(0.5))))
        return self.plus(self.put(ADD, half, half), 1.0)

    def one_less(self, x: int) -> int:
        """1 - x^2."""
        return self.plus(self.put(NEGATIVE, self.put(SQUARE, x)), 1.0)

    def one_more(self, x: int) -> int:
        """1 + x^2."""
        return self.plus(self.put(SQUARE, x), 1.0)

    def arc_sine(self, x: int) -> int:
        return self.integral(ARC_SINE, x, self.root(self.one_less(x), -0.5))

    def arc_of_two(self, y: int, x: int) -> int:
        square = self.put(INVERSE, self.put(ADD, self.put(SQUARE, x), self.put(SQUARE, y)))
        slopes = self.product(x, square)
        self.product(y, square)  # right behind it
        return self.put(ARC_OF_TWO, y, x, slopes)

    def bell(self, x: int) -> int:
        """2/sqrt(pi) exp(-x^2)."""
        return self.product(
            self.put(EXP, self.put(NEGATIVE, self.put(SQUARE, x))), self.constant(2.0 / math.sqrt(math.pi))
        )

    def remainder(self, x: int, y: int) -> int:
        turns = self.put(TRUNCATE, self.product(x, self.put(INVERSE, y)))
        return self.minus(x, self.product(turns, y))


_RULES: dict[int, Callable[..., int]] = {  # an operation that is not here has no bounds
    ca.OP_ADD: lambda s, x, y: s.put(ADD, x, y), ca.OP_SUB: lambda s, x, y: s.minus(x, y),
    ca.OP_MUL: lambda s, x, y: s.put(SQUARE, x) if x == y else s.product(x, y),
    ca.OP_DIV: lambda s, x, y: s.product(x, s.put(INVERSE, y)), ca.OP_NEG: lambda s, x: s.put(NEGATIVE, x),
    ca.OP_TWICE: lambda s, x: s.put(ADD, x, x), ca.OP_SQ: lambda s, x: s.put(SQUARE, x),
    ca.OP_INV: lambda s, x: s.put(INVERSE, x), ca.OP_EXP: lambda s, x: s.put(EXP, x),
    ca.OP_EXPM1: lambda s, x: s.plus(s.put(EXP, x), -1.0), ca.OP_SQRT: lambda s, x: s.root(x, 0.5),
    ca.OP_SIN: lambda s, x: s.pair(SINE, x), ca.OP_COS: lambda s, x: s.pair(SINE, x) + 1,
    ca.OP_TAN: lambda s, x: s.pair(TANGENT, x), ca.OP_TANH: lambda s, x: s.pair(TANH, x),
    ca.OP_SINH: lambda s, x: s.sinh(x),
    ca.OP_COSH: lambda s, x: s.cosh(x), ca.OP_LOG: lambda s, x: s.integral(LOG, x, s.put(INVERSE, x)),
    ca.OP_LOG1P: lambda s, x: s.integral(LOG, (y := s.plus(x, 1.0)), s.put(INVERSE, y)),
    ca.OP_ATAN: lambda s, x: s.integral(ARC_TANGENT, x, s.put(INVERSE, s.one_more(x))),
    ca.OP_ASIN: lambda s, x: s.arc_sine(x),
    ca.OP_ACOS: lambda s, x: s.plus(s.put(NEGATIVE, s.arc_sine(x)), 0.5 * math.pi),
    ca.OP_ASINH: lambda s, x: s.integral(AREA_SINE, x, s.root(s.one_more(x), -0.5)),
    ca.OP_ACOSH: lambda s, x: s.integral(AREA_COSINE, x, s.root(s.put(NEGATIVE, s.one_less(x)), -0.5)),
    ca.OP_ATANH: lambda s, x: s.integral(AREA_TANGENT, x, s.put(INVERSE, s.one_less(x))),
    ca.OP_ATAN2: lambda s, y, x: s.arc_of_two(y, x), ca.OP_ERF: lambda s, x: s.integral(ERF, x, s.bell(x)),
    ca.OP_FABS: lambda s, x: s.put(ABSOLUTE, x), ca.OP_SIGN: lambda s, x: s.put(SIGN, x),
    ca.OP_FLOOR: lambda s, x: s.put(FLOOR, x), ca.OP_CEIL: lambda s, x: s.put(CEILING, x),
    ca.OP_FMOD: lambda s, x, y: s.remainder(x, y), ca.OP_LT: lambda s, x, y: s.put(LESS, x, y),
    ca.OP_LE: lambda s, x, y: s.put(LESS_EQUAL, x, y), ca.OP_EQ: lambda s, x, y: s.put(EQUAL, x, y),
    ca.OP_NE: lambda s, x, y: s.put(NOT, s.put(EQUAL, x, y)), ca.OP_NOT: lambda s, x: s.put(NOT, x),
    ca.OP_AND: lambda s, x, y: s.put(AND, x, y), ca.OP_OR: lambda s, x, y: s.put(OR, x, y),
    ca.OP_IF_ELSE_ZERO: lambda s, x, y: s.put(CHOSEN, x, y), ca.OP_FMIN: lambda s, x, y: s.put(LEAST, x, y),
    ca.OP_FMAX: lambda s, x, y: s.put(MOST, x, y),
}  # fmt: skip
