"""Piecewise polynomials of one variable: the leaf function that finds a piece, for graphs and in native code.

A CasADi graph calls a leaf function, which returns the coefficients of the piece that x lies in. Its derivative is
zero. The polynomial itself is part of the graph, so derivatives of all orders are exact and need no other leaf.
`read_leaf` finds the numbers in a leaf again, also in one that was pickled. Native code finds the piece in a guide of
as many cells as there are pieces, then among the few that share a cell. The numbers are not part of the object code:
they lie in memory once per process, under a symbol named by their content.
"""

from __future__ import annotations

import hashlib
import math
import threading
from dataclasses import field
from functools import cached_property
from weakref import WeakValueDictionary

import casadi as ca
import llvmlite.binding as llvm
import numpy as np

from dalembert.dataclass import dataclass

PREFIX = "piecewise_"
_BOUND = float(np.finfo(float).max)  # CasADi's search needs a first and a last break
# CasADi 3.8 takes NaN for the forward derivative of a call whose derivative is structurally zero. The derivative of
# floor is zero whatever that of its argument is, and multiples of 2^-500 are all doubles from 1e-135 to 1e157.
WHOLE = 2.0**500
LARGEST_IN_LEAF = 1e150  # of the numbers in a leaf
_BINDING = threading.Lock()
_bound: WeakValueDictionary[str, Lookup] = WeakValueDictionary()  # by symbol

# NaN counts as lying before all breaks; the polynomial hands it on.
_FIND = """
@{symbol} = external constant double
define internal i64 @find_{symbol}(double %x) #2 {{
entry:
  %begun = fcmp oge double %x, {first}
  br i1 %begun, label %begun.yes, label %found
begun.yes:
  %over = fcmp oge double %x, {last}
  br i1 %over, label %found, label %look
look:
  %from = fsub double %x, {first}
  %cells = fmul double %from, {scale}
  %cell = fptosi double %cells to i64
  %guide = getelementptr double, ptr @{symbol}, i64 {guide}
  %least.p = getelementptr i64, ptr %guide, i64 %cell
  %least = load i64, ptr %least.p, align 8
  %most.p = getelementptr i64, ptr %least.p, i64 1
  %most = load i64, ptr %most.p, align 8
  br label %search
search:
  %lo = phi i64 [ %least, %look ], [ %lo.next, %halve ]
  %hi = phi i64 [ %most, %look ], [ %hi.next, %halve ]
  %more = icmp slt i64 %lo, %hi
  br i1 %more, label %halve, label %found
halve:
  %sum = add i64 %lo, %hi
  %up = add i64 %sum, 1
  %mid = lshr i64 %up, 1
  %mid.place = mul i64 %mid, {width}
  %mid.p = getelementptr double, ptr @{symbol}, i64 %mid.place
  %begin = load double, ptr %mid.p, align 8
  %right = fcmp ole double %begin, %x
  %below = sub i64 %mid, 1
  %lo.next = select i1 %right, i64 %mid, i64 %lo
  %hi.next = select i1 %right, i64 %hi, i64 %below
  br label %search
found:
  %piece = phi i64 [ 0, %entry ], [ {most}, %begun.yes ], [ %lo, %search ]
  ret i64 %piece
}}
"""


def make_leaf(breaks: np.ndarray, coefficients: np.ndarray) -> ca.Function:
    """The function of x that returns o[j] and c[j, 0], c[j, 1], ... for the piece j = number of `breaks` <= x.

    `breaks` (n,) increase; `coefficients` (n + 1, degree + 1) belong to the pieces, the first of which lies before all
    breaks. o[j] is the break at which a piece begins, and the first break for the first piece.
    """
    rows = np.column_stack([np.concatenate([breaks[:1], breaks]), coefficients])
    width = rows.shape[1]
    table, x = ca.MX(ca.DM(rows.ravel())), ca.MX.sym("x")
    piece = ca.low(ca.DM(np.concatenate([[-_BOUND], breaks, [_BOUND]])), x, {"lookup_mode": "binary"})
    name = PREFIX + hashlib.sha256(rows.tobytes() + bytes([width])).hexdigest()[:32]
    parts = [table[width * piece + k] for k in range(width)]
    return ca.Function(name, [x], parts, {"never_inline": True})


def evaluate(leaf: ca.Function, order: int, x: ca.SX) -> ca.SX:
    """The polynomial sum_k c[j, k] (x - o[j])^k of the piece that x lies in, or a derivative of it, as a graph."""
    origin, *coefficients = (ca.floor(part * WHOLE) / WHOLE for part in leaf(x))
    coefficients = [math.perm(k, order) * c for k, c in enumerate(coefficients) if k >= order]
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = c + (x - origin) * y
    return y


def lookups_of(function: ca.Function) -> list[Lookup]:
    """The tables that the leaves of a function look up."""
    return [read_leaf(f) for f in function.find_functions(-1) if f.name().startswith(PREFIX)]


def read_leaf(leaf: ca.Function) -> Lookup:
    """The numbers of a leaf, bound to their symbol."""
    symbol = leaf.name()
    with _BINDING:
        lookup = _bound.get(symbol)
        if lookup is None:
            held = (
                leaf.instruction_MX(k) for k in range(leaf.n_instructions()) if leaf.instruction_id(k) == ca.OP_CONST
            )
            breaks, rows = sorted((c.to_DM().full().ravel() for c in held if c.numel() > 1), key=len)
            lookup = _bound[symbol] = Lookup(symbol, rows.reshape(len(breaks) - 1, -1))
            llvm.add_symbol(symbol, lookup.memory.ctypes.data)
    return lookup


@dataclass(frozen=True, eq=False)
class Lookup:
    """The pieces of a leaf: `rows` (n + 1, degree + 2) hold where each begins and its coefficients."""

    symbol: str
    rows: np.ndarray = field(repr=False)

    @property
    def width(self) -> int:
        """Numbers per piece, all of which the leaf returns."""
        return self.rows.shape[1]

    @cached_property
    def scale(self) -> float:
        """Cells of the guide per unit of x."""
        length = self.rows[-1, 0] - self.rows[1, 0]
        scale = (len(self.rows) - 1) / length if length > 0.0 else 0.0
        return float(scale) if np.isfinite(scale) else 0.0

    @cached_property
    def memory(self) -> np.ndarray:
        """The rows, and then the guide as int64: in each cell the first piece to look at; the next has the last."""
        begins = self.rows[1:, 0]
        cell = ((begins - begins[0]) * self.scale).astype(np.int64)  # as native code does it, bit for bit
        guide = np.searchsorted(cell, np.arange(len(self.rows) + 1), side="left")
        return np.concatenate([self.rows.ravel(), np.maximum(guide, 1).astype(np.int64).view(np.float64)])

    def emit(self) -> str:
        """IR of `i64 @find_...(double)`: the number of the piece."""
        return _FIND.format(
            symbol=self.symbol, width=self.width, first=_bits(self.rows[1, 0]), last=_bits(self.rows[-1, 0]),
            scale=_bits(self.scale), guide=self.rows.size, most=len(self.rows) - 1,
        )  # fmt: skip


def _bits(value: float) -> str:
    return f"0x{int(np.float64(value).view(np.uint64)):016X}"
