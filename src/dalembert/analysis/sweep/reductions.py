"""Reductions: one number per quantity of a run, such as its final or its largest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.analysis.sweep.curve import Curve
from dalembert.dataclass import dataclass
from dalembert.errors import OptionError


class Reduction(Protocol):
    """One number for each component of the quantity `key`: a name, a symbol, an expression, or "energy".

    `suffix` follows the label of the quantity in the name of the result, unless a `name` is given.
    `reduce` gets the curve of each smooth stretch of the motion, in order of time.
    """

    @property
    def key(self) -> Any: ...
    @property
    def name(self) -> str: ...
    @property
    def suffix(self) -> str: ...

    def reduce(self, curves: Sequence[Curve]) -> float: ...


@dataclass(frozen=True, eq=False)
class Final:
    """The value at the end of the motion."""

    key: Any
    name: str = ""
    suffix = "_final"

    def reduce(self, curves: Sequence[Curve]) -> float:
        """The last value."""
        return float(curves[-1].y[-1])


@dataclass(frozen=True, eq=False)
class Maximum:
    """The largest value during the motion, also between its steps."""

    key: Any
    name: str = ""
    suffix = "_max"

    def reduce(self, curves: Sequence[Curve]) -> float:
        """The largest of the largest values."""
        return max(curve.maximum() for curve in curves)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The smallest value during the motion, also between its steps."""

    key: Any
    name: str = ""
    suffix = "_min"

    def reduce(self, curves: Sequence[Curve]) -> float:
        """The smallest of the smallest values."""
        return -max(curve.mirrored().maximum() for curve in curves)


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean over time, 1/T times the integral."""

    key: Any
    name: str = ""
    suffix = "_mean"

    def reduce(self, curves: Sequence[Curve]) -> float:
        """The integrals over the length of time."""
        length = float(curves[-1].t[-1] - curves[0].t[0])
        return sum(curve.integral() for curve in curves) / length if length else float(curves[0].y[0])


@dataclass(frozen=True, eq=False)
class CrossingTime:
    """The first time at which the quantity passes `level`: rising (`direction=1`), falling (-1) or either (0).

    NaN if it never does. A motion that starts on the level has not passed it there.
    """

    key: Any
    level: float = 0.0
    direction: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise OptionError(
                f"CrossingTime: direction={self.direction!r} must be 1 (rising), -1 (falling) or 0 (either)"
            )
        if not np.isfinite(self.level):
            raise OptionError(f"CrossingTime: level={self.level!r} must be finite")

    @property
    def suffix(self) -> str:
        """Of the name of the result."""
        return f"_at_{self.level:g}"

    def reduce(self, curves: Sequence[Curve]) -> float:
        """The first of the first times; a jump from one curve to the next may pass the level as well."""
        last = None
        for curve in (curve.lowered(self.level) for curve in curves):
            if last is not None and self._passes(last, float(curve.y[0])):
                return float(curve.t[0])
            time, last = curve.first_zero(self.direction), float(curve.y[-1])
            if not np.isnan(time):
                return time
        return np.nan

    def _passes(self, before: float, after: float) -> bool:
        return (before < 0.0 < after and self.direction >= 0) or (before > 0.0 > after and self.direction <= 0)


REDUCTIONS = (Final, Maximum, Minimum, Mean, CrossingTime)
