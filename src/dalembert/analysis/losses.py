"""Robust losses of a fit: how much a residual that is far off counts. Values for `system.fit(..., loss=...)`.

With z = (residual / scale)^2 the sum over scale^2 rho(z) / 2 is least; residuals are in units of sigma.
"""

from __future__ import annotations

import math
from typing import ClassVar

from dalembert.dataclass import dataclass
from dalembert.errors import OptionError


@dataclass(frozen=True)
class RobustLoss:
    """A loss of `scipy.optimize.least_squares`, by its name there; residuals within `scale` count as usual."""

    scale: float = 1.0
    name: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        if not (self.scale > 0.0 and math.isfinite(self.scale)):
            raise OptionError(f"{type(self).__name__}: scale is {self.scale}; it must be positive and finite")


@dataclass(frozen=True)
class Huber(RobustLoss):
    """rho = z up to 1, then 2 sqrt(z) - 1: outliers count linearly."""

    name: ClassVar[str] = "huber"


@dataclass(frozen=True)
class SoftL1(RobustLoss):
    """rho = 2 (sqrt(1 + z) - 1): as Huber, but smooth."""

    name: ClassVar[str] = "soft_l1"


@dataclass(frozen=True)
class Cauchy(RobustLoss):
    """rho = ln(1 + z): outliers hardly count. There may be several minima."""

    name: ClassVar[str] = "cauchy"
