"""Tables: functions of one variable given by data, for use inside any expression.

A table is a SymPy function. Its derivative, by `.diff()` or in the equations of motion, is that of the piecewise
polynomial through the data, so Jacobians and time derivatives are exact.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.dataclass import dataclass
from dalembert.errors import ModelError
from dalembert.model.names import Names

KINDS = ("linear", "cubic")
ENDS = ("held", "periodic")
LARGEST_VALUE = 1e100  # of numbers that are given: their squares, and polynomials of tables, must stay finite


@dataclass(frozen=True, eq=False)
class TableData:
    """A piecewise polynomial: piece j = number of `knots` <= x is sum_k c[j, k] (x - o[j])^k.

    `knots` (n,) increase; `coefficients` (n + 1, degree + 1). o[j] is the knot at which a piece begins, and the first
    knot for the first piece, which lies before all knots. With a `period` the argument is first moved into the data.
    """

    name: str
    kind: str
    knots: np.ndarray
    coefficients: np.ndarray
    period: float | None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of name, kind, period and data: equal for equal tables only."""
        content = (
            repr((self.name, self.kind, self.period)).encode() + self.knots.tobytes() + self.coefficients.tobytes()
        )
        return hashlib.sha256(content).hexdigest()

    def value(self, x: float, order: int = 0) -> float:
        """The value at x of the derivative of that order."""
        if self.period is not None:
            x -= self.period * np.floor((x - self.knots[0]) / self.period)
        piece = int(np.searchsorted(self.knots, x, side="right"))
        c = np.polynomial.polynomial.polyder(self.coefficients[piece], order) if order else self.coefficients[piece]
        return float(np.polynomial.polynomial.polyval(x - self.knots[max(piece - 1, 0)], c))


class Table(sp.Function):
    """A function given by data, applied to an expression; each table and each derivative of one is a class."""

    data: TableData
    order: int
    nargs = 1

    @classmethod
    def of(cls, data: TableData, order: int = 0) -> type[Table]:
        """The function of this table or of a derivative of it."""
        kind: Any = type(Table)
        return kind(data.name + "'" * order, (Table,), {"data": data, "order": order, "__module__": __name__})

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """The derivative with respect to the argument."""
        if argindex != 1:
            raise sp.core.function.ArgumentIndexError(self, argindex)
        kind = type(self)
        if kind.order + 1 >= kind.data.coefficients.shape[1]:
            return sp.S.Zero
        if "slope" not in vars(kind):
            kind.slope = Table.of(kind.data, kind.order + 1)  # one class, so that equal derivatives are equal
        return kind.slope(self.args[0])

    def _eval_evalf(self, prec: int) -> Any:
        x = self.args[0]._eval_evalf(prec)  # noqa: SLF001 - SymPy's own protocol
        return (
            sp.Float(type(self).data.value(float(x), type(self).order), prec) if x is not None and x.is_Float else None
        )

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _applied, (type(self).data, type(self).order, self.args)

    __reduce_ex__ = object.__reduce_ex__


_classes: dict[tuple[str, int], type[Table]] = {}


def _applied(data: TableData, order: int, args: tuple[Any, ...]) -> sp.Expr:
    """A table out of a pickle; those with equal content are one function."""
    return _classes.setdefault((data.digest, order), Table.of(data, order))(*args)


class TableReader:
    """Reads the arguments of `Model.table`."""

    def __init__(self, model: str, names: Names) -> None:
        self._model, self._names = model, names

    def table(self, name: str, times: Any, values: Any, kind: Any, ends: Any) -> type[Table]:
        """A function through the data. Raises `ModelError` at once for faulty data."""
        x, y = self._column(name, "times", times), self._column(name, "values", values)
        fault = _fault(x, y, kind, ends)
        if fault:
            raise ModelError(self._model, [f"table `{name}`: {fault}"])
        self._names.claim(name, "table")
        pieces = _linear(x, y) if kind == "linear" else _cubic(x, y, periodic=ends == "periodic")
        first, last = np.zeros((2, 1, pieces.shape[1]))
        first[0, 0], last[0, 0] = y[0], y[-1]
        period = float(x[-1] - x[0]) if ends == "periodic" else None
        return Table.of(TableData(name, kind, x, np.vstack([first, pieces, last]), period))

    def _column(self, name: str, what: str, entries: Any) -> np.ndarray:
        try:
            return np.array(entries, dtype=float)
        except (TypeError, ValueError):
            message = f"table `{name}`: {what} must be a list of numbers, got {type(entries).__name__}"
            raise ModelError(self._model, [message]) from None


def _fault(x: np.ndarray, y: np.ndarray, kind: Any, ends: Any) -> str | None:
    """Fault in the data (x, y) or options of a table, as a message; None if there is none."""
    if kind not in KINDS:
        return f"kind is {kind!r}; write kind='linear' (straight between the points) or kind='cubic' (smooth)"
    if ends not in ENDS:
        return f"ends is {ends!r}; write ends='held' (the end values go on) or ends='periodic'"
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        return f"times have shape {x.shape} and values {y.shape}; both must be lists of the same length, at least 2"
    for what, column in (("times", x), ("values", y)):
        bad = np.flatnonzero(~(np.abs(column) < LARGEST_VALUE))
        if len(bad):
            return f"{what}[{bad[0]}] is {column[bad[0]]}; all must be finite and below {LARGEST_VALUE:g}"
    back = np.flatnonzero(np.diff(x) <= 0.0)
    if len(back):
        k = back[0]
        return f"times must increase, but times[{k + 1}] = {x[k + 1]:g} follows {x[k]:g}; a jump takes two close times"
    if ends == "periodic" and abs(y[-1] - y[0]) > 1e-9 * np.abs(y).max():
        return f"with ends='periodic' the last value must be the first, but they are {y[-1]:g} and {y[0]:g}"
    return None


def _linear(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients (n - 1, 2) between n points."""
    return np.column_stack([y[:-1], np.diff(y) / np.diff(x)])


def _cubic(x: np.ndarray, y: np.ndarray, *, periodic: bool) -> np.ndarray:
    """Coefficients (n - 1, 4) of the cubic spline through n points, twice continuously differentiable."""
    from scipy.interpolate import CubicSpline

    closed = np.append(y[:-1], y[0]) if periodic else y
    return CubicSpline(x, closed, bc_type="periodic" if periodic else "not-a-knot").c[::-1].T
