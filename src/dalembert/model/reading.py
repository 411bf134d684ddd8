"""Reading what a user wrote into exact shapes, noting faults instead of raising them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.model.quaternion import Quaternion
from dalembert.model.statement import Attitude, Vector

ZERO: Vector = (sp.S.Zero, sp.S.Zero, sp.S.Zero)


def split_names(names: str) -> list[str]:
    """The names in `names`, separated by blanks or commas."""
    return [name for name in re.split(r"[\s,]+", names) if name]


class Reader:
    """Turns user input into SymPy values; what cannot be read is noted in `faults` and replaced by zero."""

    def __init__(self, faults: list[str]) -> None:
        self._faults = faults

    def fault(self, message: str) -> None:
        """Note a fault, to be raised by `compile` with the others."""
        if message not in self._faults:
            self._faults.append(message)

    def number(self, value: Any, what: str) -> float:
        """A finite float."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            self.fault(f"{what} must be a number, got {value!r}")
            return 0.0
        if not math.isfinite(number):
            self.fault(f"{what} is {number}; it must be finite")
        return number

    def scalar(self, value: Any, what: str) -> sp.Expr:
        """A SymPy expression."""
        if isinstance(value, str | bool) or value is None:
            self.fault(f"{what} must be a SymPy expression or a number, got {value!r}")
            return sp.S.Zero
        try:
            expr = sp.sympify(value, strict=True)
        except (sp.SympifyError, TypeError):
            self.fault(f"{what} must be a SymPy expression or a number, got {type(value).__name__}")
            return sp.S.Zero
        if isinstance(expr, sp.Equality):
            expr = expr.lhs - expr.rhs
        if not isinstance(expr, sp.Expr) or isinstance(expr, sp.MatrixBase):
            self.fault(f"{what} must be a scalar expression, got {type(value).__name__}")
            return sp.S.Zero
        if expr.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            self.fault(f"{what} is not finite: {expr}")
        return expr

    def scalars(self, values: Sequence[Any], what: str) -> list[sp.Expr]:
        """SymPy expressions, one per entry."""
        return [self.scalar(value, f"{what}[{k}]") for k, value in enumerate(values)]

    def vector(self, value: Any, what: str) -> Vector:
        """Three components; two are padded with zero."""
        if not isinstance(value, Sequence | sp.MatrixBase) or isinstance(value, str) or len(value) not in (2, 3):
            self.fault(f"{what} must have 2 or 3 components, got {value!r}")
            return ZERO
        read = [*self.scalars(list(value), what), sp.S.Zero]
        return read[0], read[1], read[2]

    def optional_vector(self, value: Any, what: str) -> Vector | None:
        """Three components, or None."""
        return None if value is None else self.vector(value, what)

    def matrix(self, value: Any, what: str) -> sp.Matrix:
        """A SymPy matrix of expressions."""
        try:
            return sp.Matrix(value)
        except (TypeError, ValueError, sp.SympifyError):
            self.fault(f"{what} must be a matrix, got {type(value).__name__}")
            return sp.zeros(0, 0)

    def column(self, value: Any, what: str) -> sp.Matrix:
        """A SymPy column of expressions."""
        matrix = self.matrix(value, what)
        return matrix if matrix.cols == 1 else matrix.reshape(len(matrix), 1)

    def inertia(self, value: Any, what: str, attitude: Attitude) -> tuple[sp.Expr, ...]:
        """One moment about z (planar) or nine entries, row by row."""
        if not isinstance(value, Sequence | sp.MatrixBase):
            moment = self.scalar(value, f"inertia of {what}")
            if attitude in (Attitude.ANGLE, Attitude.NONE):
                return (moment,)
            self.fault(f"inertia of {what} must be three principal moments or a 3x3 matrix for a spatial body")
            return ZERO * 3
        if attitude is Attitude.ANGLE:
            self.fault(f"inertia of {what} must be one moment about z, because its rotation is an angle")
            return (sp.S.Zero,)
        matrix = self.matrix(value, f"inertia of {what}")
        if matrix.shape in ((3, 1), (1, 3)):
            matrix = sp.diag(*matrix)
        if matrix.shape != (3, 3):
            self.fault(f"inertia of {what} must be three principal moments or a 3x3 matrix, got shape {matrix.shape}")
            return ZERO * 3
        if not matrix.is_symmetric():
            self.fault(f"inertia of {what} is not symmetric")
        return tuple(matrix)

    def rotation(self, value: Any, what: str) -> tuple[Attitude, tuple[sp.Expr, ...]]:
        """How the attitude is stated, and its 1, 9 or 4 entries."""
        if value is None:
            return Attitude.NONE, ()
        if isinstance(value, Quaternion):
            return Attitude.QUATERNION, value.coordinates
        if not isinstance(value, Sequence | sp.MatrixBase):
            return Attitude.ANGLE, (self.scalar(value, f"rotation of {what}"),)
        matrix = self.matrix(value, f"rotation of {what}")
        if matrix.shape in ((4, 1), (1, 4)):
            return Attitude.QUATERNION, tuple(matrix)
        if matrix.shape == (3, 3):
            return Attitude.MATRIX, tuple(matrix)
        self.fault(f"rotation of {what} must be an angle, a 3x3 matrix or a quaternion of four, got {matrix.shape}")
        return Attitude.NONE, ()
