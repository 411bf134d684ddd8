"""Kinks and jumps of expressions of time: points of tables, steps, switches.

A kink or jump occurs where an argument a(t, p) passes one of its `knots`: the points of a table, or zero for
Heaviside(a), Abs(a), a < 0 and the like. Roots, inverse sines and poles cause them too, as in sqrt((t - 1)^2).
`instants` finds the times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy as sp
from sympy.core.relational import Relational

from dalembert.dataclass import dataclass
from dalembert.equations.readings import OF_TIME, Readings
from dalembert.errors import OptionError
from dalembert.model.reading import nodes as subexpressions
from dalembert.model.tables import Table, TableData

MANY_KNOTS = 1000  # knots of a table; above, those are left out that lie on straight lines between the others
STRAIGHT = 1e-4  # of the range of the values: how far off such a line a point may lie
MOST_INSTANTS = 10_000_000  # instants of one run, 80 MB


@dataclass(frozen=True, eq=False)
class Kinks:
    """Values of an argument at which a function bends or jumps. With a `period` they repeat."""

    knots: np.ndarray
    period: float | None = None

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.knots.tobytes()).hexdigest()

    def __repr__(self) -> str:
        return f"Kinks({len(self.knots)} knots {self._digest}, period={self.period})"

    def touched(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """True where a knot lies between two values of the argument, both included, (n,) each."""
        if self.period is not None:
            first, last = (np.floor((edge[:, None] - self.knots) / self.period) for edge in (low, high))
            on = np.isin(low[:, None], self.knots) | (last > first) | ~np.isfinite(last - first)
            return np.asarray(on.any(axis=1) & (low <= high))
        count = np.searchsorted(self.knots, high, side="right") - np.searchsorted(self.knots, low, side="left")
        return np.asarray((count > 0) & (low <= high))

    def between(self, low: float, high: float) -> np.ndarray:
        """Knots between two values of the argument, both included. Raises `OptionError` if there are too many."""
        if self.period is None:
            return self.knots[(self.knots >= low) & (self.knots <= high)]
        first, last = (int(np.floor((edge - self.knots[0]) / self.period)) for edge in (low, high))
        count = (last - first + 1) * len(self.knots)
        if count > MOST_INSTANTS:
            raise OptionError(
                f"something bends or jumps about {count:.2g} times in this span, at instants that follow from time "
                f"alone; steps end on each of them, and a run takes at most {MOST_INSTANTS:.0e}; simulate a shorter "
                "time, or state a smooth mean of it"
            )
        turns = self.period * np.arange(first, last + 1)
        found = np.unique((self.knots[None, :] + turns[:, None]).ravel())
        return found[(found >= low) & (found <= high)]


AT_ZERO = Kinks(np.zeros(1))
AT_INTEGERS = Kinks(np.zeros(1), 1.0)


class Bends(NamedTuple):
    """Arguments of time and parameters with the kinks of their functions: arguments linear in time, and others.

    Inner arguments come before the outer ones that contain them.
    """

    linear: list[tuple[Any, Kinks]]
    curved: list[tuple[Any, Kinks]]


def find_kinks(nodes: Iterable[Any], readings: Readings) -> Bends:
    """Kinks and jumps at instants known beforehand, among the nodes of expressions. Inner nodes come first.

    An argument is examined only after it is known to depend on time alone: others may be of any size.
    """
    found: dict[tuple[Any, str], tuple[Any, Kinks]] = {}
    for node in nodes:
        for whole, kinks in (*bends_of(node), *_singularities(node, readings)):
            if readings.of(whole) == OF_TIME:
                bend = _zero(whole, readings) if kinks is None else (whole, kinks)
                found.setdefault((bend[0], repr(bend[1])), bend)
    known = [(bend, _is_line(bend[0], readings)) for bend in found.values() if readings.of(bend[0])]
    return Bends(*([bend for bend, linear in known if linear is not curved] for curved in (False, True)))


def has_bends(expression: sp.Expr) -> bool:
    """True if an expression contains a function that bends or jumps, with any argument."""
    return any(bends_of(node) for node in subexpressions(expression))


def _is_line(expression: Any, readings: Readings) -> bool:
    """Whether an expression reads at most the time, and is linear in it as it is written."""
    read = readings.of(expression)
    smooth = read is not None and read <= OF_TIME and not has_bends(expression)
    return smooth and bool(ca.is_linear(readings.low(expression), readings.s.t))


def bends_of(node: Any) -> list[tuple[Any, Kinks | None]]:
    """The arguments of a function that bends or jumps, and where; None where they are zero."""
    if isinstance(node, Table):
        return [(node.args[0], _kinks(node.data))]
    if isinstance(node, sp.Heaviside | sp.Abs | sp.sign):
        return [(node.args[0], None)]
    if isinstance(node, Relational):
        return [(node.lhs - node.rhs, None)]
    if isinstance(node, sp.Max | sp.Min):
        first, *rest = node.args
        return [(other - first, None) for other in rest]
    if isinstance(node, sp.floor | sp.ceiling):
        return [(node.args[0], AT_INTEGERS)]
    if isinstance(node, sp.Mod):
        return [(node.args[0] / node.args[1], AT_INTEGERS)]
    return []


def _singularities(node: Any, readings: Readings) -> list[tuple[Any, Kinks | None]]:
    """The same for functions that are smooth but for some values: roots, inverse functions of waves, and poles.

    sqrt((t - 1)^2) and asin(sin(t)) bend, atan(tan(t)) and 1/(1 + exp(1/t)) jump. Beyond the zero of 1 - t its root has
    no value, and a run fails there by itself.
    """
    if isinstance(node, sp.Pow) and not (node.exp.is_integer and node.exp.is_nonnegative):
        ends = not node.exp.is_integer and _is_line(node.base, readings)
        return [] if ends else [(node.base, None)]
    if isinstance(node, sp.asin | sp.acos):
        return [(node.args[0] - 1, None), (node.args[0] + 1, None)]
    if isinstance(node, sp.atan2):
        return [(node.args[0], None)]
    if isinstance(node, sp.tan | sp.sec):
        return [(sp.cos(node.args[0]), None)]
    if isinstance(node, sp.cot | sp.csc):
        return [(sp.sin(node.args[0]), None)]
    return []


def _zero(argument: Any, readings: Readings) -> tuple[Any, Kinks]:
    """Zeros of an argument, as another argument and the values that it passes.

    A multiple of a sine or cosine, as in a square wave sign(sin(w t)), is zero at integers of its phase. An argument
    linear in one sine or cosine, as in a pulse sin(w t) > 0.5, is zero twice a turn, or once at its top. An argument
    linear in one remainder Mod(a, m) is zero where a passes a value modulo m.
    """
    moving = [factor for factor in sp.Mul.make_args(argument) if readings.of(factor)]
    if len(moving) == 1 and isinstance(moving[0], sp.sin | sp.cos):
        (wave,) = moving
        return wave.args[0] / sp.pi - (0 if isinstance(wave, sp.sin) else sp.Rational(1, 2)), AT_INTEGERS
    waves, remainders = _parts(argument, sp.sin, sp.cos), _parts(argument, sp.Mod)
    if len(waves) == 1:
        (wave,) = waves
        value = _zero_value(argument, wave)
        if value is not None and abs(value) <= 1.0:
            middle, half = (0.5 * np.pi, np.arccos(value)) if isinstance(wave, sp.sin) else (0.0, np.arccos(value))
            return wave.args[0], Kinks(np.sort([middle - half, middle + half]), 2.0 * np.pi)
    if len(remainders) == 1:
        (remainder,) = remainders
        value, period = _zero_value(argument, remainder), remainder.args[1]
        if value is not None and period.is_positive:
            return remainder.args[0], Kinks(np.array([value]), float(period))
    return argument, AT_ZERO


def _parts(expression: Any, *kinds: type) -> set[Any]:
    """The distinct subexpressions of some kinds."""
    return {node for node in subexpressions(expression) if isinstance(node, kinds)}


def _zero_value(argument: Any, part: Any) -> float | None:
    """The value of `part` at which an argument is zero, if the argument is linear in it and depends on nothing else."""
    z = sp.Dummy()
    rest = argument.xreplace({part: z})
    slope = rest.diff(z) if rest.free_symbols == {z} else sp.S.Zero
    return None if slope.free_symbols or slope == 0 else float(-rest.subs(z, 0) / slope)


@lru_cache(maxsize=64)
def _kinks(data: TableData) -> Kinks:
    """The kinks of a table; it may be asked for many times, and have a million points."""
    knots = data.knots if len(data.knots) <= MANY_KNOTS else data.knots[_corners(data.knots, data.coefficients[1:, 0])]
    return Kinks(knots, data.period)


def _corners(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Points of a polyline such that all others lie within a tolerance of the lines between them (swinging door)."""
    tolerance = STRAIGHT * float(np.ptp(y))
    xs, ys = x.tolist(), y.tolist()
    kept, last = [0], 0
    low, high = -np.inf, np.inf
    for k in range(1, len(xs)):
        width, rise = xs[k] - xs[last], ys[k] - ys[last]
        slope = rise / width
        if not low <= slope <= high:
            kept.append(k - 1)
            last = k - 1
            width, rise = xs[k] - xs[last], ys[k] - ys[last]
            low, high = -np.inf, np.inf
        low, high = max(low, (rise - tolerance) / width), min(high, (rise + tolerance) / width)
    return [*kept, len(xs) - 1]


def arguments_column(found: list[tuple[Any, Kinks]], readings: Readings) -> ca.SX:
    """Rate and offset of each argument, one pair after the other, (2 n, 1)."""
    t, graphs = readings.s.t, [readings.low(argument) for argument, _ in found]
    return ca.vertcat(ca.SX(0, 1), *(part for g in graphs for part in (ca.jacobian(g, t), ca.substitute(g, t, 0.0))))


def crossing_function(argument: Any, readings: Readings) -> ca.Function:
    """An argument as a function of x, whose first entry is the time."""
    return ca.Function("crossing", [readings.s.x], [ca.densify(readings.low.stated(argument))])
