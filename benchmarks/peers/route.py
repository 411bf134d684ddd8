"""`Route`: one way to get from a problem to its motion; `Solver`: the route made ready for one case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchmarks.peers.cases import Case

OURS, PYTHON, ENGINE = "dalembert", "Python route", "compiled engine"


class CannotStateError(Exception):
    """The peer has no way to state this problem; the message says what is missing."""


@dataclass(frozen=True)
class Solver:
    """`solve(setting)` gives q at the case's times, (nt, nq), or raises; `ladder` runs from loose to tight."""

    solve: Callable[[float], np.ndarray]
    ladder: tuple[float, ...]
    setting: str = "rtol"


@dataclass(frozen=True)
class Route:
    """`kind` is ENGINE if nothing runs in Python within a run, else PYTHON; it needs the distributions `packages`."""

    name: str
    kind: str
    packages: tuple[str, ...]
    prepare: Callable[[Case], Solver]

    @property
    def missing(self) -> list[str]:
        """Distributions that are not installed."""
        return [package for package in self.packages if installed(package) is None]


def installed(package: str) -> str | None:
    """The version of a distribution; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def tolerances(loosest: float, tightest: float, per_decade: int = 2) -> tuple[float, ...]:
    """Tolerances from loose to tight, so many in each power of ten."""
    first, last = (round(-per_decade * np.log10(value)) for value in (loosest, tightest))
    return tuple(float(10.0 ** (-k / per_decade)) for k in range(first, last + 1))


def steps(longest: float, halvings: int) -> tuple[float, ...]:
    """Step lengths, each half the one before."""
    return tuple(longest / 2**k for k in range(halvings + 1))
