"""Reading user input into exact shapes. Faults are noted, not raised."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model.instances import Instance
from dalembert.model.quaternion import Quaternion
from dalembert.model.statement import Attitude, Vector
from dalembert.model.time_symbols import is_dyadic, is_undefined_function, is_vector

ZERO: Vector = (sp.S.Zero, sp.S.Zero, sp.S.Zero)
READ = (AppliedUndef, sp.Symbol, Instance)  # types that are certainly expressions
PLAIN = (str, float, int, type(None), *READ)
INFINITE = frozenset({sp.nan, sp.zoo, sp.oo, -sp.oo})


def listed(value: Any) -> list[Any] | None:
    """The entries of a list, tuple, array or matrix; None for a scalar and for anything else, strings included."""
    if isinstance(value, list | tuple):
        return [*value]
    if isinstance(value, PLAIN):  # before SymPy and the abstract classes are asked, which takes long
        return None
    if isinstance(value, sp.MatrixBase):
        return list(value) if 1 in value.shape else value.tolist()
    if isinstance(value, np.ndarray | sp.NDimArray):
        return list(value.tolist()) if value.shape else None
    if isinstance(value, Sequence | sp.Tuple) and not isinstance(value, str | bytes):
        return list(value)
    return None


def nodes(*expressions: sp.Basic) -> Iterator[sp.Basic]:
    """Every subexpression once: products of rotations share so much that the tree may be too large to walk."""
    seen: dict[int, sp.Basic] = {}
    stack = [*expressions]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node  # kept alive, or its id could be used again
            stack.extend(node.args)
            yield node


def inner_nodes(expression: sp.Basic) -> Iterator[sp.Basic]:
    """The subexpressions of an expression; of what an instance holds itself, not numbers and undefined functions."""
    if not isinstance(expression, Instance):
        return nodes(expression)
    return nodes(*[part for part in expression.args if part.args and not is_undefined_function(part)])


def content_key(expression: sp.Basic) -> int:
    """Equal for expressions that hold the same symbols, as the rows of a joint do; good as long as these live."""
    return id(expression.args if isinstance(expression, Instance) else expression)


class Reader:
    """Turns user input into SymPy values. Unreadable input is noted in `faults` and replaced by zero."""

    def __init__(self, faults: list[str]) -> None:
        self._faults = faults

    def fault(self, message: str) -> None:
        """Note a fault, to be raised by `compile` with the others."""
        if message not in self._faults:
            self._faults.append(message)

    def number(self, value: Any, what: str) -> float:
        """A finite float."""
        if not isinstance(value, Real | sp.Expr) or isinstance(value, bool):
            self.fault(f"{what} must be a number, got {_brief(value)}")
            return 0.0
        try:
            number = float(value)
        except (TypeError, ValueError):
            self.fault(f"{what} must be a real number, got {_brief(value)}")
            return 0.0
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fault(f"{what} is {number}; it must be finite")
        return number

    def expression(self, value: Any, what: str) -> sp.Expr | None:
        """A SymPy expression, or None after a fault; an equation `Eq(a, b)` reads a - b."""
        if isinstance(value, READ):  # the arguments of an instance have been read
            return value
        if type(value) in (int, float) and math.isfinite(value):
            return _read_number(value)
        if is_vector(value) or is_dyadic(value):
            need = f"a scalar, got the vector {value}; give its components, `.to_matrix(frame)`"
        elif isinstance(value, sp.FunctionClass):
            need = f"an expression, got the function {value} itself; apply it, as in {value}(model.t)"
        elif callable(value) and not isinstance(value, sp.Basic):
            name = getattr(value, "__name__", value)
            need = f"a SymPy expression or a number, got the Python function {name!r}{_advice(value)}"
        elif isinstance(value, str | bool | np.bool_) or value is None:
            need = f"a SymPy expression or a number, got {_brief(value)}{_advice(value)}"
        elif (expr := _sympified(value)) is None:
            need = f"a SymPy expression or a number, got {type(value).__name__}{_advice(value)}"
        elif not isinstance(expr, sp.Expr) or isinstance(expr, sp.MatrixExpr):
            need = f"a scalar expression, got {type(value).__name__} {_brief(value)}{_advice(value)}"
        elif any(node in INFINITE for node in nodes(expr)):
            need = f"finite, got {expr}"
        else:
            return expr
        self.fault(f"{what} must be {need}")
        return None

    def scalar(self, value: Any, what: str) -> sp.Expr:
        """A SymPy expression; zero after a fault."""
        expr = self.expression(value, what)
        return sp.S.Zero if expr is None else expr

    def vector(self, value: Any, what: str) -> Vector:
        """Three components; two are padded with zero."""
        return self._components(value, what, (2, 3))

    def optional_vector(self, value: Any, what: str) -> Vector | None:
        """Three components, or None."""
        return None if value is None else self.vector(value, what)

    def axial(self, value: Any, what: str) -> Vector:
        """Three components of a torque or an angular velocity; one number is about z."""
        if listed(value) is None and not is_vector(value):
            return sp.S.Zero, sp.S.Zero, self.scalar(value, what)
        return self._components(value, what, (3,))

    def optional_axial(self, value: Any, what: str) -> Vector | None:
        """Three components of an angular velocity, or None."""
        return None if value is None else self.axial(value, what)

    def matrix(self, value: Any, what: str) -> sp.Matrix | None:
        """A SymPy matrix of expressions (a list of numbers is a column), or None after a fault."""
        cells = self._cells(value, what)
        return None if cells is None else sp.Matrix(cells)

    def _cells(self, value: Any, what: str) -> list[list[sp.Expr]] | None:
        """The rows of a matrix, or None after a fault."""
        rows = value.tolist() if isinstance(value, sp.MatrixBase) else listed(value)
        if rows is None:
            self.fault(f"{what} must be a matrix, got {_brief(value)}")
            return None
        cells = [listed(row) for row in rows]
        if all(row is None for row in cells):
            cells = [[entry] for entry in rows]
        if any(row is None for row in cells) or len({len(row) for row in cells if row is not None}) > 1:
            self.fault(f"{what} must be a matrix with rows of equal length, got {_brief(value)}")
            return None
        return [
            [self.scalar(entry, f"{what} [{i}, {j}]") for j, entry in enumerate(row or ())]
            for i, row in enumerate(cells)
        ]

    def column(self, value: Any, what: str) -> sp.Matrix | None:
        """A SymPy column of expressions, or None after a fault."""
        matrix = self.matrix(value, what)
        if matrix is None or matrix.cols == 1:
            return matrix
        if matrix.rows != 1:
            self.fault(f"{what} must be a vector, got a matrix of shape {matrix.shape}")
            return None
        return matrix.T

    def inertia(self, value: Any, what: str, attitude: Attitude) -> tuple[sp.Expr, ...]:
        """One moment about z (planar) or nine entries, row by row."""
        label = f"inertia of {what}"
        if listed(value) is None:
            moment = self.scalar(value, label)
            if attitude in (Attitude.ANGLE, Attitude.NONE):
                return (moment,)
            self.fault(
                f"{label} must be three principal moments or a 3x3 matrix for a spatial body, got {_brief(value)}"
            )
            return ZERO * 3
        if attitude is Attitude.ANGLE:
            self.fault(f"{label} must be one moment about z, because its rotation is an angle, got {_brief(value)}")
            return (sp.S.Zero,)
        cells = self._cells(value, label)
        if cells is None:
            return ZERO * 3
        entries, shape = [entry for row in cells for entry in row], (len(cells), len(cells[0]) if cells else 0)
        if shape in ((3, 1), (1, 3)):
            x, y, z = entries
            return (x, *ZERO, y, *ZERO, z)
        if shape != (3, 3):
            self.fault(f"{label} must be three principal moments or a 3x3 matrix, got shape {shape}")
            return ZERO * 3
        return tuple(entries)

    def rotation(self, value: Any, what: str) -> tuple[Attitude, tuple[sp.Expr, ...]]:
        """Kind of the attitude as stated, and its 1, 9 or 4 entries."""
        if value is None:
            return Attitude.NONE, ()
        if isinstance(value, Quaternion):
            return Attitude.QUATERNION, value.coordinates
        label = f"rotation of {what}"
        if listed(value) is None:
            return Attitude.ANGLE, (self.scalar(value, label),)
        matrix = self.matrix(value, label)
        if matrix is None:
            return Attitude.NONE, ()
        if matrix.shape in ((4, 1), (1, 4)):
            return Attitude.QUATERNION, tuple(matrix)
        if matrix.shape == (3, 3):
            return Attitude.MATRIX, tuple(matrix)
        self.fault(f"{label} must be an angle, a 3x3 matrix or a quaternion of four, got shape {matrix.shape}")
        return Attitude.NONE, ()

    def _components(self, value: Any, what: str, sizes: tuple[int, ...]) -> Vector:
        entries = None if isinstance(value, sp.MatrixBase) and 1 not in value.shape else listed(value)
        if entries is None or len(entries) not in sizes:
            need = " or ".join(str(size) for size in sizes)
            hint = "; give `.to_matrix(frame)`" if is_vector(value) else _advice(value)
            if not hint and listed(value) is None and isinstance(value, Real | sp.Expr):
                hint = f"; write them in a list such as [0, {value}]"
            self.fault(f"{what} must have {need} components, got {_brief(value)}{hint}")
            return ZERO
        read = [
            entry if isinstance(entry, READ) else self.scalar(entry, f"{what} [{k}]") for k, entry in enumerate(entries)
        ]
        return read[0], read[1], read[2] if len(read) > 2 else sp.S.Zero


@lru_cache(maxsize=4096, typed=True)
def _read_number(value: float) -> sp.Expr:
    """The SymPy number of a Python one; one object for many bodies, as these take SymPy long to make and to compare."""
    return sp.sympify(value)


def _sympified(value: Any) -> Any:
    """The SymPy object of a value, an equation as its difference; None if there is none."""
    try:
        expr = sp.sympify(value, strict=True)
        return expr.lhs - expr.rhs if isinstance(expr, sp.Equality) else expr
    except (sp.SympifyError, TypeError):
        return None


def _brief(value: Any) -> str:
    """A value in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _advice(value: Any) -> str:
    """Advice for an error message about a value that is no expression: its replacement, or "" if none is known."""
    if isinstance(value, bool | np.bool_):
        return "; `==` compares at once: write left - right, or sympy.Eq(left, right)"
    if isinstance(value, str):
        return f"; expressions are SymPy and not text: write {value} without quotes, with symbols of the model"
    if callable(value):
        return (
            ", which native code cannot call; write the formula with SymPy, give its data by model.table(name, times, "
            "values), or make it a parameter that a clock sets: da.Every(dt, then=lambda state: {...})"
        )
    if isinstance(value, tuple) and len(value) == 1:
        return "; model.coordinates returns a tuple: write x, = model.coordinates('x')"
    return ""
